"""Plugins that weigh what nodes really use: not kube-scheduler's own, but known in every profile here."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config import args, arguments, crane, koordinator, volcano
from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginSpec
from kschedweb.engine.config.trimaran import TRIMARAN_SPECS
from kschedweb.engine.config.types import DURATION, FLOAT64, STRING, Field, Struct
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.validation.fields import Problem, Typed, child, invalid, unsupported
from kschedweb.engine.validation.golang import parse_duration

Args = dict[str, Any]

# HheWaterLevelBalance and HkePodTopologySpread

MIN_NODE_WEIGHT, CLEAN_UP = 0.2, "5m0s"
WINDOW_WEIGHTS = {"15m": 0.5, "1h": 0.3, "1d": 0.2}
RESOURCE_WEIGHTS = {CPU: 1.0, MEMORY: 1.0}
WINDOWS_STRUCT = Struct(
    "v1.WindowWeights",
    "How much the mean over each window counts, in proportion.",
    tuple(
        Field(window, FLOAT64, f"Weight of the mean over {words}; 0 or left out: not counted.", minimum=0)
        for window, words in (("15m", "15 minutes"), ("1h", "one hour"), ("1d", "one day"))
    ),
)
RESOURCES_STRUCT = Struct(
    "v1.ResourceWeights",
    "How much each resource counts, in proportion.",
    tuple(Field(name, FLOAT64, "0 or left out: not counted.", minimum=0) for name in RESOURCE_WEIGHTS),
)
HHE = args_struct(
    "HheWaterLevelBalanceArgs",
    "What the cluster's level is, and what counts for it.",
    Field(
        "clusterCpuMinNodeWeight",
        FLOAT64,
        "Draws the cluster's level towards the lowest node: (mean + lowest × weight) ÷ (1 + weight), all resources.",
        pointer=True,
        default=MIN_NODE_WEIGHT,
        minimum=0,
    ),
    Field("windowWeights", WINDOWS_STRUCT, "Weights of the windows of time, used in proportion.", pointer=True),
    Field("resourceWeights", RESOURCES_STRUCT, "Weights of CPU and memory, used in proportion.", pointer=True),
    *(
        Field(
            name,
            FLOAT64,
            f"A fixed level for {resource}, in percent, in place of the cluster's own.",
            pointer=True,
            minimum=0,
            maximum=100,
        )
        for name, resource in (("clusterCpu", "CPU"), ("clusterMemory", "memory"))
    ),
    Field(
        "scheduledPodsCleanUp",
        DURATION,
        "How long a pod that is newer than its node's figures is added to them at most.",
        pointer=True,
        default=CLEAN_UP,
    ),
    Field("metricsExpiration", DURATION, "Figures older than this count as missing; 0s: never.", omit_empty=False),
    Field(
        "missingMetrics",
        STRING,
        "A node without figures scores 0 (Zero), or is taken to use nothing (Idle).",
        default="Zero",
        enum=("Zero", "Idle"),
    ),
)


def hhe_defaults(args: Args) -> None:
    for name, default in (
        ("clusterCpuMinNodeWeight", MIN_NODE_WEIGHT),
        ("scheduledPodsCleanUp", parse_duration(CLEAN_UP)),
    ):
        if args[name] is None:
            args[name] = default
    args["windowWeights"] = args["windowWeights"] or dict(WINDOW_WEIGHTS)
    args["resourceWeights"] = args["resourceWeights"] or dict(RESOURCE_WEIGHTS)
    args["missingMetrics"] = args["missingMetrics"] or "Zero"


def hhe_problems(args: Args, path: str) -> list[Problem]:
    found = not_negative(args, path, "clusterCpuMinNodeWeight", "scheduledPodsCleanUp", "metricsExpiration")
    for name in ("windowWeights", "resourceWeights"):
        found += not_negative(args[name], child(path, name), *args[name])
        if not any(args[name].values()):
            found.append(invalid(child(path, name), Typed(args[name]), "one weight must be above 0"))
    for name in ("clusterCpu", "clusterMemory"):
        if args[name] is not None and not 0 <= args[name] <= 100:
            found.append(invalid(child(path, name), args[name], "not in valid range [0, 100]"))
    if args["missingMetrics"] not in ("Zero", "Idle"):
        found.append(unsupported(child(path, "missingMetrics"), args["missingMetrics"], ("Zero", "Idle")))
    return found


def not_negative(args: Args, path: str, *names: str) -> list[Problem]:
    """Problems of those of the numbers and durations ``names`` that are below 0."""
    return [
        invalid(child(path, name), args[name], "must be 0 or more")
        for name in names
        if args[name] is not None and args[name] < 0
    ]


HKE = args_struct("HkePodTopologySpreadArgs", args.POD_TOPOLOGY_SPREAD.help, *args.POD_TOPOLOGY_SPREAD.fields[2:])

LOAD_AWARE_SPECS: tuple[PluginSpec, ...] = (
    PluginSpec(
        "HheWaterLevelBalance",
        frozenset({"preFilter", "filter", "preScore", "score", "postBind"}),
        "Fills nodes up to the level that the whole cluster really uses.",
        ArgsSpec(HHE, hhe_defaults, hhe_problems),
        origin="kschedweb",
    ),
    PluginSpec(
        "HkePodTopologySpread",
        frozenset({"preFilter", "filter", "preScore", "score"}),
        "Does what PodTopologySpread does, with default constraints of its own.",
        ArgsSpec(HKE, arguments.spread_defaults, arguments.spread_problems),
        origin="kschedweb",
    ),
    *TRIMARAN_SPECS,
    crane.SPEC,
    koordinator.SPEC,
    volcano.SPEC,
)
"""Each names in ``origin`` the scheduler that it comes from."""
