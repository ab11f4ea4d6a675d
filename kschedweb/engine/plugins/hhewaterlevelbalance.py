"""HheWaterLevelBalance fills nodes up to the mean real use of the cluster, the cluster's level.

For each resource and window of time, the pod's use is added to the node's. Up to the cluster's level the score rises
from that level to 100; above it, the score falls from that level to 0. So pods that use little go to nodes that are
used much, and the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.types import DURATION, FLOAT64, STRING, Struct, StructField
from kschedweb.engine.framework.interface import PASSED, Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import round_half_away
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats, Ints, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.podtimes import PodTimes
from kschedweb.engine.state.watermarks.recent_pods import EstimateColumns, PodContribution
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.validation.fields import Problem, Typed, child_path, invalid, unsupported
from kschedweb.engine.validation.golang import parse_duration, parse_seconds
from kschedweb.engine.values import dataclass

# Percent; smaller differences do not count.
TOLERANCE = 1e-9
IDLE = "Idle"
# Units of limits per unit of a workload's figures: milli-CPU per core, bytes.
UNIT = {CPU: 1000.0, MEMORY: 1.0}
MIN_NODE_WEIGHT, CLEAN_UP = 0.2, "5m0s"
WINDOW_WEIGHTS = {"15m": 0.5, "1h": 0.3, "1d": 0.2}
RESOURCE_WEIGHTS = {CPU: 1.0, MEMORY: 1.0}


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of each (resource, window) of ``keys``: float64[keys, nodes] in percent, NaN where unknown."""

    keys: list[tuple[str, str]]
    # The node's measured level.
    node: Floats
    # Use of pods that are newer than the measurement.
    missing: Floats
    # The pod's own addition.
    pod: Floats
    # The cluster's level, [keys, 1].
    cluster: Floats
    # The score before rounding.
    score: Floats

    @property
    def target(self) -> Floats:
        """The node's level with the pod."""
        return self.node + self.missing + self.pod


