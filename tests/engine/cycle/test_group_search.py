"""The cycle of a group: all its pods or none, on a snapshot that is as before in the end."""

from __future__ import annotations

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.search_request import NODE_ONLY, SearchRequest
from tests.engine.builders import node, pod
from tests.engine.gangs import (
    BY_TOPOLOGY,
    IN_TREES,
    ON,
    THREE_CPUS,
    find_group_placement,
    gpu_claim,
    gpus,
    group,
    list_nodes,
    member,
    members,
    scheduler,
    with_gpu,
)

NO_ROOM = "pod group preemption: No preemption victims found for incoming preemptor"


def test_a_gang_that_fits_gets_a_node_for_each_pod() -> None:
    placement = find_group_placement(scheduler(node("a"), node("b"), group("gang", 4)), members(4))
    assert list_nodes(placement) == ["a", "b", "a", "b"]
    assert placement.condition == {
        "type": "PodGroupInitiallyScheduled",
        "status": "True",
        "reason": "Scheduled",
        "message": "",
    }


def test_a_gang_of_which_too_few_fit_gets_none_and_each_pod_is_told() -> None:
    placement = find_group_placement(scheduler(node("a"), node("b"), group("gang", 3)), members(4, requests=THREE_CPUS))
    counted = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
    assert placement.condition["message"] == f"{counted}, {NO_ROOM}"
    assert list_nodes(placement) == [""] * 4
    messages = [placement.message for placement in placement.placements]
    assert messages[0] == messages[1] == f"pod group is unschedulable, {counted}, {NO_ROOM}"
    assert messages[2] == messages[3] == "0/2 nodes are available: 2 Insufficient cpu."
    assert [placement.is_error for placement in placement.placements] == [False] * 4
    assert placement.blocking == "default/gang-2"


def test_pods_beyond_the_number_may_stay_behind() -> None:
    placement = find_group_placement(scheduler(node("a"), node("b"), group("gang", 2)), members(3, requests=THREE_CPUS))
    assert list_nodes(placement) == ["a", "b", ""]
    assert placement.placed
    assert placement.placements[2].message == "0/2 nodes are available: 2 Insufficient cpu."


def test_the_search_ends_with_the_pod_that_settles_it() -> None:
    placement = find_group_placement(scheduler(node("a"), group("gang", 3)), members(3, requests=THREE_CPUS))
    assert len(placement.tries[0].placements) == 2
    assert placement.placements[2].message == "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    assert placement.placements[2].with_group


def test_pods_that_have_a_node_count() -> None:
    gang_scheduler = scheduler(node("a"), node("b"), group("gang", 2), member("first", on="a", requests=THREE_CPUS))
    assert list_nodes(find_group_placement(gang_scheduler, [member("second", requests=THREE_CPUS)])) == ["b"]


def test_a_group_that_has_its_number_is_not_placed_where_no_pod_more_fits() -> None:
    gang_scheduler = scheduler(node("a"), group("gang", 1), member("first", on="a", requests=THREE_CPUS))
    placement = find_group_placement(gang_scheduler, [member("second", requests=THREE_CPUS)])
    assert placement.condition["message"] == f"pod group is unschedulable, {NO_ROOM}"


def test_a_group_that_is_no_gang_takes_what_it_gets() -> None:
    placement = find_group_placement(scheduler(node("a"), group("gang", None)), members(2, requests=THREE_CPUS))
    assert (list_nodes(placement), placement.placed) == (["a", ""], True)


def test_where_too_few_are_left_no_pod_is_tried_and_no_plugin_prepared() -> None:
    placement = find_group_placement(scheduler(node("a"), group("gang", 3)), members(2))
    assert placement.condition["reason"] == "SchedulerError"
    assert placement.condition["message"] == 'error in "DynamicResources" PodGroupPostFilter plugins: not found'
    assert not placement.tries[0].placements


@pytest.mark.parametrize(
    ("odd", "expected_error"),
    [
        (
            {"schedulerName": "other"},
            'all pods in a single pod group should have the same .spec.schedulerName set, got: "other" and '
            '"default-scheduler"',
        ),
        (
            {"priority": 5},
            "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0",
        ),
        (
            {"preemptionPolicy": "Never"},
            "all pods in a single pod group should have the same preemption policy, got Never and PreemptLowerPriority",
        ),
    ],
)
def test_pods_that_do_not_go_together_are_an_error(odd: dict, expected_error: str) -> None:
    placement = find_group_placement(scheduler(node("a"), group("gang")), [member("p"), member("q", **odd)])
    assert (placement.condition["reason"], placement.condition["message"]) == ("SchedulerError", expected_error)
    assert all(placement.is_error and placement.message == expected_error for placement in placement.placements)


def test_a_pod_that_has_a_node_must_go_with_the_others_too() -> None:
    placement = find_group_placement(scheduler(node("a"), group("gang"), member("old", on="a", priority=3)), members(2))
    assert "got 3 and 0" in placement.condition["message"]


