"""Dynamic, of crane-scheduler, rejects and scores nodes by the use in their annotations.

An annotation is valid for a limited time. If a node has no annotation for a metric, the watermarks with the same
meaning are used instead. A node to which many pods were bound recently is hot and scores lower. What the pod itself
would use does not count.
"""

from __future__ import annotations

import math
from zoneinfo import ZoneInfo

import numpy as np

from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial, PointedFile
from kschedweb.engine.framework.interface import Cycle, Verdicts
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, divide_toward_zero
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.plugins.dynamic.arguments import ARGS, advice, set_defaults, validate_args
from kschedweb.engine.plugins.dynamic.policyfile import policy_of
from kschedweb.engine.state.columns import Floats, Ints, Mask, Rows
from kschedweb.engine.state.owners import has_daemon_set_owner
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.capacity import capacity_percent
from kschedweb.engine.state.watermarks.podtimes import PodTimes
from kschedweb.engine.state.watermarks.recent_pods import Estimate, EstimateColumns, PodContribution
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.engine.values import dataclass

TOO_HIGH = "Load[{}] of node[{}] is too high"
# Go's int64 of a float out of range, on amd64.
SMALLEST = -(2**63)
# Points that each point of heat costs. Some articles about crane say 1; its code has 10.
FACTOR = 10


@dataclass(frozen=True, slots=True, eq=False)
class MetricUse:
    """The figures of one metric. Arrays are [nodes]."""

    # Fraction of the node's capacity, NaN where nothing is known.
    usage: Floats
    # Time at which it was written or measured, in seconds of the epoch.
    time: Floats
    # From the node's annotation (even an invalid one), not from watermarks.
    annotated: Mask
    # The usage counts now: it is known and not too old.
    valid: Mask


@dataclass(frozen=True, slots=True, eq=False)
class MetricPart:
    """One metric's part of the score."""

    metric: str
    weight: float
    use: MetricUse
    # float64[nodes]: 0 where the metric is not valid.
    part: Floats


