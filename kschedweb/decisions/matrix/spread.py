"""The distance of each score from its plugin's median, on one scale for all plugins."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.engine.framework.explanation import ScoreColumn
    from kschedweb.engine.state.columns import Floats, Ints

# Steps of colour above the median, and as many below.
STEPS = 3


class ScoreSpread:
    """The weighted scores of ``columns`` as deviations from each column's median, in points of the total."""

    def __init__(self, columns: Sequence[ScoreColumn]) -> None:
        self.columns = columns

    @cached_property
    def differing(self) -> list[int]:
        """Return the positions of the columns in which some nodes differ."""
        return [at for at, column in enumerate(self.columns) if column.raw.size and bool(np.ptp(column.normalized))]

    @cached_property
    def largest(self) -> float:
        """Return the largest deviation of all, in points; 0 if all nodes are equal."""
        return max((float(np.abs(self.compute_deviations(at)).max()) for at in self.differing), default=0.0)

    def compute_deviations(self, at: int) -> Floats:
        """Return the deviations of column ``at``, aligned with the feasible nodes."""
        weighted = self.columns[at].weighted
        deviations: Floats = weighted - np.median(weighted)
        return deviations

    def scale_deviations(self, deviations: Floats) -> Floats:
        """Return deviations from -1 to 1, by their square root, so that small ones are visible beside large ones."""
        if not self.largest:
            return np.zeros_like(deviations, dtype=np.float64)
        scaled: Floats = np.sign(deviations) * np.sqrt(np.abs(deviations) / self.largest)
        return scaled

    def color_steps(self, at: int) -> Ints:
        """Return the deviations of column ``at`` in whole steps from -STEPS to STEPS; only the median itself has 0."""
        scaled = self.scale_deviations(self.compute_deviations(at))
        # The small number keeps rounding errors of a square root from lifting a value to the next step.
        steps: Ints = (np.sign(scaled) * np.ceil(np.abs(scaled) * STEPS - 1e-9)).astype(np.int64)
        return steps
