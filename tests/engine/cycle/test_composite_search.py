"""Groups of groups: tried together, down to their pods; a failure above takes the place of each group below."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Scheduler
from kschedweb.engine.cycle.group_placement import GroupPlacement
from tests.engine.builders import node, pod
from tests.engine.gangs import (
    IN_TREES,
    ONE_CPU,
    THREE_CPUS,
    composite,
    find_tree_placement,
    list_nodes,
    member,
    members,
    part,
    scheduler,
)

ZONE = "zone"
ALL_PLACED = [("root", True), ("a", True), ("b", True)]


def tree_scheduler(*objects: dict) -> Scheduler:
    return scheduler(*objects, gates=IN_TREES)


def outcomes(placement: GroupPlacement) -> list[tuple[str, bool]]:
    """Each group, the root first, with whether it is placed."""
    return [(result.group.name, result.placed) for result in placement.by_group]


def messages(placement: GroupPlacement) -> dict[str, str]:
    return {result.group.name: result.condition["message"] for result in placement.by_group}


def two_groups(each: dict[str, str] = ONE_CPU, **fields: Any) -> list[dict]:
    return [*members(2, "a", requests=each, **fields), *members(2, "b", requests=each, **fields)]


def test_each_group_sees_the_pods_of_those_before_it() -> None:
    cluster_scheduler = tree_scheduler(node("x"), node("y"), composite("root"), part("a"), part("b"))
    placement = find_tree_placement(cluster_scheduler, two_groups({"cpu": "2"}))
    assert outcomes(placement) == ALL_PLACED
    assert sorted(list_nodes(placement)) == ["x", "x", "y", "y"]


def test_the_results_come_in_the_order_of_the_pods() -> None:
    cluster_scheduler = tree_scheduler(node("x"), composite("root"), part("a"), part("b"))
    mixed = [member("b-0", "b"), member("a-0", "a"), member("b-1", "b"), member("a-1", "a")]
    placement = find_tree_placement(cluster_scheduler, mixed)
    assert [result.pod for result in placement.placements] == [
        f"default/{name}" for name in ("b-0", "a-0", "b-1", "a-1")
    ]
    assert [[result.pod for result in below.placements] for below in placement.parts] == [
        ["default/a-0", "default/a-1"],
        ["default/b-0", "default/b-1"],
    ]


def test_a_composite_group_of_one_domain_keeps_all_its_groups_in_it() -> None:
    nodes = [node("x1", labels={ZONE: "x"}), *(node(f"y{number}", labels={ZONE: "y"}) for number in range(2))]
    root = composite("root", topology=ZONE)
    placement = find_tree_placement(tree_scheduler(*nodes, root, part("a"), part("b")), two_groups({"cpu": "2"}))
    assert (outcomes(placement), placement.domain) == (ALL_PLACED, "y")
    assert sorted(list_nodes(placement)) == ["y0", "y0", "y1", "y1"]


def test_a_group_looks_for_its_domain_within_that_of_its_parent() -> None:
    nodes = [
        node(f"{zone}{rack}{number}", labels={ZONE: zone, "rack": f"{zone}{rack}"})
        for zone in "xy"
        for rack in "12"
        for number in range(1 if zone == "x" else 2)
    ]
    groups = [composite("root", topology=ZONE), part("a", topology="rack"), part("b", topology="rack")]
    placement = find_tree_placement(tree_scheduler(*nodes, *groups), two_groups(THREE_CPUS))
    assert [below.domain for below in placement.by_group] == ["y", "y1", "y2"]


def test_no_group_keeps_its_place_if_one_above_it_failed() -> None:
    groups = [composite("root", 2), composite("left", 1, parent="root"), part("a", "left"), part("b")]
    pods = [*members(2, "a"), *members(2, "b", requests=THREE_CPUS)]
    placement = find_tree_placement(tree_scheduler(node("x"), *groups), pods)
    assert list_nodes(placement) == [""] * 4
    no_victims = ", pod group preemption: No preemption victims found for incoming preemptor"
    minimum = (
        "0/1 placements are available, first placement status: scheduling policy's minimum threshold (2) cannot be"
    )
    ancestor = f'ancestor composite pod group "root" is unschedulable{no_victims}'
    # The groups are tried by name: b before left, which is not tried any more.
    assert messages(placement) == {
        "root": f"{minimum} satisfied: 0 scheduled, 1 unschedulable, 1 not-evaluated{no_victims}",
        "b": f"{minimum} satisfied: 1 scheduled, 1 unschedulable, 0 not-evaluated{no_victims}",
        "left": ancestor,
        "a": ancestor,
    }
    told = {result.pod: result.message for result in placement.placements}
    assert told.pop("default/b-1").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert told == {
        "default/a-0": 'parent pod group "a" is unschedulable',
        "default/a-1": 'parent pod group "a" is unschedulable',
        "default/b-0": 'parent pod group "b" is unschedulable',
    }


def test_the_groups_below_a_failed_one_name_the_nearest_that_failed() -> None:
    groups = [
        composite("root", 1),
        composite("left", 2, parent="root"),
        part("a", "left"),
        part("b", "left"),
        part("c"),
    ]
    pods = [*members(2, "a"), *members(2, "b", requests={"cpu": "9"}), *members(2, "c")]
    placement = find_tree_placement(tree_scheduler(node("x"), *groups), pods)
    assert dict(outcomes(placement)) == {"root": True, "left": False, "a": False, "b": False, "c": True}
    assert messages(placement)["a"] == 'ancestor composite pod group "left" is unschedulable'
    assert [result.node for result in placement.placements] == ["", "", "", "", "x", "x"]


def test_room_is_made_for_the_whole_tree() -> None:
    groups = [composite("root", 2, priority=9), part("a", priority=9), part("b", priority=9)]
    lows = [pod(f"low-{name}", on=name, requests=THREE_CPUS) for name in "xy"]
    placement = find_tree_placement(
        tree_scheduler(node("x"), node("y"), *lows, *groups), two_groups({"cpu": "2"}, priority=9)
    )
    assert sorted(placement.victims) == ["default/low-x", "default/low-y"]
    assert sorted(str(result.nominated) for result in placement.placements) == ["x", "x", "y", "y"]
    assert not any(placed for _, placed in outcomes(placement))


@pytest.mark.parametrize(
    ("groups", "pods", "expected_message"),
    [
        (
            [composite("root", whole=True), part("a"), part("b")],
            two_groups(),
            'parent "compositepodgroup/default/root" with All disruption mode cannot have child "podgroup/default/a" '
            "with Single disruption mode",
        ),
        (
            [
                composite("root", 1),
                composite("two", 1, parent="root"),
                composite("three", 1, parent="two"),
                composite("four", 1, parent="three"),
                part("a", "four"),
            ],
            members(2, "a"),
            'hierarchy depth exceeds maximum allowed depth 4 at "compositepodgroup/default/four"',
        ),
        (
            [composite("root"), part("a", workloadRef={"workloadName": "w"}), part("b")],
            two_groups(),
            'pod group workload does not match root workload, got: "w" ("podgroup/default/a") and '
            '"" ("compositepodgroup/default/root")',
        ),
        (
            [
                composite("root", preemptionPolicy="Never"),
                part("a", preemptionPolicy="PreemptLowerPriority"),
                part("b"),
            ],
            two_groups(),
            "all pod groups in a hierarchy should have the same preemption policy, got PreemptLowerPriority "
            '("podgroup/default/a") and Never',
        ),
        (
            [composite("root"), part("a"), part("b")],
            [*members(2, "a"), *members(2, "b", priority=3)],
            "all pods in a pod group hierarchy should have the same priority as the root pod group's priority, "
            'got 3 ("b-0") and 0 ("compositepodgroup/default/root")',
        ),
    ],
)
def test_groups_that_cannot_form_a_tree_all_say_why(
    groups: list[dict], pods: list[dict], expected_message: str
) -> None:
    placement = find_tree_placement(tree_scheduler(node("x"), *groups), pods)
    reasons = {"PodGroup": "PodGroupError", "CompositePodGroup": "CompositePodGroupError"}
    assert [result.group.name for result in placement.by_group] == [raw["metadata"]["name"] for raw in _in_tree(groups)]
    for result in placement.by_group:
        assert result.condition["reason"] == reasons[result.group.kind]
        assert result.condition["message"] == expected_message
    assert {result.message for result in placement.placements} == {expected_message}


def _in_tree(groups: list[dict], parent: str = "") -> list[dict]:
    """The groups, parents first, as they are walked."""
    below = [raw for raw in groups if raw["spec"].get("parentCompositePodGroupName", "") == parent]
    listed = []
    for raw in sorted(below, key=lambda raw: str(raw["metadata"]["name"])):
        listed += [raw, *(_in_tree(groups, raw["metadata"]["name"]) if raw["kind"] == "CompositePodGroup" else [])]
    return listed


def test_the_pods_before_a_pod_are_those_that_stood_when_it_was_tried() -> None:
    groups = [composite("root", 1), part("a"), part("b"), part("c")]
    pods = [*members(2, "a", requests={"cpu": "9"}), *members(2, "b"), *members(2, "c")]
    placement = find_tree_placement(tree_scheduler(node("x"), *groups), pods)
    read = [Pod.from_json(raw) for raw in pods]
    before = [assignment.pod.name for assignment in placement.assignments_before(read, "default/c-1")]
    # The group a has left its place before b was tried.
    assert before == ["b-0", "b-1", "c-0"]


def test_without_a_plugin_that_looks_for_room_no_group_says_anything_of_it() -> None:
    off = {"podGroupPostFilter": {"disabled": [{"name": "*"}]}}
    objects = [node("x"), composite("root"), part("a"), part("b")]
    placement = find_tree_placement(scheduler(*objects, gates=IN_TREES, plugins=off), two_groups(THREE_CPUS))
    assert messages(placement)["a"].endswith("1 scheduled, 1 unschedulable, 0 not-evaluated")