class Dynamic:
    name = "Dynamic"

    def __init__(self, args: PluginArgs) -> None:
        policy = args.get("policy")
        policy = crane.SAMPLE_POLICY if policy is None else policy
        self.zone = crane.time_zone(args.get("timeZone") or "")
        # A metric without a period is never valid.
        self.active: dict[str, float] = {}  # metric -> seconds for which it is valid
        for rule in policy.get("syncPolicy") or ():
            if period := parse_seconds(rule.get("period") or "0s"):
                self.active.setdefault(rule["name"], period + crane.EXTRA)
        self.active = {metric: active for metric, active in self.active.items() if active}
        self.limits = [(rule["name"], rule.get("maxLimitPecent") or 0.0) for rule in policy.get("predicate") or ()]
        self.weights = [(rule["name"], rule.get("weight") or 0.0) for rule in policy.get("priority") or ()]
        self.hot_rules = [
            crane.HotRule(int(parse_seconds(rule["timeRange"])), rule["count"]) for rule in policy.get("hotValue") or ()
        ]

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        """Reject nodes above a limit. Pods of DaemonSets pass, and so do nodes without any figures."""
        size = cycle.num_rows(rows)
        if has_daemon_set_owner(cycle.pod):
            return Verdicts.uniform(size)
        first = np.full(size, -1, dtype=np.int64)  # the first limit that the node is above
        for position, (metric, limit) in enumerate(self.limits):
            if limit:
                use = self.metric_use(cycle.snapshot, metric)
                # Only the first exceeded limit counts, in the order of the policy.
                first[(first < 0) & (use.valid & (use.usage > limit))[rows]] = position
        codes = np.zeros(size, dtype=np.int32)
        statuses: list[Status] = [SUCCESS]
        nodes = np.arange(len(cycle.snapshot))[rows]
        for place in np.flatnonzero(first >= 0).tolist():  # each node has its own reason
            codes[place] = len(statuses)
            metric, node = self.limits[first[place]][0], cycle.snapshot.names[nodes[place]]
            statuses.append(unschedulable(TOO_HIGH.format(metric, node), fact=metric))
        return Verdicts(codes, statuses)

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return False

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the weighted mean of the free share, truncated, less FACTOR points for each point of heat; 0 to
        100.
        """
        base = base_scores(self.parts(cycle.snapshot), len(cycle.snapshot))
        heat = truncate_int64(self.hot_values(cycle.snapshot) * float(FACTOR))
        scores: Ints = np.clip(base - heat, 0, MAX_NODE_SCORE)
        return scores[rows]

    def metric_use(self, snapshot: Snapshot, metric: str) -> MetricUse:
        """Return the figures of ``metric`` at each node."""

        def compute() -> tuple[Floats, Floats, Mask, Mask]:
            usage, time, annotated = _read_annotations(snapshot, metric, self.zone)
            if metric in crane.METRICS and snapshot.watermarks is not None:
                usage = np.where(annotated, usage, capacity_percent(snapshot, *crane.METRICS[metric]) / 100.0)
                time = np.where(annotated, time, snapshot.watermarks.updated)
            # crane accepts NaN from an annotation, so only missing annotations make a usage unknown.
            return usage, time, annotated, annotated | ~np.isnan(usage)

        usage, time, annotated, has_usage = snapshot.cached_by_watermarks(("crane", metric, self.zone.key), compute)
        if metric not in self.active:
            return MetricUse(usage, time, annotated, np.zeros(len(snapshot), dtype=np.bool_))
        return MetricUse(usage, time, annotated, has_usage & (snapshot.now < time + self.active[metric]))

    def parts(self, snapshot: Snapshot) -> list[MetricPart]:
        """Return the part of each metric in the score."""
        parts = []
        for metric, weight in self.weights:
            use = self.metric_use(snapshot, metric)
            with np.errstate(invalid="ignore", over="ignore"):
                part = np.where(use.valid, (1.0 - use.usage) * weight * float(MAX_NODE_SCORE), 0.0)
            parts.append(MetricPart(metric, weight, use, part))
        return parts

    def hot_values(self, snapshot: Snapshot) -> Floats:
        """Return the heat of each node: from its annotation while valid, else from recent bindings. Shape [nodes]."""
        value, time, annotated = _read_annotations(snapshot, crane.HOT_VALUE, self.zone)
        annotated_heat = np.where(snapshot.now < time + crane.HOT_ACTIVE, value, 0.0)
        if annotated.all() or not self.hot_rules:
            return annotated_heat
        # crane does not accept a heat below 0 in an annotation.
        return np.where(annotated, annotated_heat, np.maximum(self.count_bindings(snapshot), 0))

    def count_bindings(self, snapshot: Snapshot) -> Ints:
        """Return the heat of each node by the times at which its pods were bound. Shape [nodes]."""
        counts = [
            snapshot.recent_sums(("bindings", rule.seconds), 1, *_binding_window(rule.seconds))[0].astype(np.int64)
            for rule in self.hot_rules
        ]
        # crane keeps the bindings in a heap of this size, and drops the oldest ones beyond it.
        if max(int(count.sum()) for count in counts) > crane.HEAP_SIZE:
            counts = _latest_bindings(snapshot, [rule.seconds for rule in self.hot_rules])
        heat = np.zeros(len(snapshot), dtype=np.int64)
        for rule, count in zip(self.hot_rules, counts, strict=True):
            heat += divide_toward_zero(count, rule.pods)
        return heat


def base_scores(parts: list[MetricPart], size: int) -> Ints:
    """Return the weighted mean of ``parts``, truncated towards 0; 0 without parts. Shape [size].

    Metrics that are not valid count with their weight.
    """
    if not parts:
        return np.zeros(size, dtype=np.int64)
    # Added up one by one, in the order of the policy, as crane's loop does.
    total, weights = np.zeros(size), 0.0
    for part in parts:
        weights += part.weight
        total = total + part.part
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return truncate_int64(total / np.float64(weights))


def truncate_int64(values: Floats) -> Ints:
    """Truncate to int64 as Go does on amd64: NaN and values out of range become the smallest int64."""
    fits = np.abs(values) < 2.0**63
    return np.where(fits, np.trunc(np.where(fits, values, 0.0)).astype(np.int64), SMALLEST)


def _read_annotations(snapshot: Snapshot, key: str, zone: ZoneInfo) -> tuple[Floats, Floats, Mask]:
    """Return values, times, and a mask of the nodes with the annotation. A time that crane cannot read is -inf."""

    def compute() -> tuple[Floats, Floats, Mask]:
        size = len(snapshot)
        values, times = np.full(size, math.nan), np.full(size, -math.inf)
        present = np.zeros(size, dtype=np.bool_)
        for position, node_annotations in _annotated_nodes(snapshot):
            text = node_annotations.get(key)
            if text is None:
                continue
            present[position] = True
            try:
                values[position], times[position] = crane.read_annotation(text, zone)
            except crane.CraneError:
                continue
        return values, times, present

    return snapshot.cached_by_nodes(("crane", key, zone.key), compute)


def _annotated_nodes(snapshot: Snapshot) -> list[tuple[int, Json]]:
    """Return the nodes that have annotations, by position, with their annotations."""

    def compute() -> list[tuple[int, Json]]:
        annotations_by_node = (get_mapping(get_mapping(node.raw, "metadata"), "annotations") for node in snapshot.nodes)
        return [(position, annotations) for position, annotations in enumerate(annotations_by_node) if annotations]

    return snapshot.cached_by_nodes("annotated nodes", compute)


def _binding_window(span: int) -> tuple[Estimate, EstimateColumns]:
    """Return the contribution of a pod until it has been on its node for ``span`` seconds.

    Both times are truncated to whole seconds first, as crane's Unix times are.
    """

    def estimate(pod: Pod, node: int, time: float) -> PodContribution | None:
        if math.isnan(time):
            return None
        # The float before the end, because an expiry time itself still counts.
        return PodContribution((1.0,), math.nextafter(math.floor(time) + span, -math.inf))

    def expiry_times(pods: PodTimes) -> Floats:
        times: Floats = np.nextafter(np.floor(pods.scheduled) + span, -math.inf)
        return times

    return estimate, EstimateColumns(expiry_times, alike=True)


def _latest_bindings(snapshot: Snapshot, spans: list[int]) -> list[Ints]:
    """Return the counts for each of ``spans`` among the bindings that crane still keeps: the latest of all nodes."""
    bound = zip(snapshot.pods.pods, snapshot.pods.node.tolist(), strict=True)
    times = [(snapshot.scheduled_at(pod), node) for pod, node in bound if pod is not None]
    bindings = [(math.floor(time), node) for time, node in times if not math.isnan(time)]
    latest = sorted(bindings, key=lambda binding: binding[0])[-crane.HEAP_SIZE :]
    now = math.floor(snapshot.now)
    return [
        np.bincount([node for time, node in latest if time > now - span], minlength=len(snapshot)).astype(np.int64)
        for span in spans
    ]


SPEC = PluginSpec(
    "Dynamic",
    frozenset({"filter", "score"}),
    "Rejects and scores nodes by the use in their annotations, and spares nodes that just got many pods.",
    ArgsSpec(
        ARGS, set_defaults, validate_args, advice=advice, file=PointedFile("policyConfigPath", "policy", policy_of)
    ),
    factory=Dynamic,
    origin="crane-scheduler",
    load_aware=True,
    rank=7,
    trials=(PluginTrial("dynamic", weight=3),),
)
