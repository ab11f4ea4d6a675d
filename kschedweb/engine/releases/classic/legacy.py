"""The profile that kube-scheduler 1.22, the last release that read a Policy, made of it.

Tests compare it with recorded answers of 1.22.17 (tests/conformance/recorded/policies.jsonl.xz).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import field

from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import catalogue
from kschedweb.engine.releases.classic.policy import ClassicPolicy, PolicyRule
from kschedweb.engine.validation.golang import INT64_MAX, quote
from kschedweb.engine.values import dataclass

FILTER, PREPARED_FILTER = ("filter",), ("preFilter", "filter")
SCORE, PREPARED_SCORE = ("score",), ("preScore", "score")
# A plugin and its extension points.
Step = tuple[str, tuple[str, ...]]

_FIT: Step = ("NodeResourcesFit", PREPARED_FILTER)
_NAME: Step = ("NodeName", FILTER)
_PORTS: Step = ("NodePorts", PREPARED_FILTER)
_AFFINITY: Step = ("NodeAffinity", PREPARED_FILTER)
# In the order of the profile.
PREDICATES: dict[str, tuple[Step, ...]] = {
    "CheckNodeUnschedulable": (("NodeUnschedulable", FILTER),),
    "GeneralPredicates": (_FIT, _NAME, _PORTS, _AFFINITY),
    "HostName": (_NAME,),
    "PodFitsHostPorts": (_PORTS,),
    "MatchNodeSelector": (_AFFINITY,),
    "PodFitsResources": (_FIT,),
    "NoDiskConflict": (("VolumeRestrictions", FILTER),),
    "PodToleratesNodeTaints": (("TaintToleration", FILTER),),
    "CheckNodeLabelPresence": (("NodeLabel", FILTER),),
    "CheckServiceAffinity": (("ServiceAffinity", PREPARED_FILTER),),
    "MaxEBSVolumeCount": (("EBSLimits", FILTER),),
    "MaxGCEPDVolumeCount": (("GCEPDLimits", FILTER),),
    "MaxCSIVolumeCountPred": (("NodeVolumeLimits", FILTER),),
    "MaxAzureDiskVolumeCount": (("AzureDiskLimits", FILTER),),
    "MaxCinderVolumeCount": (("CinderLimits", FILTER),),
    "CheckVolumeBinding": (("VolumeBinding", ("preFilter", "filter", "reserve", "preBind")),),
    "NoVolumeZoneConflict": (("VolumeZone", FILTER),),
    "EvenPodsSpread": (("PodTopologySpread", PREPARED_FILTER),),
    "MatchInterPodAffinity": (("InterPodAffinity", PREPARED_FILTER),),
}
# 1.22 enabled these whatever the policy said.
MANDATORY = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
_BY_REQUEST = {
    *("HostName", "PodFitsHostPorts", "MatchNodeSelector", "PodFitsResources", "CheckNodeLabelPresence"),
    *("CheckServiceAffinity", "MaxCinderVolumeCount"),
}
DEFAULT_PREDICATES = tuple(name for name in PREDICATES if name not in _BY_REQUEST)
PRIORITIES: dict[str, Step] = {
    "SelectorSpreadPriority": ("PodTopologySpread", PREPARED_SCORE),
    "EvenPodsSpreadPriority": ("PodTopologySpread", PREPARED_SCORE),
    "InterPodAffinityPriority": ("InterPodAffinity", PREPARED_SCORE),
    "NodeAffinityPriority": ("NodeAffinity", PREPARED_SCORE),
    "TaintTolerationPriority": ("TaintToleration", PREPARED_SCORE),
    "ImageLocalityPriority": ("ImageLocality", SCORE),
    "NodePreferAvoidPodsPriority": ("NodePreferAvoidPods", SCORE),
    "BalancedResourceAllocation": ("NodeResourcesBalancedAllocation", SCORE),
    "LeastRequestedPriority": ("NodeResourcesLeastAllocated", SCORE),
    "MostRequestedPriority": ("NodeResourcesMostAllocated", SCORE),
    # A choice with an argument is registered under the name of its plugin.
    "RequestedToCapacityRatio": ("RequestedToCapacityRatio", SCORE),
    "NodeLabel": ("NodeLabel", SCORE),
    "ServiceAffinity": ("ServiceAffinity", SCORE),
}
DEFAULT_PRIORITIES = catalogue.DEFAULT_PRIORITIES | {"EvenPodsSpreadPriority": 2}
MAX_NODE_SCORE = 100
# Old names, under which 1.22 still accepted a choice.
ALIASES = {"PodFitsPorts": "PodFitsHostPorts", "ServiceSpreadingPriority": "SelectorSpreadPriority"}
EQUAL = "EqualPriority"
# The name under which an argument's kind registered its plugin.
_MADE_BY = {
    "serviceAffinity": "CheckServiceAffinity",
    "labelsPresence": "CheckNodeLabelPresence",
    "serviceAntiAffinity": "ServiceAffinity",
    "labelPreference": "NodeLabel",
    "requestedToCapacityRatioArguments": "RequestedToCapacityRatio",
}
_ALWAYS: tuple[Step, ...] = (
    ("PrioritySort", ("queueSort",)),
    ("DefaultPreemption", ("postFilter",)),
    ("DefaultBinder", ("bind",)),
)
_ROOM: list[Json] = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
_DEFAULT_ARGUMENTS: dict[str, Json] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
    "InterPodAffinity": {"hardPodAffinityWeight": 1},
    "NodeAffinity": {},
    "NodeResourcesBalancedAllocation": {"resources": _ROOM},
    "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": _ROOM}},
    "PodTopologySpread": {"defaultingType": "System"},
    "VolumeBinding": {"bindTimeoutSeconds": 600},
}


class LegacyError(ValueError):
    """kube-scheduler 1.22 did not start with the policy; the text is its error message."""


@dataclass(slots=True)
class LegacyProfile:
    """A profile of kube-scheduler 1.22."""

    # By extension point in calling order; weights at score only.
    plugins: dict[str, list[PluginRef]] = field(default_factory=dict)
    # By plugin.
    arguments: dict[str, Json] = field(default_factory=dict)

    def enable_step(self, step: Step, weight: int = 0) -> None:
        """Enable a plugin at those of its points where it is not enabled yet. The first weight stays."""
        name, points = step
        for point in points:
            listed = self.plugins.setdefault(point, [])
            if all(ref.name != name for ref in listed):
                listed.append(PluginRef(name, weight if point == "score" else 0))


def legacy_profile(policy: ClassicPolicy) -> LegacyProfile:
    """Return the profile that kube-scheduler 1.22 ran. Raises LegacyError."""
    if problems := list(dict.fromkeys(_find_conflicts(policy))):
        raise LegacyError(f"couldn't create scheduler from policy: {_join_errors(problems)}")
    profile = plan_profile(policy)
    _ignore_managed_resources(policy, profile)
    if (
        fault := "total score of Score plugins could overflow"
        if _weights_overflow(profile)
        else _find_startup_fault(profile)
    ):
        context = "initializing profiles: creating profile for scheduler name default-scheduler"
        raise LegacyError(f"couldn't create scheduler from policy: {context}: {fault}")
    return profile


def plan_profile(policy: ClassicPolicy) -> LegacyProfile:
    """Return the profile that 1.22 made of the policy's names and arguments, before it was validated.

    Raises LegacyError for names that 1.22 did not know.
    """
    profile, arguments = LegacyProfile(), _Arguments()
    predicates = set(DEFAULT_PREDICATES)
    if policy.predicates is not None:
        predicates = {_register_rule(rule, "predicate", PREDICATES, arguments) for rule in policy.predicates}
    priorities = DEFAULT_PRIORITIES
    if policy.priorities is not None:
        chosen = [rule for rule in policy.priorities if rule.name != EQUAL]
        priorities = {_register_rule(rule, "priority", PRIORITIES, arguments): rule.weight for rule in chosen}
    for step in _ALWAYS:
        profile.enable_step(step)
    for name in PREDICATES:
        if name in predicates or name in MANDATORY:
            for step in PREDICATES[name]:
                profile.enable_step(step)
    # By name, as 1.22 did; so the order of scores does not follow the policy.
    for name in sorted(priorities):
        weight = _wrap_int32(priorities[name])
        if name in ("NodeLabel", "ServiceAffinity"):
            weight = _wrap_int32(weight * arguments.count_preferences(name))
        profile.enable_step(PRIORITIES[name], weight)
    profile.arguments = arguments.for_profile(profile, set(priorities), policy.hard_pod_affinity_weight)
    return profile


@dataclass(slots=True)
class _Arguments:
    """The plugin arguments that come from the arguments of a policy."""

    by_plugin: dict[str, Json] = field(default_factory=dict)

    def add_argument(self, kind: str, content: Json) -> None:
        if kind == "requestedToCapacityRatioArguments":
            self.by_plugin["RequestedToCapacityRatio"] = {"shape": content["shape"], "resources": []}
        elif kind == "serviceAffinity":
            self._extend_labels("ServiceAffinity", "affinityLabels", content["labels"])
        elif kind == "serviceAntiAffinity":
            self._extend_labels("ServiceAffinity", "antiAffinityLabelsPreference", [content["label"]])
        elif kind == "labelsPresence":
            self._extend_labels(
                "NodeLabel", "presentLabels" if content["presence"] else "absentLabels", content["labels"]
            )
        else:
            key = "presentLabelsPreference" if content["presence"] else "absentLabelsPreference"
            self._extend_labels("NodeLabel", key, [content["label"]])

    def _extend_labels(self, plugin: str, key: str, labels: Sequence[str]) -> None:
        args = self.by_plugin.setdefault(plugin, {})
        if labels:
            args.setdefault(key, []).extend(labels)

    def count_preferences(self, plugin: str) -> int:
        """Return the number of preferences that share the plugin's weight."""
        if plugin not in self.by_plugin:
            raise LegacyError("panic: runtime error: invalid memory address or nil pointer dereference")
        return sum(len(labels) for key, labels in self.by_plugin[plugin].items() if key.endswith("Preference"))

    def for_profile(self, profile: LegacyProfile, priorities: set[str], hard: int) -> dict[str, Json]:
        """Return the arguments of the plugins of ``profile``."""
        arguments = dict(self.by_plugin)
        for name in ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"):
            arguments[name] = {"resources": _ROOM}
        if "EvenPodsSpreadPriority" in priorities and "SelectorSpreadPriority" not in priorities:
            arguments["PodTopologySpread"] = {"defaultingType": "List"}
        if hard and "InterPodAffinityPriority" in priorities:
            arguments["InterPodAffinity"] = {"hardPodAffinityWeight": hard}
        running = {ref.name for listed in profile.plugins.values() for ref in listed}
        return {name: args for name, args in (_DEFAULT_ARGUMENTS | arguments).items() if name in running}


