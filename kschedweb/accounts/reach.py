"""How far the person reaches whose request is being answered: the one place that query sets of clusters ask.

A request says once who looks and for which action (``look``). From then on every query set of a covered model
(covered.py) has the rows within that person's grants only. Outside of a request, and in jobs, nobody looks: there is
everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID


@dataclass(frozen=True)
class Reach:
    """The clusters that grants cover, of the person with the key ``user``."""

    user: int
    clusters: frozenset[UUID]
    names: frozenset[str]


class Looker(Protocol):
    """Somebody with grants."""

    def reach(self, action: str) -> Reach | None: ...


Look = Callable[[], "Reach | None"]
_looking: ContextVar[Look | None] = ContextVar("looking", default=None)


def current() -> Reach | None:
    """How far who looks now reaches; ``None``: to everything."""
    ask = _looking.get()
    return ask() if ask is not None else None


def look(user: Looker, action: str) -> None:
    """From here to the end of the request ``user`` looks, at what their grants allow ``action`` for."""
    _looking.set(lambda: user.reach(action))


@contextmanager
def looking(ask: Look | None) -> Iterator[None]:
    """What is done inside is done for who ``ask`` tells of; afterwards it is as before, whatever was set inside."""
    token = _looking.set(ask)
    try:
        yield
    finally:
        _looking.reset(token)


def everything() -> Any:
    """For the site itself, whoever's request leads to it: turns of jobs, say. A context manager and a decorator."""
    return looking(None)
