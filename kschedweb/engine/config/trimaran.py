"""Arguments that the load-aware plugins of scheduler-plugins have in common, with their defaults."""

from __future__ import annotations

from kschedweb.engine.config.specs import PluginArgs
from kschedweb.engine.config.types import BOOL, STRING, Struct, StructField, text
from kschedweb.engine.validation.fields import Problem, Typed, child_path, unsupported

Advice = list[tuple[str, str]]

ORIGIN = "scheduler-plugins"
PROVIDERS = ("KubernetesMetricsServer", "Prometheus", "SignalFx")
COLLECTED = "is not heeded: kschedweb collects utilisation itself"

METRIC_PROVIDER = Struct(
    "v1.MetricProviderSpec",
    "Where the plugin's own watcher reads utilisation.",
    (
        StructField("type", text("v1.MetricProviderType"), "Kind of the source.", enum=PROVIDERS),
        StructField("address", STRING, "Address of the source.", pointer=True),
        StructField("token", STRING, "Token for the source.", pointer=True),
        StructField("insecureSkipVerify", BOOL, "Whether certificates are not checked.", pointer=True),
    ),
)
WATCHER = (
    StructField("metricProvider", METRIC_PROVIDER, "Ignored here: kschedweb collects utilisation itself."),
    StructField(
        "watcherAddress", STRING, "Ignored here: kschedweb collects utilisation itself.", pointer=True, default=None
    ),
)


def watcher_defaults(args: PluginArgs) -> None:
    provider = args["metricProvider"]
    if args["watcherAddress"] is None and not provider["type"]:
        provider["type"] = PROVIDERS[0]
    if provider["type"] == "Prometheus" and provider["insecureSkipVerify"] is None:
        provider["insecureSkipVerify"] = True


def watcher_problems(args: PluginArgs, path: str) -> list[Problem]:
    """Return the problems of the watcher. Without an address the plugin creates its own, of a kind that must exist."""
    kind = args["metricProvider"]["type"]
    if args["watcherAddress"] or kind in PROVIDERS:
        return []
    return [unsupported(child_path(path, "metricProvider.type"), Typed(kind), PROVIDERS)]


def watcher_advice(args: PluginArgs) -> Advice:
    advice = [("metricProvider", COLLECTED)] if any(args["metricProvider"].values()) else []
    return advice + ([("watcherAddress", COLLECTED)] if args["watcherAddress"] else [])
