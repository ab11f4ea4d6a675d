"""kube-scheduler 1.36, by its differences from 1.35. The default plugins are the same."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.schema import Schema
from kschedweb.engine.plugins import kube_scheduler_plugins
from kschedweb.engine.releases.gates import load_gates
from kschedweb.engine.releases.v1_35 import V1_35

V1_36 = replace(
    V1_35,
    version="1.36.3",
    specs=(*V1_35.specs, *kube_scheduler_plugins("PodGroupPodsCount", "TopologyPlacementGenerator")),
    schema=Schema(group_points=("placementGenerate", "placementScore")),
    gates=load_gates("1.36"),
    behaviour=replace(
        V1_35.behaviour,
        score_weight_error_prefix=True,
        hints_include_nominated_pods=True,
        balanced_allocation_by_delta=True,
        image_locality_image_volumes=True,
        strict_capacity_ratio_args=True,
        anti_affinity_symmetric_hint=True,
        dra_capacity_error_by_request=False,
        dra_early_allocator=False,
        cel_includes_function=True,
    ),
)