class HheWaterLevelBalance:
    name = "HheWaterLevelBalance"

    def __init__(self, args: PluginArgs) -> None:
        weight = args.get("clusterCpuMinNodeWeight")
        self.min_node_weight: float = MIN_NODE_WEIGHT if weight is None else weight
        self.window_weights = _nonzero_weights(args.get("windowWeights") or WINDOW_WEIGHTS)
        self.resource_weights = _nonzero_weights(args.get("resourceWeights") or RESOURCE_WEIGHTS)
        self.keys = [(resource, window) for resource in self.resource_weights for window in self.window_weights]
        self.fixed: dict[str, float | None] = {CPU: args.get("clusterCpu"), MEMORY: args.get("clusterMemory")}
        self.clean_up = parse_seconds(args.get("scheduledPodsCleanUp") or CLEAN_UP)
        self.expiration = parse_seconds(args.get("metricsExpiration") or "0s")
        self.idle = args.get("missingMetrics") == IDLE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PASSED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        """Let every node pass: the level is a preference."""
        return Verdicts.uniform(cycle.num_rows(rows))

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return False

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the weighted mean over resources and windows, rounded half away from zero; 0 if nothing is known."""
        levels = self.levels(cycle.snapshot, cycle.pod)
        if levels is None:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        return round_half_away(np.nan_to_num(self.mean(levels)))[rows]

    def post_bind(self, cycle: Cycle, node: str) -> None:
        """Do nothing: the snapshot knows when pods were bound."""

    def levels(self, snapshot: Snapshot, pod: Pod) -> Levels | None:
        """Return the levels of each resource and window for which some node has figures; ``None`` without figures."""
        watermarks = snapshot.watermarks
        if watermarks is None:
            return None
        keys = [key for key in self.keys if not np.isnan(watermarks.column(*key)).all()]
        if not keys:
            return None
        # Columns over all nodes: the cluster's level needs the infeasible nodes, too.
        node = self._measured_levels(watermarks, keys, snapshot.now)
        rows = [snapshot.resource_row(snapshot.allocatable, resource) for resource, _ in keys]
        allocatable = np.array(rows, dtype=np.float64)
        missing = to_percent(self._recent_use(snapshot, watermarks, keys), allocatable)
        # One row for the pod, which is the same on every node.
        used = np.array([list(self._expected_use(pod, watermarks, snapshot.objects, keys))])
        pods = to_percent(np.broadcast_to(used.T, allocatable.shape), allocatable)
        fixed = [self.fixed[resource] for resource, _ in keys]
        computed = cluster_levels(node + missing, self.min_node_weight)
        levels = [
            computed_level if level is None else level for level, computed_level in zip(fixed, computed, strict=True)
        ]
        cluster = np.clip(levels, 0.0, 100.0)[:, None]
        return Levels(keys, node, missing, pods, cluster, level_scores(node + missing + pods, cluster))

    def _measured_levels(self, watermarks: Watermarks, keys: list[tuple[str, str]], now: float) -> Floats:
        """Return the nodes' figures, NaN where they are too old. Shape [keys, nodes]."""
        node = np.array([watermarks.column(*key) for key in keys])
        if self.expiration:
            # Negated, so that NaN, an unknown time, counts as too old.
            node[:, ~(now - watermarks.updated <= self.expiration)] = math.nan
        return np.nan_to_num(node) if self.idle else node

    def _recent_use(self, snapshot: Snapshot, watermarks: Watermarks, keys: list[tuple[str, str]]) -> Floats:
        """Return the use of pods that were bound when a node's figures were made, or later. Shape [keys, nodes]."""

        def estimate(pod: Pod, node: int, time: float) -> PodContribution | None:
            if not time >= watermarks.updated[node]:
                return None
            return PodContribution(
                list(self._expected_use(pod, watermarks, snapshot.objects, keys)), time + self.clean_up
            )

        def expiry_times(pods: PodTimes) -> Floats:
            new = pods.scheduled >= watermarks.updated[pods.node]
            return np.where(new, pods.scheduled + self.clean_up, math.nan)

        return snapshot.recent_sums(self, len(keys), estimate, EstimateColumns(expiry_times))

    @staticmethod
    def _expected_use(
        pod: Pod, watermarks: Watermarks, objects: ClusterObjects, keys: list[tuple[str, str]]
    ) -> Iterator[float]:
        """Yield the pod's expected use, in milli-CPU or bytes: that of its workload's pods, else its limit."""
        figures = watermarks.workload_figures(pod, objects) or {}
        for resource, window in keys:
            figure = figures.get(resource, {}).get(window)
            yield float(pod.limits.get(resource, 0)) if figure is None else figure * UNIT[resource]

    def mean(self, levels: Levels) -> Floats:
        """Return the weighted mean of each resource over its windows, then over the resources. Shape [nodes]."""
        parts, weights = [], []
        for resource, weight in self.resource_weights.items():
            rows = [row for row, key in enumerate(levels.keys) if key[0] == resource]
            if rows:
                windows = [self.window_weights[levels.keys[row][1]] for row in rows]
                parts.append(weighted_mean(levels.score[rows], windows))
                weights.append(weight)
        return weighted_mean(np.array(parts), weights)


def cluster_levels(nodes: Floats, min_node_weight: float) -> list[float]:
    """Return, for each row, the mean of the nodes' known levels, drawn towards the lowest of them."""
    measured = (row[~np.isnan(row)] for row in nodes)
    return [
        float((row.mean() + row.min() * min_node_weight) / (1.0 + min_node_weight)) if row.size else 0.0
        for row in measured
    ]


