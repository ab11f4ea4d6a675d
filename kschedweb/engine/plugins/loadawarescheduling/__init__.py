"""LoadAwareScheduling, of Koordinator, rejects nodes whose use would be too high, and scores nodes by their free share.

The use of a node is the sum of its figures, the expected use of pods that the figures do not show yet, and that of the
pod itself. For pods of class koord-prod, only the use of koord-prod pods may count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np

from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.framework.interface import PASSED, Cycle, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, divide_toward_zero, round_half_away
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.plugins.loadawarescheduling.arguments import (
    ARGS,
    EXPIRATION,
    RESOURCE_WEIGHTS,
    SCALING_FACTORS,
    USAGE_THRESHOLDS,
    advice,
    set_defaults,
    validate_args,
)
from kschedweb.engine.state.columns import Floats, Ints, Mask, Rows
from kschedweb.engine.state.owners import has_daemon_set_owner
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks import koordinator
from kschedweb.engine.state.watermarks.koordinator import PROD, Aggregate, Thresholds
from kschedweb.engine.state.watermarks.recent_pods import PodContribution
from kschedweb.engine.state.watermarks.table import PodUse, Watermarks
from kschedweb.engine.validation.golang import parse_seconds

EXPIRED = "node(s) nodeMetric expired"
EXCEEDED = "node(s) {} usage exceed threshold"
EXCEEDED_AGGREGATED = "node(s) {} aggregated usage exceed threshold"
TOO_OLD = "too old"
# Windows of the mean use: Koordinator's own, and a substitute for sources without it.
WINDOWS = ("5m", "15m")
SYSTEM = "system"
# Seconds between reports if a node does not say.
REPORT_INTERVAL = 60.0
# The names of windows with percentiles, such as 5m_p95.
PERCENTILE = re.compile(r"(?P<count>\d+)(?P<unit>[smhd])_(?P<kind>avg|p50|p90|p95|p99)", re.ASCII)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Parts of a pod's contribution: to the node's figures, to the use of koord-prod pods, to those pods' figures, and all
# that is expected.
PARTS = 4


class Threshold(NamedTuple):
    """An exceeded threshold: of the mean use of a resource, or of a percentile of it."""

    resource: str
    aggregated: bool


class PodKind:
    """The contribution of pods that are expected to use the same.

    It is the contribution of a pod without a measurement of its own: ``shown`` where the node's figures include the
    pod, and ``hidden`` where they do not yet.
    """

    def __init__(self, expected: list[int], prod: bool) -> None:
        self.expected, self.prod = expected, prod
        self.shown = self.make_counted([0] * len(expected))
        self.hidden = self.make_counted([max(amount, 0) for amount in expected])

    def make_counted(self, to_node: list[int]) -> PodContribution | None:
        """Return the contribution with ``to_node`` added to the node.

        A koord-prod pod without a measurement, or measured under another class, counts with its whole expected use.
        """
        nothing = [0] * len(to_node)
        return _make_counted(to_node, nothing, self.expected if self.prod else nothing, self.expected)


def _make_counted(*parts: list[int]) -> PodContribution | None:
    together = [amount for part in parts for amount in part]
    return PodContribution(together) if any(together) else None


class LoadAwareScheduling:
    name = "LoadAwareScheduling"

    def __init__(self, args: PluginArgs) -> None:
        aggregated = args.get("aggregated") or {}
        self.filter_expired: bool = args.get("filterExpiredNodeMetrics", True)
        self.expired_pass: bool = args.get("enableScheduleWhenNodeMetricsExpired", False)
        self.expiration: int = args.get("nodeMetricExpirationSeconds", EXPIRATION)
        self.factors: dict[str, int] = SCALING_FACTORS | (args.get("estimatedScalingFactors") or {})
        self.dominant_weight: int = args.get("dominantResourceWeight") or 0
        weights = args.get("resourceWeights") or ({} if self.dominant_weight else RESOURCE_WEIGHTS)
        usage = args.get("usageThresholds") or USAGE_THRESHOLDS
        amount_maps = [usage, args.get("prodUsageThresholds"), aggregated.get("usageThresholds"), weights, self.factors]
        amount_maps.append(dict.fromkeys(args.get("supportedResources") or (), 0))
        self.resources = sorted({CPU, MEMORY}.union(*(amounts or {} for amounts in amount_maps)))
        self.weights = [weights.get(name, 0) for name in self.resources]
        window = parse_seconds(aggregated.get("usageAggregatedDuration") or "0s")
        self.thresholds = koordinator.parse_thresholds({**args, "usageThresholds": usage}, self.resources, window)
        kind = aggregated.get("scoreAggregationType")
        window = parse_seconds(aggregated.get("scoreAggregatedDuration") or "0s")
        self.scored_aggregate = Aggregate(kind, window) if kind else None
        self.score_prod: bool = args.get("scoreAccordingProdUsage") or False
        self.prod_with_system: bool = args.get("prodUsageIncludeSys") or False
        self.after_scheduled: int | None = args.get("estimatedSecondsAfterPodScheduled")
        self.after_initialized: int | None = args.get("estimatedSecondsAfterInitialized")
        self.customized: bool = args.get("allowCustomizeEstimation") or False
        self._kinds: dict[Hashable, PodKind] = {}

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = self.expected(cycle.pod)
        return PASSED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        """Reject nodes above a threshold or with expired figures. Nodes without figures pass."""
        snapshot, pod = cycle.snapshot, cycle.pod
        statuses: list[Status] = [SUCCESS, unschedulable(EXPIRED, fact=TOO_OLD)]
        for reason, aggregated in ((EXCEEDED, False), (EXCEEDED_AGGREGATED, True)):
            statuses += [
                unschedulable(reason.format(name), fact=Threshold(name, aggregated)) for name in self.resources
            ]
        codes = np.zeros(len(snapshot), dtype=np.int32)
        if snapshot.watermarks is None or has_daemon_set_owner(pod):
            return Verdicts(codes[rows], statuses)
        reported = self.has_figures(snapshot)
        expired = (
            reported & self.is_expired(snapshot) if self.filter_expired else np.zeros(len(snapshot), dtype=np.bool_)
        )
        measured = reported & self.measured(snapshot) & ~expired
        for thresholds, nodes in self._group_thresholds(snapshot):
            limits, aggregate, prod = self._find_limits(thresholds, pod)
            if not any(limits):
                continue
            if not self.expired_pass:
                codes[nodes & expired] = 1
            first = 2 + (len(self.resources) if aggregate is not None else 0)
            full = self.find_exceeded(
                snapshot, self.used(snapshot, prod, aggregate) + self._expected_pod_use(cycle), limits
            )
            for row, exceeded in enumerate(full):
                # The first resource above its limit gives the reason.
                codes[nodes & measured & exceeded & (codes == 0)] = first + row
        return Verdicts(codes[rows], statuses)

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the weighted mean of the resources' free percentages; 0 if figures are missing or expired."""
        snapshot = cycle.snapshot
        if snapshot.watermarks is None:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        prod = self.score_prod and koordinator.priority_class(cycle.pod) == PROD
        used = self.used(snapshot, prod, None if prod else self.scored_aggregate) + self._expected_pod_use(cycle)
        free_percent = left_over(used, self.allocatable(snapshot))
        counts = self.has_figures(snapshot) & self.measured(snapshot) & ~self.is_expired(snapshot)
        return np.where(counts, weighted_mean(free_percent, self.weights, self.dominant_weight), 0)[rows]

    def concerns(self, pod: Pod) -> bool:
        return False

    def reserve(self, cycle: Cycle, node: str) -> Status:
        """Do nothing: the snapshot knows which pods came, and when."""
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        """Do nothing: the snapshot knows which pods left."""

    def _find_limits(self, thresholds: Thresholds, pod: Pod) -> tuple[tuple[int, ...], Aggregate | None, bool]:
        """Return the thresholds for the pod, the percentile they apply to, and whether only koord-prod pods count."""
        if any(thresholds.prod) and koordinator.priority_class(pod) == PROD:
            return thresholds.prod, None, True
        if thresholds.aggregate is not None:
            return thresholds.aggregated, thresholds.aggregate, False
        return thresholds.usage, None, False

    def _group_thresholds(self, snapshot: Snapshot) -> list[tuple[Thresholds, Mask]]:
        """Return the distinct thresholds, each with a mask of the nodes that it applies to."""

        def compute() -> list[tuple[Thresholds, Mask]]:
            nodes_by_thresholds: dict[Thresholds, Mask] = {}
            for position, node in enumerate(snapshot.nodes):
                thresholds = koordinator.own_thresholds(node, self.resources, self.thresholds)
                nodes_by_thresholds.setdefault(thresholds, np.zeros(len(snapshot), dtype=np.bool_))[position] = True
            return list(nodes_by_thresholds.items())

        return snapshot.cached_by_nodes(("koordinator", "thresholds", tuple(self.resources), self.thresholds), compute)

    def allocatable(self, snapshot: Snapshot) -> Ints:
        """Return allocatable of the nodes: from their annotation, else from their status. Shape [resources, nodes]."""

        def compute() -> Ints:
            amounts = np.array([snapshot.resource_row(snapshot.allocatable, name) for name in self.resources])
            for position, node in enumerate(snapshot.nodes):
                for name, amount in koordinator.raw_allocatable(node).items():
                    if name in self.resources:
                        amounts[self.resources.index(name), position] = amount
            return amounts

        return snapshot.cached_by_nodes(("koordinator", "allocatable", tuple(self.resources)), compute)

    def has_figures(self, snapshot: Snapshot) -> Mask:
        """Return a mask of the nodes with any figures: in Koordinator, those with a NodeMetric."""

        def compute() -> Mask:
            watermarks = known_by(snapshot)
            mask: Mask = ~np.isnan(watermarks.updated)
            for column in watermarks.figures.values():
                mask |= ~np.isnan(column)
            return mask

        return snapshot.cached_by_watermarks("koordinator reported", compute)

    def measured(self, snapshot: Snapshot) -> Mask:
        """Return a mask of the nodes whose use is known."""

        def compute() -> Mask:
            mask = np.zeros(len(snapshot), dtype=np.bool_)
            for name in self.resources:
                mask |= ~np.isnan(mean_use(known_by(snapshot), name))
            return mask

        return snapshot.cached_by_watermarks(("koordinator measured", tuple(self.resources)), compute)

    def is_expired(self, snapshot: Snapshot) -> Mask:
        """Return a mask of the nodes whose figures are too old, or of an unknown time."""
        # Negated, so that NaN, an unknown time, counts as expired.
        return ~(snapshot.now - known_by(snapshot).updated < self.expiration)

    def used(self, snapshot: Snapshot, prod: bool, aggregate: Aggregate | None) -> Ints:
        """Return use with the pods that the figures do not show, in milli-CPU or units. Shape [resources, nodes]."""
        to_node, of_prod, to_prod, expected = np.split(self._pod_parts(snapshot), PARTS)
        if prod:
            total = of_prod + to_prod
            return total + self._column_amounts(snapshot, SYSTEM) if self.prod_with_system else total
        mean = self._mean_use(snapshot)
        available = np.ones(len(snapshot), dtype=np.bool_)
        if aggregate is not None:
            mean, available = self._percentile_use(snapshot, aggregate, mean)
        return np.where(available, mean + to_node, expected)

    def _mean_use(self, snapshot: Snapshot) -> Ints:
        """Return the mean use of nodes, in milli-CPU or units, 0 where unknown. Shape [resources, nodes]."""

        def compute() -> Ints:
            columns = [mean_use(known_by(snapshot), name) for name in self.resources]
            return np.array([self._percent_to_amount(snapshot, row, column) for row, column in enumerate(columns)])

        return snapshot.cached_by_watermarks(("koordinator mean", tuple(self.resources)), compute)

    def _percentile_use(self, snapshot: Snapshot, aggregate: Aggregate, mean: Ints) -> tuple[Ints, Mask]:
        """Return the percentile and where it is known. Without one, ``mean`` is used if no window is configured."""
        watermarks = known_by(snapshot)
        amounts, available = np.zeros_like(mean), np.zeros(len(snapshot), dtype=np.bool_)
        for key in percentile_keys(watermarks, aggregate):
            reported = (
                ~np.isnan(np.array([watermarks.column(name, key) for name in self.resources])).all(axis=0) & ~available
            )
            amounts = np.where(reported, self._column_amounts(snapshot, key), amounts)
            available |= reported
        if aggregate.window == 0:
            amounts, available = np.where(available, amounts, mean), np.ones_like(available)
        return amounts, available

    def _column_amounts(self, snapshot: Snapshot, key: str) -> Ints:
        columns = [known_by(snapshot).column(name, key) for name in self.resources]
        return np.array([self._percent_to_amount(snapshot, row, column) for row, column in enumerate(columns)])

    def _percent_to_amount(self, snapshot: Snapshot, row: int, percent: Floats) -> Ints:
        """Return percent of allocatable as an amount, 0 where unknown. Shape [nodes]."""
        allocatable = snapshot.resource_row(snapshot.allocatable, self.resources[row])
        return round_half_away(np.nan_to_num(percent) * allocatable / 100.0)

    def find_exceeded(self, snapshot: Snapshot, used: Ints, limits: tuple[int, ...]) -> Mask:
        """Return where the use of a resource, in rounded percent, is above its limit. Shape [resources, nodes]."""
        allocatable = self.allocatable(snapshot)
        maximum = np.array(limits)[:, None]
        exceeded: Mask = (percent_of(used, allocatable) > maximum) & (maximum != 0) & (allocatable != 0)
        return exceeded

    def expected(self, pod: Pod) -> Ints:
        """Return the pod's expected use, in milli-CPU or units. Shape [resources]."""
        factors = self.factors
        if self.customized:
            factors = factors | koordinator.own_factors(pod)
        amounts = [
            koordinator.expected_use(pod, name, factors[name]) if name in factors else 0 for name in self.resources
        ]
        return np.array(amounts, dtype=np.int64)

    def _expected_pod_use(self, cycle: Cycle) -> Ints:
        if self.name not in cycle.state:
            cycle.state[self.name] = self.expected(cycle.pod)
        expected_use: Ints = cycle.state[self.name][:, None]
        return expected_use

    def _pod_parts(self, snapshot: Snapshot) -> Ints:
        """Return the contribution of bound pods: ``PARTS`` times the resources. Shape [parts × resources, nodes]."""
        watermarks = known_by(snapshot)
        size = len(self.resources)

        def estimate(pod: Pod, node: int, time: float) -> PodContribution | None:
            return self._estimate_bound_pod(pod, watermarks.pods, self._is_visible(pod, node, time, watermarks))

        return snapshot.recent_sums(self, PARTS * size, estimate).astype(np.int64)

    def _estimate_bound_pod(
        self, pod: Pod, uses: Mapping[str, PodUse] | None, is_visible: bool
    ) -> PodContribution | None:
        """Return the contribution of a bound pod: the parts in order, each with all resources.

        If the source has no figures of single pods (``uses`` is ``None``), the node's figures are assumed to show the
        pod once they can.
        """
        kind = self._pod_kind(pod)
        use = None if uses is None else uses.get(pod.key)
        if use is None or (use.cpu is None and use.memory is None):
            return kind.shown if is_visible and uses is None else kind.hidden
        measured, expected = self._measured_amounts(use), kind.expected
        to_node = [0] * len(expected)
        if not is_visible:
            to_node = [max(amount - reported, 0) for amount, reported in zip(expected, measured, strict=True)]
        if kind.prod and use.priority_class == PROD:
            return _make_counted(to_node, measured, to_node, expected)
        return kind.make_counted(to_node)

    def _pod_kind(self, pod: Pod) -> PodKind:
        """Return the kind that pods of one template share."""
        qos = get_mapping(pod.raw, "status").get("qosClass")
        key = pod.template, pod.labels.get(koordinator.CLASS_LABEL), pod.labels.get(koordinator.QOS_LABEL), qos
        if self.customized or key not in self._kinds:
            self._kinds[key] = PodKind(self.expected(pod).tolist(), koordinator.priority_class(pod) == PROD)
        return self._kinds[key]

    def _measured_amounts(self, use: PodUse) -> list[int]:
        amounts = {CPU: (use.cpu or 0.0) * 1000.0, MEMORY: use.memory or 0.0}
        return [math.floor(amounts.get(name, 0.0) + 0.5) for name in self.resources]

    def _is_visible(self, pod: Pod, node: int, time: float, watermarks: Watermarks) -> bool:
        """Return whether the node's figures show the pod: it has been on the node for a whole report interval.

        A pod without a known scheduling time is treated as if it had just come.
        """
        updated, interval = float(watermarks.updated[node]), math.nan
        if watermarks.interval is not None:
            interval = float(watermarks.interval[node])
        interval_start = updated - (REPORT_INTERVAL if math.isnan(interval) else interval)
        return time <= interval_start and not self._forced_until(pod, time) > updated

    def _forced_until(self, pod: Pod, time: float) -> float:
        """Return the time until which the pod counts with its expected use, even if it is measured."""
        after_scheduled, after_initialized = self.after_scheduled, self.after_initialized
        if self.customized:
            override = koordinator.own_seconds(pod, koordinator.AFTER_SCHEDULED)
            after_scheduled = override if override >= 0 else after_scheduled
            override = koordinator.own_seconds(pod, koordinator.AFTER_INITIALIZED)
            after_initialized = override if override >= 0 else after_initialized
        if (after_initialized or 0) > 0 and (since := pod.condition_since("Initialized")) is not None:
            return since + (after_initialized or 0)
        return time + after_scheduled if after_scheduled and after_scheduled > 0 else -math.inf


