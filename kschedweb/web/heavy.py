"""Marks pages that compute much: handler.py answers them in a few separate threads, first come, first served.

Each computing thread slows all others down. In the threads of all pages, twenty people who open a decision would make
everyone else wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.urls import Resolver404, resolve

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
