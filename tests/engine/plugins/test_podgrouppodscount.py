"""PodGroupPodsCount: more pods of the group count for a domain."""

from __future__ import annotations

import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.groups import Assignment, Domain, GroupCycle
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.plugins.podgrouppodscount import PodGroupPodsCount
from tests.engine.builders import node
from tests.engine.gangs import group, member, members, read_group

PLUGIN = PodGroupPodsCount({})


def test_pods_that_have_a_node_and_those_assigned_count() -> None:
    snapshot = Snapshot.from_objects([node("a"), group("gang"), member("old", on="a")])
    cycle = GroupCycle(snapshot, read_group("gang"), [])
    assigned = [Assignment(Pod.from_json(raw), "a") for raw in members(2)]
    assert PLUGIN.score_placement(cycle, Domain.all_nodes(snapshot), assigned) == 3


def test_scores_are_shares_of_the_highest() -> None:
    cycle = GroupCycle(Snapshot(), read_group("gang"), [])
    assert PLUGIN.normalize_placement_scores(cycle, [3, 2, 0]) == [100, 66, 0]


def test_a_group_without_any_pod_is_an_error() -> None:
    with pytest.raises(CycleError, match="no pods from pod group are assigned to any of the candidate placements"):
        PLUGIN.normalize_placement_scores(GroupCycle(Snapshot(), read_group("gang"), []), [0, 0])
