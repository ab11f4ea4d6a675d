"""kube-scheduler 1.37, by its differences from 1.36."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler_plugins
from kschedweb.engine.releases.gates import SIMULATED, SIMULATED_SINCE_1_37, load_gates
from kschedweb.engine.releases.v1_36 import V1_36

# As in 1.36, but NodeName comes before NodeUnschedulable, DeferredPodScheduling before NodeResourcesFit, and the three
# plugins for groups of pods last.
DEFAULT_PLUGINS = (
    PluginRef("SchedulingGates"),
    PluginRef("PrioritySort"),
    PluginRef("NodeName"),
    PluginRef("NodeUnschedulable"),
    PluginRef("TaintToleration", 3),
    PluginRef("NodeAffinity", 2),
    PluginRef("NodePorts"),
    PluginRef("DeferredPodScheduling"),
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
    PluginRef("GangScheduling"),
    PluginRef("TopologyPlacementGenerator"),
    PluginRef("PodGroupPodsCount", 1),
)
# Plugins that are not asked about a running pod whose resize waits for room.
SILENT_ABOUT_RESIZES = frozenset(
    {
        *("NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeDeclaredFeatures"),
        *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
        *("PodTopologySpread", "InterPodAffinity", "DynamicResources"),
    }
)

V1_37 = replace(
    V1_36,
    version="1.37.2",
    specs=(*V1_36.specs, *kube_scheduler_plugins("DeferredPodScheduling")),
    defaults=DEFAULT_PLUGINS,
    schema=Schema(group_points=("placementGenerate", "placementScore", "podGroupPostFilter")),
    gates=load_gates("1.37", SIMULATED | SIMULATED_SINCE_1_37),
    silent_about_resizes=SILENT_ABOUT_RESIZES,
    behaviour=replace(
        V1_36.behaviour,
        image_locality_volume_scaling=True,
        dra_revised_allocator=True,
        cel_typed_optionals=True,
        claim_delete_requeues=True,
        dra_postfilter_message=False,
        preemption_placement_message=True,
        taint_update_as_node_add=False,
        nomination_on_pod_add=True,
        gated_pods_flushed=True,
        unstarted_victims_stable_order=True,
        namespace_selector_per_term=False,
        anti_affinity_hint_matches_any_term=True,
        resize_pod_level_sums=True,
        bind_mount_options_feature=True,
        node_plugins_prefilter=True,
        pod_group_entities=True,
    ),
)
