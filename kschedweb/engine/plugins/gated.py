"""Plugins of kube-scheduler whose feature gates are off: configurations may name them, but they do nothing."""

from __future__ import annotations

from kschedweb.engine.config.specs import PluginSpec

GANG_SCHEDULING = PluginSpec(
    "GangScheduling",
    frozenset({"preEnqueue", "permit"}),
    "Lets the pods of a group start together.",
    gate="GangScheduling",
)
PLACEMENT_GENERATOR = PluginSpec(
    "TopologyPlacementGenerator",
    frozenset({"placementGenerate"}),
    "Proposes the domains that a pod group could be placed in.",
    gate="TopologyAwareWorkloadScheduling",
)
PODS_COUNT = PluginSpec(
    "PodGroupPodsCount",
    frozenset({"placementScore"}),
    "Prefers domains that hold more pods of the group.",
    gate="TopologyAwareWorkloadScheduling",
)