def known_by(snapshot: Snapshot) -> Watermarks:
    assert snapshot.watermarks is not None
    return snapshot.watermarks


def mean_use(watermarks: Watermarks, resource: str) -> Floats:
    """Return the mean use in percent of allocatable, NaN where unknown. Shape [nodes]."""
    first, second = (watermarks.column(resource, window) for window in WINDOWS)
    return np.where(np.isnan(first), second, first)


def percentile_keys(watermarks: Watermarks, aggregate: Aggregate) -> list[str]:
    """Return the keys of figures of the percentile that ``aggregate`` names, longest window first."""
    windows = {}
    for _, key in watermarks.figures:
        if (match := PERCENTILE.fullmatch(key)) and match["kind"] == aggregate.kind:
            window = int(match["count"]) * UNITS[match["unit"]]
            if aggregate.window in (0, window):
                windows[key] = window
    return sorted(windows, key=lambda key: -windows[key])


def percent_of(used: Ints, allocatable: Ints) -> Ints:
    """Return use in whole percent as Koordinator computes it: divide, multiply by 100, round half away from zero."""
    # In Koordinator's order of float operations; another order rounds differently at a threshold.
    share = np.divide(used.astype(np.float64), allocatable, out=np.zeros(used.shape), where=allocatable != 0)
    return round_half_away(share * 100.0)


