"""Priorities by the current or future use of nodes. The arithmetic uses integers where the original's does."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope
from kschedweb.engine.framework.scoring import divide_toward_zero, share_of
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.releases.classic.objects import get_requests
from kschedweb.engine.state.columns import Floats, Ints, Rows

MAX_PRIORITY = 10
MAX_UTILIZATION = 100
DEFAULT_SHAPE = ((0, 10), (100, 0))
# Key in the state of a cycle.
SHARES = "classic.shares"
Share = tuple[Ints, Ints]
# Utilization in percent, score.
Point = tuple[int, int]


class RoomPriority:
    """A priority by the requested and the allocatable amounts of a node, with the pod on it.

    Containers without requests count with 100 m of CPU and 200 MiB.
    """

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.ROOM

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        # The shares are the same for all priorities of a cycle, so the first one computes them.
        cached_rows, shares = cycle.state.get(SHARES, (None, []))
        if cached_rows is not rows:
            shares = _compute_shares(cycle, rows)
            cycle.state[SHARES] = rows, shares
        return self.combine_shares(shares)

    def combine_shares(self, shares: list[Share]) -> Ints:
        """Return the score for (requested, allocatable) of CPU and of memory: by default the mean of both."""
        cpu, memory = (self.score_resource(requested, allocatable) for requested, allocatable in shares)
        total = cpu + memory
        return total // 2 if total.min(initial=0) >= 0 else divide_toward_zero(total, 2)

    def score_resource(self, requested: Ints, allocatable: Ints) -> Ints:
        raise NotImplementedError


class LeastRequested(RoomPriority):
    """A priority with (allocatable - requested) * 10 / allocatable, for CPU and for memory; then the mean of both."""

    def score_resource(self, requested: Ints, allocatable: Ints) -> Ints:
        return share_of(np.maximum(allocatable - requested, 0), np.maximum(allocatable, 1), MAX_PRIORITY)


class MostRequested(RoomPriority):
    """A priority with requested * 10 / allocatable, for CPU and for memory; then the mean of both."""

    def score_resource(self, requested: Ints, allocatable: Ints) -> Ints:
        fitting = np.where(requested > allocatable, 0, requested)
        return share_of(fitting, np.maximum(allocatable, 1), MAX_PRIORITY)


class RequestedToCapacityRatio(RoomPriority):
    """A priority with ``requestedToCapacityRatioArguments``: a piecewise linear score of the use of CPU and memory.

    The score is the mean of both. Without an argument it is 10 for an empty node, falling to 0 for a full one.
    """

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        points = [
            (int(point.get("utilization") or 0), int(point.get("score") or 0)) for point in argument.get("shape") or ()
        ]
        self.points: list[Point] = points or list(DEFAULT_SHAPE)
        self._curve = broken_line(self.points)

    def score_resource(self, requested: Ints, allocatable: Ints) -> Ints:
        free = share_of(allocatable - requested, np.maximum(allocatable, 1), MAX_UTILIZATION)
        full = (allocatable == 0) | (requested > allocatable)
        used = np.where(full, MAX_UTILIZATION, MAX_UTILIZATION - free)
        scores: Ints = self._curve[np.clip(used, 0, MAX_UTILIZATION)]
        return scores


class BalancedResourceAllocation(RoomPriority):
    """A priority with 10 - 10 * |share of CPU - share of memory|; 0 if a share is 1 or more."""

    def combine_shares(self, shares: list[Share]) -> Ints:
        cpu, memory = (_fraction_of_capacity(*share) for share in shares)
        score = ((1 - np.abs(cpu - memory)) * float(MAX_PRIORITY)).astype(np.int64)
        return np.where((cpu >= 1) | (memory >= 1), 0, score)


class ResourceLimits:
    """A priority with 1 for nodes whose allocatable CPU or memory is at least the pod's limit, else 0."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        snapshot, enough = cycle.snapshot, np.zeros(cycle.num_rows(rows), dtype=np.bool_)
        for name in (CPU, MEMORY):
            if limit := get_requests(cycle.pod).limits.get(name, 0):
                enough |= snapshot.resource_row(snapshot.allocatable, name)[rows] >= limit
        return enough.astype(np.int64)


def _compute_shares(cycle: Cycle, rows: Rows) -> list[Share]:
    """Return (requested with the pod, allocatable) of CPU and of memory, for ``rows``."""
    snapshot, pod = cycle.snapshot, cycle.pod
    return [
        (
            snapshot.nonzero[row][rows] + pod.occupied_nonzero[row],
            snapshot.resource_row(snapshot.allocatable, name)[rows],
        )
        for row, name in enumerate((CPU, MEMORY))
    ]


def _fraction_of_capacity(requested: Ints, allocatable: Ints) -> Floats:
    if allocatable.all():
        return requested / allocatable.astype(np.float64)
    return np.where(allocatable == 0, 1.0, requested / np.maximum(allocatable, 1).astype(np.float64))


def broken_line(points: list[Point]) -> Ints:
    """Return the score at each utilization from 0 to 100 percent, linear between ``points`` and truncated towards 0."""
    curve = np.empty(MAX_UTILIZATION + 1, dtype=np.int64)
    for at in range(MAX_UTILIZATION + 1):
        curve[at] = _on_line(points, at)
    return curve


def _on_line(points: list[Point], at: int) -> int:
    for position, (utilization, score) in enumerate(points):
        if at <= utilization:
            if position == 0:
                return score
            before, low = points[position - 1]
            rise = (score - low) * (at - before)
            return low + (abs(rise) // (utilization - before)) * (1 if rise >= 0 else -1)
    return points[-1][1]
