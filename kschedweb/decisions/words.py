"""Plain readings beside the scheduler's own words: what is missing on a node, and what would change it.

Everything here explains a verdict after the fact, from the same columns the plugins read; it decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import Code
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedweb.engine.plugins.loadawarescheduling import EXPIRED
from kschedweb.engine.plugins.podtopologyspread import PodTopologySpread
from kschedweb.engine.plugins.volcanousage import VolcanoUsage
from kschedweb.engine.state.watermarks.crane import METRICS
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.affinity import PodTerm
    from kschedweb.engine.objects.labels import Requirement, Selector
    from kschedweb.engine.plugins.podtopologyspread import Constraint

INSUFFICIENT = "Insufficient "
TOO_MANY = "Too many pods"


@dataclass(frozen=True)
class Reading:
    """One plain sentence about a node, and what would change the verdict ("" where nothing short does)."""

    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Shortage:
    """How much of ``resource`` the pod asks, has free on the node, and could ever have there."""

    resource: str
    asked: int
    free: int
    allocatable: int

    @property
    def missing(self) -> int:
        return self.asked - self.free

    def __str__(self) -> str:
        return amount(self.missing, self.resource) + ("" if self.resource == "cpu" else f" {self.resource}")


def shortages(snapshot: EngineSnapshot, pod: Pod, node: int) -> list[Shortage]:
    """The resources of which node ``node`` has too little free for ``pod``, worst first."""
    found = []
    for resource, asked in pod.requests.items():
        column = snapshot.resources.get(resource)
        allocatable = int(snapshot.allocatable[column, node]) if column is not None else 0
        used = int(snapshot.requested[column, node]) if column is not None else 0
        if asked > 0 and asked > allocatable - used:
            found.append(Shortage(resource, asked, allocatable - used, allocatable))
    return sorted(found, key=lambda item: -item.missing / item.asked)


def reading(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    """What ``status``, the verdict of its plugin on node ``node``, says in plain words."""
    explain = READERS.get(status.plugin)
    if explain is not None:
        return explain(snapshot, pod, node, status)
    return Reading(f"{snapshot.names[node]}: {status.message or status.code}.")


def _resources(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    name = snapshot.names[node]
    texts, remedies = [], []
    if TOO_MANY in status.reasons:
        texts.append(f"{name} runs {snapshot.pod_count[node]} of at most {snapshot.pod_limit[node]} pods")
        remedies.append("a pod leaving it would make room")
    for short in shortages(snapshot, pod, node):
        if f"{INSUFFICIENT}{short.resource}" not in status.reasons:
            continue
        what = "" if short.resource == "cpu" else f" {short.resource}"
        free = amount(max(short.free, 0), short.resource)
        over = "" if short.free >= 0 else ", it is overcommitted"
        texts.append(
            f"needs {amount(short.asked, short.resource)}{what}, {name} has {free}{what} free"
            f" of {amount(short.allocatable, short.resource)}{over}: {short} short"
        )
        if short.asked > short.allocatable:
            remedies.append(f"the node is too small at all: ask for less {short.resource} or add larger nodes")
        else:
            remedies.append(f"freeing {short} there, or asking for as much less, would do")
    return Reading("; ".join(texts) or status.message, "; ".join(dict.fromkeys(remedies)))


def _taints(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    hard = [taint for taint in snapshot.nodes[node].taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE)]
    missing = [str(taint) for taint in hard if not tolerated(taint, pod.tolerations)]
    return Reading(
        f"{snapshot.names[node]} is tainted {listed(missing)}, and the pod does not tolerate "
        f"{'it' if len(missing) == 1 else 'them'}",
        f"a toleration of {listed([taint.split('=')[0].split(':')[0] for taint in missing])} in the pod,"
        " or removing the taint, would do",
    )


def _cordoned(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    return Reading(
        f"{snapshot.names[node]} is cordoned (spec.unschedulable is true)",
        f"kubectl uncordon {snapshot.names[node]} would do",
    )


def _node_affinity(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    labels, name = snapshot.nodes[node].labels, snapshot.names[node]
    wrong = [
        f"{key}={value} ({_has(labels, key)})"
        for key, value in sorted((pod.node_selector or {}).items())
        if labels.get(key) != value
    ]
    if wrong:
        return Reading(f"asks by nodeSelector for {listed(wrong)} of {name}", "a node with these labels would do")
    terms = pod.node_affinity.required or ()
    failing = [_condition(item, labels) for term in terms for item in term.labels if not item.matches(labels)] or [
        "a term that names nodes by field" if terms else "a term, but the pod lists none"
    ]
    return Reading(f"asks by node affinity for {listed(failing)} of {name}", "a node with these labels would do")


def _node_name(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    return Reading(f"names {pod.node_name} in spec.nodeName, not {snapshot.names[node]}")


def _ports(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    taken = []
    for ip, protocol, port in pod.host_ports:
        used = snapshot.ports.get((protocol, port), {})
        if any(counts[node] and (ip == at or "0.0.0.0" in (ip, at)) for at, counts in used.items()):  # noqa: S104
            taken.append(f"{port}/{protocol}")
    return Reading(
        f"host port {listed(taken)} is taken on {snapshot.names[node]} by another pod",
        "without hostPort, or with another one, it would fit",
    )


def _spread(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    labels, name = snapshot.nodes[node].labels, snapshot.names[node]
    hard = [constraint for constraint in pod.spread_constraints if constraint.hard]
    absent = [constraint.topology_key for constraint in hard if constraint.topology_key not in labels]
    if absent:
        return Reading(f"spreads over {listed(absent)}, a label {name} does not have", "labelling the node would do")
    for constraint in _hard_constraints(snapshot, pod):
        codes = constraint.column.codes
        here, least = int(constraint.counts[codes[node]]), _least(constraint)
        after = here + (1 if constraint.selector.matches(pod.labels) else 0)
        rule = constraint.rule
        if after - least > rule.max_skew:
            place = f"{rule.topology_key}={labels[rule.topology_key]}"
            return Reading(
                f"{place} would have {after} matching pods and the emptiest place has {least}: "
                f"a skew of {after - least} over maxSkew {rule.max_skew}",
                "a higher maxSkew, ScheduleAnyway, or room in the emptier places would do",
            )
    return Reading(f"{name} would make the pods too uneven over {listed([item.topology_key for item in hard])}")


@lru_cache(maxsize=4)
def _hard_constraints(snapshot: EngineSnapshot, pod: Pod) -> list[Constraint]:
    """The pod's own hard constraints with their counts, as the plugin finds them; the same for every node."""
    cycle, plugin = Cycle(snapshot, pod), PodTopologySpread({})
    plugin.pre_filter(cycle)
    constraints: list[Constraint] = cycle.state.get(plugin.name, [])
    return constraints


