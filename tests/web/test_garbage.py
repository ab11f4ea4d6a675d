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
def collector_walks() -> Iterator[list[int]]:
    """The generation of each walk of the collector under the limits of a process that serves."""
    generations, before = list[int](), gc.get_threshold()

    def record_walk(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    garbage.look_seldom()
    gc.callbacks.append(record_walk)
    yield generations
    gc.callbacks.remove(record_walk)
    gc.set_threshold(*before)


def test_what_a_cluster_adds_is_not_walked_as_a_whole(collector_walks: list[int]) -> None:
    objects = [{"pod": [number]} for number in range(500_000)]
    assert len(objects) == 500_000
    assert collector_walks
    assert 2 not in collector_walks


def test_circles_are_freed(collector_walks: list[int]) -> None:
    circle_reference = weakref.ref(Circle())
    objects = [[number] for number in range(2 * garbage.LIMITS[0])]
    assert len(objects)
    assert circle_reference() is None
