"""NodeResourcesBalancedAllocation prefers nodes whose resources the pod would bring closer to equal use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.columns import Ints, Rows
from kschedweb.engine.framework.interface import Cycle, Scope
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.framework.status import SKIP, SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY, is_scalar

Floats = NDArray[np.float64]


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: dict[str, Any]) -> None:
        self.resources = [item["name"] for item in args.get("resources") or [{"name": CPU}, {"name": MEMORY}]]

    def scope(self, pod: Pod) -> Scope:
        return Scope.ROOM

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SUCCESS if any(cycle.pod.occupied.get(name, 0) for name in self.resources) else SKIP

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """From 50 to 100; 75 where the pod leaves the balance as it is."""
        snapshot = cycle.snapshot
        before, after, counted = [], [], []
        for name in self.resources:
            wanted = cycle.pod.occupied.get(name, 0)
            allocatable = snapshot.amounts(snapshot.allocatable, name)[rows]
            if wanted == 0 and is_scalar(name):
                allocatable = np.zeros_like(allocatable)
            used = snapshot.amounts(snapshot.requested, name)[rows]
            counts = allocatable != 0
            size = np.maximum(allocatable, 1)
            # Both are turned into float64 before they are divided.
            before.append(np.minimum(used / size, 1.0))
            after.append(np.minimum((used + wanted) / size, 1.0))
            counted.append(counts)
        return 50 + (50 + balance(after, counted) - balance(before, counted)) // 2


def balance(fractions: list[Floats], counted: list[NDArray[np.bool_]]) -> Ints:
    """100 less the standard deviation (in points) of the fractions that count on each node."""
    if len(fractions) == 2 and all(counts.all() for counts in counted):
        return _points(np.abs((fractions[0] - fractions[1]) / 2))
    number = sum((counts.astype(np.int64) for counts in counted), np.zeros_like(fractions[0], dtype=np.int64))
    total = np.zeros_like(fractions[0])
    highest, lowest = np.full_like(total, -np.inf), np.full_like(total, np.inf)
    for fraction, counts in zip(fractions, counted, strict=True):
        total = total + np.where(counts, fraction, 0.0)
        highest = np.where(counts, np.maximum(highest, fraction), highest)
        lowest = np.where(counts, np.minimum(lowest, fraction), lowest)
    mean = total / np.maximum(number, 1)
    squares = np.zeros_like(total)
    for fraction, counts in zip(fractions, counted, strict=True):
        squares = squares + np.where(counts, (fraction - mean) * (fraction - mean), 0.0)
    deviation = np.sqrt(squares / np.maximum(number, 1))
    two = number == 2
    # With two resources the scheduler takes half the difference, which rounds differently.
    deviation[two] = np.abs((highest[two] - lowest[two]) / 2)
    deviation[number < 2] = 0.0
    return _points(deviation)


def _points(deviation: Floats) -> Ints:
    return ((1 - deviation) * float(MAX_NODE_SCORE)).astype(np.int64)
