"""Evictions of pods from tainted nodes."""

from __future__ import annotations

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.controllers.taint_eviction import TaintEviction, min_toleration_time
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, Taint, Toleration
from tests.engine.builders import pod

A, B = Taint("a", "", NO_EXECUTE), Taint("b", "", NO_EXECUTE)


def tolerating(*pairs: tuple[str, int | None], name: str = "pod") -> Pod:
    tolerations = [
        {"key": key, "operator": "Exists", **({} if seconds is None else {"tolerationSeconds": seconds})}
        for key, seconds in pairs
    ]
    return Pod.from_json(pod(name, on="one", tolerations=tolerations))


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        ([A], (), 0.0),
        ([A], (Toleration("a", "Exists"),), None),
        ([A], (Toleration("a", "Exists", seconds=7),), 7.0),
        ([A], (Toleration("a", "Exists", seconds=-7),), 0.0),
        ([A, B], (Toleration("a", "Exists", seconds=7), Toleration("b", "Exists", seconds=5)), 5.0),
        ([A, B], (Toleration("a", "Exists", seconds=7), Toleration("b", "Exists")), 7.0),
        ([A, B], (Toleration("a", "Exists", seconds=7),), 0.0),
        # The first toleration that fits counts, even where a later one would tolerate it for longer.
        ([A], (Toleration("a", "Exists", seconds=7), Toleration("", "Exists")), 7.0),
    ],
)
def test_the_shortest_of_the_tolerations_that_count_decides(
    taints: list[Taint], tolerations: tuple[Toleration, ...], expected: float | None
) -> None:
    assert min_toleration_time(taints, tolerations) == expected


def test_a_pod_leaves_when_its_time_is_up() -> None:
    eviction = TaintEviction()
    eviction.node_changed("one", [A], [tolerating(("a", 300))], 100.0)
    assert eviction.next_due() == 400.0
    assert eviction.take_due(399.0) == []
    assert eviction.take_due(400.0) == ["default/pod"]
    assert eviction.take_due(400.0) == []


def test_a_pod_may_stay_when_the_taint_goes_in_time() -> None:
    eviction = TaintEviction()
    pod = tolerating(("a", 300))
    eviction.node_changed("one", [A], [pod], 0.0)
    eviction.node_changed("one", [], [pod], 299.0)
    assert eviction.next_due() is None


def test_a_second_taint_does_not_put_off_or_hasten_what_was_decided() -> None:
    eviction = TaintEviction()
    pod = tolerating(("a", 300), ("b", 10))
    eviction.node_changed("one", [A], [pod], 0.0)
    eviction.node_changed("one", [A, B], [pod], 50.0)
    assert eviction.next_due() == 300.0


def test_a_taint_that_is_not_tolerated_ends_the_stay_at_once() -> None:
    eviction = TaintEviction()
    pod = tolerating(("a", 300))
    eviction.node_changed("one", [A], [pod], 0.0)
    eviction.node_changed("one", [A, B], [pod], 50.0)
    assert eviction.take_due(50.0) == ["default/pod"]


def test_a_pod_that_comes_to_a_tainted_node_has_its_time_from_then() -> None:
    eviction = TaintEviction()
    eviction.node_changed("one", [A], [], 0.0)
    eviction.pod_changed(tolerating(("a", 300)), 100.0)
    assert eviction.next_due() == 400.0


def test_a_taint_of_another_effect_lets_pods_stay() -> None:
    eviction = TaintEviction()
    eviction.node_changed("one", [Taint("a", "", NO_SCHEDULE)], [tolerating()], 0.0)
    assert eviction.next_due() is None


def test_a_pod_that_is_gone_or_a_node_that_is_gone_is_forgotten() -> None:
    eviction = TaintEviction()
    eviction.node_changed("one", [A], [tolerating(("a", 300))], 0.0)
    eviction.pod_gone("default/pod")
    eviction.node_gone("one")
    eviction.pod_changed(tolerating(("a", 300), name="later"), 1.0)
    assert eviction.next_due() is None
