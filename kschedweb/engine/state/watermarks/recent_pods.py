"""Sums over recently bound pods, whose use the nodes' figures do not show yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.pod_table import Follower, PodDelta, PodTable
from kschedweb.engine.state.watermarks.podtimes import PodTimes
from kschedweb.engine.values import dataclass


class PodContribution(NamedTuple):
    """The amounts that a pod adds to its node."""

    values: Sequence[float]
    # The last time at which they count, in seconds of the epoch.
    expires_at: float = math.inf


Slots = NDArray[np.intp]
Estimate = Callable[[Pod, int, float], PodContribution | None]


@dataclass(frozen=True)
class EstimateColumns:
    """An estimate for all pods at once."""

    # When each pod counts last, by slot; NaN if it never counts.
    expires_at: Callable[[PodTimes], Floats]
    # True if pods of one template add the same values.
    alike: bool = False


class ClusterAtTime(Protocol):
    """The cluster at one time; its length is the number of nodes."""

    # Seconds of the epoch.
    now: float

    @property
    def pods(self) -> PodTable: ...

    @property
    def pod_times(self) -> PodTimes: ...

    def __len__(self) -> int: ...

    def scheduled_at(self, pod: Pod) -> float: ...


class RecentPods(Follower):
    """Sums over each node's pods of ``estimate(pod, node, time)``, where ``None`` adds nothing.

    ``time`` is when the pod was scheduled, NaN if unknown. The estimate may depend on the current time only through its
    ``expires_at``. With ``columns``, which must agree with the estimate, a recount asks the estimate only for pods that
    count.
    """

    def __init__(
        self, snapshot: ClusterAtTime, width: int, estimate: Estimate, columns: EstimateColumns | None = None
    ) -> None:
        super().__init__(snapshot.pods)
        self._snapshot, self._width, self._estimate, self._columns = snapshot, width, estimate, columns
        # A heap of (time at which a pod counts last, its node).
        self._ends: list[tuple[float, int]] = []

    def current_sums(self) -> Floats:
        """Return the current sums. The array changes with the next call. Shape [width, nodes]."""
        self._catch_up()
        ended = set()
        while self._ends and self._ends[0][0] < self._snapshot.now:
            ended.add(heappop(self._ends)[1])
        self._sum_up(ended)
        return self._sums

    def _recount_all(self) -> None:
        slots, expiry, values = self._find_counted_pods()
        nodes = self._pods.node[slots]
        ends = np.flatnonzero(expiry < math.inf)
        self._ends = list(zip(expiry[ends].tolist(), nodes[ends].tolist(), strict=True))
        heapify(self._ends)
        # `bincount` adds one pod after the other in the order of `_add_pod`, so that sums are equal to the last bit.
        sums = [np.bincount(nodes, column, len(self._snapshot)) for column in values]
        self._sums: Floats = np.array(sums, dtype=np.float64).reshape(self._width, len(self._snapshot))

    def _find_counted_pods(self) -> tuple[Slots, Floats, Floats]:
        """Return the slots of the pods that count, when each counts last, and the amounts it adds.

        Shapes [pods], [pods], [width, pods].
        """
        times, now = self._snapshot.pod_times, self._snapshot.now
        expiry = np.full(len(times.node), math.inf) if self._columns is None else self._columns.expires_at(times)
        slots = np.flatnonzero(times.has_pod & (expiry >= now))
        if self._columns is not None and self._columns.alike and slots.size:
            templates = [self._pods.pods[slot].template for slot in slots.tolist()]  # type: ignore[union-attr]
            _, first, code = np.unique(templates, return_index=True, return_inverse=True)
            return slots, expiry[slots], self._estimate_slots(slots[first])[1][:, code]
        estimated_expiry, values = self._estimate_slots(slots)
        counts = estimated_expiry >= now
        return slots[counts], estimated_expiry[counts], values[:, counts]

    def _estimate_slots(self, slots: Slots) -> tuple[Floats, Floats]:
        """Return the estimates for the pods in these slots: the last times (NaN for never) and the amounts."""
        times = self._snapshot.pod_times
        estimates = [
            self._estimate(pod, node, time)
            for pod, node, time in zip(
                map(self._pods.pods.__getitem__, slots.tolist()),
                times.node[slots].tolist(),
                times.scheduled[slots].tolist(),
                strict=True,
            )
            if pod is not None
        ]
        nothing = PodContribution([0.0] * self._width, math.nan)
        values = [(estimate or nothing).values for estimate in estimates]
        expiry = np.array([(estimate or nothing).expires_at for estimate in estimates], dtype=np.float64)
        return expiry, np.array(values, dtype=np.float64).reshape(len(values), self._width).T

    def _apply_moves(self, moves: list[PodDelta]) -> None:
        self._sum_up({move.node for move in moves})

    def _sum_up(self, nodes: Iterable[int]) -> None:
        # The node is summed up anew: subtracting one pod's amounts would leave rounding errors.
        for node in nodes:
            self._sums[:, node] = 0.0
            for pod in self._pods.pods_on(node):
                self._add_pod(pod, node)

    def _add_pod(self, pod: Pod, node: int) -> None:
        counted = self._estimate(pod, node, self._snapshot.scheduled_at(pod))
        if counted is not None and counted.expires_at >= self._snapshot.now:
            self._sums[:, node] += counted.values
            if counted.expires_at < math.inf:
                heappush(self._ends, (counted.expires_at, node))
