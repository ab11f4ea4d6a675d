"""Descriptions of predicates and priorities, which pages and the documentation share.

``docs/classic.md`` repeats ``does`` in its tables; a test compares the two.
"""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.releases.classic import counterparts, predicates, priorities, reasons
from kschedweb.engine.releases.classic.catalogue import (
    CINDER,
    NO_EXECUTE,
    ORDER,
    RESOURCE_LIMITS,
    TAINT_NODES_BY_CONDITION,
    Edition,
)
from kschedweb.engine.releases.classic.counterparts import Counterpart, find_argument_counterpart
from kschedweb.engine.values import dataclass

PREDICATE, PRIORITY = "predicate", "priority"
# The switch without which a rule does not exist.
SWITCHES = {
    "CheckNodeUnschedulable": TAINT_NODES_BY_CONDITION,
    NO_EXECUTE: NO_EXECUTE,
    CINDER: CINDER,
    "ResourceLimitsPriority": RESOURCE_LIMITS,
}


@dataclass(frozen=True, slots=True)
class RuleDescription:
    """The description of one predicate or priority."""

    name: str
    kind: str
    # Completes "Rejects …" for a predicate; the formula of a priority.
    does: str
    # Further notes.
    more: str = ""
    # The messages of 1.13.
    reasons: tuple[str, ...] = ()
    # Name of its argument.
    argument: str = ""
    # Example of its argument, as JSON.
    shape: str = ""
    # Completes "Prefers …" for a priority.
    prefers: str = ""

    @property
    def plain_text(self) -> str:
        """``does`` without code marks."""
        return self.does.replace("`", "")

    @property
    def short_reasons(self) -> tuple[str, ...]:
        """The reasons under the names of 1.9, if they differ."""
        return tuple(reasons.NAMES.get(reason, reason) for reason in self.reasons)

    @property
    def counterpart(self) -> Counterpart:
        """The counterpart in today's scheduler."""
        if self.name in (by_name := counterparts.PREDICATES if self.kind == PREDICATE else counterparts.PRIORITIES):
            return by_name[self.name]
        return find_argument_counterpart(self.argument, json.loads(self.shape))

    @property
    def switch(self) -> str:
        """The switch that it needs; "" if none."""
        return SWITCHES.get(self.name, "")

    def activation(self, edition: Edition) -> str:
        """Return when it runs: "mandatory", "default", "by name", "by argument" or "never"."""
        if self.kind == PRIORITY:
            default, by_name = set(edition.default_priorities), set(edition.priorities)
        else:
            default, by_name = set(edition.default_predicates), set(edition.predicates)
            if self.name in edition.mandatory_predicates:
                return "mandatory"
            if self.name not in ORDER and not edition.old:
                return "never"
        if self.name in default:
            return "default"
        if self.name in by_name:
            return "by name"
        return "by argument" if self.argument else "never"


ROOM = "Insufficient pods, Insufficient cpu, Insufficient memory, Insufficient ephemeral-storage, Insufficient NAME"
_VOLUMES = "nodes that would have more volumes of that kind than they take"
_PRESSURE = "nodes under pressure; for memory only pods that ask for nothing"


def _volume_limit(name: str, kind: str, limit_text: str) -> RuleDescription:
    more = f"Counted are {kind} on the node and of the pod, each once. {limit_text}"
    return RuleDescription(name, PREDICATE, _VOLUMES, more, (reasons.VOLUME_COUNT,))


def _node_pressure(name: str, note: str, reason: str) -> RuleDescription:
    return RuleDescription(name, PREDICATE, _PRESSURE, note, (reason,))


