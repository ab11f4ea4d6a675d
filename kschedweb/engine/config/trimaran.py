"""What arguments of the load-aware plugins of scheduler-plugins have in common, with its defaults."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.types import BOOL, STRING, Field, Struct, text
from kschedweb.engine.validation.fields import Problem, Typed, child, unsupported

Args = dict[str, Any]
Advice = list[tuple[str, str]]

ORIGIN = "scheduler-plugins"
PROVIDERS = ("KubernetesMetricsServer", "Prometheus", "SignalFx")
COLLECTED = "is not heeded: kschedweb collects utilisation itself"

METRIC_PROVIDER = Struct(
    "v1.MetricProviderSpec",
    "Where the plugin's own watcher reads utilisation.",
    (
        Field("type", text("v1.MetricProviderType"), "Kind of the source.", enum=PROVIDERS),
        Field("address", STRING, "Address of the source.", pointer=True),
        Field("token", STRING, "Token for the source.", pointer=True),
        Field("insecureSkipVerify", BOOL, "Whether certificates are not checked.", pointer=True),
    ),
)
WATCHER = (
    Field("metricProvider", METRIC_PROVIDER, "Not heeded here: kschedweb collects utilisation itself."),
    Field(
        "watcherAddress", STRING, "Not heeded here: kschedweb collects utilisation itself.", pointer=True, default=None
    ),
)


def watcher_defaults(args: Args) -> None:
    provider = args["metricProvider"]
    if args["watcherAddress"] is None and not provider["type"]:
        provider["type"] = PROVIDERS[0]
    if provider["type"] == "Prometheus" and provider["insecureSkipVerify"] is None:
        provider["insecureSkipVerify"] = True


def watcher_problems(args: Args, path: str) -> list[Problem]:
    """Without an address the plugin makes its own watcher, of a kind that must exist."""
    kind = args["metricProvider"]["type"]
    if args["watcherAddress"] or kind in PROVIDERS:
        return []
    return [unsupported(child(path, "metricProvider.type"), Typed(kind), PROVIDERS)]


def watcher_advice(args: Args) -> Advice:
    found = [("metricProvider", COLLECTED)] if any(args["metricProvider"].values()) else []
    return found + ([("watcherAddress", COLLECTED)] if args["watcherAddress"] else [])
