"""Room for groups, and groups that have to go as one."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod
from kschedweb.engine.cycle.search_request import WITH_POST_FILTER
from tests.engine.builders import node, pod
from tests.engine.gangs import (
    BY_TOPOLOGY,
    IN_TREES,
    ONE_CPU,
    THREE_CPUS,
    composite,
    find_group_placement,
    group,
    list_nodes,
    member,
    members,
    part,
    scheduler,
)

TWO = {"cpu": "2"}


def low(name: str, on: str, **fields: Any) -> dict:
    return pod(name, on=on, requests=THREE_CPUS, **fields)


def test_room_is_made_on_all_nodes_that_the_group_needs() -> None:
    cluster_scheduler = scheduler(node("a"), node("b"), low("x", "a"), low("y", "b"), group("gang", 2, priority=9))
    placement_of_group = find_group_placement(cluster_scheduler, members(2, requests=THREE_CPUS, priority=9))
    assert sorted(placement_of_group.victims) == ["default/x", "default/y"]
    assert placement_of_group.waits_for_room
    assert [placement.nominated for placement in placement_of_group.placements] == ["a", "b"]
    assert placement_of_group.condition["message"].endswith(
        "pod group preemption: found a placement for podgroup, preempting 2 victims"
    )
    assert list_nodes(placement_of_group) == ["", ""]


def test_victims_that_leave_room_stay() -> None:
    cluster_scheduler = scheduler(
        node("a"), node("b"), low("x", "a"), pod("y", on="b", requests=ONE_CPU), group("gang", 2, priority=9)
    )
    assert find_group_placement(cluster_scheduler, members(2, requests=THREE_CPUS, priority=9)).victims == (
        "default/x",
    )


def test_a_group_that_is_disrupted_as_one_goes_as_one() -> None:
    lows = [member(f"v{at}", "low", on=at, requests=THREE_CPUS) for at in "ab"]
    cluster_scheduler = scheduler(
        node("a"), node("b"), *lows, group("low", None, whole=True), group("gang", 1, priority=9)
    )
    assert sorted(find_group_placement(cluster_scheduler, members(1, requests=THREE_CPUS, priority=9)).victims) == [
        "default/va",
        "default/vb",
    ]


def test_pods_of_other_groups_go_one_by_one() -> None:
    lows = [member(f"v{at}", "low", on=at, requests=THREE_CPUS) for at in "ab"]
    cluster_scheduler = scheduler(node("a"), node("b"), *lows, group("low", None), group("gang", 1, priority=9))
    assert len(find_group_placement(cluster_scheduler, members(1, requests=THREE_CPUS, priority=9)).victims) == 1


def test_the_priority_of_its_group_protects_a_pod() -> None:
    protected_pod = member("v", "kept", on="a", requests=THREE_CPUS)
    cluster_scheduler = scheduler(
        node("a"), protected_pod, group("kept", None, priority=20), group("gang", 1, priority=9)
    )
    assert find_group_placement(cluster_scheduler, members(1, requests=THREE_CPUS, priority=9)).victims == ()


def test_those_that_a_budget_would_keep_are_let_back_in_first() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "kept"}}},
        "status": {"disruptionsAllowed": 0},
    }
    lows = [pod("x", on="a", requests=TWO, priority=1), pod("y", on="a", requests=TWO, labels={"app": "kept"})]
    gang = group("gang", 1, priority=9)
    preemptor = members(1, requests=TWO, priority=9)
    assert find_group_placement(scheduler(node("a"), *lows, gang), preemptor).victims == ("default/y",)
    placement_of_group = find_group_placement(scheduler(node("a"), *lows, budget, gang), preemptor)
    assert (placement_of_group.victims, placement_of_group.room and placement_of_group.room.violations) == (
        ("default/x",),
        0,
    )


def test_who_never_preempts_says_so() -> None:
    cluster_scheduler = scheduler(node("a"), low("x", "a"), group("gang", 1, priority=9))
    placement_of_group = find_group_placement(
        cluster_scheduler, members(1, requests=THREE_CPUS, priority=9, preemptionPolicy="Never")
    )
    assert placement_of_group.condition["message"].endswith("not eligible due to preemptionPolicy=Never.")


def test_while_victims_leave_no_others_have_to() -> None:
    leaving = low("x", "a")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    leaving["status"] = {"conditions": [target]}
    cluster_scheduler = scheduler(node("a"), node("b"), leaving, low("y", "b"), group("gang", 1, priority=9))
    nominated_pod = {**member("p", requests=THREE_CPUS, priority=9), "status": {"nominatedNodeName": "a"}}
    placement_of_group = find_group_placement(cluster_scheduler, [nominated_pod])
    assert placement_of_group.waits_for_room
    assert placement_of_group.victims == ()
    assert placement_of_group.condition["message"].endswith(
        "pod group preemption: ongoing preemption on nominated nodes"
    )
    assert placement_of_group.placements[0].nominated == "a"


def test_without_a_place_even_then_nobody_goes() -> None:
    cluster_scheduler = scheduler(node("a"), low("x", "a"), group("gang", 2, priority=9))
    placement_of_group = find_group_placement(cluster_scheduler, members(2, requests=THREE_CPUS, priority=9))
    assert placement_of_group.victims == ()
    counted = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    devices = "deallocation and deletion of ResourceClaims completed"
    before = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert placement_of_group.condition["message"] == f"{before}, {devices}, pod group preemption: {counted}"


def test_room_is_made_in_a_domain() -> None:
    zones = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c", labels={"zone": "y"})]
    lows = [low("x", "a"), low("y", "b"), low("z", "c")]
    cluster_scheduler = scheduler(*zones, *lows, group("gang", 2, topology="zone", priority=9), gates=BY_TOPOLOGY)
    placement_of_group = find_group_placement(cluster_scheduler, members(2, requests=THREE_CPUS, priority=9))
    assert placement_of_group.victims == ("default/y", "default/z")


def test_a_single_pod_takes_a_group_as_one_from_all_its_nodes() -> None:
    lows = [member(f"v{at}", "low", on=at, requests=THREE_CPUS) for at in "ab"]
    cluster_scheduler = scheduler(node("a"), node("b"), *lows, group("low", None, whole=True))
    placement = cluster_scheduler.find(Pod.from_json(pod("p", requests=THREE_CPUS, priority=9)), WITH_POST_FILTER)
    assert (placement.nominated, sorted(placement.victims)) == ("a", ["default/va", "default/vb"])


def test_a_single_pod_rather_takes_a_node_without_a_pod_of_a_group() -> None:
    lows = [member("v", "low", on="a", requests=THREE_CPUS), low("w", "b")]
    cluster_scheduler = scheduler(node("a"), node("b"), *lows, group("low", None, priority=3))
    placement = cluster_scheduler.find(Pod.from_json(pod("p", requests=THREE_CPUS, priority=2)), WITH_POST_FILTER)
    assert placement.victims == ("default/w",)


def test_images_do_not_count_while_room_is_looked_for() -> None:
    image = [{"names": ["registry.example/app:v1"], "sizeBytes": 10**9}]
    cluster_scheduler = scheduler(
        node("a"), node("b", images=image), low("x", "a"), low("y", "b"), group("gang", 1, priority=9)
    )
    assert find_group_placement(cluster_scheduler, members(1, requests=THREE_CPUS, priority=9)).victims == (
        "default/x",
    )
    placement_of_group = find_group_placement(
        scheduler(node("a"), node("b", images=image), group("gang", 1)), members(1)
    )
    assert list_nodes(placement_of_group) == ["b"]


def test_a_tree_that_is_disrupted_as_one_goes_as_one() -> None:
    lows = [member(f"{name}-0", name, on=at, requests=THREE_CPUS) for name, at in (("one", "a"), ("two", "b"))]
    # The group says that each of its pods may go alone, the tree that none does.
    tree = [composite("low", None, whole=True), part("one", "low", None), part("two", "low", None)]
    gang = [group("gang", 1, priority=9)]
    pods = members(1, requests=THREE_CPUS, priority=9)
    cluster_scheduler = scheduler(node("a"), node("b"), *lows, *tree, *gang, gates=IN_TREES)
    assert sorted(find_group_placement(cluster_scheduler, pods).victims) == ["default/one-0", "default/two-0"]
    alone = scheduler(node("a"), node("b"), *lows, *tree, *gang, gates=BY_TOPOLOGY)
    assert len(find_group_placement(alone, pods).victims) == 1


def test_a_tree_is_more_important_than_a_group_of_its_size() -> None:
    lows = [member("one-0", "one", on="a", requests=THREE_CPUS), member("two-0", "two", on="b", requests=THREE_CPUS)]
    tree = [composite("low", None, whole=True), part("one", "low", None), group("two", None, whole=True)]
    cluster_scheduler = scheduler(node("a"), node("b"), *lows, *tree, group("gang", 1, priority=9), gates=IN_TREES)
    pods = members(1, requests=THREE_CPUS, priority=9)
    assert find_group_placement(cluster_scheduler, pods).victims == ("default/two-0",)


def test_a_node_that_is_left_of_several_by_its_rank_is_scored() -> None:
    """A plugin whose PreScore is off makes that an error, as in `prioritizeNodes`."""
    off = {"preScore": {"disabled": [{"name": "TaintToleration"}]}}
    lows = [low("x", "a", priority=1), low("y", "b", priority=2)]
    cluster_scheduler = scheduler(
        node("a"), node("b"), *lows, group("gang", 1, priority=9), gates=IN_TREES, plugins=off
    )
    placement = find_group_placement(cluster_scheduler, members(1, requests=THREE_CPUS, priority=9))
    assert placement.condition["reason"] == "SchedulerError"
    assert 'running Score plugins: plugin "TaintToleration" failed' in placement.condition["message"]
