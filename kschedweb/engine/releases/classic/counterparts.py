"""The counterparts of predicates and priorities in today's scheduler, and their differences."""

from __future__ import annotations

from kschedweb.engine.config.notes import EQUAL, NEAR, NONE
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The counterpart of a predicate or priority."""

    # EQUAL, NEAR or NONE.
    kind: str
    # The difference from it.
    text: str
    # Today's plugins that replace it.
    plugins: tuple[str, ...] = ()


def _equal(text: str, *plugins: str) -> Counterpart:
    return Counterpart(EQUAL, text, plugins)


def _near(text: str, *plugins: str) -> Counterpart:
    return Counterpart(NEAR, text, plugins)


_ATTACHED = (
    "Volumes are counted by their CSI driver, against the limit that the driver gives in the CSINode; a node without "
    "one takes any number, and KUBE_MAX_PD_VOLS is not read."
)
_PRESSURE = (
    "Node controllers turn the condition into a taint, and pods that tolerate it are let in; a node without the taint "
    "is not rejected."
)
_FIRST = (
    "The first of pods that want to be near one another goes only to nodes that have the topology label, where any "
    "node would do before."
)
_FINER = "Scores go from 0 to 100, where they went from 0 to 10: nodes that were equal may differ."
_ROOM = (
    "A node that is overcommitted in something the pod does not ask for is no longer rejected. Sidecars and the pod's "
    "overhead count."
)

PREDICATES: dict[str, Counterpart] = {
    "CheckNodeCondition": _near(
        "Node controllers turn conditions into taints, and a pod that tolerates one is let in; a node without the "
        "taint is not rejected. Cordoned nodes are rejected as before, unless the pod tolerates that.",
        *("NodeUnschedulable", "TaintToleration"),
    ),
    "CheckNodeUnschedulable": _equal("Rejects the same nodes.", "NodeUnschedulable"),
    "GeneralPredicates": _near(
        f"Four plugins take its place. {_ROOM}", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"
    ),
    "HostName": _equal("Rejects the same nodes.", "NodeName"),
    "PodFitsHostPorts": _equal("Rejects the same nodes.", "NodePorts"),
    "PodFitsPorts": _equal("Rejects the same nodes; it is the old name of PodFitsHostPorts.", "NodePorts"),
    "MatchNodeSelector": _equal("Rejects the same nodes.", "NodeAffinity"),
    "PodFitsResources": _near(_ROOM, "NodeResourcesFit"),
    "NoDiskConflict": _equal(
        "Rejects the same nodes; claims for one pod at a time are watched over too.", "VolumeRestrictions"
    ),
    "PodToleratesNodeTaints": _equal("Rejects the same nodes.", "TaintToleration"),
    "PodToleratesNodeNoExecuteTaints": _near("NoSchedule taints that are not tolerated reject too.", "TaintToleration"),
    "MaxEBSVolumeCount": _near(_ATTACHED, "NodeVolumeLimits"),
    "MaxGCEPDVolumeCount": _near(_ATTACHED, "NodeVolumeLimits"),
    "MaxAzureDiskVolumeCount": _near(_ATTACHED, "NodeVolumeLimits"),
    "MaxCinderVolumeCount": _near(_ATTACHED, "NodeVolumeLimits"),
    "MaxCSIVolumeCountPred": _near(
        "The limit is read from the CSINode, no longer from what the node says it can allocate.", "NodeVolumeLimits"
    ),
    "CheckVolumeBinding": _near("The capacity that CSI drivers report is looked at too.", "VolumeBinding"),
    "NoVolumeZoneConflict": _near(
        "Labels of volumes and nodes count under today's names too, such as topology.kubernetes.io/zone.", "VolumeZone"
    ),
    "CheckNodeMemoryPressure": _near(_PRESSURE, "TaintToleration"),
    "CheckNodePIDPressure": _near(_PRESSURE, "TaintToleration"),
    "CheckNodeDiskPressure": _near(_PRESSURE, "TaintToleration"),
    "MatchInterPodAffinity": _near(_FIRST, "InterPodAffinity"),
}
# Differences of kube-scheduler 1.9 from 1.13.
OLD_PREDICATES: dict[str, Counterpart] = {
    "MatchInterPodAffinity": _near(
        f"Of several required terms each could hold by another pod; now one pod must be meant by all. {_FIRST}",
        "InterPodAffinity",
    ),
    "CheckVolumeBinding": _near("Version 1.9 let every pod pass; volumes are looked for now.", "VolumeBinding"),
    "NoVolumeZoneConflict": _near(
        "Version 1.9 failed for claims that were not bound; claims that wait for their first pod pass now.",
        "VolumeZone",
    ),
}
PRIORITIES: dict[str, Counterpart] = {
    "SelectorSpreadPriority": _near(
        "Pods without spread constraints of their own are spread over hosts and zones by default ones; the zone no "
        "longer counts two thirds, and scores are put on the scale in another way.",
        "PodTopologySpread",
    ),
    "InterPodAffinityPriority": _near(
        "The lowest sum becomes 0 and the highest 100; before, 0 was always among those between which a score lay.",
        "InterPodAffinity",
    ),
    "LeastRequestedPriority": _near(f"It is the scoring strategy LeastAllocated. {_FINER}", "NodeResourcesFit"),
    "MostRequestedPriority": _near(f"It is the scoring strategy MostAllocated. {_FINER}", "NodeResourcesFit"),
    "RequestedToCapacityRatioPriority": _near(
        f"It is the scoring strategy RequestedToCapacityRatio, with the same points. {_FINER} A resource that scores 0 "
        "is left out of the mean.",
        "NodeResourcesFit",
    ),
    "BalancedResourceAllocation": _near(
        "It scores whether the pod brings the shares of CPU and memory closer to each other, from 50 to 100; a full "
        "node no longer scores 0, and pods that ask for nothing are not scored.",
        "NodeResourcesBalancedAllocation",
    ),
    "NodePreferAvoidPodsPriority": Counterpart(
        NONE,
        "The annotation scheduler.alpha.kubernetes.io/preferAvoidPods is no longer read. A PreferNoSchedule taint on "
        "the node comes close.",
    ),
    "NodeAffinityPriority": _near(_FINER, "NodeAffinity"),
    "TaintTolerationPriority": _near(_FINER, "TaintToleration"),
    "ImageLocalityPriority": _near(
        f"{_FINER} The upper bound of 1,000 MiB is that of each container, no longer of the pod.", "ImageLocality"
    ),
    "EqualPriority": _equal("Every node had the same score, so nothing has to stand for it."),
    "ResourceLimitsPriority": Counterpart(
        NONE, "Limits no longer count in scoring. Requests as high as the limits let NodeResourcesFit count them."
    ),
}
PRIORITIES["ServiceSpreadingPriority"] = PRIORITIES["SelectorSpreadPriority"]


def find_argument_counterpart(kind: str, content: Json) -> Counterpart:
    """Return the counterpart of a predicate or priority with an argument of ``kind``."""
    if kind == "serviceAffinity":
        return Counterpart(
            NONE,
            "The pods of a service are no longer kept to nodes that agree in these labels. Required pod affinity in "
            "the pods, with the label as topology key, comes close.",
        )
    if kind == "serviceAntiAffinity":
        return Counterpart(
            NONE,
            f"The pods of a service are no longer spread over the values of {content['label']!r}. A soft spread "
            "constraint with it as topology key comes close: in pods, or in defaultConstraints of PodTopologySpread.",
        )
    if kind == "labelsPresence":
        return _equal(
            "Rejects the same nodes: it is a required node affinity that is added to all pods.", "NodeAffinity"
        )
    if kind == "labelPreference":
        return _near(
            "It is a preferred node affinity that is added to all pods: it is put on the scale together with the "
            "preferences of the pod itself.",
            "NodeAffinity",
        )
    return PRIORITIES["RequestedToCapacityRatioPriority"]
