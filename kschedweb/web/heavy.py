"""Pages that compute much: handler.py answers them in a few threads of their own, first come, first served.

Each thread that computes slows all the others. In the threads of all pages twenty people who ask for a decision would
make everybody else wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.urls import Resolver404, resolve

View = TypeVar("View", bound=Callable[..., Any])


def heavy(view: View) -> View:
    """Mark a view that computes much; on a class it is put on ``dispatch``."""
    view.heavy = True  # type: ignore[attr-defined]
    return view


def is_heavy(path: str) -> bool:
    """Whether the view at ``path`` (without the prefix of the site) is marked."""
    try:
        return getattr(resolve(path).func, "heavy", False)
    except Resolver404:
        return False
