"""HheWaterLevelBalance fills nodes up to the level that the whole cluster is at, by what they really use.

For each resource and window of time the pod's use is added to the node's. Up to the cluster's level the score rises
from that level to 100; above it, it falls from that level to 0. So pods that use little go to nodes that are used
much, and the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kschedweb.engine.cluster import ClusterObjects
from kschedweb.engine.columns import Ints, Mask, Rows
from kschedweb.engine.config.golang import seconds
from kschedweb.engine.framework.interface import Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import rounded
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.recent import Counted, Floats
from kschedweb.engine.snapshot import Snapshot
from kschedweb.engine.watermarks import Watermarks

WINDOW_WEIGHTS = {"15m": 0.5, "1h": 0.3, "1d": 0.2}
RESOURCE_WEIGHTS = {CPU: 1.0, MEMORY: 1.0}
MIN_NODE_WEIGHT = 0.2
CLEAN_UP = "5m0s"
ZERO, IDLE = "Zero", "Idle"
UNIT = {CPU: 1000.0, MEMORY: 1.0}  # of a workload's figures in the units of limits: milli-CPU in a core, bytes


@dataclass(frozen=True, slots=True)
class Level:
    """The arithmetic of one resource in one window; all arrays are float64[nodes] in percent, NaN: not known."""

    resource: str
    window: str
    weight: float
    node: Floats  # as measured
    missing: Floats  # pods that are newer than the measurement
    pod: Floats  # what the pod would add
    cluster: float
    score: Floats

    @property
    def target(self) -> Floats:
        """What the node would be at with the pod."""
        return self.node + self.missing + self.pod


class HheWaterLevelBalance:
    name = "HheWaterLevelBalance"

    def __init__(self, args: dict[str, Any]) -> None:
        weight = args.get("clusterCpuMinNodeWeight")
        self.min_node_weight: float = MIN_NODE_WEIGHT if weight is None else weight
        self.window_weights = _weights(args.get("windowWeights") or WINDOW_WEIGHTS)
        self.resource_weights = _weights(args.get("resourceWeights") or RESOURCE_WEIGHTS)
        self.fixed: dict[str, float | None] = {CPU: args.get("clusterCpu"), MEMORY: args.get("clusterMemory")}
        self.clean_up = seconds(args.get("scheduledPodsCleanUp") or CLEAN_UP)
        self.expiration = seconds(args.get("metricsExpiration") or "0s")
        self.idle = args.get("missingMetrics") == IDLE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult()

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        """Every node passes: the level is a preference."""
        return Verdicts.uniform(cycle.size(rows))

    def heeds(self, cycle: Cycle, pod: Pod) -> bool:
        return False

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """The weighted mean over resources and windows, rounded half away from zero; 0 where nothing is known."""
        levels = self.levels(cycle.snapshot, cycle.pod)
        if not levels:
            return np.zeros(cycle.size(rows), dtype=np.int64)
        return rounded(np.nan_to_num(self.mean(levels)))[rows]

    def post_bind(self, cycle: Cycle, node: str) -> None:
        """Nothing to do: the snapshot knows when pods came."""

    def levels(self, snapshot: Snapshot, pod: Pod) -> list[Level]:
        """The arithmetic of every resource and window that some node has figures of."""
        watermarks = snapshot.watermarks
        if watermarks is None:
            return []
        valid = self._valid(watermarks, snapshot.now)
        asked = [(resource, window) for resource in self.resource_weights for window in self.window_weights]
        measured = {key: np.where(valid, watermarks.column(*key), math.nan) for key in asked}
        measured = {key: column for key, column in measured.items() if not np.isnan(column).all()}
        if not measured:
            return []
        recent = dict(zip(asked, self._recent(snapshot, watermarks, asked), strict=True))
        used = dict(zip(asked, self._use(pod, watermarks, snapshot.objects, asked), strict=True))
        return [
            self._level(snapshot, key, np.nan_to_num(column) if self.idle else column, recent[key], used[key])
            for key, column in measured.items()
        ]

    def _valid(self, watermarks: Watermarks, now: float) -> Mask:
        """Which nodes' figures are young enough."""
        if not self.expiration:
            return np.ones(len(watermarks.names), dtype=np.bool_)
        return now - watermarks.updated <= self.expiration

    def _level(self, snapshot: Snapshot, key: tuple[str, str], node: Floats, recent: Floats, used: float) -> Level:
        resource, window = key
        allocatable = snapshot.amounts(snapshot.allocatable, resource)
        missing, pod = _percent(recent, allocatable), _percent(used, allocatable)
        cluster = self.fixed[resource]
        if cluster is None:
            cluster = cluster_level(node + missing, self.min_node_weight)
        weight = self.window_weights[window] * self.resource_weights[resource]
        score = level_scores(node + missing + pod, cluster)
        return Level(resource, window, weight, node, missing, pod, cluster, score)

    def _recent(self, snapshot: Snapshot, watermarks: Watermarks, keys: list[tuple[str, str]]) -> Floats:
        """Use of the pods that came when a node's figures were made, or later. Shape [keys, nodes]."""

        def estimate(pod: Pod, node: int, time: float) -> Counted | None:
            if not time >= watermarks.updated[node]:
                return None
            return Counted(list(self._use(pod, watermarks, snapshot.objects, keys)), time + self.clean_up)

        return snapshot.recent(self, len(keys), estimate)

    @staticmethod
    def _use(pod: Pod, watermarks: Watermarks, objects: ClusterObjects, keys: list[tuple[str, str]]) -> Iterator[float]:
        """What the pod uses, in milli-CPU or bytes: as its workload's pods do, else up to its limit."""
        figures = watermarks.workload(pod, objects) or {}
        for resource, window in keys:
            known = figures.get(resource, {}).get(window)
            yield float(pod.limits.get(resource, 0)) if known is None else known * UNIT[resource]

    def mean(self, levels: list[Level]) -> Floats:
        """The windows of each resource in proportion to their weights, then the resources. Shape [nodes]."""
        by_resource = [
            (
                weight,
                _mean([(self.window_weights[one.window], one.score) for one in levels if one.resource == resource]),
            )
            for resource, weight in self.resource_weights.items()
            if any(one.resource == resource for one in levels)
        ]
        return _mean(by_resource)


