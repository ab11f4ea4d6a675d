"""The process that does heavy work for a worker, one piece after the other, within its limits."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import connection

from kschedweb.celery import AWAY as BROKER_AWAY
from kschedweb.celery import app
from kschedweb.jobs.connections import own_connection
from kschedweb.web.errors import ApplicationError, Unavailable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

logger = structlog.get_logger(__name__)

# Seconds without work after which the process ends, and gives its memory back.
IDLE = 300.0
# A share of the memory limit; a process that still uses more when its work ends, ends too.
KEEPS = 0.5
# Of 1000: the kernel ends these processes first when the machine has no memory left.
FIRST_TO_GO = 500

# Messages of the pipe to the worker: BEGUN, any number of SEND, then one of the others. SENT or AWAY answers a SEND.
BEGUN, SEND, RETURNED, RAISED, MEMORY = "begun", "send", "done", "raised", "memory"
DELIVERED, AWAY = "sent", "away"


def serve_pipe(pipe: Connection) -> None:
    """Do the work that comes through ``pipe``, until none has come for long or the worker is gone."""
    memory_limit = settings.JOB_MEMORY_MIB * 1024 * 1024
    _set_up_process(memory_limit)
    app.relay = _make_relay(pipe)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while pipe.poll(IDLE):
            function, args, context = pipe.recv()
            pipe.send((BEGUN, None, True))
            kind, value = _run_function(function, args, context)
            stays = kind != MEMORY and _used_memory() < KEEPS * memory_limit
            pipe.send((kind, value, stays))
            if not stays:
                return


def _set_up_process(memory_limit: int) -> None:
    # A group of its own, so that the worker can end the process with all that it started.
    os.setpgid(0, 0)
    # Other systems than Linux do not have this file.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(FIRST_TO_GO))
    resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    signal.signal(signal.SIGALRM, _time_is_over)
    own_connection()


def _time_is_over(*_: Any) -> None:
    raise SoftTimeLimitExceeded


def _make_relay(pipe: Connection) -> Callable[..., None]:
    """Return a function that sends messages to other workers through the parent. Embedded, the broker lives in it."""

    def send_task(name: str, args: Any, kwargs: Any, options: dict[str, object]) -> None:
        pipe.send((SEND, (name, args, kwargs, options), True))
        if pipe.recv() == AWAY:
            raise Unavailable(BROKER_AWAY)

    return send_task


def _run_function(function: Callable[..., Any], args: tuple[Any, ...], context: dict[str, object]) -> tuple[str, Any]:
    try:
        with structlog.contextvars.bound_contextvars(**context), _time_limit():
            return RETURNED, function(*args)
    except ApplicationError as error:
        return RAISED, error.detail
    except Exception as error:
        if out_of_memory(error):
            return MEMORY, None
        with structlog.contextvars.bound_contextvars(**context):
            logger.exception("process_failed", function=function.__qualname__)
        return RAISED, type(error).__name__
    finally:
        connection.close()


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, settings.JOB_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def out_of_memory(error: BaseException | None) -> bool:
    """Return whether memory ran out, even if somebody on the way raised another error because of it."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        error = error.__cause__ or error.__context__
    return False


def _used_memory() -> int:
    """Return the bytes that count against the limit; 0 if the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0
