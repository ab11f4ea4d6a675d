"""Arguments of HumanApproval: which pods wait for people, for whom, and for how long."""

from __future__ import annotations

from kschedweb.engine.config.args import LABEL_SELECTOR, args_struct
from kschedweb.engine.config.specs import PluginArgs
from kschedweb.engine.config.types import DURATION, FLOAT64, INT32, INT64, STRING, ListType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.fields import (
    Problem,
    Typed,
    child_path,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from kschedweb.engine.validation.golang import SECOND, duration_text
from kschedweb.engine.validation.labels import name_complaints, value_complaints

# Roles of the site that may decide; an admin may decide as an approver.
ROLES = ("approver", "admin")
WINDOWS = ("5m", "15m", "1h", "1d")
MATCHING, ON_TIMEOUT, OWN_PODS = ("First", "All"), ("Deny", "Allow"), ("Allow", "Forbid")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
# Nanoseconds.
HOUR = 3600 * SECOND
# Nanoseconds: 30 days.
LONGEST = 30 * 24 * HOUR
MOST_PEOPLE = 20

USAGE = Struct(
    "v1.ApprovalUsage",
    "Real use from which on the chosen node asks for approval. A node without figures does not ask.",
    (
        *(
            StructField(name, FLOAT64, f"Percent of allocatable {words} in use.", pointer=True, minimum=0, maximum=100)
            for name, words in (("cpuAbove", "CPU"), ("memoryAbove", "memory"))
        ),
        StructField("window", STRING, "The mean over this time counts.", default="15m", enum=WINDOWS),
    ),
)
APPROVAL = Struct(
    "v1.Approval",
    "Approvals by people of one role.",
    (
        StructField("role", STRING, "Role that may approve. Admins count as approvers.", omit_empty=False, enum=ROLES),
        StructField("count", INT32, "Number of people who must approve.", default=1, minimum=1, maximum=MOST_PEOPLE),
    ),
    required=("role",),
)
RULE = Struct(
    "v1.ApprovalRule",
    "Pods that meet every condition given here wait. Without a condition all pods do.",
    (
        StructField("name", STRING, "Name of this rule."),
        StructField("namespaces", ListType(STRING), "Pods in one of these namespaces."),
        StructField("podSelector", LABEL_SELECTOR, "Pods with these labels.", pointer=True),
        StructField("minPriority", INT32, "Pods of this priority or more.", pointer=True),
        StructField("maxPriority", INT32, "Pods of this priority or less.", pointer=True),
        StructField("nodes", ListType(STRING), "Pods for which one of these nodes is chosen."),
        StructField("nodeSelector", LABEL_SELECTOR, "Pods for which a node with these labels is chosen.", pointer=True),
        StructField(
            "marginBelow",
            INT64,
            "The chosen node's total is less than this ahead of the next best, so that the choice is a close one.",
            pointer=True,
            minimum=1,
        ),
        StructField("usage", USAGE, "The chosen node's real use is above this.", pointer=True),
        StructField("approvals", ListType(APPROVAL), "Who must approve. Default: one approver."),
        StructField("timeout", DURATION, "How long the pod waits; days are allowed.", pointer=True, default="1h0m0s"),
        StructField("onTimeout", STRING, "What to do when nobody decides in time.", default="Deny", enum=ON_TIMEOUT),
        StructField(
            "ownPods",
            STRING,
            "Let people decide about pods they created (annotation approvals.kschedweb.dev/created-by).",
            default="Allow",
            enum=OWN_PODS,
        ),
        StructField("reason", STRING, "Why approval is needed. Approvers see this."),
    ),
)
ARGS = args_struct(
    "HumanApprovalArgs",
    "Which pods wait for people before they are bound.",
    StructField(
        "matching",
        STRING,
        "If several rules match: only the first applies (First), or all (All).",
        default="First",
        enum=MATCHING,
    ),
    StructField("rules", ListType(RULE), "Rules, in order. Without rules no pod waits."),
)


def set_defaults(args: PluginArgs) -> None:
    args["matching"] = args["matching"] or "First"
    for rule in args["rules"] or ():
        rule["approvals"] = rule["approvals"] or [{"role": "approver", "count": 1}]
        for approval in rule["approvals"]:
            approval["count"] = approval["count"] or 1
        rule["timeout"] = HOUR if rule["timeout"] is None else rule["timeout"]
        rule["onTimeout"] = rule["onTimeout"] or "Deny"
        rule["ownPods"] = rule["ownPods"] or "Allow"
        if rule["usage"] is not None:
            rule["usage"]["window"] = rule["usage"]["window"] or "15m"


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if args["matching"] not in MATCHING:
        problems.append(unsupported(child_path(path, "matching"), args["matching"], MATCHING))
    for index, rule in enumerate(args["rules"] or ()):
        problems += _rule_problems(rule, f"{child_path(path, 'rules')}[{index}]")
    return problems


def _rule_problems(rule: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for name in ("namespaces", "nodes"):
        problems += [required(f"{path}.{name}[{at}]") for at, value in enumerate(rule[name] or ()) if not value]
    for name in ("podSelector", "nodeSelector"):
        if rule[name] is not None:
            problems += _selector_problems(rule[name], f"{path}.{name}")
    min_priority, max_priority = rule["minPriority"], rule["maxPriority"]
    if min_priority is not None and max_priority is not None and min_priority > max_priority:
        problems.append(invalid(f"{path}.minPriority", min_priority, "must not be greater than maxPriority"))
    if rule["marginBelow"] is not None and rule["marginBelow"] < 1:
        problems.append(invalid(f"{path}.marginBelow", rule["marginBelow"], "must be greater than 0"))
    if rule["usage"] is not None:
        problems += _usage_problems(rule["usage"], f"{path}.usage")
    problems += _approval_problems(rule["approvals"], f"{path}.approvals")
    if not 0 < rule["timeout"] <= LONGEST:
        actual = Typed(duration_text(rule["timeout"]))
        problems.append(invalid(f"{path}.timeout", actual, f"not in valid range (0s, {duration_text(LONGEST)}]"))
    for name, values in (("onTimeout", ON_TIMEOUT), ("ownPods", OWN_PODS)):
        if rule[name] not in values:
            problems.append(unsupported(f"{path}.{name}", rule[name], values))
    return problems


def _usage_problems(usage: Json, path: str) -> list[Problem]:
    problems = [
        invalid(f"{path}.{name}", usage[name], "not in valid range [0, 100]")
        for name in ("cpuAbove", "memoryAbove")
        if usage[name] is not None and not 0 <= usage[name] <= 100
    ]
    if usage["cpuAbove"] is None and usage["memoryAbove"] is None:
        problems.append(required(path, "cpuAbove or memoryAbove must be specified"))
    if usage["window"] not in WINDOWS:
        problems.append(unsupported(f"{path}.window", usage["window"], WINDOWS))
    return problems


def _approval_problems(approvals: list[Json], path: str) -> list[Problem]:
    problems: list[Problem] = []
    roles: set[str] = set()
    for index, approval in enumerate(approvals):
        at, role = f"{path}[{index}]", approval["role"]
        if role not in ROLES:
            problems.append(unsupported(f"{at}.role", role, ROLES))
        elif role in roles:
            problems.append(duplicate(f"{at}.role", role))
        roles.add(role)
        if not 0 < approval["count"] <= MOST_PEOPLE:
            problems.append(invalid(f"{at}.count", approval["count"], f"not in valid range [1, {MOST_PEOPLE}]"))
    return problems


def _selector_problems(selector: Json, path: str) -> list[Problem]:
    """Return the problems of a metav1.LabelSelector, in the API server's words."""
    problems: list[Problem] = []
    for key, value in sorted((selector["matchLabels"] or {}).items()):
        problems += [invalid(f"{path}.matchLabels", key, text) for text in name_complaints(key)]
        problems += [invalid(f"{path}.matchLabels", value, text) for text in value_complaints(value)]
    for index, expression in enumerate(selector["matchExpressions"] or ()):
        at, operator, values = f"{path}.matchExpressions[{index}]", expression["operator"], expression["values"] or []
        problems += [invalid(f"{at}.key", expression["key"], text) for text in name_complaints(expression["key"])]
        if operator not in OPERATORS:
            problems.append(invalid(f"{at}.operator", Typed(operator), "not a valid selector operator"))
        elif operator in ("In", "NotIn") and not values:
            problems.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist") and values:
            problems.append(
                forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
        for place, value in enumerate(values):
            problems += [invalid(f"{at}.values[{place}]", value, text) for text in value_complaints(value)]
    return problems


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    """Return advice about rules that are never reached: those after a rule without conditions."""
    if (args["matching"] or "First") != "First":
        return []
    rules = args["rules"] or []
    # The fields from namespaces to usage.
    conditions = [field.name for field in RULE.fields[1:9]]
    for index, rule in enumerate(rules[:-1]):
        if all(rule[name] in (None, []) for name in conditions):
            return [(f"rules[{index + 1}]", f"is never reached, as rules[{index}] fits every pod")]
    return []
