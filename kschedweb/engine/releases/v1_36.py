"""kube-scheduler 1.36: its default set, its schema, and the feature gates that decide something here."""

from __future__ import annotations

from kschedweb.engine.config.release import Release
from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginRef, Registry
from kschedweb.engine.plugins import SPECS, others

DEFAULT_PLUGINS = (
    PluginRef("SchedulingGates"),
    PluginRef("PrioritySort"),
    PluginRef("NodeUnschedulable"),
    PluginRef("NodeName"),
    PluginRef("TaintToleration", 3),
    PluginRef("NodeAffinity", 2),
    PluginRef("NodePorts"),
    PluginRef("NodeResourcesFit", 1),
    PluginRef("VolumeRestrictions"),
    PluginRef("NodeVolumeLimits"),
    PluginRef("VolumeBinding"),
    PluginRef("VolumeZone"),
    PluginRef("PodTopologySpread", 2),
    PluginRef("InterPodAffinity", 2),
    PluginRef("DynamicResources", 2),
    PluginRef("DefaultPreemption"),
    PluginRef("NodeResourcesBalancedAllocation", 1),
    PluginRef("ImageLocality", 1),
    PluginRef("DefaultBinder"),
    PluginRef("NodeDeclaredFeatures"),
)
"""The default set: multiPoint plugins in their order with their weights (0 where none is set)."""

V1_36 = Release(
    version="1.36.3",
    own=Registry.of((spec for spec in SPECS if not spec.origin), DEFAULT_PLUGINS),
    schema=Schema(placement_points=("placementGenerate", "placementScore")),
    gates={"GangScheduling": False, "TopologyAwareWorkloadScheduling": False},
    names_score_plugins=True,
    others=others,
)
