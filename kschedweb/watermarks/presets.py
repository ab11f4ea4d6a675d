"""Ready-made queries for Prometheus: node-exporter with cAdvisor, cAdvisor alone, recording rules.

Each query can be edited. It returns one value per node or pod at one time. Windows are Prometheus' own: ``rate`` over a
window is the average use in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.watermarks.figures import AVERAGES, CONTAINER, DEVIATIONS, FIGURES, NODE, Figure
from kschedweb.watermarks.models import Unit
from kschedweb.web.translating import gettext_lazy as _


@dataclass(frozen=True)
class Preset:
    """Queries by figure, with the label of nodes and the unit of the values."""

    name: str
    label: str
    help: str
    node_label: str
    unit: str
    queries: dict[str, str]


# Expressions over a window. ``rate`` divides by the whole window even if a series is younger: a new node seems busy,
# since it was idle for a short time only, and a new pod idle. So node-exporter's idle seconds are divided by the
# seconds of all modes, and long windows of the kubelet's counters are averages of 5-minute rates.
_EXPORTER = {
    "cpu": '100 * (1 - sum by (instance) (rate(node_cpu_seconds_total{{mode="idle"}}[{window}]))'
    " / sum by (instance) (rate(node_cpu_seconds_total[{window}])))",
    "memory": "100 * (1 - avg_over_time(node_memory_MemAvailable_bytes[{window}]) / node_memory_MemTotal_bytes)",
}
_CADVISOR = {
    "cpu": 'sum by (node) (rate(container_cpu_usage_seconds_total{{id="/"}}[{window}]))',
    "memory": 'sum by (node) (avg_over_time(container_memory_working_set_bytes{{id="/"}}[{window}]))',
}
# Rules of kubernetes-mixin and load-watcher. They are current ratios, to which windows are applied.
_RULES = {"cpu": "instance:node_cpu:ratio", "memory": "instance:node_memory_utilisation:ratio"}
_PODS = {
    "cpu": "sum by (namespace, pod) "
    '(rate(container_cpu_usage_seconds_total{{container!="",container!="POD"}}[{window}]))',
    "memory": "sum by (namespace, pod) "
    '(avg_over_time(container_memory_working_set_bytes{{container!="",container!="POD"}}[{window}]))',
}
_CONTAINERS = {
    "cpu": "sum by (namespace, pod, container) "
    '(rate(container_cpu_usage_seconds_total{container!="",container!="POD"}[3m]))',
    "memory": 'max by (namespace, pod, container) (container_memory_working_set_bytes{container!="",container!="POD"})',
}
_STEP = {"1h_max": "1h:1m", "1d_max": "1d:5m"}


def _window_query(expression: str, figure: Figure) -> str:
    """Return the query of ``figure`` from an expression with a window."""
    if figure.is_maximum:
        return f"max_over_time(({expression.format(window='5m')})[{_STEP[figure.statistic]}])"
    if figure.statistic in DEVIATIONS:
        return f"stddev_over_time(({expression.format(window='2m')})[15m:1m])"
    if AVERAGES[figure.statistic] > AVERAGES["15m"] and expression in (_CADVISOR["cpu"], _PODS["cpu"]):
        return f"avg_over_time(({expression.format(window='5m')})[{figure.statistic}:5m])"
    return expression.format(window=figure.statistic)


def _rule_query(name: str, figure: Figure) -> str:
    """Return the query of ``figure`` from a recording rule of current use."""
    if figure.statistic in AVERAGES:
        return f"avg_over_time({name}[{figure.statistic}])"
    if figure.is_maximum:
        return f"max_over_time(avg_over_time({name}[5m])[{_STEP[figure.statistic]}])"
    return f"stddev_over_time({name}[15m])"


def _build_queries(nodes: dict[str, str], *, rules: bool = False) -> dict[str, str]:
    queries = {}
    for figure in FIGURES:
        if figure.kind == NODE:
            ask = _rule_query if rules else _window_query
            queries[str(figure)] = ask(nodes[figure.resource], figure)
        elif figure.kind == CONTAINER:
            queries[str(figure)] = _CONTAINERS[figure.resource]
        else:
            queries[str(figure)] = _window_query(_PODS[figure.resource], figure)
    return queries


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "node-exporter",
            _("node-exporter and cAdvisor"),
            _("Nodes from node_cpu_seconds_total and node_memory_*, pods from the kubelet's container_* metrics."),
            "instance",
            Unit.CAPACITY_PERCENT,
            _build_queries(_EXPORTER),
        ),
        Preset(
            "cadvisor",
            _("cAdvisor alone"),
            _("Nodes and pods from the kubelet's container_* metrics; the label node must name the node."),
            "node",
            Unit.ABSOLUTE,
            _build_queries(_CADVISOR),
        ),
        Preset(
            "recording-rules",
            _("Recording rules and cAdvisor"),
            _(
                "Nodes from instance:node_cpu:ratio and instance:node_memory_utilisation:ratio, which "
                "cost Prometheus the least; pods from the kubelet's container_* metrics."
            ),
            "instance",
            Unit.CAPACITY_RATIO,
            _build_queries(_RULES, rules=True),
        ),
    )
}
