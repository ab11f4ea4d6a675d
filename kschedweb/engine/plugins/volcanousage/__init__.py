"""VolcanoUsage, Volcano's plugin usage, rejects nodes that are used too much, and prefers idle ones.

The expected use of pods that the figures do not show yet is the shadow load, which is added for the score. Pods on a
busy node are expected to use more.
"""

from __future__ import annotations

import math

import numpy as np

from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec
from kschedweb.engine.framework.interface import Cycle, Verdicts
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, round_half_away
from kschedweb.engine.framework.status import SUCCESS, unresolvable
from kschedweb.engine.objects.json_access import get_mapping, get_string
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.volcanousage.arguments import (
    ARGS,
    BEST_EFFORT,
    ESTIMATOR,
    THRESHOLDS,
    WEIGHTS,
    advice,
    best_effort,
    set_defaults,
    validate_args,
)
from kschedweb.engine.state.columns import Floats, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.capacity import capacity_percent, node_capacity
from kschedweb.engine.state.watermarks.podtimes import PodTimes
from kschedweb.engine.state.watermarks.recent_pods import EstimateColumns, PodContribution
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.engine.values import dataclass

STATUSES = (
    SUCCESS,
    unresolvable("the CPU load of the node exceeds the upper limit.", fact=CPU),
    unresolvable("the memory load of the node exceeds the upper limit.", fact=MEMORY),
)
# Windows of the mean use: Volcano's own, and a substitute for sources without it.
WINDOWS = ("10m", "15m")
# Seconds for which figures count, inclusive.
ACTIVE = 300.0
# How often Volcano reads the figures.
INTERVAL = "30s"


@dataclass(frozen=True, slots=True)
class Model:
    """The combination of loads and the expected use of pods: the plugin's arguments, each within its range."""

    cpu_weight: int
    memory_weight: int
    request_ratio: float
    burst_ratio: float
    risk_threshold: float
    risk_factor: float
    # Expected use of a pod without requests: milli-CPU, bytes.
    best_effort: tuple[float, float]

    def compute_load(self, cpu: Floats, memory: Floats) -> Floats:
        """Return the load of nodes that use these shares of their CPU and memory; 0 if all weights are 0."""
        weights = self.cpu_weight + self.memory_weight
        if weights == 0:
            return np.zeros_like(cpu)
        return (cpu * float(self.cpu_weight) + memory * float(self.memory_weight)) / float(weights)

    def score(self, cpu: Floats, memory: Floats, usage_weight: int = 1) -> Floats:
        """Return Volcano's score times its argument usage.weight; 0 to 100 with a weight of 1."""
        weights = self.cpu_weight + self.memory_weight
        if weights == 0:
            return np.zeros_like(cpu)
        free = (1.0 - cpu) * float(self.cpu_weight) + (1.0 - memory) * float(self.memory_weight)
        return free / float(weights) * float(MAX_NODE_SCORE) * float(usage_weight)

    def select_factor(self, load: float) -> float:
        """Return the factor on the expected use of pods on a node with this load."""
        return self.risk_factor if load >= self.risk_threshold else 1.0

    def expected(self, pod: Pod, factor: float) -> tuple[float, float]:
        """Return a pod's expected use: (milli-CPU, bytes)."""
        requests, allowed = pod.occupied, pod.limits
        if not any(requests.values()):
            return self.best_effort[0] * factor, self.best_effort[1] * factor
        cpu, memory = (
            self._share(float(requests.get(name, 0)), float(allowed.get(name, 0)), factor) for name in (CPU, MEMORY)
        )
        return cpu, memory

    def _share(self, request: float, limit: float, factor: float) -> float:
        ceiling = max(limit, request)
        estimate = (request * self.request_ratio + (ceiling - request) * self.burst_ratio) * factor
        return min(max(estimate, 0.0), ceiling)


