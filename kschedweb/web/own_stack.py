"""Runs long computing of a request on a stack of its own.

CPython keeps its frames in blocks of 16 KiB, and asks the system for the next one whenever a call crosses the end of a
block. Deep in a request, a loop may happen to call across such an end. Each call then costs a page of new memory, three
times what the work does. A thread begins with an empty block.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Answer = TypeVar("Answer")


def on_own_stack(do: Callable[Params, Answer], *args: Params.args, **kwargs: Params.kwargs) -> Answer:
    """Return or raise what ``do`` does, run in another thread while this one waits.

    It must not use the database, whose connection belongs to this thread.
    """
    answer: Future[Answer] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            answer.set_result(context.run(do, *args, **kwargs))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=work, name="computing", daemon=True).start()
    return answer.result()
