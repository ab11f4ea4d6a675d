"""Kueue's feature gates, with the defaults of 0.19."""

from __future__ import annotations

from kschedweb.engine.values import dataclass

# Gates that change decisions: True for those that are on by default (`pkg/features/kube_features.go`).
DEFAULTS = {
    "AdmissionGatedBy": True,
    "FairSharingPreemptWithinNominal": True,
    "FairSharingPrioritizeNonBorrowing": True,
    "FlavorFungibility": True,
    "FlavorFungibilityPreserveScanProgress": True,
    "PartialAdmission": True,
    "PrioritizePreemptorWorkloads": False,
    "PriorityBoost": False,
    "PrioritySortingWithinCohort": True,
    "QuotaCheckStrategy": True,
    "ReclaimablePods": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": False,
    "SchedulerTimestampPreemptionBuffer": False,
    "SchedulingEquivalenceHashing": True,
    "TASBalancedPlacement": False,
    "TASFailedNodeReplacement": True,
    "TASFailedNodeReplacementFailFast": True,
    "TASHandleOverlappingFlavors": True,
    "TASMultiLayerTopology": True,
    "TASProfileMixed": True,
    "TASRecomputeAssignmentWithinSchedulingCycle": True,
    "TASValidateWorkloadSliceSize": True,
    "TopologyAwareScheduling": True,
    "UnadmittedWorkloadsExplicitStatus": False,
    "UnadmittedWorkloadsObservability": False,
    "WorkloadValidateResourcesAreNonNegative": True,
}
# Gates that are known, but change nothing that is answered here.
WITHOUT_EFFECT = frozenset({
    "AdmissionFairSharing",
    "AssignQueueLabelsForPods",
    "ElasticJobsViaWorkloadSlices",
    "HierarchicalCohorts",
    "LocalQueueMetrics",
    "MetricsForCohorts",
    "ObjectRetentionPolicies",
    "TASAssignmentsEncodingByHostnamePrefix",
    "TASCacheNodeMatchResults",
    "TASCacheTopologyTree",
    "TASCachingRemainingResources",
    "TASReplaceNodeOnNodeTaints",
    "TASReplaceNodeOnPodTermination",
    "VectorizedResourceRequests",
    "VisibilityOnDemand",
})  # fmt: skip
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class GateError(ValueError):
    """Feature gates cannot be read; the text is component-base's."""


@dataclass(frozen=True)
class FeatureGates:
    """The gates that are on; ``name in gates`` asks for one."""

    enabled: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name in self.enabled


DEFAULT_GATES = FeatureGates(frozenset(name for name, is_on in DEFAULTS.items() if is_on))


def parse_gates(text: str) -> FeatureGates:
    """Read ``A=true,B=false`` over the defaults; raise GateError."""
    enabled = set(DEFAULT_GATES.enabled)
    for setting in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = setting.partition("=")
        name, value = name.strip(), value.strip()
        if not separator:
            raise GateError(f"missing bool value for {name}")
        if value not in _TRUE | _FALSE:
            raise GateError(
                f'invalid value of {name}={value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        if name not in DEFAULTS and name not in WITHOUT_EFFECT:
            raise GateError(f"unrecognized feature gate: {name}")
        if value in _TRUE:
            enabled.add(name)
        else:
            enabled.discard(name)
    return FeatureGates(frozenset(enabled))
