"""Work on a stack of its own: what it returns, raises, and knows of the context."""

from __future__ import annotations

import contextvars
import threading

import pytest

from kschedweb.web.own_stack import on_own_stack

asks = contextvars.ContextVar("asks", default="nobody")


def test_the_answer_comes_from_another_thread_with_the_context_of_this_one() -> None:
    asks.set("ada")
    result, thread = on_own_stack(lambda name: (f"{name} {asks.get()}", threading.get_ident()), "for")
    assert result == "for ada"
    assert thread != threading.get_ident()


def test_an_error_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        on_own_stack(lambda: 1 // 0)
