"""Sums over recently bound pods, whose use the nodes' figures do not show yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.pods import Follower, PodDelta, PodTable


class Counted(NamedTuple):
    """What a pod adds to its node, up to and including the time ``until`` (seconds of the epoch)."""

    values: Sequence[float]
    until: float = math.inf


Estimate = Callable[[Pod, int, float], Counted | None]


class Nodes(Protocol):
    """The cluster at the time ``now``, in seconds of the epoch; its length is the number of nodes."""

    now: float

    @property
    def pods(self) -> PodTable: ...

    def __len__(self) -> int: ...

    def scheduled_at(self, pod: Pod) -> float: ...


class RecentPods(Follower):
    """Sums over each node's pods of ``estimate(pod, node, time)``, where ``None`` adds nothing.

    ``time`` is when the pod was scheduled, NaN if unknown. The estimate may depend on the current time only through its
    ``until``. Pods scheduled before ``since`` of their node, or nobody knows when, add nothing: the estimate is not
    asked about them when all pods are counted anew.
    """

    def __init__(self, snapshot: Nodes, width: int, estimate: Estimate, since: Floats | None = None) -> None:
        super().__init__(snapshot.pods)
        self._snapshot, self._width, self._estimate, self._since = snapshot, width, estimate, since
        self._ends: list[tuple[float, int]] = []  # when a pod stops counting, and its node

    def sums(self) -> Floats:
        """The current sums. The array changes with the next call. Shape [width, nodes]."""
        self._catch_up()
        ended = set()
        while self._ends and self._ends[0][0] < self._snapshot.now:
            ended.add(heappop(self._ends)[1])
        self._sum_up(ended)
        return self._sums

    def _recount(self) -> None:
        snapshot, estimate = self._snapshot, self._estimate
        now, scheduled_at = snapshot.now, snapshot.scheduled_at
        nodes: list[int] = []
        values: list[Sequence[float]] = []
        self._ends = []
        since = [] if self._since is None else self._since.tolist()
        for pod, node in zip(self._pods.pods, self._pods.node.tolist(), strict=True):
            if pod is None:
                continue
            time = scheduled_at(pod)
            if since and not time >= since[node]:
                continue
            counted = estimate(pod, node, time)
            if counted is not None and counted.until >= now:
                nodes.append(node)
                values.append(counted.values)
                if counted.until < math.inf:
                    self._ends.append((counted.until, node))
        heapify(self._ends)
        # One pod after the other, as ``_count`` adds them.
        columns = np.array(values, dtype=np.float64).reshape(len(values), self._width).T
        rows = np.array(nodes, dtype=np.int64)
        sums = [np.bincount(rows, column, len(snapshot)) for column in columns]
        self._sums: Floats = np.array(sums, dtype=np.float64)

    def _take(self, moves: list[PodDelta]) -> None:
        self._sum_up({move.node for move in moves})

    def _sum_up(self, nodes: Iterable[int]) -> None:
        # Subtracting a pod's part would leave rounding errors.
        for node in nodes:
            self._sums[:, node] = 0.0
            for pod in self._pods.on(node):
                self._count(pod, node)

    def _count(self, pod: Pod, node: int) -> None:
        counted = self._estimate(pod, node, self._snapshot.scheduled_at(pod))
        if counted is not None and counted.until >= self._snapshot.now:
            self._sums[:, node] += counted.values
            if counted.until < math.inf:
                heappush(self._ends, (counted.until, node))