def test_each_pod_sees_those_before_it() -> None:
    anti_affinity = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"of": "gang"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    pods = members(3, labels={"of": "gang"}, affinity=anti_affinity)
    placement = find_group_placement(scheduler(node("a"), node("b"), group("gang", 3)), pods)
    assert placement.placements[2].message == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    assert list_nodes(find_group_placement(scheduler(node("a"), node("b"), node("c"), group("gang", 3)), pods)) == [
        "a",
        "b",
        "c",
    ]


def test_the_next_search_begins_where_the_last_pod_left_off() -> None:
    gang_scheduler = scheduler(*(node(f"n{number}") for number in range(3)), group("gang"))
    find_group_placement(gang_scheduler, members(2))
    assert gang_scheduler.start == 0
    start, version = gang_scheduler.start, gang_scheduler.snapshot.pods.version
    gang = gang_scheduler.snapshot.objects.groups.get("default/gang")
    assert gang is not None
    gang_scheduler.explain_group(gang, [Pod.from_json(raw) for raw in members(2)])
    assert (gang_scheduler.start, gang_scheduler.snapshot.pods.version) == (start, version)
    assert gang_scheduler.snapshot.objects.groups.member_count("default/gang") == 0


def test_a_nominated_pod_of_the_group_keeps_no_room_from_the_others() -> None:
    gang_scheduler = scheduler(node("a"), group("gang", 2))
    pods = [Pod.from_json({**raw, "status": {"nominatedNodeName": "a"}}) for raw in members(2, requests={"cpu": "2"})]
    for nominated_pod in pods:
        gang_scheduler.nominator.add_nominated_pod(nominated_pod, "a")
    gang = gang_scheduler.snapshot.objects.groups.get("default/gang")
    assert gang is not None
    placement = gang_scheduler.find_group(gang, pods, NODE_ONLY)
    assert list_nodes(placement) == ["a", "a"]
    assert set(gang_scheduler.nominator.nominated_pods_for_node("a")) == set(pods)


# Domains.

ZONES = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c", labels={"zone": "y"})]


def test_a_group_is_placed_in_one_domain() -> None:
    gang_scheduler = scheduler(*ZONES, group("gang", 3, topology="zone"), gates=BY_TOPOLOGY)
    placement = find_group_placement(gang_scheduler, members(3, requests={"cpu": "2"}))
    assert (placement.domain, sorted(list_nodes(placement))) == ("y", ["b", "b", "c"])
    assert [(attempt.domain.name, attempt.status.code) for attempt in placement.tries] == [
        ("x", "Unschedulable"),
        ("y", "Success"),
    ]


def test_the_domain_where_more_pods_find_a_place_is_preferred() -> None:
    gang_scheduler = scheduler(*ZONES, group("gang", 1, topology="zone"), gates=BY_TOPOLOGY)
    placement = find_group_placement(gang_scheduler, members(3, requests={"cpu": "2"}))
    assert placement.domain == "y"
    assert [
        (domain_score.domain.name, domain_score.scores["PodGroupPodsCount"]) for domain_score in placement.scores
    ] == [("x", 66), ("y", 100)]


def test_the_message_counts_domains_and_tells_of_the_first() -> None:
    gang_scheduler = scheduler(*ZONES, group("gang", 3, topology="zone"), gates=BY_TOPOLOGY)
    placement = find_group_placement(gang_scheduler, members(3, requests=THREE_CPUS))
    first = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    assert placement.condition["message"] == (
        f"pod group is unschedulable, 0/2 placements are available, first placement status: {first}, {NO_ROOM}"
    )
    assert placement.placements[1].message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_group_without_topology_is_tried_on_all_nodes() -> None:
    gang_scheduler = scheduler(*ZONES, group("gang", 3), gates=BY_TOPOLOGY)
    assert list_nodes(find_group_placement(gang_scheduler, members(3, requests=THREE_CPUS))) == ["a", "b", "c"]


def test_a_pod_that_has_a_node_decides_the_domain() -> None:
    gang_scheduler = scheduler(*ZONES, group("gang", 2, topology="zone"), member("old", on="a"), gates=BY_TOPOLOGY)
    placement = find_group_placement(gang_scheduler, members(2))
    assert (placement.domain, list_nodes(placement)) == ("x", ["a", "a"])


def test_without_a_domain_there_is_no_place() -> None:
    placement = find_group_placement(
        scheduler(node("a"), group("gang", 2, topology="rack"), gates=BY_TOPOLOGY), members(2)
    )
    assert placement.condition["message"] == f"no feasible placements found, {NO_ROOM}"


# As plain data.


