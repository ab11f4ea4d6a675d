"""The arguments of Dynamic: crane-scheduler's policy, its time zone, and the file that may hold the policy."""

from __future__ import annotations

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import PluginArgs
from kschedweb.engine.config.types import DURATION, FLOAT64, INT64, STRING, ListType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.validation.fields import Problem, child_path, invalid
from kschedweb.engine.validation.golang import parse_duration, quote

DURATIONS = ("period", "timeRange")
METRIC_HELP = "Name of the metric, which is its annotation on nodes, such as cpu_usage_avg_5m."


def _rule_struct(go: str, help: str, *fields: StructField) -> Struct:
    return Struct(go, help, (StructField("name", STRING, METRIC_HELP, omit_empty=False), *fields), required=("name",))


SYNC = _rule_struct(
    "v1alpha1.SyncPolicy",
    "How often a metric is written.",
    StructField(
        "period", DURATION, "A value is valid for this long and five minutes more; 0s: never.", omit_empty=False
    ),
)
PREDICATE = _rule_struct(
    "v1alpha1.PredicatePolicy",
    "How much of a metric keeps pods away from a node.",
    StructField(
        "maxLimitPecent", FLOAT64, "The most that is let pass, as a fraction: 0.65 is 65 %. 0: everything passes."
    ),
)
PRIORITY = _rule_struct(
    "v1alpha1.PriorityPolicy",
    "How much a metric counts for the score.",
    StructField("weight", FLOAT64, "Used in proportion; it counts where the metric is missing too, with a score of 0."),
)
HOT_VALUE = Struct(
    "v1alpha1.HotValuePolicy",
    "How many pods make a node hot.",
    (
        StructField("timeRange", DURATION, "Pods bound to the node within this time are counted.", omit_empty=False),
        StructField("count", INT64, "This many of them take 10 points off the node's score.", omit_empty=False),
    ),
    required=("timeRange", "count"),
)
POLICY = Struct(
    "v1alpha1.PolicySpec",
    "What crane-scheduler's policy file says under spec.",
    (
        StructField("syncPolicy", ListType(SYNC), "How often each metric is written; a metric without is never valid."),
        StructField("predicate", ListType(PREDICATE), "Limits; the first one that a node is above rejects it."),
        StructField("priority", ListType(PRIORITY), "Metrics that are scored."),
        StructField("hotValue", ListType(HOT_VALUE), "What makes a node hot: the rules add up."),
    ),
)
ARGS = args_struct(
    "DynamicArgs",
    "By which metrics nodes are rejected and scored, and how to read their annotations.",
    StructField(
        "policy",
        POLICY,
        "The policy. Default: the one that crane-scheduler ships, which this replaces as a whole.",
        pointer=True,
    ),
    StructField(
        "timeZone",
        STRING,
        "The zone of the local times in the annotations, which crane-scheduler takes from its variable TZ.",
        default=crane.DEFAULT_TIME_ZONE,
        examples=("UTC", "Europe/Berlin"),
    ),
    StructField(
        "policyConfigPath",
        STRING,
        "The file with crane-scheduler's policy, a DynamicSchedulerPolicy. It counts where no policy is written here.",
        examples=("/etc/kubernetes/policy.yaml",),
    ),
)


def set_defaults(args: PluginArgs) -> None:
    args["timeZone"] = args["timeZone"] or crane.DEFAULT_TIME_ZONE
    if args["policy"] is None:
        args["policy"] = {name: [_decode_rule(rule) for rule in rules] for name, rules in crane.SAMPLE_POLICY.items()}


def _decode_rule(rule: Json) -> Json:
    return {key: parse_duration(value) if key in DURATIONS else value for key, value in rule.items()}


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    try:
        crane.time_zone(args["timeZone"])
    except crane.CraneError as error:
        problems.append(invalid(child_path(path, "timeZone"), args["timeZone"], str(error)))
    return problems + policy_problems(args["policy"], child_path(path, "policy"))


def policy_problems(policy: Json, at: str) -> list[Problem]:
    """Return the problems of a decoded policy at the path ``at``."""
    problems: list[Problem] = []
    for name in ("syncPolicy", "predicate", "priority"):
        for index, rule in enumerate(policy[name] or ()):
            if not rule["name"]:
                problems.append(
                    invalid(f"{at}.{name}[{index}].name", "", "must name a metric, such as cpu_usage_avg_5m")
                )
    for index, rule in enumerate(policy["hotValue"] or ()):
        if rule["count"] == 0:
            problems.append(invalid(f"{at}.hotValue[{index}].count", 0, "must not be 0: the pods are divided by it"))
    return problems


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    return [] if args["policy"] is None else policy_advice(args["policy"], "policy")


def policy_advice(policy: Json, at: str) -> list[tuple[str, str]]:
    """Return remarks on parts of a decoded policy at the path ``at`` that have no effect: (path, sentence)."""
    remarks: list[tuple[str, str]] = []
    synced = {rule["name"] for rule in policy["syncPolicy"] or () if rule["period"]}
    for name, effect in (("predicate", "no node is above it"), ("priority", "it scores 0 everywhere")):
        for index, rule in enumerate(policy[name] or ()):
            if rule["name"] not in synced:
                remarks.append((f"{at}.{name}[{index}]", f"{quote(rule['name'])} has no syncPolicy, so {effect}"))
    if not policy["priority"]:
        remarks.append((at, "lists no priority, so every node scores 0: what is written replaces the shipped policy"))
    elif not sum(rule["weight"] for rule in policy["priority"]):
        remarks.append((f"{at}.priority", "the weights sum to 0, so a node scores 0 or, where it is hot, 100"))
    return remarks
