"""kube-scheduler 1.36: what it does otherwise than 1.35."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.config.schema import Schema
from kschedweb.engine.plugins import kube_scheduler
from kschedweb.engine.releases.gates import gates
from kschedweb.engine.releases.v1_35 import V1_35

V1_36 = replace(
    V1_35,
    version="1.36.3",
    specs=(*V1_35.specs, *kube_scheduler("PodGroupPodsCount", "TopologyPlacementGenerator")),
    schema=Schema(group_points=("placementGenerate", "placementScore")),
    gates=gates("1.36"),
    behaviour=replace(
        V1_35.behaviour,
        names_score_plugins=True,
        hints_see_nominations=True,
        balances_by_improvement=True,
        image_volumes_are_images=True,
        ratio_only_where_it_is_used=True,
        pods_wake_those_they_kept_away=True,
        device_capacity_is_refused_by_request=False,
        device_search_is_early=False,
        selectors_know_includes=True,
    ),
)
