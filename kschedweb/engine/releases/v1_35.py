"""kube-scheduler 1.35, by its differences from 1.34."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler_plugins
from kschedweb.engine.releases.gates import load_gates
from kschedweb.engine.releases.v1_34 import V1_34

# As in 1.34, but DynamicResources has a weight, and NodeDeclaredFeatures comes last.
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

V1_35 = replace(
    V1_34,
    version="1.35.4",
    specs=(*V1_34.specs, *kube_scheduler_plugins("NodeDeclaredFeatures", "GangScheduling")),
    defaults=DEFAULT_PLUGINS,
    gates=load_gates("1.35"),
    scheme="pkg/runtime/scheme.go:111",
    behaviour=replace(
        V1_34.behaviour,
        dra_binding_timeout_argument=True,
        dra_prioritized_list_scoring=True,
        dra_capacity_error_with_status=False,
        dra_node_local_pools=False,
        dra_early_allocator=True,
        qualified_name_error_text=False,
        terminating_pods_release_node=True,
    ),
)
