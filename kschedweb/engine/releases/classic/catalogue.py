"""The predicates and priorities of kube-scheduler 1.13 and 1.9 by name, their order, and the default ones."""

from __future__ import annotations

from kschedweb.engine.values import dataclass

V1_13, V1_9 = "1.13", "1.9"
TAINT_NODES_BY_CONDITION = "TaintNodesByCondition"
RESOURCE_LIMITS = "ResourceLimitsPriorityFunction"
NO_EXECUTE = "PodToleratesNodeNoExecuteTaints"
CINDER = "MaxCinderVolumeCount"

# The order in which predicates run. A predicate that is not listed never runs, even if it is configured.
ORDER = (
    *("CheckNodeCondition", "CheckNodeUnschedulable", "GeneralPredicates", "HostName", "PodFitsHostPorts"),
    *("MatchNodeSelector", "PodFitsResources", "NoDiskConflict", "PodToleratesNodeTaints", NO_EXECUTE),
    *("CheckNodeLabelPresence", "CheckServiceAffinity", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount"),
    *("MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount", CINDER, "CheckVolumeBinding", "NoVolumeZoneConflict"),
    *("CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure", "MatchInterPodAffinity"),
)
DEFAULT_PREDICATES = frozenset(ORDER) - {
    *("CheckNodeUnschedulable", "HostName", "PodFitsHostPorts", "MatchNodeSelector", "PodFitsResources"),
    *(NO_EXECUTE, "CheckNodeLabelPresence", "CheckServiceAffinity", CINDER),
}
# Predicates that a policy may name although they are not in the default set.
MORE_PREDICATES = frozenset({"PodFitsPorts", "PodFitsHostPorts", "PodFitsResources", "HostName", "MatchNodeSelector"})
DEFAULT_PRIORITIES = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
}
MORE_PRIORITIES = {
    "ServiceSpreadingPriority": 1,
    "EqualPriority": 1,
    "MostRequestedPriority": 1,
    "RequestedToCapacityRatioPriority": 1,
}
# Predicates that came after 1.9.
LATER_PREDICATES = frozenset({"CheckNodePIDPressure", "MaxCSIVolumeCountPred"})
PRESSURES = frozenset({"CheckNodeMemoryPressure", "CheckNodeDiskPressure", "CheckNodePIDPressure"})


# Percent.
ALL_NODES, HALF = 100, 50


@dataclass(frozen=True, slots=True)
class Edition:
    """A version of kube-scheduler with its start options."""

    version: str = V1_13
    # Everything that is switched on: the feature gates TaintNodesByCondition and ResourceLimitsPriorityFunction, and
    # the predicates PodToleratesNodeNoExecuteTaints and MaxCinderVolumeCount by their own names.
    gates: frozenset[str] = frozenset()
    # KUBE_MAX_PD_VOLS.
    max_volumes: int | None = None
    # percentageOfNodesToScore; 0 if it is not set.
    percentage: int = 0
    hard_pod_affinity_weight: int = 1

    @property
    def old(self) -> bool:
        """True for version 1.9; docs/classic.md lists its differences."""
        return self.version == V1_9

    @property
    def share(self) -> int:
        """The percentage of nodes that have to be found feasible, in clusters of 100 nodes or more.

        By default 1.13 takes half of them; 1.9 always takes all.
        """
        return ALL_NODES if self.old else self.percentage or HALF

    @property
    def mandatory_predicates(self) -> frozenset[str]:
        """The predicates that run whatever the policy says."""
        if TAINT_NODES_BY_CONDITION not in self.gates:
            return frozenset({"CheckNodeCondition"})
        return frozenset(
            {"PodToleratesNodeTaints"} if self.old else {"PodToleratesNodeTaints", "CheckNodeUnschedulable"}
        )

    @property
    def default_predicates(self) -> frozenset[str]:
        predicates = DEFAULT_PREDICATES - LATER_PREDICATES if self.old else DEFAULT_PREDICATES
        if TAINT_NODES_BY_CONDITION in self.gates:
            replaced = {"CheckNodeCondition"} if self.old else PRESSURES | {"CheckNodeCondition"}
            predicates = (predicates - replaced) | self.mandatory_predicates
        return predicates

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates that a policy may name without an argument."""
        return self.default_predicates | MORE_PREDICATES | (self.gates & {NO_EXECUTE, CINDER})

    @property
    def default_priorities(self) -> dict[str, int]:
        """The priorities of the default provider, with their weights."""
        priorities = dict(DEFAULT_PRIORITIES)
        if self.old:
            del priorities["ImageLocalityPriority"]
        elif RESOURCE_LIMITS in self.gates:
            priorities["ResourceLimitsPriority"] = 1
        return priorities

    @property
    def priorities(self) -> dict[str, int]:
        """The priorities that a policy may name without an argument, with the weights of their registration."""
        priorities = DEFAULT_PRIORITIES | MORE_PRIORITIES
        if self.old:
            del priorities["RequestedToCapacityRatioPriority"]
        if RESOURCE_LIMITS in self.gates:
            priorities["ResourceLimitsPriority"] = 1
        return priorities


GATES = frozenset({TAINT_NODES_BY_CONDITION, RESOURCE_LIMITS, NO_EXECUTE, CINDER})
EDITION = Edition()
