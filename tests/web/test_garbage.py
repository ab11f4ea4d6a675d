"""A process that serves hardly walks what lives long, and still finds what it leaves in circles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from kschedweb.web import garbage


class Circle:
    """Refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def walks() -> Iterator[list[int]]:
    """The generation of each walk of the collector under the limits of a process that serves."""
    found, before = list[int](), gc.get_threshold()

    def walked(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            found.append(info["generation"])

    garbage.look_seldom()
    gc.callbacks.append(walked)
    yield found
    gc.callbacks.remove(walked)
    gc.set_threshold(*before)


def test_what_a_cluster_adds_is_not_walked_as_a_whole(walks: list[int]) -> None:
    kept = [{"pod": [number]} for number in range(500_000)]
    assert len(kept) == 500_000
    assert walks
    assert 2 not in walks


def test_circles_are_freed(walks: list[int]) -> None:
    gone = weakref.ref(Circle())
    kept = [[number] for number in range(2 * garbage.LIMITS[0])]
    assert len(kept)
    assert gone() is None
