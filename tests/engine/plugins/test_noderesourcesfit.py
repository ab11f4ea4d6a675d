"""NodeResourcesFit: whether a node has room, and how full it would be."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.framework.events import DEVICE_CLASS, Action, ClusterEvent
from kschedweb.engine.framework.scoring import broken_line
from kschedweb.engine.releases import RELEASES
from tests.engine.builders import NEVER, NOT_NOW, explain, list_refusals, node, pod, raw_scores
from tests.engine.waking import (
    raw_object,
    wakes,
    wakes_on_node_add,
    wakes_on_node_update,
    wakes_on_pod_add,
    wakes_on_pod_delete,
    wakes_on_pod_update,
)

NAME = "NodeResourcesFit"
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 70, "score": 10}, {"utilization": 100, "score": 3}]
E1 = pod("e1", on="n", requests={"cpu": "1500m", "memory": "1Gi"})
E2 = pod("e2", on="n")


def fit(strategy: str) -> dict:
    scoring: dict = {"type": strategy, "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    if strategy == "RequestedToCapacityRatio":
        scoring["requestedToCapacityRatio"] = {"shape": SHAPE}
    return {
        # The filter is off, so that the pod that asks for too much is scored as well.
        "plugins": {"filter": {"disabled": [{"name": NAME}]}},
        "pluginConfig": [{"name": NAME, "args": {"scoringStrategy": scoring}}],
    }


@pytest.mark.parametrize(
    ("requests", "existing", "least_allocated", "most_allocated", "ratio"),
    [
        ({"cpu": "500m", "memory": "1Gi"}, [], 87, 12, 17),
        ({}, [], 97, 2, 2),
        ({}, [E1, E2], 69, 29, 42),
        ({"cpu": "1", "memory": "512Mi"}, [E1, E2], 56, 43, 61),
        ({"cpu": "2"}, [E1], 48, 50, 41),
        ({"memory": "6Gi"}, [E1], 36, 63, 59),
        ({"cpu": "3", "memory": "7Gi"}, [E1], 0, 100, 30),
    ],
)
def test_scores_are_those_of_the_real_plugin(
    requests: dict, existing: list, least_allocated: int, most_allocated: int, ratio: int
) -> None:
    """Vectors given by kube-scheduler 1.36.3's own plugin (node of 4 CPU and 8 GiB)."""
    strategies = {"LeastAllocated": least_allocated, "MostAllocated": most_allocated, "RequestedToCapacityRatio": ratio}
    for strategy, score in strategies.items():
        answer = explain(pod("p", requests=requests), node("n"), *existing, **fit(strategy))
        assert raw_scores(answer, NAME) == [score]


def test_every_shortage_is_a_reason_of_the_same_status() -> None:
    small = node("n", allocatable={"cpu": "1", "memory": "1Gi", "pods": "0"})
    requests = {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "1Gi", "nvidia.com/gpu": "1", "hugepages-2Mi": "2Mi"}
    answer = explain(pod("p", requests=requests), small)
    assert answer["rejected"]["n"]["code"] == NEVER
    assert answer["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient ephemeral-storage, 1 Insufficient hugepages-2Mi, "
        "1 Insufficient memory, 1 Insufficient nvidia.com/gpu, 1 Too many pods."
    )


def test_any_number_of_resources_can_be_short() -> None:
    """They are bits of a number of 64: beyond 31 the first were an error, and the rest room that was not there."""
    requests = {f"vendor.example/r{number}": "1" for number in range(70)}
    has = {"cpu": "1", "memory": "1Gi", "pods": "9", **requests}
    for missing in (30, 31, 32, 33, 64, 69):
        remaining = {name: amount for name, amount in has.items() if name != f"vendor.example/r{missing}"}
        bare = {name: amount for name, amount in has.items() if name not in requests}
        nodes = [node("without", allocatable=remaining), node("bare", allocatable=bare), node("has", allocatable=has)]
        answer = explain(pod("p", requests=requests), *nodes)
        assert answer["rejected"].keys() == {"without", "bare"}, missing
        assert answer["rejected"]["without"]["reasons"] == [f"Insufficient vendor.example/r{missing}"]
        assert len(answer["rejected"]["bare"]["reasons"]) == 70


def test_a_shortage_that_evictions_could_mend_is_only_unschedulable() -> None:
    answer = explain(pod("p", requests={"cpu": "3"}), node("n"), pod("q", on="n", requests={"cpu": "2"}))
    assert list_refusals(answer, NAME) == {"n": (NOT_NOW, "Insufficient cpu")}
    full = node("n", allocatable={"pods": "1"})
    assert list_refusals(explain(pod("p"), full, pod("q", on="n")), NAME) == {"n": (NOT_NOW, "Too many pods")}


def test_ignored_resources_are_not_checked() -> None:
    for ignored in ({"ignoredResources": ["example.com/x"]}, {"ignoredResourceGroups": ["example.com"]}):
        args = {"pluginConfig": [{"name": NAME, "args": ignored}]}
        assert explain(pod("p", requests={"example.com/x": "1"}), node("n"), **args)["chosen"] == "n"


