"""Arguments of the load-aware plugins that come from scheduler-plugins, with its defaults."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginSpec
from kschedweb.engine.config.types import BOOL, FLOAT64, INT64, STRING, Field, MapOf, Scalar, Struct
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.objects.quantity import read
from kschedweb.engine.validation.fields import Problem, Typed, child, invalid, unsupported
from kschedweb.engine.validation.golang import parse_float

Args = dict[str, Any]
Advice = list[tuple[str, str]]

ORIGIN = "scheduler-plugins"
PROVIDERS = ("KubernetesMetricsServer", "Prometheus", "SignalFx")
RISK_LIMIT_WEIGHT = 0.5
COLLECTED = "is not heeded: kschedweb collects utilisation itself"

METRIC_PROVIDER = Struct(
    "v1.MetricProviderSpec",
    "Where the plugin's own watcher reads utilisation.",
    (
        Field("type", Scalar("string", "v1.MetricProviderType"), "Kind of the source.", enum=PROVIDERS),
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


# TargetLoadPacking

QUANTITY = Scalar("raw", "resource.Quantity")
PACKING = args_struct(
    "TargetLoadPackingArgs",
    "How much of each node's CPU is to be used, and what pods are expected to use.",
    *WATCHER,
    Field(
        "defaultRequests",
        MapOf(QUANTITY),
        "What a container is expected to use that has neither a request nor a limit: cpu alone counts (1000m).",
        omit_empty=False,
        examples=({"cpu": "1000m"},),
    ),
    Field(
        "defaultRequestsMultiplier",
        STRING,
        "A container with a request and no limit is expected to use the request times this number.",
        pointer=True,
        default="1.5",
    ),
    Field(
        "targetUtilization",
        INT64,
        "Percent of CPU capacity that nodes are filled up to; 0 or less counts as 40.",
        pointer=True,
        default=40,
    ),
    Field(
        "penalty",
        Scalar("string", "v1.PenaltyType"),
        "What the score above the target starts from: the target, or 50 as in the plugin's first releases.",
        default="Target",
        enum=("Target", "Fixed50"),
    ),
)


def packing_defaults(args: Args) -> None:
    watcher_defaults(args)
    if args["defaultRequests"] is None:
        args["defaultRequests"] = {"cpu": "1000m"}
    if args["defaultRequestsMultiplier"] is None:
        args["defaultRequestsMultiplier"] = "1.5"
    if args["targetUtilization"] is None or args["targetUtilization"] <= 0:
        args["targetUtilization"] = 40


def packing_problems(args: Args, path: str) -> list[Problem]:
    found = watcher_problems(args, path)
    for name, amount in args["defaultRequests"].items():
        try:
            read(amount)
        except ObjectError as error:
            at = f"{child(path, 'defaultRequests')}.{name}"
            found.append(invalid(at, Typed(amount), str(error).removeprefix(": ")))
    at, multiplier = child(path, "defaultRequestsMultiplier"), args["defaultRequestsMultiplier"]
    if parse_float(multiplier) is None:
        found.append(invalid(at, multiplier, "must be a number in quotes, such as 1.5"))
    if args["penalty"] not in ("", "Target", "Fixed50"):
        found.append(unsupported(child(path, "penalty"), Typed(args["penalty"]), ("Target", "Fixed50")))
    return found


def packing_advice(args: Args) -> Advice:
    found = watcher_advice(args)
    if (args["targetUtilization"] or 0) > 100:
        found.append(("targetUtilization", "above 100 scores rise above 100, and pods fail to be scheduled"))
    if args["penalty"]:
        found.append(("penalty", "is known to kschedweb only: scheduler-plugins refuses a configuration with it"))
    return found


# LoadVariationRiskBalancing

VARIATION = args_struct(
    "LoadVariationRiskBalancingArgs",
    "How much the variation of the load counts.",
    *WATCHER,
    Field(
        "safeVarianceMargin",
        FLOAT64,
        "The standard deviation counts this many times; below 0 counts as 1.",
        pointer=True,
        default=1,
    ),
    Field(
        "safeVarianceSensitivity",
        FLOAT64,
        "The standard deviation, as a share, counts by this root of it; below 0 counts as 1.",
        pointer=True,
        default=1,
    ),
)


def variation_defaults(args: Args) -> None:
    watcher_defaults(args)
    for name in ("safeVarianceMargin", "safeVarianceSensitivity"):
        if args[name] is None or args[name] < 0:
            args[name] = 1.0


# LowRiskOverCommitment

OVER_COMMITMENT = args_struct(
    "LowRiskOverCommitmentArgs",
    "How the risks of limits and of load are weighed.",
    *WATCHER,
    Field(
        "smoothingWindowSize",
        INT64,
        "Over how many samples the figures are smoothed: their variance counts this many times; 0 or less counts as 5.",
        pointer=True,
        default=5,
    ),
    Field(
        "riskLimitWeights",
        MapOf(FLOAT64, ("cpu", "memory")),
        "By resource (cpu, memory): weight of the risk of limits in 0 to 1, 0.5 where it is left out or outside.",
        examples=({"cpu": 0.5, "memory": 0.5},),
    ),
)


def over_commitment_defaults(args: Args) -> None:
    watcher_defaults(args)
    if args["smoothingWindowSize"] is None or args["smoothingWindowSize"] <= 0:
        args["smoothingWindowSize"] = 5
    weights = args["riskLimitWeights"] or dict.fromkeys(("cpu", "memory"), RISK_LIMIT_WEIGHT)
    args["riskLimitWeights"] = {
        name: weight if 0 <= weight <= 1 else RISK_LIMIT_WEIGHT for name, weight in weights.items()
    }


def over_commitment_advice(args: Args) -> Advice:
    listed = args["riskLimitWeights"] or {}
    return watcher_advice(args) + [
        (f"riskLimitWeights.{name}", "has no effect: cpu and memory count")
        for name in listed
        if name not in ("cpu", "memory")
    ]


# Peaks

POWER_MODEL = Struct(
    "v1.PowerModel",
    "A node that uses x percent of its CPU draws k0 + k1 e^(k2 x) watts.",
    tuple(
        Field(name, FLOAT64, said, omit_empty=False)
        for name, said in (
            ("k0", "Watts; has no effect on scores."),
            ("k1", "Watts."),
            ("k2", "Growth for each percent."),
        )
    ),
)
PEAKS = args_struct(
    "PeaksArgs",
    "How much power each node draws.",
    Field("watcherAddress", STRING, "Not heeded here: kschedweb collects utilisation itself."),
    Field(
        "nodePowerModel",
        MapOf(POWER_MODEL),
        "Power models by node name; a node without one counts as the cheapest.",
        examples=({"node-1": {"k0": 471.7, "k1": -91.5, "k2": -0.072}},),
    ),
    Field("WatcherAddress", STRING, "The same as watcherAddress, in the spelling that the released plugin reads."),
    Field(
        "NodePowerModel",
        MapOf(POWER_MODEL),
        "The same as nodePowerModel, in the spelling that the released plugin reads.",
    ),
)


def peaks_problems(args: Args, path: str) -> list[Problem]:
    if not (args["nodePowerModel"] and args["NodePowerModel"]):
        return []
    detail = "stands beside nodePowerModel: write one of them"
    return [invalid(child(path, "NodePowerModel"), Typed(sorted(args["NodePowerModel"])), detail)]


def peaks_advice(args: Args) -> Advice:
    found = [(name, COLLECTED) for name in ("watcherAddress", "WatcherAddress") if args[name]]
    if not args["nodePowerModel"] and not args["NodePowerModel"]:
        found.append(("nodePowerModel", "names no node, so every node gets the same score"))
    return found


def _spec(name: str, points: str, help: str, arguments: ArgsSpec) -> PluginSpec:
    return PluginSpec(name, frozenset(points.split()), help, arguments, origin=ORIGIN)


TRIMARAN_SPECS: tuple[PluginSpec, ...] = (
    _spec(
        "TargetLoadPacking",
        "score",
        "Packs pods onto nodes up to a target of CPU use, and avoids nodes above it.",
        ArgsSpec(PACKING, packing_defaults, packing_problems, advice=packing_advice),
    ),
    _spec(
        "LoadVariationRiskBalancing",
        "score",
        "Prefers nodes whose use is low and steady.",
        ArgsSpec(VARIATION, variation_defaults, watcher_problems, advice=watcher_advice),
    ),
    _spec(
        "LowRiskOverCommitment",
        "preScore score",
        "Prefers nodes where limits above the capacity are few and use above the requests is rare.",
        ArgsSpec(OVER_COMMITMENT, over_commitment_defaults, watcher_problems, advice=over_commitment_advice),
    ),
    _spec(
        "Peaks",
        "score",
        "Prefers nodes whose power draw the pod would raise least.",
        ArgsSpec(PEAKS, problems=peaks_problems, advice=peaks_advice),
    ),
)
