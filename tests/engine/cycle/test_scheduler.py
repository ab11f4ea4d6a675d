from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.cycle.node_walk import heap_root
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.status import CycleError, fit_error
from tests.engine.builders import explain, node, pod, scheduler


def heap_by_the_book(totals: list[int]) -> int:
    """Build a max-heap of positions by sifting down, as container/heap does."""
    heap = list(range(len(totals)))
    for start in range(len(heap) // 2 - 1, -1, -1):
        parent = start
        while (child := 2 * parent + 1) < len(heap):
            if child + 1 < len(heap) and totals[heap[child + 1]] > totals[heap[child]]:
                child += 1
            if totals[heap[child]] <= totals[heap[parent]]:
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            parent = child
    return heap[0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_ties_go_where_the_schedulers_heap_puts_them(totals: list[int]) -> None:
    assert heap_root(np.array(totals)) == heap_by_the_book(totals)


def test_equal_pods_on_equal_nodes_take_the_recorded_places() -> None:
    engine = scheduler(*(node(name) for name in "abcde"))
    pods = [Pod.from_json(pod(f"p{number}", requests={"cpu": "1"})) for number in range(4)]
    assert [placement.node for placement in engine.schedule_pods(pods)] == ["a", "b", "d", "e"]


def test_one_of_the_equally_good_nodes_is_drawn_where_a_draw_is_given() -> None:
    engine = scheduler(*(node(name) for name in "abc"), pod("other", on="d", requests={"cpu": "2"}), node("d"))
    waiting = Pod.from_json(pod("p", requests={"cpu": "1"}))
    placement = engine.find(waiting)
    assert (placement.node, placement.drawn) == ("a", 0), "without a draw it is the heap's order"
    request = SearchRequest(draw=random.Random(7).randrange)
    drawn = [engine.find(waiting, request) for _ in range(60)]
    assert {placement.drawn for placement in drawn} == {3}
    assert {placement.node for placement in drawn} == {"a", "b", "c"}


def test_each_call_of_a_plugin_is_measured_where_that_is_asked_for() -> None:
    ticks = iter(range(10_000))
    engine = scheduler(node("a"), node("b"))
    watch = Stopwatch(lambda: float(next(ticks)), by_plugin=True)
    placement = engine.find(Pod.from_json(pod("p", requests={"cpu": "1"})), SearchRequest(watch=watch))
    code_by_call = {(call.plugin, call.point): call.code for call in watch.calls}
    assert (code_by_call["NodeResourcesFit", "Filter"], code_by_call["NodeResourcesFit", "Score"]) == (
        "Success",
        "Success",
    )
    assert code_by_call["NodePorts", "PreFilter"] == "Skip"
    assert all(call.seconds == 1 for call in watch.calls)  # no call of the clock lies between
    number = len(watch.calls)
    engine.find(Pod.from_json(pod("q")), SearchRequest())
    engine.explain(Pod.from_json(pod("r")))
    assert len(watch.calls) == number
    decision = placement.to_decision(Pod.from_json(pod("p")), 0.0, watch=watch)
    binding = engine.create_binding(Pod.from_json(pod("p")), "a", decision, watch)
    assert binding.reserve_and_permit() is None
    assert [call.plugin for call in decision.calls if call.point == "Reserve"]
    assert "calls" not in decision.to_dict()


def test_a_plugin_that_fails_is_measured_as_an_error() -> None:
    def fails() -> None:
        raise CycleError("it failed")

    watch = Stopwatch(lambda: 0.0, by_plugin=True)
    with pytest.raises(CycleError):
        watch.measure_call("Foo", "Score", fails)
    assert watch.calls == [("Foo", "Score", "Error", 0.0)]


def test_every_node_scores_1_where_nothing_scores_nodes() -> None:
    """The recorded form has the sum of score plugins in ``total``, which is 0."""
    engine = scheduler(node("a"), node("b"), plugins={"score": {"disabled": [{"name": "*"}]}})
    explanation = engine.explain(Pod.from_json(pod("p")))
    assert (explanation.to_full_dict()["total"], explanation.is_unscored) == ({"a": 1, "b": 1}, True)
    assert (explanation.to_dict()["total"], explanation.to_dict()["scoreWithoutPlugins"]) == ({"a": 0, "b": 0}, 1)


def test_plugins_that_skip_the_pod_leave_every_node_at_0() -> None:
    only = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity"}]}
    engine = scheduler(node("a"), node("b"), plugins={"score": only})
    explanation = engine.explain(Pod.from_json(pod("p")))
    assert (explanation.to_full_dict()["total"], explanation.is_unscored, explanation.skipped) == (
        {"a": 0, "b": 0},
        False,
        ["NodeAffinity"],
    )


def test_nothing_is_drawn_where_one_node_is_best() -> None:
    def never(number: int) -> int:
        raise AssertionError(number)

    engine = scheduler(node("a"), node("b"), pod("other", on="a", requests={"cpu": "2"}))
    placement = engine.find(Pod.from_json(pod("p", requests={"cpu": "1"})), SearchRequest(draw=never))
    assert (placement.node, placement.drawn) == ("b", 0)


def test_the_message_counts_each_reason_and_sorts_them_as_text() -> None:
    answer = explain(
        pod("p", requests={"cpu": "2"}),
        node("a", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("b", unschedulable=True),
        node("c", allocatable={"cpu": "1"}),
        node("d"),
        pod("q", on="d", requests={"cpu": "3"}),
    )
    assert answer["message"] == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_ten_sorts_before_two() -> None:
    assert fit_error(12, [("x", 10), ("y", 2)]) == "0/12 nodes are available: 10 x, 2 y."


def test_nodes_named_by_match_fields_are_the_only_ones_filtered() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    answer = explain(
        pod("p", requests={"cpu": "2"}, affinity=affinity), node("a"), node("b", allocatable={"cpu": "1"}), node("c")
    )
    assert answer["preFilterNodes"] == ["b"]
    assert answer["message"] == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_no_nodes_is_said_as_such() -> None:
    assert explain(pod("p"))["message"] == "no nodes available to schedule pods"


def test_a_pod_without_a_profile_is_an_error_of_the_cycle() -> None:
    engine = scheduler(node("a"))
    stranger = Pod.from_json(pod("p", schedulerName="other"))
    with pytest.raises(CycleError, match='profile not found for scheduler name "other"'):
        engine.explain(stranger)
    assert engine.schedule_one(stranger).message == 'profile not found for scheduler name "other"'


def test_a_bound_pod_is_explained_as_if_it_were_not() -> None:
    bound = pod("p", on="a", requests={"cpu": "3"})
    engine = scheduler(node("a"), node("b"), bound)
    explanation = engine.explain(engine.snapshot.get_pod("default/p"))
    assert explanation.to_dict()["feasible"] == ["a", "b"]
    assert explanation.total[0] == explanation.total[1]
    assert engine.snapshot.requested[0, 0] == 3000


def test_explaining_changes_nothing() -> None:
    engine = scheduler(node("a"), node("b"), pod("q", on="a", requests={"cpu": "1"}))
    waiting = Pod.from_json(pod("p", requests={"cpu": "1"}))
    first = engine.explain(waiting).to_dict()
    assert engine.explain(waiting).to_dict() == first


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_the_order_of_nodes_does_not_change_what_fits(order: list[str]) -> None:
    sizes = {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}
    answer = explain(
        pod("p", requests={"cpu": "2500m"}), *(node(name, allocatable={"cpu": sizes[name]}) for name in order)
    )
    assert sorted(answer["feasible"]) == ["c", "d", "e"]


@given(st.lists(st.integers(100, 4000), min_size=1, max_size=30))
def test_no_node_is_ever_overcommitted(requests: list[int]) -> None:
    engine = scheduler(node("a"), node("b"), node("c", allocatable={"pods": "2"}))
    pods = [Pod.from_json(pod(f"p{i}", requests={"cpu": f"{milli}m"})) for i, milli in enumerate(requests)]
    placements = engine.schedule_pods(pods)
    snapshot = engine.snapshot
    assert (snapshot.requested <= snapshot.allocatable).all()
    assert (snapshot.pod_count <= snapshot.pod_limit).all()
    assert all(bool(placement.node) != bool(placement.message) for placement in placements)


def test_only_as_many_nodes_are_searched_as_the_profile_asks_for() -> None:
    engine = scheduler(*(node(f"n{number:03}") for number in range(400)), percentageOfNodesToScore=30)
    first, second = engine.schedule_pods([Pod.from_json(pod(name, requests={"cpu": "1"})) for name in "pq"])
    assert (first.feasible, first.node) == (120, "n000")
    # The search goes on where the last one ended.
    assert second.node == "n120"


def test_what_comes_of_a_pod_whose_nominated_node_is_no_longer_good_can_be_written() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    nominated = {**pod("p"), "status": {"nominatedNodeName": "b"}}
    placed = scheduler(node("a"), node("b", taints=[taint])).schedule_one(Pod.from_json(nominated))
    assert json.loads(json.dumps(placed.to_dict())) == {"pod": "default/p", "node": "a", "evaluated": 2, "feasible": 1}


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [
        (99, 0, 99),
        (100, 0, 100),
        (1000, 0, 420),  # 50 percent less one for each 125 nodes
        (5000, 0, 500),  # 10 percent
        (8000, 0, 400),  # never less than 5
        (8000, 2, 160),  # unless that is what the policy says
        (8000, 100, 8000),
    ],
)
def test_by_default_the_share_of_nodes_falls_with_their_number(nodes: int, percentage: int, enough: int) -> None:
    engine = scheduler(*(node(f"n{number}") for number in range(nodes)), percentageOfNodesToScore=percentage)
    placed = engine.schedule_one(Pod.from_json(pod("p", requests={"cpu": "1"})))
    assert (placed.evaluated, placed.feasible) == (enough, enough)


@pytest.mark.parametrize(("second", "scored"), [("2", True), ("8", False)])
def test_the_only_node_that_fits_is_taken_without_a_score(second: str, scored: bool) -> None:
    engine = scheduler(node("a", allocatable={"cpu": "8"}), node("b", allocatable={"cpu": "4"}))
    watch = Stopwatch(lambda: 0.0, by_plugin=True)
    placed = engine.find(Pod.from_json(pod("p", requests={"cpu": second})), SearchRequest(watch=watch))
    assert (placed.node, placed.feasible) == ("a", 2 if scored else 1)
    assert any(call.point == "Score" for call in watch.calls) == scored


def test_the_node_that_was_made_room_on_is_looked_at_first_and_alone_where_it_fits() -> None:
    engine = scheduler(node("a"), node("b"), node("c"))
    nominated = {**pod("p", requests={"cpu": "1"}), "status": {"nominatedNodeName": "c"}}
    placed = engine.schedule_one(Pod.from_json(nominated))
    assert (placed.node, placed.evaluated, placed.feasible) == ("c", 1, 1)


def test_plugins_that_name_different_nodes_are_told_of_together() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    answer = explain(pod("p", on="b", affinity=affinity), node("a"), node("b"))
    # The words of kube-scheduler 1.37.2 to the same pod.
    assert answer["message"] == (
        "0/2 nodes are available: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously."
    )
