"""Size of a run. Examples that nobody chose by hand are drawn the same in every run: no commit fails by chance.

``NIGHTLY`` (`make nightly`) draws anew and asks many times more; ``HUNT_SEED`` repeats such a run, ``HUNT_COUNT`` sets
how many examples each hunt has.
"""

from __future__ import annotations

import os
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

NIGHTLY = bool(os.environ.get("NIGHTLY"))
FIXED = 20261123


def seed() -> int:
    """Return the seed of this run's hunts; a failing test prints it."""
    setting = os.environ.get("HUNT_SEED", "")
    return int(setting) if setting else SystemRandom().randrange(2**31) if NIGHTLY else FIXED


def count(commit: int, nightly: int) -> int:
    """Return the number of examples of a hunt, in a commit's tier and in the full one."""
    return int(os.environ.get("HUNT_COUNT") or (nightly if NIGHTLY else commit))


def one_of(first: Any, *nightly_values: Any) -> list[ParameterSet]:
    """Parameters of a test that says nearly the same with each: ``first`` in every run, ``others`` in the full tier."""

    def parameter(value: Any, *marks: pytest.MarkDecorator) -> ParameterSet:
        return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks)

    return [parameter(first), *(parameter(value, pytest.mark.nightly) for value in nightly_values)]
