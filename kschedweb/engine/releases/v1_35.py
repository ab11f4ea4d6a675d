"""kube-scheduler 1.35: what it does otherwise than 1.34."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.specs import PluginRef
from kschedweb.engine.plugins import kube_scheduler
from kschedweb.engine.releases.gates import gates
from kschedweb.engine.releases.v1_34 import V1_34

WEIGHED = (*V1_34.defaults, PluginRef("NodeDeclaredFeatures"))

V1_35 = replace(
    V1_34,
    version="1.35.4",
    specs=(*V1_34.specs, *kube_scheduler("NodeDeclaredFeatures", "GangScheduling")),
    defaults=tuple(replace(ref, weight=2) if ref.name == "DynamicResources" else ref for ref in WEIGHED),
    gates=gates("1.35"),
    scheme="pkg/runtime/scheme.go:111",
    behaviour=replace(
        V1_34.behaviour,
        devices_have_binding_timeout=True,
        devices_score=True,
        refuses_capacity_with_status=False,
        device_pools_are_local=False,
        device_search_is_early=True,
        says_qualified_name=False,
        ending_pods_give_up_nodes=True,
    ),
)
