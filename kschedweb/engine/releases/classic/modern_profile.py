"""The profile that kube-scheduler 1.22 made of a policy, written as a KubeSchedulerConfiguration v1 of today."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kschedweb.engine.config import EMPTY, Release
from kschedweb.engine.json_types import Json
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
REMOVED_PLUGINS = frozenset({"NodePreferAvoidPods"})
# Plugins that no policy could name, and their purpose.
ADDED = {
    "SchedulingGates": "Pods with scheduling gates wait until those are gone.",
    "PrioritySort": "Pods of higher priority are tried first.",
    "DefaultPreemption": "Pods of lower priority may have to go where a pod fits nowhere.",
    "DynamicResources": "Pods with resource claims get their devices.",
    "DefaultBinder": "Pods are bound through the API server.",
}
RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
# The API server allows weights of preferred terms from 1 to 100.
MAX_TERM_WEIGHT = 100
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
# A private key does not belong in a configuration that people paste and share.
PRIVATE_KEY = "keyData"


def build_document(
    legacy: LegacyProfile, affinity: Json, extenders: Sequence[Json], percentage: int, release: Release
) -> Json:
    """Return the configuration; ``affinity`` is NodeAffinity's addedAffinity, ``percentage``
    percentageOfNodesToScore.
    """
    # All defaults are off, so that exactly the policy's plugins run.
    plugins: Json = {"multiPoint": {"disabled": [{"name": "*"}]}, **_plugins_by_point(legacy, release)}
    profile: Json = {"schedulerName": "default-scheduler", "plugins": plugins}
    if arguments := _plugin_arguments(legacy, affinity, extenders):
        profile["pluginConfig"] = [{"name": name, "args": args} for name, args in arguments.items()]
    configuration = {**EMPTY, "percentageOfNodesToScore": percentage, "profiles": [profile]}
    return configuration | ({"extenders": [_convert_extender(extender) for extender in extenders]} if extenders else {})


def label_requirement(label: str, presence: bool) -> Json:
    """Return the node selector requirement that a node has ``label``, or lacks it."""
    return {"key": label, "operator": "Exists" if presence else "DoesNotExist"}


def added_affinity(required: Sequence[Json], preferred: Sequence[tuple[int, Json]]) -> Json:
    """Return node affinity that requires all of ``required``, and prefers each of ``preferred`` by its weight."""
    affinity: Json = {}
    if required:
        affinity[REQUIRED] = {"nodeSelectorTerms": [{"matchExpressions": list(required)}]}
    if preferred:
        max_weight = max(weight for weight, _ in preferred)
        affinity[PREFERRED] = [
            {"weight": _on_scale(weight, max_weight), "preference": {"matchExpressions": [requirement]}}
            for weight, requirement in preferred
        ]
    return affinity


def _on_scale(weight: int, max_weight: int) -> int:
    """Return ``weight``, scaled to a term's maximum of 100 if ``max_weight``, the largest weight, is above that."""
    return weight if max_weight <= MAX_TERM_WEIGHT else max(1, weight * MAX_TERM_WEIGHT // max_weight)


def _plugins_by_point(legacy: LegacyProfile, release: Release) -> dict[str, Json]:
    """Return the plugins at each extension point, in calling order."""
    enabled: dict[str, dict[str, Json]] = {point: {} for point in POINTS}
    for name, points, weight in _list_steps(legacy):
        for point in points:
            if point in release.in_tree_plugins.specs[name].points:
                entry = {"name": name, "weight": weight} if point == "score" else {"name": name}
                enabled[point].setdefault(name, entry)
    return {point: {"enabled": list(listed.values())} for point, listed in enabled.items() if listed}


def _list_steps(legacy: LegacyProfile) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield the plugins with their extension points and weights."""
    for ref in legacy.plugins["filter"]:
        yield RENAMED.get(ref.name, ref.name), FILTERING, 0
    for ref in legacy.plugins.get("score", ()):
        if ref.name not in REMOVED_PLUGINS:
            yield RENAMED.get(ref.name, ref.name), SCORING, ref.weight
    for name in ADDED:
        yield name, tuple(point for point in POINTS if point not in SCORING), 0


def _plugin_arguments(legacy: LegacyProfile, affinity: Json, extenders: Sequence[Json]) -> dict[str, Json]:
    """Return arguments by plugin, without those that equal the defaults."""
    arguments: dict[str, Json] = {}
    if affinity:
        arguments["NodeAffinity"] = {"addedAffinity": affinity}
    for ref in legacy.plugins.get("score", ()):
        if ref.name in STRATEGIES:
            strategy: Json = {"type": STRATEGIES[ref.name], "resources": RESOURCES}
            if shape := legacy.arguments[ref.name].get("shape"):
                strategy["requestedToCapacityRatio"] = {"shape": shape}
            arguments["NodeResourcesFit"] = {"scoringStrategy": strategy}
        elif ref.name == "InterPodAffinity" and legacy.arguments[ref.name] != {"hardPodAffinityWeight": 1}:
            arguments[ref.name] = legacy.arguments[ref.name]
    # kube-scheduler requires these arguments if only extenders manage a resource.
    if any(item["ignoredByScheduler"] for extender in extenders for item in extender["managedResources"]):
        arguments.setdefault("NodeResourcesFit", {})
    return arguments


def _convert_extender(extender: Json) -> Json:
    """Return the extender without empty fields and private key, and with a readable timeout."""

    def without_empty(value: Any) -> Any:
        return {name: inner for name, inner in value.items() if inner and name != PRIVATE_KEY}

    converted: Json = without_empty(extender)
    converted["httpTimeout"] = duration_text(parse_duration(extender["httpTimeout"]))
    if tls := without_empty(extender.get("tlsConfig") or {}):
        converted["tlsConfig"] = tls
    if managed := extender["managedResources"]:
        converted["managedResources"] = [without_empty(resource) for resource in managed]
    return converted