def _register_rule(choice: PolicyRule, rule_kind: str, available: Container[str], arguments: _Arguments) -> str:
    """Return the name under which 1.22 registered the choice. The argument of an already registered name is ignored."""
    name = ALIASES.get(choice.name, choice.name)
    if name in available:
        return name
    if choice.argument is None:
        raise LegacyError(f"couldn't create scheduler from policy: {rule_kind} type not found for {quote(name)}")
    kind, content = choice.argument
    arguments.add_argument(kind, content)
    return _MADE_BY[kind]


def _wrap_int32(number: int) -> int:
    """Return ``number`` wrapped to a signed 32-bit integer."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _find_conflicts(policy: ClassicPolicy) -> Iterable[str]:
    """Yield errors of 1.22 about priorities with arguments: all of a kind need one weight, and only one curve is
    allowed.
    """
    first: dict[str, PolicyRule] = {}
    for rule in policy.priorities or ():
        if rule.argument is None:
            continue
        kind = rule.argument[0]
        before = first.setdefault(kind, rule)
        if kind == "requestedToCapacityRatioArguments":
            if before is not rule:
                detail = f'redeclares custom priority "RequestedToCapacityRatio", from: {quote(before.name)}'
                yield f"priority {quote(rule.name)} {detail}"
        elif before.weight != rule.weight:
            # The two spaces are 1.22's.
            called = kind[0].upper() + kind[1:]
            yield f"{called}  priority {quote(rule.name)} has a different weight with {quote(before.name)}"
        else:
            first[kind] = rule


def _ignore_managed_resources(policy: ClassicPolicy, profile: LegacyProfile) -> None:
    """Let NodeResourcesFit ignore the resources that only extenders manage. Raises LegacyError."""
    managed = [item for extender in policy.extenders for item in extender["managedResources"]]
    ignored = [item["name"] for item in managed if item["ignoredByScheduler"]]
    if not ignored:
        return
    if "NodeResourcesFit" not in profile.arguments:
        raise LegacyError("couldn't create scheduler from policy: can't find NodeResourcesFitArgs in plugin config")
    profile.arguments["NodeResourcesFit"] = {**profile.arguments["NodeResourcesFit"], "ignoredResources": ignored}


def _weights_overflow(profile: LegacyProfile) -> bool:
    """Return whether 1.22 rejected the sum of the weights; its 64-bit sums could overflow to negative ones."""
    total = 0
    for ref in profile.plugins.get("score", ()):
        max_score = (ref.weight or 1) * MAX_NODE_SCORE
        if max_score > INT64_MAX - total or total < 0:
            return True
        total += max_score
    return False


def _find_startup_fault(profile: LegacyProfile) -> str:
    """Return the message about a plugin that could not be created; "" if all could."""
    running = {ref.name for listed in profile.plugins.values() for ref in listed}
    for name in ("NodeLabel", "RequestedToCapacityRatio", "ServiceAffinity"):
        if name in running and name not in profile.arguments:
            return f"initializing plugin {quote(name)}: want args to be of type {name}Args, got <nil>"
    clashes = list(dict.fromkeys(_find_label_conflicts(profile.arguments.get("NodeLabel", {}))))
    return f'initializing plugin "NodeLabel": {_join_errors(clashes)}' if clashes else ""


def _find_label_conflicts(labels: Json) -> Iterable[str]:
    """Yield errors about labels that are required both to be present and to be absent."""
    for suffix in ("Labels", "LabelsPreference"):
        present = labels.get(f"present{suffix}", [])
        last = {label: at for at, label in enumerate(present)}
        for at, label in enumerate(labels.get(f"absent{suffix}", [])):
            if label in last:
                detail = f"Invalid value: {quote(label)}: conflict with absent{suffix}[{at}]"
                yield f"present{suffix}[{last[label]}]: {detail}"


def _join_errors(problems: list[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
