"""kube-scheduler 1.34, the oldest release that is answered for: the later ones say what they do otherwise."""

from __future__ import annotations

from kschedweb.engine.config.release import Behaviour, Release
from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler, others
from kschedweb.engine.releases.gates import gates

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
    PluginRef("DynamicResources"),
    PluginRef("DefaultPreemption"),
    PluginRef("NodeResourcesBalancedAllocation", 1),
    PluginRef("ImageLocality", 1),
    PluginRef("DefaultBinder"),
)
"""The default set: multiPoint plugins in their order with their weights (0 where none is set)."""

V1_34 = Release(
    version="1.34.4",
    specs=kube_scheduler(*(ref.name for ref in DEFAULT_PLUGINS)),
    defaults=DEFAULT_PLUGINS,
    schema=Schema(group_points=()),
    gates=gates("1.34"),
    behaviour=Behaviour(
        names_score_plugins=False,
        balances_by_improvement=False,
        image_volumes_are_images=False,
        image_volumes_raise_threshold=False,
        devices_have_binding_timeout=False,
        devices_score=False,
        device_capacity_is_refused_by_request=True,
        device_pools_are_local=True,
        device_search_is_early=False,
        device_search_is_revised=False,
        selectors_know_includes=False,
        selectors_keep_values=False,
        hears_of_deleted_claims=False,
        refuses_capacity_with_status=True,
        tells_of_devices_left=True,
        tells_of_preemption=False,
        taints_wake_for_new_nodes=True,
        nominates_when_added=False,
        looks_again_at_gated=False,
        ending_pods_give_up_nodes=False,
        hints_see_nominations=False,
        keeps_order_of_unstarted=False,
        selects_namespaces_by_value=True,
        pods_wake_those_they_kept_away=False,
        one_term_keeps_away=False,
        resizes_by_sums=False,
        ratio_only_where_it_is_used=False,
        says_qualified_name=True,
        mounts_need_features=False,
        node_filters_have_pre_filter=False,
        groups_are_entities=False,
    ),
    scheme="pkg/runtime/scheme.go:110",
    others=others,
)