def cluster_level(nodes: Floats, min_node_weight: float) -> float:
    """The mean of the nodes' levels (NaN: not known), drawn towards the lowest of them by ``min_node_weight``."""
    known = nodes[~np.isnan(nodes)]
    return float((known.mean() + known.min() * min_node_weight) / (1.0 + min_node_weight)) if known.size else 0.0


def level_scores(target: Floats, cluster: float) -> Floats:
    """Scores of nodes that would be at ``target`` percent in a cluster at ``cluster`` percent, before rounding."""
    rising = (100.0 - cluster) * target / cluster + cluster if cluster > 0.0 else np.full_like(target, 100.0)
    falling = cluster * (100.0 - target) / (100.0 - cluster) if cluster < 100.0 else np.zeros_like(target)
    score = np.where(target <= cluster, rising, np.where(target <= 100.0, falling, 0.0))
    return np.where(np.isnan(target), math.nan, score)


def _percent(amount: Floats | float, allocatable: Ints) -> Floats:
    """Percent of allocatable; of nothing, anything is more than there is."""
    amounts = np.broadcast_to(np.asarray(amount, dtype=np.float64), allocatable.shape)
    nothing = np.where(amounts > 0.0, math.inf, 0.0)
    return np.divide(100.0 * amounts, allocatable, out=nothing, where=allocatable > 0)


def _mean(parts: list[tuple[float, Floats]]) -> Floats:
    """The weighted mean of what is known at each node, NaN where nothing is."""
    total = np.zeros_like(parts[0][1])
    weights = np.zeros_like(total)
    for weight, values in parts:
        known = ~np.isnan(values)
        total[known] += weight * values[known]
        weights[known] += weight
    return np.divide(total, weights, out=np.full_like(total, math.nan), where=weights > 0.0)


def _weights(listed: Mapping[str, float]) -> dict[str, float]:
    return {name: float(weight) for name, weight in listed.items() if weight}
