"""kube-scheduler 1.37: what it does otherwise than 1.36."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler
from kschedweb.engine.releases.gates import SIMULATED, SINCE_1_37, gates
from kschedweb.engine.releases.v1_36 import V1_36

GROUPS = (PluginRef("GangScheduling"), PluginRef("TopologyPlacementGenerator"), PluginRef("PodGroupPodsCount", 1))
GATES, SORT, UNSCHEDULABLE, NAME, TAINTS, AFFINITY, PORTS, *ROOM_AND_FURTHER = V1_36.defaults
OF_THE_NODE = (NAME, UNSCHEDULABLE, TAINTS, AFFINITY, PORTS)
RESIZES = PluginRef("DeferredPodScheduling")
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
    specs=(*V1_36.specs, *kube_scheduler("DeferredPodScheduling")),
    defaults=(GATES, SORT, *OF_THE_NODE, RESIZES, *ROOM_AND_FURTHER, *GROUPS),
    schema=Schema(group_points=("placementGenerate", "placementScore", "podGroupPostFilter")),
    gates=gates("1.37", SIMULATED | SINCE_1_37),
    silent_about_resizes=SILENT_ABOUT_RESIZES,
    behaviour=replace(
        V1_36.behaviour,
        image_volumes_raise_threshold=True,
        device_search_is_revised=True,
        selectors_keep_values=True,
        hears_of_deleted_claims=True,
        tells_of_devices_left=False,
        tells_of_preemption=True,
        taints_wake_for_new_nodes=False,
        nominates_when_added=True,
        looks_again_at_gated=True,
        keeps_order_of_unstarted=True,
        selects_namespaces_by_value=False,
        one_term_keeps_away=True,
        resizes_by_sums=True,
        mounts_need_features=True,
        node_filters_have_pre_filter=True,
        groups_are_entities=True,
    ),
)
