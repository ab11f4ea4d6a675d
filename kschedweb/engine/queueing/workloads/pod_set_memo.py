"""Values computed once for pod sets, which stay the same objects while their workload's status changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kschedweb.engine.queueing.workloads.workload import PodSet

V = TypeVar("V")
# Pod sets that are remembered. More workloads than that at once are computed again, which costs time alone.
MOST_POD_SETS = 50_000


class PodSetMemo(Generic[V]):
    """Values by the identity of pod sets; those that were computed first are forgotten first."""

    def __init__(self, limit: int = MOST_POD_SETS) -> None:
        self._limit = limit
        # The pod sets are kept with their value, so that their identity stays their own.
        self._values: dict[int, tuple[tuple[PodSet, ...], V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, pod_sets: tuple[PodSet, ...], compute: Callable[[tuple[PodSet, ...]], V]) -> V:
        kept = self._values.get(id(pod_sets))
        if kept is not None:
            return kept[1]
        value = compute(pod_sets)
        if len(self._values) >= self._limit:
            del self._values[next(iter(self._values))]
        self._values[id(pod_sets)] = pod_sets, value
        return value

    def clear(self) -> None:
        self._values.clear()