def level_scores(target: Floats, cluster: Floats | float) -> Floats:
    """Return scores, before rounding, of nodes at ``target`` percent in a cluster at ``cluster`` (0 to 100)."""
    level = np.asarray(cluster, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rising = np.where(level > 0.0, np.minimum((100.0 - level) * target / level + level, 100.0), 100.0)
        falling = np.maximum(level * (100.0 - target) / (100.0 - level), 0.0)
    # Rounding of a sum must not cost a node that is exactly at the level its 100.
    return np.where(target <= level + TOLERANCE, rising, falling)


def to_percent(amounts: Floats, allocatable: Floats) -> Floats:
    """Return percent of allocatable; infinite where an amount above 0 meets an allocatable of 0."""
    shares = np.where(amounts > 0.0, math.inf, 0.0)
    return np.divide(100.0 * amounts, allocatable, out=shares, where=allocatable > 0.0)


def weighted_mean(values: Floats, weights: Sequence[float]) -> Floats:
    """Return the weighted mean of the known values in each column; NaN if none is known."""
    column = np.array(weights)[:, None]
    has_value = ~np.isnan(values)
    total, weight = (np.where(has_value, values, 0.0) * column).sum(axis=0), (has_value * column).sum(axis=0)
    mean: Floats = np.divide(total, weight, out=np.full_like(total, math.nan), where=weight > 0.0)
    return mean


def _nonzero_weights(listed: Mapping[str, float]) -> dict[str, float]:
    return {name: float(weight) for name, weight in listed.items() if weight}


WINDOWS_STRUCT = Struct(
    "v1.WindowWeights",
    "How much the mean over each window counts, in proportion.",
    tuple(
        StructField(
            window, FLOAT64, f"Weight of the mean over {words}; 0 or empty: not counted.", minimum=0, usual=(0, 1)
        )
        for window, words in (("15m", "15 minutes"), ("1h", "one hour"), ("1d", "one day"))
    ),
)
RESOURCES_STRUCT = Struct(
    "v1.ResourceWeights",
    "How much each resource counts, in proportion.",
    tuple(StructField(name, FLOAT64, "0 or empty: not counted.", minimum=0, usual=(0, 2)) for name in RESOURCE_WEIGHTS),
)
ARGS = args_struct(
    "HheWaterLevelBalanceArgs",
    "What the cluster's level is, and what counts for it.",
    StructField(
        "clusterCpuMinNodeWeight",
        FLOAT64,
        "Draws the cluster's level towards the lowest node: (mean + lowest × weight) ÷ (1 + weight), all resources.",
        pointer=True,
        default=MIN_NODE_WEIGHT,
        minimum=0,
        usual=(0, 2),
    ),
    StructField(
        "windowWeights", WINDOWS_STRUCT, "Weights of the windows of time, used in proportion.", pointer=True, whole=True
    ),
    StructField(
        "resourceWeights", RESOURCES_STRUCT, "Weights of CPU and memory, used in proportion.", pointer=True, whole=True
    ),
    *(
        StructField(
            name,
            FLOAT64,
            f"A fixed level for {resource}, in percent, instead of the cluster's own.",
            pointer=True,
            minimum=0,
            maximum=100,
        )
        for name, resource in (("clusterCpu", "CPU"), ("clusterMemory", "memory"))
    ),
    StructField(
        "scheduledPodsCleanUp",
        DURATION,
        "How long a pod that is newer than its node's figures is added to them at most.",
        pointer=True,
        default=CLEAN_UP,
    ),
    StructField(
        "metricsExpiration", DURATION, "Figures older than this count as missing; 0s: never.", omit_empty=False
    ),
    StructField(
        "missingMetrics",
        STRING,
        "A node without figures scores 0 (Zero), or is taken to use nothing (Idle).",
        default="Zero",
        enum=("Zero", "Idle"),
    ),
)


def set_defaults(args: PluginArgs) -> None:
    for name, default in (
        ("clusterCpuMinNodeWeight", MIN_NODE_WEIGHT),
        ("scheduledPodsCleanUp", parse_duration(CLEAN_UP)),
    ):
        if args[name] is None:
            args[name] = default
    args["windowWeights"] = args["windowWeights"] or dict(WINDOW_WEIGHTS)
    args["resourceWeights"] = args["resourceWeights"] or dict(RESOURCE_WEIGHTS)
    args["missingMetrics"] = args["missingMetrics"] or "Zero"


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems = not_negative(args, path, "clusterCpuMinNodeWeight", "scheduledPodsCleanUp", "metricsExpiration")
    for name in ("windowWeights", "resourceWeights"):
        problems += not_negative(args[name], child_path(path, name), *args[name])
        if not any(args[name].values()):
            problems.append(invalid(child_path(path, name), Typed(args[name]), "one weight must be above 0"))
    for name in ("clusterCpu", "clusterMemory"):
        if args[name] is not None and not 0 <= args[name] <= 100:
            problems.append(invalid(child_path(path, name), args[name], "not in valid range [0, 100]"))
    if args["missingMetrics"] not in ("Zero", "Idle"):
        problems.append(unsupported(child_path(path, "missingMetrics"), args["missingMetrics"], ("Zero", "Idle")))
    return problems


def not_negative(args: PluginArgs, path: str, *names: str) -> list[Problem]:
    """Return a problem for each of the numbers and durations ``names`` that is below 0."""
    return [
        invalid(child_path(path, name), args[name], "must be 0 or more")
        for name in names
        if args[name] is not None and args[name] < 0
    ]


SPEC = PluginSpec(
    "HheWaterLevelBalance",
    frozenset({"preFilter", "filter", "preScore", "score", "postBind"}),
    "Fills nodes up to the level that the whole cluster really uses.",
    ArgsSpec(ARGS, set_defaults, validate_args),
    factory=HheWaterLevelBalance,
    origin="kschedweb",
    load_aware=True,
    rank=1,
    trials=(PluginTrial("water-level"),),
)
