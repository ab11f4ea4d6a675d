"""Compare measures of two policies, and find the change that matters most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from kschedweb.engine.studies.compare.significance import compute_spread
from kschedweb.engine.studies.measure.registry import find_spec, rank_of
from kschedweb.engine.studies.measure.values import HIGHER, LOWER, NODE_HOURS, PERCENT, POINTS, SECONDS
from kschedweb.engine.values import dataclass

# Slack for float sums in another order.
ROUNDING = 1e-9
# The smallest meaningful differences by unit: an amount, and a share of the larger value. A second is
# kube-scheduler's shortest backoff: below it, only the order in the queue differs.
RESOLUTION = {SECONDS: (1.0, 0.01), POINTS: (0.5, 0.0), PERCENT: (0.5, 0.0), NODE_HOURS: (0.0, 0.01)}
# For counts of things at the end.
COUNTED = (1.0, 0.0)
# For money in any currency.
PAID = (0.0, 0.01)
# For counts of events on the way: about the square root of the count depends on the order of things, and at least this.
FEWEST = 2.0


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """The change of a measure from one policy to another."""

    # Name of the measure.
    measure: str
    # Which value is better: LOWER, HIGHER or NEITHER.
    direction: str
    # Means over the seeds that both policies have; None without such seeds.
    before: float | None
    after: float | None
    # The noise floor: a smaller change is no difference.
    floor: float

    @property
    def change(self) -> float:
        return 0.0 if self.before is None or self.after is None else self.after - self.before

    @property
    def size(self) -> float:
        """The change as a multiple of the noise floor; below 1 it is no difference."""
        if not self.change:
            return 0.0
        return abs(self.change) / self.floor if self.floor else float("inf")

    @property
    def differs(self) -> bool:
        return self.size >= 1.0 - ROUNDING

    @property
    def better(self) -> bool | None:
        """True if it is better, False if it is worse; ``None`` if nothing differs or if no direction is better."""
        if not self.differs or self.direction not in (LOWER, HIGHER):
            return None
        return (self.change < 0) == (self.direction == LOWER)

    @property
    def importance(self) -> tuple[bool, int, bool, float]:
        """A key that sorts changes: differences first, then by group, measures with a better direction, and size."""
        return self.differs, -rank_of(self.measure), self.direction in (LOWER, HIGHER), self.size


def compute_change(
    measure: str, unit: str, direction: str, base: Mapping[int, float], other: Mapping[int, float]
) -> MeasureChange:
    """Return the change from ``base`` to ``other``, which have values by seed."""
    pairs = [(base[seed], other[seed]) for seed in sorted(base) if seed in other]
    if not pairs:
        return MeasureChange(measure, direction, None, None, 0.0)
    first, second = zip(*pairs, strict=True)
    before, after = float(np.mean(first)), float(np.mean(second))
    noise_floor = compute_resolution(measure, unit, max(abs(before), abs(after)))
    return MeasureChange(measure, direction, before, after, max(noise_floor, compute_spread(first, second)))


def compute_resolution(measure: str, unit: str, value: float) -> float:
    """Return the smallest meaningful difference of one run, where ``value`` is the larger of two values."""
    spec = find_spec(measure)
    if spec is not None and spec.happens:
        return max(FEWEST, math.sqrt(value))
    amount, share = PAID if spec is not None and spec.is_money else RESOLUTION.get(unit, COUNTED)
    return max(amount, share * value)


def find_headline(changes: Iterable[MeasureChange]) -> MeasureChange | None:
    """Return the most important difference; ``None`` if there is none."""
    largest = max(changes, key=lambda change: change.importance, default=None)
    return largest if largest is not None and largest.differs else None
