"""Marks pages that compute much. handler.py answers them in a few separate threads, first come, first served.

Each computing thread slows all others down: in the threads of all pages, twenty people who open a decision would make
everybody else wait. One person has one of these threads at a time, so that their other pages hold up nobody else. A
page may compute for HEAVY_SECONDS; longer work becomes a job, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django.urls import Resolver404, resolve

if TYPE_CHECKING:
    from django.http import HttpRequest

View = TypeVar("View", bound=Callable[..., Any])


def heavy(view: View) -> View:
    """Mark a view that computes much. For a class, decorate ``dispatch``."""
    view.heavy = True  # type: ignore[attr-defined]
    return view


def is_heavy(path: str) -> bool:
    """Return whether the view at ``path`` (without the prefix of the site) is marked."""
    try:
        return getattr(resolve(path).func, "heavy", False)
    except Resolver404:
        return False


# Each function knows one proof of identity. It returns a text that is equal for all proofs of one person, or "".
PEOPLE: list[Callable[[HttpRequest], str]] = []


def person_of(request: HttpRequest) -> str:
    """Return a text for the caller, by any proof, or else by the address. Reads the database."""
    return next(filter(None, (person(request) for person in PEOPLE)), str(request.META.get("REMOTE_ADDR")))