@dataclass(slots=True)
class Shadow:
    """The load of one node that its figures do not show yet. Pods are added in the order in which they came."""

    model: Model
    # Percent that the figures show: CPU, memory.
    used: tuple[float, float]
    # Milli-CPU and bytes.
    capacity: tuple[float, float]
    # Milli-CPU and bytes of the pods added so far.
    cpu: float = 0.0
    memory: float = 0.0

    @property
    def loads(self) -> tuple[Floats, Floats]:
        """The shares of CPU and memory in use with the pods added so far. Shape [1] each."""
        parts = zip(self.used, (self.cpu, self.memory), self.capacity, strict=True)
        cpu, memory = (composite_share(*(np.array([float(part)]) for part in row)) for row in parts)
        return cpu, memory

    @property
    def factor(self) -> float:
        """The factor on the next pod's estimate, which depends on the load with the pods before it."""
        return self.model.select_factor(float(self.model.compute_load(*self.loads)[0]))

    def add_pod(self, pod: Pod) -> tuple[float, float]:
        """Add a pod and return its expected use."""
        cpu, memory = self.model.expected(pod, self.factor)
        self.cpu += cpu
        self.memory += memory
        return cpu, memory


class VolcanoUsage:
    name = "VolcanoUsage"

    def __init__(self, args: PluginArgs) -> None:
        weights = {name: args.get(name, default) for name, default in WEIGHTS.items()}
        self.usage_weight: int = weights["usage.weight"]
        thresholds = THRESHOLDS | (args.get("thresholds") or {})
        self.thresholds = float(thresholds["cpu"]), float(thresholds["mem"])
        estimator = ESTIMATOR | BEST_EFFORT | (args.get("estimator") or {})
        cpu, memory = best_effort(estimator["be_cpu"], CPU), best_effort(estimator["be_mem"], MEMORY)
        self.model = Model(
            cpu_weight=weights["cpu.weight"],
            memory_weight=weights["memory.weight"],
            request_ratio=float(estimator["request_ratio"]),
            burst_ratio=float(estimator["burst_ratio"]),
            risk_threshold=float(estimator["risk_threshold"]),
            risk_factor=float(estimator["risk_factor"]),
            best_effort=(float(cpu or 0), float(memory or 0)),
        )
        self.interval = parse_seconds(args.get("metricsInterval") or INTERVAL)
        self._expected: dict[int, tuple[float, ...]] = {}  # by the pods' template

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        """Reject nodes above a threshold. Nodes whose figures are missing or stale pass."""
        measured = self.has_figures(cycle.snapshot)
        codes = np.zeros(len(cycle.snapshot), dtype=np.int32)
        for code, used, threshold in zip((1, 2), self.used(cycle.snapshot), self.thresholds, strict=True):
            codes[(codes == 0) & measured & (used > threshold)] = code
        return Verdicts(codes[rows], STATUSES)

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return False

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the free share of CPU and memory, rounded half away from zero; 0 if figures are missing or stale."""
        snapshot = cycle.snapshot
        score = self.model.score(*self.loads(snapshot))
        return round_half_away(np.where(self.has_figures(snapshot), score, 0.0))[rows]

    def has_figures(self, snapshot: Snapshot) -> Mask:
        """Return a mask of the nodes whose figures still count."""
        if snapshot.watermarks is None:
            return np.zeros(len(snapshot), dtype=np.bool_)
        return snapshot.now - snapshot.watermarks.updated <= ACTIVE

    @staticmethod
    def used(snapshot: Snapshot) -> tuple[Floats, Floats]:
        """Return percent of capacity in use, CPU and memory, 0 where unknown. Shape [nodes] each."""

        def compute() -> tuple[Floats, Floats]:
            used = []
            for resource in (CPU, MEMORY):
                first, second = (capacity_percent(snapshot, resource, window) for window in WINDOWS)
                used.append(np.nan_to_num(np.where(np.isnan(first), second, first)))
            return used[0], used[1]

        return snapshot.cached_by_watermarks("volcano", compute)

    def loads(self, snapshot: Snapshot) -> tuple[Floats, Floats]:
        """Return the shares of CPU and memory in use with the shadow load, 0 to 1. Shape [nodes] each."""
        cpu, memory = self.used(snapshot)
        shadow = self.shadow(snapshot)
        return (
            composite_share(cpu, shadow[0], node_capacity(snapshot, CPU).astype(np.float64)),
            composite_share(memory, shadow[1], node_capacity(snapshot, MEMORY).astype(np.float64)),
        )

    def shadow(self, snapshot: Snapshot) -> Floats:
        """Return the shadow load: milli-CPU and bytes. Shape [2, nodes].

        The risk factor depends on the load as pods are added one by one. If the load is above the threshold without
        them, it counts for all pods; if it is not above it with all of them, for none. Only in between does the order
        matter.
        """
        plain, risky = np.split(
            snapshot.recent_sums(self, 4, self._estimate_pod, EstimateColumns(self._expiry_times, alike=True)), 2
        )
        has = [node_capacity(snapshot, resource).astype(np.float64) for resource in (CPU, MEMORY)]
        used = self.used(snapshot)
        before = self._node_load(used, np.zeros_like(plain), has)
        after = self._node_load(used, plain, has)
        # Computed for all nodes at once; only nodes that cross the threshold are counted pod by pod below.
        sums: Floats = np.where(before >= self.model.risk_threshold, risky, plain)
        for node in np.flatnonzero(
            (before < self.model.risk_threshold) & (after >= self.model.risk_threshold)
        ).tolist():
            node_shadow = Shadow(self.model, (used[0][node], used[1][node]), (has[0][node], has[1][node]))
            for pod in snapshot.pods.pods_on(node):
                counted = self._estimate_pod(pod, node, snapshot.scheduled_at(pod))
                if counted is not None and counted.expires_at >= snapshot.now:
                    node_shadow.add_pod(pod)
            sums[:, node] = node_shadow.cpu, node_shadow.memory
        return sums

    def _node_load(self, used: tuple[Floats, Floats], shadow: Floats, has: list[Floats]) -> Floats:
        return self.model.compute_load(
            composite_share(used[0], shadow[0], has[0]), composite_share(used[1], shadow[1], has[1])
        )

    def _estimate_pod(self, pod: Pod, node: int, time: float) -> PodContribution | None:
        """Return the pod's contribution while the figures do not show it, without and with the risk factor."""
        expiry = self._expiry_time(pod, time)
        if math.isnan(expiry):
            return None
        if pod.template not in self._expected:
            model = self.model
            self._expected[pod.template] = *model.expected(pod, 1.0), *model.expected(pod, model.risk_factor)
        return PodContribution(self._expected[pod.template], expiry)

    def _expiry_time(self, pod: Pod, time: float) -> float:
        """Return the time until which the pod is part of the shadow load; NaN if it is not.

        A pod in phase Pending has not started, so its use cannot be measured. A pod placed in this snapshot is assumed
        to start at once.
        """
        if get_mapping(pod.raw, "spec").get("nodeName"):
            phase = "" if pod.terminating else get_string(get_mapping(pod.raw, "status"), "phase", "status.")
            if phase == "Pending":
                return math.inf
            time = pod.started if phase == "Running" else math.nan
        return math.nextafter(time + self.interval, -math.inf) if math.isfinite(time) else time

    def _expiry_times(self, pods: PodTimes) -> Floats:
        """Return the same time for all pods, by slot."""
        # The same rules as in _expiry_time, over columns: one call for all pods.
        time = np.where(pods.came_bound, np.where(pods.is_running, pods.started, math.nan), pods.scheduled)
        expiry = np.where(np.isfinite(time), np.nextafter(time + self.interval, -math.inf), time)
        return np.where(pods.is_waiting, math.inf, expiry)


def composite_share(used: Floats, shadow: Floats, capacity: Floats) -> Floats:
    """Return the share in use with ``used`` percent and the amount ``shadow``, within 0 and 1; 0 if capacity is 0."""
    together = used / 100.0 * capacity + shadow
    share = np.divide(together, capacity, out=np.zeros_like(together), where=capacity > 0)
    return np.clip(share, 0.0, 1.0)


SPEC = PluginSpec(
    "VolcanoUsage",
    frozenset({"filter", "score"}),
    "Refuses nodes that are really used too much, and prefers those that are used least.",
    ArgsSpec(ARGS, set_defaults, validate_args, advice=advice),
    origin="Volcano",
    factory=VolcanoUsage,
    load_aware=True,
    rank=9,
)