def test_a_filter_without_its_pre_filter_is_an_error() -> None:
    profile = {"plugins": {"preFilter": {"disabled": [{"name": NAME}]}}}
    answer = explain(pod("p"), node("n"), **profile)
    assert answer["rejected"]["n"] == {
        "plugin": NAME,
        "code": "Error",
        "reasons": [
            f'running "{NAME}" filter plugin: error reading "PreFilterNodeResourcesFit" from cycleState: not found'
        ],
    }


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=6, unique_by=lambda p: p[0]))
def test_a_broken_line_goes_through_its_points_and_stays_between_them(points: list[tuple[int, int]]) -> None:
    points.sort()
    line = broken_line([{"utilization": at, "score": score} for at, score in points])
    assert len(line) == 101
    for at, score in points:
        assert line[at] == score * 10
    for (left_end, low), (right, high) in pairwise(points):
        between = line[left_end : right + 1]
        assert np.all((between >= 10 * min(low, high)) & (between <= 10 * max(low, high)))


BIG, SMALL = {"cpu": "2"}, {"cpu": "1"}
WANTING = pod("p", requests=BIG)
GPU = pod("p", requests={"example.com/gpu": "1"})


def other(**requests: str) -> dict:
    return pod("other", on="n", requests=requests)


def test_a_pod_that_leaves_its_node_or_asks_for_less_wakes() -> None:
    assert wakes_on_pod_delete(NAME, WANTING, other())
    assert not wakes_on_pod_delete(NAME, WANTING, pod("other"))
    assert not wakes_on_pod_add(NAME, WANTING, other())
    assert wakes_on_pod_update(NAME, WANTING, other(cpu="2"), other(cpu="1"))
    assert not wakes_on_pod_update(NAME, WANTING, other(memory="2"), other(memory="1"))
    assert wakes_on_pod_update(NAME, pod("p"), WANTING, pod("p", requests=SMALL))


def test_a_node_with_room_wakes() -> None:
    assert wakes_on_node_add(NAME, WANTING, node("n"))
    assert not wakes_on_node_add(NAME, WANTING, node("n", allocatable=SMALL))
    assert not wakes_on_node_add(NAME, pod("p"), node("n", allocatable={"pods": "0"}))
    assert wakes_on_node_update(NAME, WANTING, node("n", allocatable=SMALL), node("n", allocatable=BIG))
    assert not wakes_on_node_update(NAME, WANTING, node("n"), node("n", allocatable={"memory": "9Gi"}))
    assert wakes_on_node_update(NAME, pod("p"), node("n"), node("n", allocatable={"pods": "111"}))


def test_up_to_1_36_a_changed_taint_wakes_where_the_allocatable_did_not_change() -> None:
    """kube-scheduler may have missed what the node has, while TaintToleration kept it from looking."""
    huge, tainted = pod("p", requests={"cpu": "9"}), node("n", taints=[{"key": "k", "effect": "NoSchedule"}])
    woken = [name for name in RELEASES if wakes_on_node_update(NAME, huge, node("n"), tainted, name)]
    assert woken == ["1.34", "1.35", "1.36"]


def test_since_1_38_a_nominated_node_that_gets_too_small_wakes() -> None:
    nominated = WANTING | {"status": {"nominatedNodeName": "n"}}
    before, after = node("n", allocatable=BIG), node("n", allocatable=SMALL)
    assert [name for name in RELEASES if wakes_on_node_update(NAME, nominated, before, after, name)] == ["1.38"]
    assert not wakes_on_node_update(NAME, WANTING, before, after, "1.38"), "it waits for no node"
    assert not wakes_on_node_update(NAME, nominated, after, after, "1.38"), "it was too small before"
    without_units = node("n", allocatable={"example.com/gpu": "0"})
    waiting = GPU | {"status": {"nominatedNodeName": "n"}}
    with_units = node("n", allocatable={"example.com/gpu": "4"})
    assert not wakes_on_node_update(NAME, waiting, with_units, without_units, "1.38"), "devices may come back"


def test_a_device_class_that_stands_for_what_is_asked_for_wakes() -> None:
    comes_up = ClusterEvent(DEVICE_CLASS, Action.ADD)
    assert wakes(NAME, GPU, comes_up, None, raw_object(spec={"extendedResourceName": "example.com/gpu"}))
    assert not wakes(NAME, GPU, comes_up, None, raw_object(spec={"extendedResourceName": "example.com/other"}))


@settings(max_examples=40)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_a_node_fits_exactly_what_is_left(has: int, used: int, requested: int) -> None:
    amounts = {"cpu": str(has), "memory": "64Gi"}
    answer = explain(
        pod("p", requests={"cpu": str(requested)}),
        node("n", allocatable=amounts),
        pod("q", on="n", requests={"cpu": str(used)}),
    )
    short = requested > 0 and used + requested > has
    code = NEVER if requested > has else NOT_NOW
    assert list_refusals(answer, NAME) == ({"n": (code, "Insufficient cpu")} if short else {})


@settings(max_examples=40)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=5))
def test_least_allocated_prefers_the_emptier_and_most_allocated_the_fuller(used: list[int]) -> None:
    nodes = [node(f"n{place}") for place in range(len(used))]
    placed = [pod(f"q{place}", on=f"n{place}", requests={"cpu": f"{part}00m"}) for place, part in enumerate(used)]
    least_allocated, most_allocated = (
        raw_scores(explain(pod("p", requests={"cpu": "0"}), *nodes, *placed, **fit(strategy)), NAME)
        for strategy in ("LeastAllocated", "MostAllocated")
    )
    order = sorted(range(len(used)), key=used.__getitem__)
    assert [least_allocated[place] for place in order] == sorted(least_allocated, reverse=True)
    assert [most_allocated[place] for place in order] == sorted(most_allocated)
