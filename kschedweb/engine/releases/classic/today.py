"""The profile that kube-scheduler 1.22 made of a policy, written as a KubeSchedulerConfiguration v1 of today."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kschedweb.engine.config import EMPTY, Release
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.classic.legacy import LegacyProfile
from kschedweb.engine.validation.golang import duration_text, parse_duration

FILTERING, SCORING = ("preFilter", "filter", "reserve", "preBind"), ("preScore", "score")
POINTS = ("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", *SCORING, "reserve", "preBind", "bind")
STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
# Today's replacements of plugins that only 1.22 had.
RENAMED = dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), "NodeVolumeLimits")
RENAMED |= dict.fromkeys(STRATEGIES, "NodeResourcesFit")
GONE = frozenset({"NodePreferAvoidPods"})
# Plugins that no policy could name, and their purpose.
ADDED = {
    "SchedulingGates": "Pods with scheduling gates wait until those are gone.",
    "PrioritySort": "Pods of higher priority are tried first.",
    "DefaultPreemption": "Pods of lower priority may have to go where a pod fits nowhere.",
    "DynamicResources": "Pods with resource claims get their devices.",
    "DefaultBinder": "Pods are bound through the API server.",
}
RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
MAX_TERM_WEIGHT = 100
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PRIVATE_KEY = "keyData"


def document(
    legacy: LegacyProfile, affinity: Json, extenders: Sequence[Json], percentage: int, release: Release
) -> Json:
    """The configuration; ``affinity`` is NodeAffinity's addedAffinity, ``percentage`` is percentageOfNodesToScore."""
    plugins: Json = {"multiPoint": {"disabled": [{"name": "*"}]}, **_points(legacy, release)}
    profile: Json = {"schedulerName": "default-scheduler", "plugins": plugins}
    if arguments := _arguments(legacy, affinity, extenders):
        profile["pluginConfig"] = [{"name": name, "args": given} for name, given in arguments.items()]
    found = {**EMPTY, "percentageOfNodesToScore": percentage, "profiles": [profile]}
    return found | ({"extenders": [_extender(one) for one in extenders]} if extenders else {})


def expression(label: str, presence: bool) -> Json:
    """The node selector requirement that a node has ``label``, or lacks it."""
    return {"key": label, "operator": "Exists" if presence else "DoesNotExist"}


def added_affinity(required: Sequence[Json], preferred: Sequence[tuple[int, Json]]) -> Json:
    """Node affinity that requires all of ``required``, and prefers each of ``preferred`` by its weight."""
    found: Json = {}
    if required:
        found[REQUIRED] = {"nodeSelectorTerms": [{"matchExpressions": list(required)}]}
    if preferred:
        most = max(weight for weight, _ in preferred)
        found[PREFERRED] = [
            {"weight": _on_scale(weight, most), "preference": {"matchExpressions": [one]}} for weight, one in preferred
        ]
    return found


def _on_scale(weight: int, most: int) -> int:
    """``weight`` scaled to a term's maximum of 100, if ``most``, the largest weight, is above that."""
    return weight if most <= MAX_TERM_WEIGHT else max(1, weight * MAX_TERM_WEIGHT // most)


def _points(legacy: LegacyProfile, release: Release) -> dict[str, Json]:
    """The plugins at each extension point, in calling order."""
    enabled: dict[str, dict[str, Json]] = {point: {} for point in POINTS}
    for name, points, weight in _steps(legacy):
        for point in points:
            if point in release.own.specs[name].points:
                given = {"name": name, "weight": weight} if point == "score" else {"name": name}
                enabled[point].setdefault(name, given)
    return {point: {"enabled": list(listed.values())} for point, listed in enabled.items() if listed}


def _steps(legacy: LegacyProfile) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """The plugins with their extension points and weights."""
    for one in legacy.plugins["filter"]:
        yield RENAMED.get(one.name, one.name), FILTERING, 0
    for one in legacy.plugins.get("score", ()):
        if one.name not in GONE:
            yield RENAMED.get(one.name, one.name), SCORING, one.weight
    for name in ADDED:
        yield name, tuple(point for point in POINTS if point not in SCORING), 0


def _arguments(legacy: LegacyProfile, affinity: Json, extenders: Sequence[Json]) -> dict[str, Json]:
    """Arguments by plugin, without those that equal the defaults."""
    found: dict[str, Json] = {}
    if affinity:
        found["NodeAffinity"] = {"addedAffinity": affinity}
    for one in legacy.plugins.get("score", ()):
        if one.name in STRATEGIES:
            strategy: Json = {"type": STRATEGIES[one.name], "resources": RESOURCES}
            if shape := legacy.arguments[one.name].get("shape"):
                strategy["requestedToCapacityRatio"] = {"shape": shape}
            found["NodeResourcesFit"] = {"scoringStrategy": strategy}
        elif one.name == "InterPodAffinity" and legacy.arguments[one.name] != {"hardPodAffinityWeight": 1}:
            found[one.name] = legacy.arguments[one.name]
    # kube-scheduler requires these arguments if only extenders manage a resource.
    if any(item["ignoredByScheduler"] for one in extenders for item in one["managedResources"]):
        found.setdefault("NodeResourcesFit", {})
    return found


def _extender(given: Json) -> Json:
    """The extender without empty fields and private key, and with a readable timeout."""

    def kept(value: Any) -> Any:
        return {name: inner for name, inner in value.items() if inner and name != PRIVATE_KEY}

    found: Json = kept(given)
    found["httpTimeout"] = duration_text(parse_duration(given["httpTimeout"]))
    if tls := kept(given.get("tlsConfig") or {}):
        found["tlsConfig"] = tls
    if managed := given["managedResources"]:
        found["managedResources"] = [kept(one) for one in managed]
    return found