PREDICATES = (
    RuleDescription(
        "CheckNodeCondition",
        PREDICATE,
        "nodes that are not ready, out of disk, without network, or cordoned",
        "It runs under every policy, unless TaintNodesByCondition puts taints in its place.",
        (reasons.NOT_READY, reasons.OUT_OF_DISK, reasons.NO_NETWORK, reasons.UNSCHEDULABLE),
    ),
    RuleDescription(
        "CheckNodeUnschedulable",
        PREDICATE,
        "cordoned nodes, unless the pod tolerates that",
        "A toleration of node.kubernetes.io/unschedulable:NoSchedule lets the pod pass.",
        (reasons.UNSCHEDULABLE,),
    ),
    RuleDescription(
        "GeneralPredicates",
        PREDICATE,
        "what PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector reject, with the reasons of all",
        "It is one predicate, so none of the four ends the trial for the others.",
        (ROOM, reasons.HOST_NAME, reasons.HOST_PORTS, reasons.SELECTOR),
    ),
    RuleDescription(
        "HostName",
        PREDICATE,
        "every node but the one the pod names",
        "A pod that names a node is rarely seen by a scheduler: the kubelet takes it at once.",
        (reasons.HOST_NAME,),
    ),
    RuleDescription(
        "PodFitsHostPorts",
        PREDICATE,
        "nodes where a host port of the pod is taken",
        "Two ports are the same where number and protocol are, and an address is the same or 0.0.0.0.",
        (reasons.HOST_PORTS,),
    ),
    RuleDescription(
        "MatchNodeSelector",
        PREDICATE,
        "nodes that nodeSelector or required node affinity leaves out",
        "One of the required terms has to hold, and in it every expression.",
        (reasons.SELECTOR,),
    ),
    RuleDescription(
        "PodFitsResources",
        PREDICATE,
        "nodes without room. A pod that asks for anything is rejected by a node where CPU, memory or ephemeral storage "
        "is overcommitted, even if it asks for something else",
        "Room is allocatable less what pods there request. Extended resources that an extender manages can be left "
        "to it.",
        (ROOM,),
    ),
    RuleDescription(
        "NoDiskConflict",
        PREDICATE,
        "nodes where another pod mounts the same disk and one of them writes",
        "Looked at are GCE persistent disks, AWS EBS, Ceph RBD and iSCSI volumes that pods name themselves; EBS may "
        "not be shared at all.",
        (reasons.DISK_CONFLICT,),
    ),
    RuleDescription(
        "PodToleratesNodeTaints",
        PREDICATE,
        "nodes with a NoSchedule or NoExecute taint that is not tolerated",
        "",
        (reasons.TAINTS,),
    ),
    RuleDescription(
        NO_EXECUTE,
        PREDICATE,
        "nodes with a NoExecute taint that is not tolerated",
        "It was meant instead of PodToleratesNodeTaints, for pods that do not care about NoSchedule.",
        (reasons.TAINTS,),
    ),
    RuleDescription(
        "CheckNodeLabelPresence",
        PREDICATE,
        "nodes that lack a label, or have it",
        "With presence every label has to be there, with any value; without it none may be.",
        (reasons.LABEL_PRESENCE,),
        "labelsPresence",
        '{"labels": ["ssd"], "presence": true}',
    ),
    RuleDescription(
        "CheckServiceAffinity",
        PREDICATE,
        "nodes whose labels differ from those of the node of a pod like this one",
        "The first pod of a service settles the value of each label, those that come later follow; nodeSelector goes "
        "before.",
        (reasons.SERVICE_AFFINITY,),
        "serviceAffinity",
        '{"labels": ["rack"]}',
    ),
    _volume_limit(
        "MaxEBSVolumeCount",
        "AWS EBS volumes",
        "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 39, or 25 on newer machines.",
    ),
    _volume_limit(
        "MaxGCEPDVolumeCount",
        "GCE persistent disks",
        "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 16.",
    ),
    _volume_limit("MaxCSIVolumeCountPred", "volumes of each CSI driver", "A node that does not say takes any number."),
    _volume_limit(
        "MaxAzureDiskVolumeCount",
        "Azure disks",
        "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 16.",
    ),
    _volume_limit(CINDER, "Cinder volumes", "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 256."),
    RuleDescription(
        "CheckVolumeBinding",
        PREDICATE,
        "nodes that a bound volume cannot be reached from, or where a claim finds no volume",
        "A claim that waits for its first pod may be bound to a volume of the node, or have one made there. In 1.9 it "
        "lets all pass.",
        (reasons.VOLUME_AFFINITY, reasons.NO_VOLUMES),
    ),
    RuleDescription(
        "NoVolumeZoneConflict",
        PREDICATE,
        "nodes in another zone or region than the labels of a volume name",
        "Nodes without a label of zone or region pass.",
        (reasons.ZONE_CONFLICT,),
    ),
    _node_pressure("CheckNodeMemoryPressure", "It looks at the condition MemoryPressure.", reasons.MEMORY_PRESSURE),
    _node_pressure(
        "CheckNodePIDPressure", "It looks at the condition PIDPressure: of process ids.", reasons.PID_PRESSURE
    ),
    _node_pressure("CheckNodeDiskPressure", "It looks at the condition DiskPressure.", reasons.DISK_PRESSURE),
    RuleDescription(
        "MatchInterPodAffinity",
        PREDICATE,
        "nodes where a required term between pods would not hold",
        "Asked are the anti-affinity of pods placed, then the pod's affinity, then its anti-affinity. The first pod "
        "that wants to be near its own kind goes anywhere.",
        (reasons.POD_AFFINITY, reasons.EXISTING_RULES, reasons.AFFINITY_RULES, reasons.ANTI_AFFINITY_RULES),
    ),
)
OF_1_9 = RuleDescription(
    "PodFitsPorts",
    PREDICATE,
    "as PodFitsHostPorts, by the name it once had",
    "The fixed order of 1.13 does not have it, so that it is never asked there; 1.9 asks it.",
    (reasons.HOST_PORTS,),
)
PRIORITIES = (
    RuleDescription(
        "SelectorSpreadPriority",
        PRIORITY,
        "10 × (most − pods) ÷ most; pods of the pod's services and controllers; two thirds of it are the zone's",
        "Mapped is how many of the pods are on the node. Nodes without a zone are scored by themselves.",
        prefers="nodes, and zones, with fewer pods of the same purpose",
    ),
    RuleDescription(
        "InterPodAffinityPriority",
        PRIORITY,
        "10 × (sum − lowest) ÷ (highest − lowest) of the terms' weights, where lowest and highest are 0 at least and "
        "at most",
        "It looks at all nodes at once. Required affinity of pods placed counts hardPodAffinitySymmetricWeight.",
        prefers="nodes near pods that are wanted, and far from those that are not",
    ),
    RuleDescription(
        "LeastRequestedPriority",
        PRIORITY,
        "mean of (allocatable − requested) × 10 ÷ allocatable for CPU and memory",
        "Containers that ask for nothing count with 100 m of CPU and 200 MiB.",
        prefers="empty nodes",
    ),
    RuleDescription(
        "BalancedResourceAllocation",
        PRIORITY,
        "10 × (1 − difference of the shares of CPU and memory); 0 where one is full",
        "Containers that ask for nothing count with 100 m of CPU and 200 MiB.",
        prefers="nodes that would not run out of one while there is much of the other",
    ),
    RuleDescription(
        "NodePreferAvoidPodsPriority",
        PRIORITY,
        "0 where the node's annotation names the pod's controller, else 10",
        "The annotation is scheduler.alpha.kubernetes.io/preferAvoidPods; controllers are ReplicationControllers and "
        "ReplicaSets. With its default weight of 10,000 it outweighs all others together.",
        prefers="nodes that do not ask to be kept free of the pod's controller",
    ),
    RuleDescription(
        "NodeAffinityPriority",
        PRIORITY,
        "10 × sum ÷ highest sum of the preferred terms' weights",
        "Mapped is the sum for the node.",
        prefers="nodes that the pod's own preferences name",
    ),
    RuleDescription(
        "TaintTolerationPriority",
        PRIORITY,
        "10 − 10 × taints ÷ most PreferNoSchedule taints that are not tolerated",
        "Mapped is how many such taints the node has.",
        prefers="nodes that do not wish to be left alone",
    ),
    RuleDescription(
        "ImageLocalityPriority",
        PRIORITY,
        "from 23 MiB (0) to 1,000 MiB (10) of images, each times the share of nodes that had it when the node became "
        "known",
        "Names without a tag mean latest.",
        prefers="nodes that need not fetch so much",
    ),
    RuleDescription(
        "ServiceSpreadingPriority",
        PRIORITY,
        "as SelectorSpreadPriority: it reads the same counts",
        "It was to count pods of services only.",
        prefers="nodes, and zones, with fewer pods of the same purpose",
    ),
    RuleDescription(
        "EqualPriority",
        PRIORITY,
        "1",
        "It tells no node apart; without any priority every node has 1, too.",
        prefers="no node",
    ),
    RuleDescription(
        "MostRequestedPriority",
        PRIORITY,
        "mean of requested × 10 ÷ allocatable",
        "It fills nodes one after the other. Containers that ask for nothing count with 100 m of CPU and 200 MiB.",
        prefers="full nodes",
    ),
    RuleDescription(
        "RequestedToCapacityRatioPriority",
        PRIORITY,
        "mean of 10 (empty) to 0 (full); by `requestedToCapacityRatioArguments` along any broken line",
        "How far the node would be used is cut to whole percent, for CPU and for memory.",
        prefers="nodes that would be used as far as the line says",
        argument="requestedToCapacityRatioArguments",
        shape='{"shape": [{"utilization": 0, "score": 0}, {"utilization": 80, "score": 10}, '
        '{"utilization": 100, "score": 5}]}',
    ),
    RuleDescription(
        "ResourceLimitsPriority",
        PRIORITY,
        "1 where the node could meet the limit of CPU or of memory",
        "It only breaks ties.",
        prefers="nodes that could give the pod as much as it is limited to",
    ),
    RuleDescription(
        "serviceAntiAffinity",
        PRIORITY,
        "10 × (all − pods at the label's value) ÷ all; 0 without the label",
        "It has the name that the policy gives it.",
        argument="serviceAntiAffinity",
        shape='{"label": "rack"}',
        prefers="places of a label with fewer pods of the pod's first service",
    ),
    RuleDescription(
        "labelPreference",
        PRIORITY,
        "10 for nodes with the label, or without it",
        "It has the name that the policy gives it.",
        argument="labelPreference",
        shape='{"label": "ssd", "presence": true}',
        prefers="nodes by a label, with any value",
    ),
)
DESCRIPTIONS = {description.name: description for description in (*PREDICATES, OF_1_9, *PRIORITIES)}


_BY_ARGUMENT: dict[Any, RuleDescription] = {
    factory: next(description for description in DESCRIPTIONS.values() if description.argument == kind)
    for among in (predicates.ARGUED, priorities.ARGUED, priorities.OLD)
    for kind, factory in among.items()
    if kind in predicates.ARGUED or kind in priorities.ARGUED
}


def describe_rule(plugin: Any) -> RuleDescription:
    """Return the description of a predicate or priority of an algorithm, whatever its name in the policy."""
    for factories in (predicates.PREDICATES, predicates.OLD, priorities.PRIORITIES, priorities.OLD):
        if factories.get(plugin.name) is type(plugin):
            return DESCRIPTIONS[plugin.name]
    return _BY_ARGUMENT[type(plugin)]
