"""Recorded scenarios in batches: a test asks every so manieth of them, and names all that are answered otherwise.

A test of its own costs more than most answers, and every process of pytest-xdist collects all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import pytest

from tests.conformance.record import read

Cases = Sequence[tuple[str, Any]]
"""Names, and what is judged."""


def in_batches(count: int) -> pytest.MarkDecorator:
    """So many tests, each with a ``batch``: the slice that takes its part of a list."""
    parts = [pytest.param(slice(place, None, count), id=f"{place + 1}-of-{count}") for place in range(count)]
    return pytest.mark.parametrize("batch", parts)


def differing(answers: Iterable[tuple[str, Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """By the names of scenarios: the engine's answers that are not what was recorded, and what that is."""
    return {name: (ours, expected) for name, ours, expected in answers if ours != expected}


@lru_cache(maxsize=1)
def recorded_lines(name: str) -> list[dict[str, Any]]:
    """The lines of a golden file, read once for the batches that follow one another."""
    return read(name)


def judge_each(
    cases: Callable[[], Cases], batches: int = 1
) -> Callable[[Callable[[Any], None]], Callable[[slice], None]]:
    """Make a test of ``judge(case)``, which has each of the ``cases`` judged and names all that fail."""

    def decorate(judge: Callable[[Any], None]) -> Callable[[slice], None]:
        def test(batch: slice) -> None:
            listed, failures = cases(), {}
            assert listed
            for name, case in listed[batch]:
                try:
                    judge(case)
                except AssertionError as failure:
                    failures[name] = str(failure)
                except Exception as failure:
                    failure.add_note(name)
                    raise
            assert failures == {}, "\n\n".join(f"{name}: {failure}" for name, failure in failures.items())

        test.__name__, test.__doc__, test.__module__ = judge.__name__, judge.__doc__, judge.__module__
        marked: Callable[[slice], None] = in_batches(batches)(test)
        return marked

    return decorate
