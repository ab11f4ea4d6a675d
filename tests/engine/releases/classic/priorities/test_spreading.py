from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases.classic import Edition
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import REGION, ZONE, explain_pod, scheduler, scores

WEB = {"app": "web"}
NODES = [node("a", labels={ZONE: "x"}), node("b", labels={ZONE: "x"}), node("c", labels={ZONE: "y"}), node("d")]


def service(name: str = "web", **selector: str) -> dict:
    return {"kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}


def controller(kind: str, selector: dict) -> dict:
    return {"kind": kind, "metadata": {"name": "one", "namespace": "default"}, "spec": {"selector": selector}}


def bound(*nodes: str, labels: dict | None = None) -> list[dict]:
    return [pod(f"b{number}", on=name, labels=labels or WEB) for number, name in enumerate(nodes)]


def test_two_thirds_of_the_score_are_the_zones() -> None:
    mapped, reduced = scores(
        "SelectorSpreadPriority", pod("p", labels=WEB), *NODES, service(app="web"), *bound("a", "a", "c")
    )
    assert mapped == [2, 0, 1, 0]
    zones = {"x": 10 * (2 - 2) / 2, "y": 10 * (2 - 1) / 2}
    expected = [10 * (2 - count) / 2 / 3 + 2 / 3 * zones[zone] for count, zone in ((2, "x"), (0, "x"), (1, "y"))]
    assert reduced == [*(int(score) for score in expected), 10]


@pytest.mark.parametrize(
    "owner",
    [
        service(app="web"),
        service(),
        controller("ReplicationController", {"app": "web"}),
        controller("ReplicaSet", {"matchLabels": WEB}),
        controller("StatefulSet", {"matchLabels": WEB}),
    ],
)
@pytest.mark.parametrize("priority", ["SelectorSpreadPriority", "ServiceSpreadingPriority"])
def test_pods_of_any_owner_that_matches_are_counted_by_both_priorities(owner: dict, priority: str) -> None:
    assert scores(priority, pod("p", labels=WEB), *NODES, owner, *bound("b"))[0] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    "owner", [controller("ReplicaSet", {}), controller("ReplicationController", {}), service(app="db")]
)
def test_owners_that_select_nothing_or_others_do_not_count(owner: dict) -> None:
    assert scores("SelectorSpreadPriority", pod("p", labels=WEB), *NODES, owner, *bound("b"))[1] == [10, 10, 10, 10]


def test_a_pod_is_counted_once_and_not_while_it_ends() -> None:
    owners = [service(app="web"), service("all")]
    ending = bound("a")[0] | {
        "metadata": {"name": "e", "namespace": "default", "labels": WEB, "deletionTimestamp": "x"}
    }
    score_pair = scores("SelectorSpreadPriority", pod("p", labels=WEB), *NODES, *owners, *bound("b"), ending)
    assert score_pair[0] == [0, 1, 0, 0]


def test_a_region_alone_makes_a_zone() -> None:
    nodes = [node("a", labels={REGION: "r"}), node("b", labels={REGION: "r"}), node("c", labels={REGION: "s"})]
    _, reduced = scores("SelectorSpreadPriority", pod("p", labels=WEB), *nodes, service(app="web"), *bound("a"))
    assert reduced == [0, 3, 10]


def test_pods_of_the_first_service_keep_apart_by_a_label() -> None:
    argument = {"serviceAntiAffinity": {"label": ZONE}}
    score_pair = scores(
        "Apart", pod("p", labels=WEB), *NODES, service(app="web"), *bound("a", "b", "c"), argument=argument
    )
    assert score_pair == ([1, 1, 1, 0], [3, 3, 6, 0])
    assert scores("Apart", pod("p"), *NODES, argument=argument)[1] == [10, 10, 10, 0]


def preferring(kind: str, weight: int) -> dict:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": WEB}}
    listed = [{"weight": weight, "podAffinityTerm": term}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": listed}}}


def test_affinity_is_measured_from_nought() -> None:
    near = scores("InterPodAffinityPriority", pod("p", **preferring("podAffinity", 5)), *NODES, *bound("a"))
    assert near == ([], [10, 10, 0, 0])
    far = scores("InterPodAffinityPriority", pod("p", **preferring("podAntiAffinity", 5)), *NODES, *bound("a"))
    assert far == ([], [0, 0, 10, 10])
    everywhere = scores("InterPodAffinityPriority", pod("p", **preferring("podAffinity", 5)), NODES[0], *bound("a"))
    assert everywhere == ([], [10])  # against nought, although no node is worse


def test_the_hard_weight_counts_what_pods_placed_require() -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": WEB}}
    required = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    objects = [*NODES, pod("r", on="a", **required), pod("w", on="c", **preferring("podAffinity", 40))]
    for weight, expected in ((0, [0, 0, 10, 0]), (20, [5, 5, 10, 0]), (80, [10, 10, 5, 0])):
        priorities = [{"name": "InterPodAffinityPriority", "weight": 1}]
        policy = {"predicates": [], "priorities": priorities, "hardPodAffinitySymmetricWeight": weight}
        answer = explain_pod(pod("p", labels=WEB), *objects, policy=policy)
        assert list(answer["priorities"]["InterPodAffinityPriority"]["reduced"].values()) == expected


def test_in_1_9_pods_elsewhere_and_ending_ones_are_to_be_kept_apart_too() -> None:
    ending = bound("a")[0]
    ending["metadata"] |= {"name": "e", "deletionTimestamp": "x"}
    policy = {
        "predicates": [{"name": "MatchNodeSelector"}],
        "priorities": [{"name": "Apart", "weight": 1, "argument": {"serviceAntiAffinity": {"label": ZONE}}}],
    }
    raw = pod("p", labels=WEB, nodeSelector={ZONE: "x"})
    objects = [*NODES, service(app="web"), *bound("a", "c"), ending]
    reduced_by_version = {
        version: explain_pod(raw, *objects, policy=policy, edition=Edition(version))["priorities"]["Apart"]["reduced"]
        for version in ("1.13", "1.9")
    }
    assert reduced_by_version == {"1.13": {"a": 0, "b": 0}, "1.9": {"a": 3, "b": 3}}


BROKEN = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}}


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("of_placed", [False, True])
def test_a_preference_that_cannot_be_parsed_fails_where_there_are_pods(kind: str, of_placed: bool) -> None:
    """All as the real 1.13 answers; it does not score an only node."""
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "podAffinityTerm": BROKEN}]}
    wanting: Any = {"affinity": {kind: wish}}
    plain = pod("p")
    raw, placed = (plain, pod("b", on="a", **wanting)) if of_placed else (pod("p", **wanting), pod("b", on="a"))
    with pytest.raises(CycleError, match=r'^"Like" is not a valid pod selector operator$'):
        scheduler(*NODES, placed).explain(Pod.from_json(raw))
    assert scheduler(*NODES).explain(Pod.from_json(raw)).node
    assert scheduler(NODES[0], placed).explain(Pod.from_json(raw)).node == "a"


def test_what_placed_pods_require_is_parsed_too() -> None:
    placed = pod("b", on="a", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [BROKEN]}})
    with pytest.raises(CycleError, match=r'^"Like" is not a valid pod selector operator$'):
        scheduler(*NODES, placed).explain(Pod.from_json(pod("p")))
