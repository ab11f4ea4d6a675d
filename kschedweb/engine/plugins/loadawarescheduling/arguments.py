"""Arguments of LoadAwareScheduling with Koordinator's names, defaults, validation and error messages."""

from __future__ import annotations

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import PluginArgs
from kschedweb.engine.config.types import BOOL, DURATION, INT64, STRING, ListType, MapType, Struct, StructField, text
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import Problem, Typed, child_path, invalid, unsupported
from kschedweb.engine.validation.golang import duration_text, quote

# Default of nodeMetricExpirationSeconds.
EXPIRATION = 180
# Percent, as in Koordinator's defaults.
RESOURCE_WEIGHTS = {"cpu": 1, "memory": 1}
USAGE_THRESHOLDS = {"cpu": 65, "memory": 95}
SCALING_FACTORS = {"cpu": 85, "memory": 70}
AGGREGATIONS = ("avg", "p50", "p90", "p95", "p99")
ESTIMATOR = "defaultEstimator"

AMOUNTS = MapType(INT64, ("cpu", "memory"))
AGGREGATION = text("extension.AggregationType")
AGGREGATED = Struct(
    "v1.LoadAwareSchedulingAggregatedArgs",
    "Percentiles instead of the mean use.",
    (
        StructField("usageThresholds", AMOUNTS, "Percent by resource: nodes above one are rejected.", usual=(0, 100)),
        StructField("usageAggregationType", AGGREGATION, "Which percentile the thresholds are for.", enum=AGGREGATIONS),
        StructField(
            "usageAggregatedDuration",
            DURATION,
            "The window. Default: the longest available.",
            pointer=True,
        ),
        StructField(
            "scoreAggregationType", AGGREGATION, "The percentile that is scored. Default: the mean.", enum=AGGREGATIONS
        ),
        StructField(
            "scoreAggregatedDuration",
            DURATION,
            "The window. Default: the longest available.",
            pointer=True,
        ),
    ),
)
ARGS = args_struct(
    "LoadAwareSchedulingArgs",
    "From which use on nodes are rejected, what counts for the score, and what pods are expected to use.",
    StructField(
        "filterExpiredNodeMetrics",
        BOOL,
        "Whether the age of figures counts for the filter.",
        pointer=True,
        default=True,
    ),
    StructField(
        "nodeMetricExpirationSeconds", INT64, "Figures as old as this are expired.", pointer=True, default=EXPIRATION
    ),
    StructField(
        "enableScheduleWhenNodeMetricsExpired",
        BOOL,
        "Whether nodes with expired figures pass the filter.",
        pointer=True,
        default=False,
    ),
    StructField(
        "resourceWeights",
        AMOUNTS,
        "How much each resource counts for the score: 1 to 100. Default: cpu 1, memory 1.",
        examples=(RESOURCE_WEIGHTS,),
        usual=(1, 10),
        whole=True,
    ),
    StructField(
        "dominantResourceWeight",
        INT64,
        "Extra weight of the fullest resource.",
        minimum=0,
        maximum=100,
    ),
    StructField(
        "usageThresholds",
        AMOUNTS,
        "Percent by resource; 0 switches one off. Default: cpu 65, memory 95.",
        examples=(USAGE_THRESHOLDS,),
        usual=(0, 100),
        whole=True,
    ),
    StructField(
        "prodUsageThresholds",
        AMOUNTS,
        "For pods of class koord-prod: percent that such pods may use together.",
        usual=(0, 100),
    ),
    StructField("prodUsageIncludeSys", BOOL, "Whether what is used outside pods is added to the use of such pods."),
    StructField(
        "scoreAccordingProdUsage", BOOL, "Whether such pods are scored by the use of such pods alone.", pointer=True
    ),
    StructField("estimator", STRING, "How the use of pods is expected: there is one way.", enum=(ESTIMATOR,)),
    StructField(
        "estimatedScalingFactors",
        AMOUNTS,
        "Percent of its request, or of a higher limit, that a pod is expected to use: 1 to 100. Default: cpu 85, "
        "memory 70.",
        examples=(SCALING_FACTORS,),
        usual=(1, 100),
    ),
    StructField(
        "estimatedSecondsAfterPodScheduled",
        INT64,
        "For so long after it got its node a pod counts with what it is expected to use, if that is more.",
        pointer=True,
    ),
    StructField(
        "estimatedSecondsAfterInitialized",
        INT64,
        "The same, from when its init containers were done; goes before the other.",
        pointer=True,
    ),
    StructField("allowCustomizeEstimation", BOOL, "Whether annotations of pods may say these three for the pod."),
    StructField("aggregated", AGGREGATED, "Percentiles instead of the mean use.", pointer=True),
    StructField("supportedResources", ListType(STRING), "Resources that only annotations of nodes name."),
)