def left_over(used: Ints, allocatable: Ints) -> Ints:
    """Return the free percentage of each resource; 0 if nothing is free or allocatable is 0.

    Shape [resources, nodes].
    """
    # The divisor 1 elsewhere only avoids a division by zero: the numerator is 0 there.
    fits = (allocatable > 0) & (used <= allocatable)
    return divide_toward_zero((allocatable - used) * MAX_NODE_SCORE * fits, np.where(fits, allocatable, 1))


def weighted_mean(free_percent: Ints, weights: list[int], dominant_weight: int) -> Ints:
    """Return the weighted mean of the resources; the lowest counts again with ``dominant_weight``. Shape [nodes]."""
    total = (free_percent * np.array(weights)[:, None]).sum(axis=0)
    if dominant_weight:
        total = total + free_percent.min(axis=0) * dominant_weight
    return divide_toward_zero(total, max(sum(weights) + dominant_weight, 1))


# An experiment has new figures every five minutes only, so they would expire; and where nodes are used to 70 %, the
# threshold of 65 % would keep most pods waiting.
TRIAL_ARGS = {"nodeMetricExpirationSeconds": 600, "usageThresholds": {"cpu": 100, "memory": 100}}
SPEC = PluginSpec(
    "LoadAwareScheduling",
    frozenset({"preFilter", "filter", "score", "reserve"}),
    "Rejects nodes that are used too much with the pod, and prefers those with most left.",
    ArgsSpec(ARGS, set_defaults, validate_args, when_created=True, advice=advice),
    origin="Koordinator",
    factory=LoadAwareScheduling,
    load_aware=True,
    rank=8,
    trials=(PluginTrial("load-aware-scheduling", args=lambda nodes: TRIAL_ARGS),),
)
