"""Plugins that kube-scheduler once had, and the plugins that replace them."""

from __future__ import annotations

from kschedweb.engine.config.notes import NEAR, NONE

FIT, SPREAD, LIMITS, AFFINITY = "NodeResourcesFit", "PodTopologySpread", "NodeVolumeLimits", "NodeAffinity"
LEAST_ALLOCATED, NODE_LABEL = "NodeResourcesLeastAllocated", "NodeLabel"
# Plugins that scored by free resources, and the scoring strategy of NodeResourcesFit that each has become.
STRATEGIES = {
    LEAST_ALLOCATED: "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
SPREADS = ("SelectorSpread", "DefaultPodTopologySpread")

# The plugin of today that replaces each plugin of then.
STANDS_FOR = {
    **dict.fromkeys(STRATEGIES, FIT),
    **dict.fromkeys(SPREADS, SPREAD),
    **dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), LIMITS),
}
# Plugins of today that replace several scoring ones. The order decides whose weight is taken among equals.
FAMILIES = {FIT: (FIT, *STRATEGIES), SPREAD: (SPREAD, *SPREADS)}

# Plugins of then without a replacement today, with the kind of the note and its text.
REMOVED_PLUGINS = {
    "NodePreferAvoidPods": (
        NONE,
        "The annotation scheduler.alpha.kubernetes.io/preferAvoidPods is no longer read. A taint with the effect "
        "PreferNoSchedule says something like it.",
    ),
    "ServiceAffinity": (
        NONE,
        "Pods of a service are no longer kept to nodes that agree in labels. Pod affinity in the pods comes close.",
    ),
    NODE_LABEL: (NEAR, "It becomes node affinity that is added to all pods."),
    "NodeResourceLimits": (NONE, "Limits no longer count in scoring."),
}

REPLACEMENT_TEXTS = {
    FIT: "It is a scoring strategy of NodeResourcesFit now.",
    SPREAD: "PodTopologySpread stands for it: constraints that hold where a pod has none spread pods of a service or "
    "controller over hosts and zones.",
    LIMITS: "NodeVolumeLimits counts all volumes, by the limit of their CSI driver.",
}
