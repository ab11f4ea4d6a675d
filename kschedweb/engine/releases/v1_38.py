"""kube-scheduler 1.38, by its differences from 1.37: a preview, as 1.38.0-beta.0 is the newest version."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.schema import Schema
from kschedweb.engine.releases.gates import SIMULATED, SIMULATED_SINCE_1_38, load_gates
from kschedweb.engine.releases.v1_37 import V1_37

V1_38 = replace(
    V1_37,
    version="1.38.0-beta.0",
    scheme="pkg/runtime/scheme.go:110",
    schema=Schema(
        group_points=("placementGenerate", "placementScore", "placementFeasible", "podGroupPostFilter"),
        points_without_removal_check=(),
        points_without_default_args=(),
        placement_percentage=True,
    ),
    gates=load_gates("1.38", SIMULATED | SIMULATED_SINCE_1_38),
    behaviour=replace(
        V1_37.behaviour,
        spread_empty_selector=True,
        fit_score_pod_level=True,
        saturating_amounts=True,
        exact_storage_capacity=True,
        pod_security_features=True,
        dra_unified_allocator=True,
        victim_ties_by_uid=True,
        budget_empty_selector=True,
        extender_victimless_nodes=True,
        placement_merging=True,
        gang_permit=False,
        workload_preemption=True,
        pod_group_hierarchies=True,
        shrunk_node_hint=True,
        namespace_label_hints=True,
    ),
)
