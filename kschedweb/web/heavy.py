"""Marks pages that compute much: handler.py answers them in a few separate threads, first come, first served.

Each computing thread slows all others down. In the threads of all pages, twenty people who open a decision would make
everyone else wait. One person has one of the threads at a time, so that their other pages hold up nobody else, and for
HEAVY_SECONDS at most: what takes longer becomes a job, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django.urls import Resolver404, resolve

if TYPE_CHECKING:
    from django.http import HttpRequest

View = TypeVar("View", bound=Callable[..., Any])


def heavy(view: View) -> View:
    """Mark a view that computes much; for a class, decorate ``dispatch``."""
    view.heavy = True  # type: ignore[attr-defined]
    return view


def is_heavy(path: str) -> bool:
    """Whether the view at ``path`` (without the prefix of the site) is marked."""
    try:
        return getattr(resolve(path).func, "heavy", False)
    except Resolver404:
        return False


# Each knows one way of proving who asks: a text that is equal for all ways of one person, "" without that proof.
PEOPLE: list[Callable[[HttpRequest], str]] = []


def person_of(request: HttpRequest) -> str:
    """Who asks, however they prove it; of those who prove nothing, where they ask from. It reads the database."""
    return next(filter(None, (person(request) for person in PEOPLE)), str(request.META.get("REMOTE_ADDR")))
