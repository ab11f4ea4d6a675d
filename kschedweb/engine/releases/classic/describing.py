"""Descriptions of predicates and priorities, which pages and the documentation share.

``docs/classic.md`` repeats ``does`` in its tables; a test compares the two.
"""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.releases.classic import counterparts, predicates, priorities, words
from kschedweb.engine.releases.classic.catalogue import (
    CINDER,
    NO_EXECUTE,
    ORDER,
    RESOURCE_LIMITS,
    TAINT_NODES_BY_CONDITION,
    Edition,
)
from kschedweb.engine.releases.classic.counterparts import Counterpart, of_argument
from kschedweb.engine.values import dataclass

PREDICATE, PRIORITY = "predicate", "priority"
SWITCHES = {
    "CheckNodeUnschedulable": TAINT_NODES_BY_CONDITION,
    NO_EXECUTE: NO_EXECUTE,
    CINDER: CINDER,
    "ResourceLimitsPriority": RESOURCE_LIMITS,
}


@dataclass(frozen=True, slots=True)
class Described:
    """One predicate or priority.

    ``does`` completes "Rejects …" for a predicate and is the formula of a priority; ``prefers`` completes "Prefers …".
    ``more`` has further notes. ``reasons`` are the messages of 1.13. ``argument`` names its argument, ``shape`` shows
    how that is written.
    """

    name: str
    kind: str
    does: str
    more: str = ""
    reasons: tuple[str, ...] = ()
    argument: str = ""
    shape: str = ""
    prefers: str = ""

    @property
    def plainly(self) -> str:
        """``does`` without code marks."""
        return self.does.replace("`", "")

    @property
    def short_reasons(self) -> tuple[str, ...]:
        """The reasons under the names of 1.9, if they differ."""
        return tuple(words.NAMES.get(reason, reason) for reason in self.reasons)

    @property
    def counterpart(self) -> Counterpart:
        """The counterpart in today's scheduler."""
        if self.name in (known := counterparts.PREDICATES if self.kind == PREDICATE else counterparts.PRIORITIES):
            return known[self.name]
        return of_argument(self.argument, json.loads(self.shape))

    @property
    def switch(self) -> str:
        """What has to be switched on for it; "" if nothing."""
        return SWITCHES.get(self.name, "")

    def standing(self, edition: Edition) -> str:
        """When it runs: "mandatory", "default", "by name", "by argument" or "never"."""
        if self.kind == PRIORITY:
            default, known = set(edition.default_priorities), set(edition.priorities)
        else:
            default, known = set(edition.default_predicates), set(edition.predicates)
            if self.name in edition.mandatory:
                return "mandatory"
            if self.name not in ORDER and not edition.old:
                return "never"
        if self.name in default:
            return "default"
        if self.name in known:
            return "by name"
        return "by argument" if self.argument else "never"


ROOM = "Insufficient pods, Insufficient cpu, Insufficient memory, Insufficient ephemeral-storage, Insufficient NAME"
_VOLUMES = "nodes that would have more volumes of that kind than they take"
_PRESSURE = "nodes under pressure; for memory only pods that ask for nothing"


def _volumes(name: str, kind: str, most: str) -> Described:
    more = f"Counted are {kind} on the node and of the pod, each once. {most}"
    return Described(name, PREDICATE, _VOLUMES, more, (words.VOLUME_COUNT,))


def _pressure(name: str, what: str, reason: str) -> Described:
    return Described(name, PREDICATE, _PRESSURE, what, (reason,))