def set_defaults(args: PluginArgs) -> None:
    for name, default in (
        ("filterExpiredNodeMetrics", True),
        ("enableScheduleWhenNodeMetricsExpired", False),
        ("nodeMetricExpirationSeconds", EXPIRATION),
    ):
        if args[name] is None:
            args[name] = default
    if not args["resourceWeights"] and args["dominantResourceWeight"] == 0:
        args["resourceWeights"] = dict(RESOURCE_WEIGHTS)
    args["usageThresholds"] = args["usageThresholds"] or dict(USAGE_THRESHOLDS)
    args["estimatedScalingFactors"] = SCALING_FACTORS | (args["estimatedScalingFactors"] or {})


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if (seconds := args["nodeMetricExpirationSeconds"]) <= 0:
        detail = "nodeMetricExpiredSeconds should be a positive value"
        problems.append(invalid(child_path(path, "nodeMetricExpirationSeconds"), seconds, detail))
    problems += _amount_problems(args, path, "resourceWeights", "resource Weight", minimum=1)
    dominant, at = args["dominantResourceWeight"], child_path(path, "dominantResourceWeight")
    if dominant < 0:
        problems.append(invalid(at, dominant, "dominantResourceWeight should not be a negative value"))
    if dominant > 100:
        problems.append(invalid(at, dominant, "dominantResourceWeight should be less than 100"))
    problems += _amount_problems(args, path, "usageThresholds", "resource Threshold", minimum=0)
    problems += _amount_problems(args, path, "estimatedScalingFactors", "estimated resource ScalingFactor", minimum=1)
    missing = sorted(set(args["resourceWeights"] or ()) - set(args["estimatedScalingFactors"]))
    if missing:
        at = child_path(path, "estimatedScalingFactors")
        problems.append(Problem(at, f"{at}: Not found: {quote(missing[0])}"))
    if args["estimator"] not in ("", ESTIMATOR):
        problems.append(unsupported(child_path(path, "estimator"), args["estimator"], (ESTIMATOR,)))
    return problems + _aggregated_problems(args["aggregated"], child_path(path, "aggregated"))


def _aggregated_problems(aggregated: Json | None, path: str) -> list[Problem]:
    if aggregated is None:
        return []
    problems = _amount_problems(aggregated, path, "usageThresholds", "resource Threshold", minimum=0)
    for purpose in ("usage", "score"):
        kind, window = aggregated[f"{purpose}AggregationType"], aggregated[f"{purpose}AggregatedDuration"]
        if kind and kind not in AGGREGATIONS:
            problems.append(unsupported(f"{path}.{purpose}AggregationType", Typed(kind), AGGREGATIONS))
        if window is not None and window < 0:
            actual = Typed(duration_text(window))
            problems.append(invalid(f"{path}.{purpose}AggregatedDuration", actual, "duration must be >= 0"))
    return problems


def _amount_problems(args: PluginArgs, path: str, name: str, label: str, minimum: int) -> list[Problem]:
    """Return the first problem, in Koordinator's words, of an amount in ``args[name]`` outside ``minimum`` to 100."""
    amounts = args[name] or {}
    for resource, amount in sorted(amounts.items()):
        bound = "a positive value" if amount < minimum else "less than 100" if amount > 100 else ""
        if bound:
            return [
                invalid(
                    child_path(path, name), Typed(amounts), f"{label} of {resource} should be {bound}, got {amount}"
                )
            ]
    return []


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    remarks = [
        (f"prodUsageThresholds.{resource}", f"{amount} is no percentage, and Koordinator does not say so")
        for resource, amount in (args["prodUsageThresholds"] or {}).items()
        if not 0 <= amount <= 100
    ]
    aggregated = args["aggregated"] or {}
    if aggregated.get("usageThresholds") and not aggregated.get("usageAggregationType"):
        remarks.append(("aggregated.usageThresholds", "has no effect without usageAggregationType"))
    return remarks