def test_an_explanation_says_of_each_pod_where_it_goes_or_why_not() -> None:
    plain = find_group_placement(scheduler(node("a"), group("gang", 2)), members(2, requests=THREE_CPUS)).to_dict()
    assert (plain["placed"], plain["blocking"]) == (False, "default/gang-1")
    assert plain["pods"][1] == {
        "pod": "default/gang-1",
        "node": "",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
        "reason": "Unschedulable",
        "plugins": ["NodeResourcesFit"],
        "nominated": None,
    }
    assert plain["domains"][0]["pods"][0]["node"] == "a"
    assert plain["room"] == {"made": False, "message": NO_ROOM, "victims": [], "pdbViolations": 0}


def test_a_pod_that_fails_ends_the_cycle_with_an_error() -> None:
    broken = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Gt", "values": ["no"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": broken}}
    gang_scheduler = scheduler(node("a"), group("gang", 2))
    placement = gang_scheduler.find(Pod.from_json(pod("p", affinity=affinity)))
    group_placement = find_group_placement(
        gang_scheduler, [member("p", affinity=affinity), member("q", affinity=affinity)]
    )
    assert placement.is_error == (group_placement.condition["reason"] == "SchedulerError")


def test_a_pod_for_which_pre_filter_names_no_node_that_exists_has_been_asked_about_by_all() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["nowhere"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    placement = find_group_placement(scheduler(node("a"), group("gang", 1)), members(1, affinity=affinity))
    assert placement.condition["reason"] == "Unschedulable"


def test_scheduled_pods_are_on_their_nodes_and_victims_are_gone() -> None:
    gang_scheduler = scheduler(node("a"), pod("low", on="a", requests=THREE_CPUS), group("gang", 2, priority=5))
    gang = gang_scheduler.snapshot.objects.groups.get("default/gang")
    assert gang is not None
    pods = [Pod.from_json(raw) for raw in members(2, requests={"cpu": "2"}, priority=5)]
    assert not gang_scheduler.schedule_group(gang, pods).placed
    placement = gang_scheduler.schedule_group(gang, pods, SearchRequest(preempt=True))
    assert (placement.placed, placement.victims) == (True, ("default/low",))
    assert sorted(gang_scheduler.snapshot.pods.slots) == ["default/gang-0", "default/gang-1"]


# Devices that pods of the group have from before.

STUCK = [node("a"), node("b"), *gpus("a", "b"), gpu_claim("one", "a", 0), gpu_claim("two", "a", 1), group("gang", 2)]
PAIR = [with_gpu("gang-0", "one", requests=THREE_CPUS), with_gpu("gang-1", "two", requests=THREE_CPUS)]


def frees(placement_of_group: GroupPlacement) -> list[str]:
    return [claim.claim for placement in placement_of_group.placements for claim in placement.frees]


def test_devices_that_keep_a_group_out_are_given_back_and_found_elsewhere_the_next_time() -> None:
    gang_scheduler = scheduler(*STUCK)
    placement = find_group_placement(gang_scheduler, PAIR)
    assert placement.placements[1].message == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."
    )
    # Also those of the pod that found a node, where they are no obstacle.
    assert frees(placement) == ["one", "two"]
    assert list_nodes(find_group_placement(gang_scheduler, PAIR)) == ["a", "b"]


def test_devices_that_somebody_else_uses_stay() -> None:
    used_claim = gpu_claim("two", "a", 1, user="somebody")
    placement = find_group_placement(scheduler(*STUCK[:-2], used_claim, STUCK[-1]), PAIR)
    assert frees(placement) == ["one"]


def test_whoever_asks_only_or_does_it_elsewhere_finds_the_devices_as_they_are() -> None:
    gang_scheduler = scheduler(*STUCK)
    gang = gang_scheduler.snapshot.objects.groups.get("default/gang")
    assert gang is not None
    pods = [Pod.from_json(raw) for raw in PAIR]
    explained = gang_scheduler.explain_group(gang, pods)
    elsewhere = gang_scheduler.find_group(gang, pods, SearchRequest(post_filter=True, elsewhere=True))
    assert frees(explained) == frees(elsewhere) == frees(find_group_placement(gang_scheduler, PAIR)) == ["one", "two"]
    assert frees(scheduler(*STUCK).find_group(gang, pods, NODE_ONLY)) == []


def test_a_group_with_a_topology_keeps_its_devices() -> None:
    by_host = group("gang", 2, topology="kubernetes.io/hostname")
    placement = find_group_placement(scheduler(*STUCK[:-1], by_host, gates=BY_TOPOLOGY), PAIR)
    assert not placement.placed
    assert frees(placement) == []


@pytest.mark.parametrize(("gates", "ending"), [(ON, "0 remaining, "), (IN_TREES, "0 not-evaluated")])
def test_without_a_plugin_that_looks_for_room_nothing_is_said_of_it(gates: dict[str, bool], ending: str) -> None:
    """As kube-scheduler 1.38 has it; 1.37 adds the words of no plugin."""
    off = {"podGroupPostFilter": {"disabled": [{"name": "*"}]}}
    placement = find_group_placement(
        scheduler(node("a"), group("gang", 2), gates=gates, plugins=off), members(2, requests=THREE_CPUS)
    )
    assert placement.condition["message"].endswith(ending)
