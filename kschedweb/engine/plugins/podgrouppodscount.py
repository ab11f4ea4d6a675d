"""PodGroupPodsCount prefers the domains in which more pods of the group find a place."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.groups import Assignment, Domain, GroupCycle
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.framework.status import CycleError

NAME = "PodGroupPodsCount"


class PodGroupPodsCount:
    name = NAME

    def __init__(self, args: PluginArgs) -> None:
        pass

    def score_placement(self, cycle: GroupCycle, domain: Domain, assigned: Sequence[Assignment]) -> int:
        return len(cycle.scheduled_pods) + len(assigned)

    def normalize_placement_scores(self, cycle: GroupCycle, scores: Sequence[int]) -> list[int]:
        highest = max(scores)
        if not highest:
            raise CycleError(
                f'running NormalizePlacementScore on PlacementScore plugins: plugin "{self.name}" failed with: no pods '
                "from pod group are assigned to any of the candidate placements"
            )
        # Integer division, as in the original.
        return [score * MAX_NODE_SCORE // highest for score in scores]


SPEC = PluginSpec(
    NAME,
    frozenset({"placementScore"}),
    "Prefers domains that hold more pods of the group.",
    gate="TopologyAwareWorkloadScheduling",
    variant=lambda release: {"factory": PodGroupPodsCount if release.has_topology_scheduling else None},
)
