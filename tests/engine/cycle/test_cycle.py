from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.cycle.search import heap_root
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
    pods = [Pod.read(pod(f"p{number}", requests={"cpu": "1"})) for number in range(4)]
    assert [placement.node for placement in engine.schedule(pods)] == ["a", "b", "d", "e"]


def test_one_of_the_equally_good_nodes_is_drawn_where_a_draw_is_given() -> None:
    engine = scheduler(*(node(name) for name in "abc"), pod("other", on="d", requests={"cpu": "2"}), node("d"))
    waiting = Pod.read(pod("p", requests={"cpu": "1"}))
    found = engine.find(waiting)
    assert (found.node, found.drawn) == ("a", 0), "without a draw it is the heap's order"
    request = SearchRequest(draw=random.Random(7).randrange)
    drawn = [engine.find(waiting, request) for _ in range(60)]
    assert {placement.drawn for placement in drawn} == {3}
    assert {placement.node for placement in drawn} == {"a", "b", "c"}


def test_nothing_is_drawn_where_one_node_is_best() -> None:
    def never(number: int) -> int:
        raise AssertionError(number)

    engine = scheduler(node("a"), node("b"), pod("other", on="a", requests={"cpu": "2"}))
    placement = engine.find(Pod.read(pod("p", requests={"cpu": "1"})), SearchRequest(draw=never))
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
    stranger = Pod.read(pod("p", schedulerName="other"))
    with pytest.raises(CycleError, match='profile not found for scheduler name "other"'):
        engine.explain(stranger)
    assert engine.schedule_one(stranger).message == 'profile not found for scheduler name "other"'


def test_a_bound_pod_is_explained_as_if_it_were_not() -> None:
    bound = pod("p", on="a", requests={"cpu": "3"})
    engine = scheduler(node("a"), node("b"), bound)
    explanation = engine.explain(engine.snapshot.pod("default/p"))
    assert explanation.to_dict()["feasible"] == ["a", "b"]
    assert explanation.total[0] == explanation.total[1]
    assert engine.snapshot.requested[0, 0] == 3000


def test_explaining_changes_nothing() -> None:
    engine = scheduler(node("a"), node("b"), pod("q", on="a", requests={"cpu": "1"}))
    waiting = Pod.read(pod("p", requests={"cpu": "1"}))
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
    pods = [Pod.read(pod(f"p{i}", requests={"cpu": f"{milli}m"})) for i, milli in enumerate(requests)]
    placements = engine.schedule(pods)
    snapshot = engine.snapshot
    assert (snapshot.requested <= snapshot.allocatable).all()
    assert (snapshot.pod_count <= snapshot.pod_limit).all()
    assert all(bool(placement.node) != bool(placement.message) for placement in placements)


def test_only_as_many_nodes_are_searched_as_the_profile_asks_for() -> None:
    engine = scheduler(*(node(f"n{number:03}") for number in range(400)), percentageOfNodesToScore=30)
    first, second = engine.schedule([Pod.read(pod(name, requests={"cpu": "1"})) for name in "pq"])
    assert (first.feasible, first.node) == (120, "n000")
    # The search goes on where the last one ended.
    assert second.node == "n120"


def test_what_comes_of_a_pod_whose_nominated_node_is_no_longer_good_can_be_written() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    nominated = {**pod("p"), "status": {"nominatedNodeName": "b"}}
    placed = scheduler(node("a"), node("b", taints=[taint])).schedule_one(Pod.read(nominated))
    assert json.loads(json.dumps(placed.to_dict())) == {"pod": "default/p", "node": "a", "evaluated": 2, "feasible": 1}
