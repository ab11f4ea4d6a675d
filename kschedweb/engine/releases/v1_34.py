"""kube-scheduler 1.34, the oldest supported release. The later ones are defined by their differences from it."""

from __future__ import annotations

from kschedweb.engine.config.release import Behaviour, Release
from kschedweb.engine.config.schema import Schema
from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler_plugins, out_of_tree_plugins
from kschedweb.engine.releases.gates import load_gates

# The multiPoint plugins of getDefaultPlugins and applyFeatureGates (pkg/scheduler/apis/config/v1/default_plugins.go),
# in their order with their weights (0 if none is set).
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

V1_34 = Release(
    version="1.34.4",
    specs=kube_scheduler_plugins(*(ref.name for ref in DEFAULT_PLUGINS)),
    defaults=DEFAULT_PLUGINS,
    schema=Schema(group_points=()),
    gates=load_gates("1.34"),
    behaviour=Behaviour(
        score_weight_error_prefix=False,
        balanced_allocation_by_delta=False,
        image_locality_image_volumes=False,
        image_locality_volume_scaling=False,
        dra_binding_timeout_argument=False,
        dra_prioritized_list_scoring=False,
        dra_capacity_error_by_request=True,
        dra_node_local_pools=True,
        dra_early_allocator=False,
        dra_revised_allocator=False,
        cel_includes_function=False,
        cel_typed_optionals=False,
        claim_delete_requeues=False,
        dra_capacity_error_with_status=True,
        dra_postfilter_message=True,
        preemption_placement_message=False,
        taint_update_as_node_add=True,
        nomination_on_pod_add=False,
        gated_pods_flushed=False,
        terminating_pods_release_node=False,
        hints_include_nominated_pods=False,
        unstarted_victims_stable_order=False,
        namespace_selector_per_term=True,
        anti_affinity_symmetric_hint=False,
        anti_affinity_hint_matches_any_term=False,
        resize_pod_level_sums=False,
        strict_capacity_ratio_args=False,
        qualified_name_error_text=True,
        bind_mount_options_feature=False,
        node_plugins_prefilter=False,
        pod_group_entities=False,
    ),
    # The place in its source that its errors about unknown kinds name.
    scheme="pkg/runtime/scheme.go:110",
    extra_plugins=out_of_tree_plugins,
)