def forget() -> None:
    """Drop what is remembered of a snapshot: it is about to change."""
    _hard_constraints.cache_clear()


def _least(constraint: Constraint) -> int:
    domains = constraint.counts[constraint.domains]
    return int(domains.min()) if domains.size and domains.size >= constraint.rule.min_domains else 0


def _pod_affinity(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    name, labels, affinity = snapshot.names[node], snapshot.nodes[node].labels, pod.pod_affinity
    if "didn't match pod affinity rules" in status.message:
        wanted = [_place(term, labels) for term in affinity.required]
        return Reading(f"must run beside {listed(wanted)}, and none is there", "starting such a pod there would do")
    if "didn't match pod anti-affinity rules" in status.message:
        avoided = [_place(term, labels) for term in affinity.anti_required]
        return Reading(f"must not run beside {listed(avoided)}, and one is there", "an emptier place would do")
    return Reading(
        f"a pod already running in the same place as {name} must not run beside this one (its own anti-affinity)",
        "a place without that pod would do",
    )


def _volumes(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    names = [
        volume["persistentVolumeClaim"].get("claimName", "?")
        for volume in pod.raw.get("spec", {}).get("volumes") or []
        if isinstance(volume, dict) and isinstance(volume.get("persistentVolumeClaim"), dict)
    ]
    claims = f" (claims {listed(names)})" if names else ""
    return Reading(f"the pod's volumes{claims} cannot be used from {snapshot.names[node]}: {status.message}")


def _devices(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    name = snapshot.names[node]
    if not status.simulated:
        return Reading(f"{name}: {status.message}", "a claim that has its devices would be decided as always")
    claims = listed([item.claim for item in pod.resource_claims if item.claim])
    if "not available" in status.message:
        return Reading(
            f"the devices of {claims} cannot be used on {name}",
            "a claim that no other pod uses gives its devices back, so that others can be chosen",
        )
    return Reading(f"{name} cannot give the pod the devices it asks for: {status.message}")


def _crane(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    metric = status.message.removeprefix("Load[").partition("]")[0]
    return Reading(
        f"{snapshot.names[node]} really uses more than the policy allows: {_metric(metric)} is above its limit",
        f"less load there, or a higher maxLimitPecent for {metric}, would do",
    )


def _volcano(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    cpu = status.message.startswith("the CPU")
    used = float(VolcanoUsage.used(snapshot)[0 if cpu else 1][node])
    what, name = ("CPU", "cpu") if cpu else ("memory", "mem")
    return Reading(
        f"{snapshot.names[node]} really uses {used:.1f} % of its {what}, which is above the threshold",
        f"less load there, or a higher thresholds.{name}, would do",
    )


def _koordinator(snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
    name = snapshot.names[node]
    if status.message == EXPIRED:
        watermarks = snapshot.watermarks
        age = math.nan if watermarks is None else snapshot.now - float(watermarks.updated[node])
        old = "of no known time" if math.isnan(age) else f"{age:.0f} s old"
        return Reading(
            f"what {name} uses is {old}, which is too old to go by",
            "newer figures, or enableScheduleWhenNodeMetricsExpired, would do",
        )
    resource = status.message.removeprefix("node(s) ").partition(" ")[0]
    measure = "percentile" if "aggregated" in status.message else "use"
    return Reading(
        f"with the pod, {name} would be above the threshold for {resource}: its {measure}, newer pods and this one",
        f"less load there, or a higher usageThresholds.{resource}, would do",
    )


def _metric(name: str) -> str:
    """What a metric of crane-scheduler says, in words."""
    if name not in METRICS:
        return name
    resource, key = METRICS[name]
    window = {
        "5m": "mean of 5 minutes",
        "1h_max": "highest 5 minutes of an hour",
        "1d_max": "highest 5 minutes of a day",
    }
    return f"{'CPU' if resource == 'cpu' else resource} ({window[key]})"


READERS: dict[str, Callable[[EngineSnapshot, Pod, int, Status], Reading]] = {
    "NodeResourcesFit": _resources,
    "TaintToleration": _taints,
    "NodeUnschedulable": _cordoned,
    "NodeAffinity": _node_affinity,
    "NodeName": _node_name,
    "NodePorts": _ports,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
    "VolumeBinding": _volumes,
    "VolumeZone": _volumes,
    "VolumeRestrictions": _volumes,
    "NodeVolumeLimits": _volumes,
    "DynamicResources": _devices,
    "Dynamic": _crane,
    "LoadAwareScheduling": _koordinator,
    "VolcanoUsage": _volcano,
}

# What a reason means for a pod that it keeps from every node; {} is filled by ``summary``.
GENERAL = (
    ("node(s) were unschedulable", "is cordoned"),
    ("node(s) had untolerated taint(s)", "has taints the pod does not tolerate"),
    ("node(s) didn't match Pod's node affinity/selector", "does not match the pod's node selector or affinity"),
    ("node(s) didn't match the requested node name", "is not the one the pod names"),
    ("node(s) didn't have free ports", "has the host port taken"),
    ("node(s) didn't match pod topology spread constraints (missing required label)", "lacks the label to spread over"),
    ("node(s) didn't match pod topology spread constraints", "would break the pod's topology spread"),
    ("node(s) didn't match pod affinity rules", "has no pod near that this one must run beside"),
    ("node(s) didn't match pod anti-affinity rules", "is near a pod that this one must not run beside"),
    ("node(s) didn't satisfy existing pods anti-affinity rules", "is near a pod that refuses this one"),
    ("resourceclaim not available on the node", "has no access to the devices of the pod's claims"),
    (TOO_MANY, "has no room for another pod"),
    ("the CPU load of the node exceeds the upper limit.", "really uses more CPU than Volcano's threshold allows"),
    ("the memory load of the node exceeds the upper limit.", "really uses more memory than Volcano's threshold allows"),
    (EXPIRED, "tells figures of its use that are too old"),
    ("node(s) cpu usage exceed", "would really use more CPU than Koordinator's threshold allows"),
    ("node(s) memory usage exceed", "would really use more memory than Koordinator's threshold allows"),
    ("node(s) cpu aggregated", "has a percentile of CPU above Koordinator's threshold"),
    ("node(s) memory aggregated", "has a percentile of memory above Koordinator's threshold"),
    ("Load[", "really uses more than crane-scheduler's policy allows"),
)


def summary(pod: Pod, reason: str) -> str:
    """What ``reason`` says about a node, to follow a count: "31 nodes: too little cpu free"."""
    if reason.startswith(INSUFFICIENT):
        resource = reason.removeprefix(INSUFFICIENT)
        what = "" if resource == "cpu" else f" {resource}"
        return f"has less than {amount(pod.requests.get(resource, 0), resource)}{what} free"
    return next((text for start, text in GENERAL if reason.startswith(start)), reason)


def unresolvable(status: Status) -> bool:
    """Whether evicting other pods could not help."""
    return status.code is Code.UNRESOLVABLE


def listed(items: list[str]) -> str:
    items = list(dict.fromkeys(items))
    if len(items) < 2:
        return items[0] if items else "something"
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _has(labels: dict[str, str], key: str) -> str:
    return f"it has {labels[key]}" if key in labels else "it has no such label"


def _condition(item: Requirement, labels: dict[str, str]) -> str:
    values = f" {', '.join(item.values)}" if item.values else ""
    return f"{item.key} {item.operator}{values} ({_has(labels, item.key)})"


def _place(term: PodTerm, labels: dict[str, str]) -> str:
    where = (
        f"{term.topology_key}={labels[term.topology_key]}"
        if term.topology_key in labels
        else (f"{term.topology_key} (a label this node does not have)")
    )
    return f"pods with {_selector(term.selector)} in {where}"


def _selector(selector: Selector) -> str:
    if selector.nothing:
        return "no labels at all"
    texts = [
        f"{item.key}={item.values[0]}"
        if item.operator == "In" and len(item.values) == 1
        else f"{item.key} {item.operator} {', '.join(item.values)}".strip()
        for item in selector.requirements
    ]
    return listed(texts) if texts else "any labels"
