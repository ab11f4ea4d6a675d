"""What hunts draw from: the same in every run, so that no commit fails by chance. ``HUNT_SEED=random`` draws anew."""

from __future__ import annotations

import os
from random import SystemRandom

FIXED = 20261123


def seed(asked: str | None = None) -> int:
    """The seed of this run, as ``HUNT_SEED`` says it."""
    said = os.environ.get("HUNT_SEED", "") if asked is None else asked
    return SystemRandom().randrange(2**32) if said == "random" else int(said or FIXED)
