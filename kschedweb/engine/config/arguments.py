"""Defaults and validation of the in-tree plugins' arguments, in kube-scheduler's words.

A default setter changes decoded arguments in place; a validator gets them with the path to name in its errors.
"""

from __future__ import annotations

from typing import Any

from kschedweb.engine.config.args import SHAPE_POINT
from kschedweb.engine.validation.affinity import preferred_problems, selector_problems
from kschedweb.engine.validation.fields import (
    Problem,
    Typed,
    child,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from kschedweb.engine.validation.golang import SECOND, duration_text
from kschedweb.engine.validation.labels import name_complaints

STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
Args = dict[str, Any]


def _default_resources() -> list[Args]:
    return [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def _weigh(resources: list[Args]) -> None:
    for resource in resources:
        resource["weight"] = resource["weight"] or 1


def fit_defaults(args: Args) -> None:
    if args["scoringStrategy"] is None:
        args["scoringStrategy"] = {"type": "LeastAllocated", "resources": None, "requestedToCapacityRatio": None}
    strategy = args["scoringStrategy"]
    strategy["resources"] = strategy["resources"] or _default_resources()
    _weigh(strategy["resources"])


def fit_problems(args: Args, path: str) -> list[Problem]:
    found: list[Problem] = []
    for index, name in enumerate(args["ignoredResources"] or ()):
        at = f"{child(path, 'ignoredResources')}[{index}]"
        found += [invalid(at, name, text) for text in name_complaints(name)]
    for index, group in enumerate(args["ignoredResourceGroups"] or ()):
        at = f"{child(path, 'ignoredResourceGroups')}[{index}]"
        if "/" in group:
            found.append(invalid(at, group, "resource group name can't contain '/'"))
        found += [invalid(at, group, text) for text in name_complaints(group)]
    return found + _strategy_problems(args["scoringStrategy"], child(path, "scoringStrategy"))


def _strategy_problems(strategy: Args, path: str) -> list[Problem]:
    found: list[Problem] = []
    kind = strategy["type"]
    if kind not in STRATEGIES:
        found.append(unsupported(f"{path}.type", Typed(kind), STRATEGIES))
    for index, resource in enumerate(strategy["resources"]):
        if not 0 < resource["weight"] <= 100:
            detail = f"resource weight of {resource['name']} not in valid range (0, 100]"
            found.append(invalid(f"{path}.resources[{index}].weight", resource["weight"], detail))
    ratio, at = strategy["requestedToCapacityRatio"], f"{path}.requestedToCapacityRatio"
    if kind != "RequestedToCapacityRatio":
        if ratio is not None:
            found.append(forbidden(at, "must be nil when type is not RequestedToCapacityRatio"))
    elif ratio is None:
        found.append(required(at, "must be specified when type is RequestedToCapacityRatio"))
    else:
        found += _shape_problems(ratio["shape"] or [], f"{at}.shape")
    return found


def _shape_problems(shape: list[Args], path: str) -> list[Problem]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    found: list[Problem] = []
    use = [point["utilization"] for point in shape]
    if (fall := next((i for i in range(1, len(use)) if use[i - 1] >= use[i]), None)) is not None:
        found.append(invalid(f"{path}[{fall}].utilization", use[fall], "values must be sorted in increasing order"))
    for index, point in enumerate(shape):
        if not 0 <= point["utilization"] <= 100:
            found.append(invalid(f"{path}[{index}].utilization", point["utilization"], "not in valid range [0, 100]"))
        if not 0 <= point["score"] <= 10:
            found.append(invalid(f"{path}[{index}].score", point["score"], "not in valid range [0, 10]"))
    return found


def balanced_defaults(args: Args) -> None:
    args["resources"] = args["resources"] or _default_resources()
    _weigh(args["resources"])


def balanced_problems(args: Args, path: str) -> list[Problem]:
    found: list[Problem] = []
    seen: set[str] = set()
    for index, resource in enumerate(args["resources"]):
        at = f"{child(path, 'resources')}[{index}]"
        if resource["name"] in seen:
            found.append(duplicate(f"{at}.name", resource["name"]))
        seen.add(resource["name"])
        if resource["weight"] != 1:
            found.append(invalid(f"{at}.weight", resource["weight"], "must be 1"))
    return found


def preemption_defaults(args: Args) -> None:
    if args["minCandidateNodesPercentage"] is None:
        args["minCandidateNodesPercentage"] = 10
    if args["minCandidateNodesAbsolute"] is None:
        args["minCandidateNodesAbsolute"] = 100


def preemption_problems(args: Args, path: str) -> list[Problem]:
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    percentage, absolute = (args[name] for name in names)
    found: list[Problem] = []
    if not 0 <= percentage <= 100:
        found.append(invalid(child(path, names[0]), percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        found.append(invalid(child(path, names[1]), absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        for name, other in (names, names[::-1]):
            found.append(invalid(child(path, name), 0, f"cannot be zero at the same time as {other}"))
    return found


def pod_affinity_defaults(args: Args) -> None:
    if args["hardPodAffinityWeight"] is None:
        args["hardPodAffinityWeight"] = 1


def pod_affinity_problems(args: Args, path: str) -> list[Problem]:
    weight = args["hardPodAffinityWeight"]
    if 0 <= weight <= 100:
        return []
    return [invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")]


def node_affinity_problems(args: Args, path: str) -> list[Problem]:
    added = args["addedAffinity"]
    if added is None:
        return []
    at = child(path, "addedAffinity")
    must, prefer = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    found = selector_problems(added[must], f"{at}.{must}") if added[must] is not None else []
    return found + preferred_problems(added[prefer] or [], f"{at}.{prefer}")


def spread_defaults(args: Args) -> None:
    args["defaultingType"] = args["defaultingType"] or "System"


def spread_problems(args: Args, path: str) -> list[Problem]:
    kind, constraints = args["defaultingType"], args["defaultConstraints"] or []
    at = child(path, "defaultingType")
    found: list[Problem] = []
    if kind not in ("System", "List"):
        found.append(unsupported(at, Typed(kind), ("System", "List")))
    elif kind == "System" and constraints:
        found.append(invalid(at, Typed(kind), "when .defaultConstraints are not empty"))
    at = child(path, "defaultConstraints")
    for index, constraint in enumerate(constraints):
        found += _constraint_problems(constraint, f"{at}[{index}]")
        key = (constraint["topologyKey"], constraint["whenUnsatisfiable"])
        if any(key == (other["topologyKey"], other["whenUnsatisfiable"]) for other in constraints[:index]):
            found.append(duplicate(f"{at}[{index}]", f"{{{key[0]}, {key[1]}}}"))
    return found


def _constraint_problems(constraint: Args, path: str) -> list[Problem]:
    found: list[Problem] = []
    if constraint["maxSkew"] <= 0:
        found.append(invalid(f"{path}.maxSkew", constraint["maxSkew"], "not in valid range (0, inf)"))
    key, at = constraint["topologyKey"], f"{path}.topologyKey"
    if key:
        found += [invalid(at, key, text) for text in name_complaints(key)]
    else:
        found.append(required(at, "can not be empty"))
    action, at = constraint["whenUnsatisfiable"], f"{path}.whenUnsatisfiable"
    if not action:
        found.append(required(at, "can not be empty"))
    elif action not in ("DoNotSchedule", "ScheduleAnyway"):
        found.append(unsupported(at, Typed(action), ("DoNotSchedule", "ScheduleAnyway")))
    if constraint["labelSelector"] is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        found.append(forbidden(f"{path}.labelSelector", detail))
    return found


def volume_binding_defaults(args: Args) -> None:
    if args["bindTimeoutSeconds"] is None:
        args["bindTimeoutSeconds"] = 600


def volume_binding_problems(args: Args, path: str) -> list[Problem]:
    found: list[Problem] = []
    if args["bindTimeoutSeconds"] < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        found.append(invalid(child(path, "bindTimeoutSeconds"), args["bindTimeoutSeconds"], detail))
    if args["shape"] is not None:
        points = [{f.name.capitalize(): point[f.name] for f in SHAPE_POINT.fields} for point in args["shape"]]
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        found.append(invalid(child(path, "shape"), Typed(points), detail))
    return found


def dynamic_resources_defaults(args: Args) -> None:
    if args["filterTimeout"] is None:
        args["filterTimeout"] = 10 * SECOND
    if args["bindingTimeout"] is None:
        args["bindingTimeout"] = 600 * SECOND


def dynamic_resources_problems(args: Args, path: str) -> list[Problem]:
    found: list[Problem] = []
    if args["filterTimeout"] < 0:
        shown = Typed(duration_text(args["filterTimeout"]))
        found.append(invalid(child(path, "filterTimeout"), shown, "must be zero or positive"))
    if args["bindingTimeout"] < SECOND:
        shown = Typed(duration_text(args["bindingTimeout"]))
        found.append(invalid(child(path, "bindingTimeout"), shown, "must be at least 1 second"))
    return found
