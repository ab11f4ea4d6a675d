"""Curves of the day: the cores that a workload's pods use at each hour in UTC, learnt from the days before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.recent_pods import ClusterAtTime, PodContribution, RecentPods
from kschedweb.engine.state.watermarks.table import HOURS, workload_of

# Seconds.
HOUR = 3600.0
# The weight of a day, as a share of the weight of the day after it.
OLDER = 0.5


def learn_curves(ends: Sequence[float], values: Floats) -> Floats:
    """Return the curves of the day that past hours make.

    The result is float64[24, objects], NaN for an hour of the day of which an object has no value. ``values`` are means
    over whole hours, float64[hours, objects] with NaN where unknown; ``ends`` are the hours' ends in seconds of the
    epoch, ascending. The same hour of several days is averaged, where each day counts half as much as the day after it.
    """
    hours = np.round(np.asarray(ends) / HOUR).astype(np.int64) - 1
    curves = np.full((HOURS, values.shape[1]), math.nan)
    for hour in np.unique(hours % HOURS).tolist():
        rows = hours % HOURS == hour
        days = (hours[rows] - hours[rows][-1]) / HOURS
        is_known = ~np.isnan(values[rows])
        weights = is_known * OLDER ** -days[:, None]
        total, weight = (np.where(is_known, values[rows], 0.0) * weights).sum(axis=0), weights.sum(axis=0)
        np.divide(total, weight, out=curves[hour], where=weight > 0.0)
    return curves


def fill_missing_hours(curve: Floats) -> Floats:
    """Return ``curve`` with the mean of its known hours at the others; zeros if none is known. Shape [24]."""
    missing = np.isnan(curve)
    return np.where(missing, 0.0 if missing.all() else curve[~missing].mean(), curve)


class HourlyUse(RecentPods):
    """The cores that each node's pods use at each hour of the day, by the curves of their workloads.

    A pod whose workload has no curve adds nothing.
    """

    def __init__(self, snapshot: ClusterAtTime, objects: ClusterObjects) -> None:
        super().__init__(snapshot, HOURS, self._estimate)
        self._objects = objects
        self._curves: Mapping[str, Floats] = {}

    def sum_curves(self, curves: Mapping[str, Floats]) -> Floats:
        """Return the sums by these curves. The array changes with the next call. Shape [24, nodes]."""
        if curves is not self._curves:
            self._curves = curves
            # Forces a recount.
            self._version = -1
        return self.current_sums()

    def _estimate(self, pod: Pod, node: int, time: float) -> PodContribution | None:
        curve = self._curves.get(workload_of(pod, self._objects) or "")
        return None if curve is None else PodContribution(fill_missing_hours(curve))  # type: ignore[arg-type]
