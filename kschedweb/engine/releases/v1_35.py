"""kube-scheduler 1.35, by its differences from 1.34."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler_plugins
from kschedweb.engine.releases.gates import load_gates
from kschedweb.engine.releases.v1_34 import V1_34

WEIGHED = (*V1_34.defaults, PluginRef("NodeDeclaredFeatures"))

V1_35 = replace(
    V1_34,
    version="1.35.4",
    specs=(*V1_34.specs, *kube_scheduler_plugins("NodeDeclaredFeatures", "GangScheduling")),
    defaults=tuple(replace(ref, weight=2) if ref.name == "DynamicResources" else ref for ref in WEIGHED),
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
