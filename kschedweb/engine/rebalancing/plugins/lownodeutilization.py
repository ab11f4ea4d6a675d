"""LowNodeUtilization evicts pods of overutilized nodes, as long as other nodes are underutilized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kschedweb.engine.cel.quantities import Quantity
from kschedweb.engine.config.types import BOOL, STRING, Struct, StructField, text
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.rebalancing.arguments import INT, THRESHOLDS, UINT, Args, args_struct, format_go_list
from kschedweb.engine.rebalancing.document import KUBERNETES_METRICS, PROMETHEUS
from kschedweb.engine.rebalancing.handle import BALANCE, Handle, PluginError, PluginSpec
from kschedweb.engine.rebalancing.metrics import Amounts, Metrics
from kschedweb.engine.rebalancing.node_fit import PODS
from kschedweb.engine.rebalancing.plugins.nodeutilization import (
    METRIC,
    NAMESPACES_GO,
    THRESHOLDS_FIELD,
    NodeEvictions,
    NodeInfo,
    Percentages,
    RequestedUsageClient,
    UsageSnapshot,
    compute_limits,
    include_faults,
    room_left,
    rounded_names,
    sort_nodes_by_usage,
    threshold_faults,
)
from kschedweb.engine.rebalancing.pods import PodView
from kschedweb.engine.validation.golang import quote

NAME = "LowNodeUtilization"
_LIMITS = Struct(
    "api.EvictionLimits",
    "The most evictions.",
    (StructField("node", UINT, "Most evictions from one node.", pointer=True),),
)
_QUERY = Struct("nodeutilization.Prometheus", "A query.", (StructField("query", STRING, "The query in PromQL."),))
_METRICS = Struct(
    "nodeutilization.MetricsUtilization",
    "Use real use instead of requests.",
    (
        StructField("metricsServer", BOOL, "Deprecated form of KubernetesMetrics."),
        StructField("source", text("api.MetricsSource"), f"{KUBERNETES_METRICS} or {PROMETHEUS}."),
        StructField("prometheus", _QUERY, "The Prometheus query.", pointer=True),
    ),
)
ARGS = args_struct(
    "nodeutilization.LowNodeUtilizationArgs",
    "When a node counts as under- or overutilized.",
    StructField("useDeviationThresholds", BOOL, "Thresholds are distances from the average."),
    THRESHOLDS_FIELD,
    StructField("targetThresholds", THRESHOLDS, "Above any of these a node is overutilized.", omit_empty=False),
    StructField("numberOfNodes", INT, "Nothing is done unless more nodes than this are underutilized."),
    StructField("metricsUtilization", _METRICS, "Use real use instead of requests.", pointer=True),
    NAMESPACES_GO,
    StructField("evictionLimits", _LIMITS, "Most evictions by this plugin.", pointer=True),
)


def validate_args(args: Args) -> list[str]:
    """Return the first fault; the original reports no more."""
    return (include_faults(args) or _threshold_faults(args) or _metrics_faults(args))[:1]


def _threshold_faults(args: Args) -> list[str]:
    low, high = args["thresholds"], args["targetThresholds"]
    for name, thresholds in (("thresholds", low), ("targetThresholds", high)):
        if faults := threshold_faults(thresholds):
            return [f"{name} config is not valid: {faults[0]}"]
    if set(low) != set(high):
        return ["thresholds and targetThresholds configured different resources"]
    crossed = [] if args["useDeviationThresholds"] else [name for name in sorted(low) if low[name] > high[name]]
    return [f"thresholds' {name} percentage is greater than targetThresholds'" for name in crossed]


def _metrics_faults(args: Args) -> list[str]:
    metrics = args["metricsUtilization"]
    if metrics is None:
        return []
    faults, kubernetes = [], metrics["source"] == KUBERNETES_METRICS
    if kubernetes and metrics["metricsServer"]:
        faults.append(f"it is not allowed to set both {quote(KUBERNETES_METRICS)} source and metricsServer")
    if kubernetes and metrics["prometheus"] is not None:
        message = "prometheus configuration is not allowed to set when source is set to"
        faults.append(f"{message} {quote(KUBERNETES_METRICS)}")
    if metrics["source"] == PROMETHEUS and not (metrics["prometheus"] or {}).get("query"):
        faults.append(f"prometheus query is required when metrics source is set to {quote(PROMETHEUS)}")
    return faults


class ActualUsageClient:
    """Use as metrics-server reports it."""

    def __init__(self, names: Sequence[str], metrics: Metrics) -> None:
        self.names, self._metrics = names, metrics

    def of_node(self, node: str, pods: list[PodView]) -> Amounts:
        if node not in self._metrics.nodes:
            raise PluginError(f"unable to find node {quote(node)} in the collected metrics")
        amounts = {name: self._metrics.nodes[node].get(name, Quantity(0, -9)) for name in (CPU, MEMORY)}
        amounts[PODS] = Quantity(len(pods), 0)
        for name in self.names:
            if name not in amounts:
                raise PluginError(f"unable to find {quote(name)} resource for collected {quote(node)} node metric")
        return {name: amounts[name] for name in self.names}

    def of_pod(self, pod: PodView) -> Amounts | None:
        usage = self._metrics.pods.get(pod.key)
        if usage is None or any(name not in usage for name in self.names if name != PODS):
            raise PluginError(f"unable to get podmetrics for {pod.key}")
        return usage


class PrometheusUsageClient:
    """Use as a Prometheus query returns it: of nodes only."""

    def __init__(self, metrics: Metrics) -> None:
        for node, share in metrics.prometheus.items():
            if not 0 <= share <= 1:
                value = np.format_float_positional(share, trim="-")
                message = f"the collected metrics sample for {quote(node)} has value {value}"
                raise PluginError(f"{message} outside of <0; 1> interval")
        self._metrics = metrics

    def of_node(self, node: str, pods: list[PodView]) -> Amounts:
        if node not in self._metrics.prometheus:
            raise PluginError(f"unable to find metric entry for {node}")
        return {METRIC: Quantity(int(self._metrics.prometheus[node] * 100), 0)}

    def of_pod(self, pod: PodView) -> Amounts | None:
        return None


class LowNodeUtilization:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._args, self._handle = args, handle
        self._low: Percentages = args["thresholds"]
        self._high: Percentages = args["targetThresholds"]
        self._names = rounded_names(self._low)
        metrics = args["metricsUtilization"]
        if metrics is not None and metrics["source"] == PROMETHEUS:
            self._names = list(self._low)
            for field_name, names in (("thresholds", self._low), ("targetThresholds", self._high)):
                if list(names) != [METRIC]:
                    message = f"{field_name} are expected to specify a single instance of {quote(METRIC)} resource"
                    raise PluginError(f"{message}, got {format_go_list(names)} instead")

    def run(self, nodes: Sequence[Node]) -> None:
        try:
            source = self._create_usage_client()
        except PluginError as error:
            raise PluginError(f"error initializing usage client: {error}") from None
        try:
            # The query runs only now, so that its errors come after those of the client.
            if self._asks_prometheus:
                source = PrometheusUsageClient(self._handle.metrics)
            use = UsageSnapshot.from_source(self._handle, nodes, source)
        except PluginError as error:
            raise PluginError(f"error getting node usage: {error}") from None
        low, high = self._low, self._high
        if self._args["useDeviationThresholds"]:
            low, high = self._deviation_thresholds(use)
        under, over = self._classify_nodes(use, low, high)
        if reason := self._idle_reason(len(under), len(over), len(nodes)):
            self._handle.add_note(NAME, f"{reason}, nothing to do here{_TUNE if not under else ''}")
            return
        sort_nodes_by_usage(over, ascending=False)
        limits = self._args["evictionLimits"] or {}
        moves = NodeEvictions(
            handle=self._handle,
            plugin=NAME,
            removable=self._handle.passes_filter,
            excluded=frozenset((self._args["evictableNamespaces"] or {}).get("exclude") or ()),
            source=source,
            continue_eviction=lambda node_info, available: _is_above_target(node_info) and room_left(available),
            max_evictions=limits.get("node"),
        )
        moves.run(over, under, self._names)

    @property
    def _asks_prometheus(self) -> bool:
        metrics = self._args["metricsUtilization"]
        return metrics is not None and not metrics["metricsServer"] and metrics["source"] == PROMETHEUS

    def _create_usage_client(self) -> Any:
        metrics, cycle_metrics = self._args["metricsUtilization"], self._handle.metrics
        if metrics is None:
            return RequestedUsageClient(self._names)
        if metrics["metricsServer"] or metrics["source"] == KUBERNETES_METRICS:
            if not cycle_metrics.collected:
                raise PluginError("metrics client not initialized")
            return ActualUsageClient(self._names, cycle_metrics)
        if metrics["source"] == PROMETHEUS:
            if not cycle_metrics.queried:
                raise PluginError("prometheus client not initialized")
            return None
        raise PluginError("unrecognized metrics source" if metrics["source"] else "metrics source is empty")

    def _deviation_thresholds(self, use: UsageSnapshot) -> tuple[Percentages, Percentages]:
        """Return thresholds around the average over all nodes.

        Only resources with a threshold have an average.
        """
        total: dict[str, float] = {}
        count: dict[str, int] = {}
        # The sum of floats depends on the order, which is that of a map in Go.
        for name in self._handle.walk_map(use.percentages):
            relevant = {key: value for key, value in use.percentages[name].items() if key in self._low}
            use.percentages[name] = relevant
            for key, value in relevant.items():
                total[key] = total.get(key, 0.0) + value
                count[key] = count.get(key, 0) + 1
        average = {key: value / count[key] for key, value in total.items()}
        low = {key: min(max(value - self._low[key], 0.0), 100.0) for key, value in average.items()}
        high = {key: min(max(value + self._high[key], 0.0), 100.0) for key, value in average.items()}
        return low, high

    def _classify_nodes(
        self, use: UsageSnapshot, low: Percentages, high: Percentages
    ) -> tuple[list[NodeInfo], list[NodeInfo]]:
        under: list[NodeInfo] = []
        over: list[NodeInfo] = []
        for name in self._handle.walk_map(use.nodes):
            node, percentages = use.nodes[name], use.percentages[name]
            category = "appropriate"
            if not node.unschedulable and all(percentages.get(key, 0.0) <= low[key] for key in low):
                category = "underutilized"
            elif any(percentages.get(key, 0.0) > high[key] for key in high):
                category = "overutilized"
            self._handle.add_classification(NAME, use.describe_node(name, category))
            if category != "appropriate":
                node_info = NodeInfo(node, use.amounts[name], compute_limits(node, high, self._names), use.pods[name])
                (under if category == "underutilized" else over).append(node_info)
        return under, over

    def _idle_reason(self, under: int, over: int, nodes: int) -> str:
        """Return why there is nothing to do; "" if there is something."""
        if not under:
            return "No node is underutilized"
        if under <= self._args["numberOfNodes"]:
            return "Number of nodes underutilized is less or equal than NumberOfNodes"
        if under == nodes:
            return "All nodes are underutilized"
        return "" if over else "All nodes are under target utilization"


_TUNE = ", you might tune your thresholds further"


def _is_above_target(node_info: NodeInfo) -> bool:
    """Return True if the node uses more of any resource than its target.

    As `isNodeAboveTargetUtilization` does.
    """
    return any(node_info.limits[name].compare(amount) < 0 for name, amount in node_info.use.items())


SPEC = PluginSpec(NAME, BALANCE, ARGS, LowNodeUtilization, validate_args)
