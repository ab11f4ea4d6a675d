"""Plugins that kube-scheduler had and has no longer, and what stands for them."""

from __future__ import annotations

from kschedweb.engine.config.notes import NEAR, NONE

FIT, SPREAD, LIMITS, AFFINITY = "NodeResourcesFit", "PodTopologySpread", "NodeVolumeLimits", "NodeAffinity"
LEAST_ALLOCATED, NODE_LABEL = "NodeResourcesLeastAllocated", "NodeLabel"
STRATEGIES = {
    LEAST_ALLOCATED: "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
"""Plugins that scored by room, and the scoring strategy of NodeResourcesFit that each has become."""
SPREADS = ("SelectorSpread", "DefaultPodTopologySpread")

STANDS_FOR = {
    **dict.fromkeys(STRATEGIES, FIT),
    **dict.fromkeys(SPREADS, SPREAD),
    **dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), LIMITS),
}
"""By plugin of then, the plugin of today that does its part."""
FAMILIES = {FIT: (FIT, *STRATEGIES), SPREAD: (SPREAD, *SPREADS)}
"""Plugins of today that stand for several scoring ones, in the order in which a weight is taken among equals."""

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
"""Plugins of then that no plugin of today stands for, with the kind of the note and its text."""

REPLACEMENT_TEXTS = {
    FIT: "It is a scoring strategy of NodeResourcesFit now.",
    SPREAD: "PodTopologySpread stands for it: constraints that hold where a pod has none spread pods of a service or "
    "controller over hosts and zones.",
    LIMITS: "NodeVolumeLimits counts all volumes, by the limit of their CSI driver.",
}
