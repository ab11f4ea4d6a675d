"""Comparison of a cluster cache with a fresh list: equal where the cache is true, each difference reported."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.live import FreshListing, LiveLoop
from tests.engine.builders import node, pod
from tests.engine.live.loops import HOLDER, live, versioned

NOW = 1_700_000_000.0


def cluster() -> tuple[list[Json], list[Json]]:
    nodes = [versioned(node(name)) for name in ("a", "b")]
    pods = [versioned(pod("first", on="a", requests={"cpu": "1"})), versioned(pod("second", on="b"))]
    return nodes, [*pods, versioned(pod("other", schedulerName="another"))]


def knowing(nodes: list[Json], pods: list[Json]) -> LiveLoop:
    loop = live()
    loop.replace_objects("Node", nodes, NOW)
    loop.replace_objects("Pod", pods, NOW)
    return loop


def differences(loop: LiveLoop, nodes: list[Json], pods: list[Json]) -> list[str]:
    return sorted(loop.compare_with(FreshListing.from_lists(nodes, pods)).differences.values())


def test_what_is_known_as_it_is_differs_in_nothing() -> None:
    loop = knowing(*cluster())
    comparison = loop.compare_with(FreshListing.from_lists(*cluster()))
    assert (comparison.nodes, comparison.pods, comparison.assumed, comparison.differences) == (2, 2, 0, {})


def test_what_the_scheduler_leaves_out_is_no_difference() -> None:
    nodes, pods = cluster()
    loop = knowing(nodes, pods)
    ended = versioned(pod("ended", on="a"))
    ended["status"] = {"phase": "Succeeded"}
    nonsense = versioned(pod("nonsense", requests={"cpu": "much"}))
    loop.apply_object("Pod", ended, NOW)
    loop.apply_object("Pod", nonsense, NOW)
    assert differences(loop, nodes, [*pods, ended, nonsense]) == []


@pytest.mark.parametrize("is_listed", [False, True], ids=["not shown yet", "shown"])
def test_assumed_pods_count_apart_whether_the_cluster_shows_them_or_not(is_listed: bool) -> None:
    nodes, pods = cluster()
    loop = knowing(nodes, pods)
    held_pod = versioned(pod("held", labels={HOLDER: "yes"}, requests={"cpu": "1"}))
    loop.apply_object("Pod", held_pod, NOW)
    loop.step(NOW)
    ((_, reserved_node, _),) = loop.list_waiting()
    listed = versioned(
        pod("held", on=reserved_node if is_listed else "", labels={HOLDER: "yes"}, requests={"cpu": "1"})
    )
    comparison = loop.compare_with(FreshListing.from_lists(nodes, [*pods, listed]))
    assert (comparison.pods, comparison.assumed) == (3, 1)
    # By the list it is bound already; that it is known as waiting passes when the watch shows it.
    assert {kind for _, kind in comparison.differences} == ({"object"} if is_listed else set())


def test_each_difference_of_pods_is_told() -> None:
    nodes, (first, second, other) = cluster()
    loop = knowing(nodes, [first, second, other])
    moved = versioned(pod("first", on="b", requests={"cpu": "1"}))
    renewed_pod = versioned(pod("second", on="b"), uid="another second")
    labelled = versioned(pod("other", schedulerName="another", labels={"new": "label"}))
    assert differences(loop, nodes, [moved, renewed_pod, labelled]) == [
        "Node a has 1 of pods requested here, 0 in the cluster.",
        "Node a has 1000 of cpu requested here, 0 in the cluster.",
        "Node b has 0 of cpu requested here, 1000 in the cluster.",
        "Node b has 1 of pods requested here, 2 in the cluster.",
        "Pod default/first (uid of first) is known here as it was before it changed.",
        "Pod default/first (uid of first) is on a here, on b in the cluster.",
        "Pod default/other (uid of other) is known here as it was before it changed.",
        "Pod default/second (another second) is in the cluster, and not known here.",
        "Pod default/second (another second) is on no node here, on b in the cluster.",
        "Pod default/second (uid of second) is known here, and not in the cluster.",
        "Pod default/second (uid of second) is on b here, on no node in the cluster.",
    ]


def test_each_difference_of_nodes_is_told() -> None:
    (first, second), pods = cluster()
    loop = knowing([first, second], pods)
    grown = versioned(node("a", allocatable={"cpu": "7"}))
    assert differences(loop, [grown, versioned(node("c"))], pods) == [
        "Node a has 4000 of cpu allocatable here, 7000 in the cluster.",
        "Node a is known here as it was before it changed.",
        "Node b is known here, and not in the cluster.",
        "Node c is in the cluster, and not known here.",
    ]


def test_columns_that_went_wrong_are_told_although_every_pod_is_where_it_should_be() -> None:
    nodes, pods = cluster()
    loop = knowing(nodes, pods)
    loop.snapshot.requested[0, loop.snapshot.index["a"]] += 500
    assert differences(loop, nodes, pods) == ["Node a has 1500 of cpu requested here, 1000 in the cluster."]