PREDICATES = (
    Described(
        "CheckNodeCondition",
        PREDICATE,
        "nodes that are not ready, out of disk, without network, or cordoned",
        "It runs whatever the policy says, unless TaintNodesByCondition puts taints in its place.",
        (words.NOT_READY, words.OUT_OF_DISK, words.NO_NETWORK, words.UNSCHEDULABLE),
    ),
    Described(
        "CheckNodeUnschedulable",
        PREDICATE,
        "cordoned nodes, unless the pod tolerates that",
        "A toleration of node.kubernetes.io/unschedulable:NoSchedule lets the pod pass.",
        (words.UNSCHEDULABLE,),
    ),
    Described(
        "GeneralPredicates",
        PREDICATE,
        "what PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector reject, with the reasons of all",
        "It is one predicate, so none of the four ends the trial for the others.",
        (ROOM, words.HOST_NAME, words.HOST_PORTS, words.SELECTOR),
    ),
    Described(
        "HostName",
        PREDICATE,
        "every node but the one the pod names",
        "A pod that names a node is rarely seen by a scheduler: the kubelet takes it at once.",
        (words.HOST_NAME,),
    ),
    Described(
        "PodFitsHostPorts",
        PREDICATE,
        "nodes where a host port of the pod is taken",
        "Two ports are the same where number and protocol are, and an address is the same or 0.0.0.0.",
        (words.HOST_PORTS,),
    ),
    Described(
        "MatchNodeSelector",
        PREDICATE,
        "nodes that nodeSelector or required node affinity leaves out",
        "One of the required terms has to hold, and in it every expression.",
        (words.SELECTOR,),
    ),
    Described(
        "PodFitsResources",
        PREDICATE,
        "nodes without room. A pod that asks for anything is rejected by a node where CPU, memory or ephemeral storage "
        "is overcommitted, whatever it asks for",
        "Room is allocatable less what pods there request. Extended resources that an extender manages can be left "
        "to it.",
        (ROOM,),
    ),
    Described(
        "NoDiskConflict",
        PREDICATE,
        "nodes where another pod mounts the same disk and one of them writes",
        "Looked at are GCE persistent disks, AWS EBS, Ceph RBD and iSCSI volumes that pods name themselves; EBS may "
        "not be shared at all.",
        (words.DISK_CONFLICT,),
    ),
    Described(
        "PodToleratesNodeTaints",
        PREDICATE,
        "nodes with a NoSchedule or NoExecute taint that is not tolerated",
        "",
        (words.TAINTS,),
    ),
    Described(
        NO_EXECUTE,
        PREDICATE,
        "nodes with a NoExecute taint that is not tolerated",
        "It was meant in place of PodToleratesNodeTaints, for pods that do not care about NoSchedule.",
        (words.TAINTS,),
    ),
    Described(
        "CheckNodeLabelPresence",
        PREDICATE,
        "nodes that lack a label, or have it",
        "With presence every label has to be there, whatever its value; without it none may be.",
        (words.LABEL_PRESENCE,),
        "labelsPresence",
        '{"labels": ["ssd"], "presence": true}',
    ),
    Described(
        "CheckServiceAffinity",
        PREDICATE,
        "nodes whose labels differ from those of the node of a pod like this one",
        "The first pod of a service settles the value of each label, those that come later follow; nodeSelector goes "
        "before.",
        (words.SERVICE_AFFINITY,),
        "serviceAffinity",
        '{"labels": ["rack"]}',
    ),
    _volumes(
        "MaxEBSVolumeCount",
        "AWS EBS volumes",
        "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 39, or 25 on newer machines.",
    ),
    _volumes(
        "MaxGCEPDVolumeCount",
        "GCE persistent disks",
        "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 16.",
    ),
    _volumes("MaxCSIVolumeCountPred", "volumes of each CSI driver", "A node that does not say takes any number."),
    _volumes(
        "MaxAzureDiskVolumeCount",
        "Azure disks",
        "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 16.",
    ),
    _volumes(CINDER, "Cinder volumes", "A node takes as many as it says, else KUBE_MAX_PD_VOLS, else 256."),
    Described(
        "CheckVolumeBinding",
        PREDICATE,
        "nodes that a bound volume cannot be reached from, or where a claim finds no volume",
        "A claim that waits for its first pod may be bound to a volume of the node, or have one made there. In 1.9 it "
        "lets all pass.",
        (words.VOLUME_AFFINITY, words.NO_VOLUMES),
    ),
    Described(
        "NoVolumeZoneConflict",
        PREDICATE,
        "nodes in another zone or region than the labels of a volume name",
        "Nodes without a label of zone or region pass.",
        (words.ZONE_CONFLICT,),
    ),
    _pressure("CheckNodeMemoryPressure", "It looks at the condition MemoryPressure.", words.MEMORY_PRESSURE),
    _pressure("CheckNodePIDPressure", "It looks at the condition PIDPressure: of process ids.", words.PID_PRESSURE),
    _pressure("CheckNodeDiskPressure", "It looks at the condition DiskPressure.", words.DISK_PRESSURE),
    Described(
        "MatchInterPodAffinity",
        PREDICATE,
        "nodes where a required term between pods would not hold",
        "Asked are the anti-affinity of pods placed, then the pod's affinity, then its anti-affinity. The first pod "
        "that wants to be near its own kind goes anywhere.",
        (words.POD_AFFINITY, words.EXISTING_RULES, words.AFFINITY_RULES, words.ANTI_AFFINITY_RULES),
    ),
)
OF_1_9 = Described(
    "PodFitsPorts",
    PREDICATE,
    "as PodFitsHostPorts, by the name it once had",
    "The fixed order of 1.13 does not have it, so that it is never asked there; 1.9 asks it.",
    (words.HOST_PORTS,),
)
PRIORITIES = (
    Described(
        "SelectorSpreadPriority",
        PRIORITY,
        "10 × (most − pods) ÷ most; pods of the pod's services and controllers; two thirds of it are the zone's",
        "Mapped is how many of the pods are on the node. Nodes without a zone are scored by themselves.",
        prefers="nodes, and zones, with fewer pods of the same purpose",
    ),
    Described(
        "InterPodAffinityPriority",
        PRIORITY,
        "10 × (sum − lowest) ÷ (highest − lowest) of the terms' weights, where lowest and highest are 0 at least and "
        "at most",
        "It looks at all nodes at once. Required affinity of pods placed counts hardPodAffinitySymmetricWeight.",
        prefers="nodes near pods that are wanted, and far from those that are not",
    ),
    Described(
        "LeastRequestedPriority",
        PRIORITY,
        "mean of (allocatable − requested) × 10 ÷ allocatable for CPU and memory",
        "Containers that ask for nothing count with 100 m of CPU and 200 MiB.",
        prefers="empty nodes",
    ),
    Described(
        "BalancedResourceAllocation",
        PRIORITY,
        "10 × (1 − difference of the shares of CPU and memory); 0 where one is full",
        "Containers that ask for nothing count with 100 m of CPU and 200 MiB.",
        prefers="nodes that would not run out of one while there is much of the other",
    ),
    Described(
        "NodePreferAvoidPodsPriority",
        PRIORITY,
        "0 where the node's annotation names the pod's controller, else 10",
        "The annotation is scheduler.alpha.kubernetes.io/preferAvoidPods; controllers are ReplicationControllers and "
        "ReplicaSets. With its default weight of 10,000 it outweighs all others together.",
        prefers="nodes that do not ask to be kept free of the pod's controller",
    ),
    Described(
        "NodeAffinityPriority",
        PRIORITY,
        "10 × sum ÷ highest sum of the preferred terms' weights",
        "Mapped is the sum for the node.",
        prefers="nodes that the pod's own preferences name",
    ),
    Described(
        "TaintTolerationPriority",
        PRIORITY,
        "10 − 10 × taints ÷ most PreferNoSchedule taints that are not tolerated",
        "Mapped is how many such taints the node has.",
        prefers="nodes that do not wish to be left alone",
    ),
    Described(
        "ImageLocalityPriority",
        PRIORITY,
        "from 23 MiB (0) to 1,000 MiB (10) of images, each times the share of nodes that had it when the node became "
        "known",
        "Names without a tag mean latest.",
        prefers="nodes that need not fetch so much",
    ),
    Described(
        "ServiceSpreadingPriority",
        PRIORITY,
        "as SelectorSpreadPriority: it reads the same counts",
        "It was to count pods of services only.",
        prefers="nodes, and zones, with fewer pods of the same purpose",
    ),
    Described(
        "EqualPriority",
        PRIORITY,
        "1",
        "It tells no node apart; without any priority every node has 1, too.",
        prefers="no node",
    ),
    Described(
        "MostRequestedPriority",
        PRIORITY,
        "mean of requested × 10 ÷ allocatable",
        "It fills nodes one after the other. Containers that ask for nothing count with 100 m of CPU and 200 MiB.",
        prefers="full nodes",
    ),
    Described(
        "RequestedToCapacityRatioPriority",
        PRIORITY,
        "mean of 10 (empty) to 0 (full); by `requestedToCapacityRatioArguments` along any broken line",
        "How far the node would be used is cut to whole percent, for CPU and for memory.",
        prefers="nodes that would be used as far as the line says",
        argument="requestedToCapacityRatioArguments",
        shape='{"shape": [{"utilization": 0, "score": 0}, {"utilization": 80, "score": 10}, '
        '{"utilization": 100, "score": 5}]}',
    ),
    Described(
        "ResourceLimitsPriority",
        PRIORITY,
        "1 where the node could meet the limit of CPU or of memory",
        "It only breaks ties.",
        prefers="nodes that could give the pod as much as it is limited to",
    ),
    Described(
        "serviceAntiAffinity",
        PRIORITY,
        "10 × (all − pods at the label's value) ÷ all; 0 without the label",
        "It has the name that the policy gives it.",
        argument="serviceAntiAffinity",
        shape='{"label": "rack"}',
        prefers="places of a label with fewer pods of the pod's first service",
    ),
    Described(
        "labelPreference",
        PRIORITY,
        "10 for nodes with the label, or without it",
        "It has the name that the policy gives it.",
        argument="labelPreference",
        shape='{"label": "ssd", "presence": true}',
        prefers="nodes by a label, whatever its value",
    ),
)
DESCRIBED = {one.name: one for one in (*PREDICATES, OF_1_9, *PRIORITIES)}


_BY_ARGUMENT: dict[Any, Described] = {
    made: next(one for one in DESCRIBED.values() if one.argument == kind)
    for among in (predicates.ARGUED, priorities.ARGUED, priorities.OLD)
    for kind, made in among.items()
    if kind in predicates.ARGUED or kind in priorities.ARGUED
}


def described(plugin: Any) -> Described:
    """The description of a predicate or priority of an algorithm, whatever its name in the policy."""
    for known in (predicates.NAMED, predicates.OLD, priorities.NAMED, priorities.OLD):
        if known.get(plugin.name) is type(plugin):
            return DESCRIBED[plugin.name]
    return _BY_ARGUMENT[type(plugin)]
