"""The cycle as a whole: messages, turns, walks, extenders, and what is remembered."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.cycle.signature_plans import AdHocPlan, SignaturePlan, SignaturePlans
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases.classic import (
    ClassicExplanation,
    ClassicScheduler,
    ClassicSnapshot,
    Edition,
    Registry,
    load_policy,
)
from tests.conformance.making.classic import ClassicMaker
from tests.engine.builders import node, pod
from tests.engine.extenders.test_extender import Answers
from tests.engine.releases.classic.support import POLICY, ZONE, explain_pod, place, scheduler

EQUAL = {"predicates": [{"name": "PodFitsResources"}], "priorities": [{"name": "EqualPriority", "weight": 1}]}


def test_equal_nodes_are_taken_in_turn() -> None:
    assert place([pod(f"p{number}") for number in range(5)], *map(node, "abc"), policy=EQUAL) == [*"abcab"]


def test_a_node_that_is_alone_does_not_use_up_a_turn() -> None:
    pods = [pod("p0"), pod("p1", requests={"cpu": "6"}), pod("p2")]
    nodes = [node("a"), node("b", allocatable={"cpu": "8"}), node("c")]
    assert place(pods, *nodes, policy=EQUAL) == ["a", "b", "b"]


def test_a_search_among_some_nodes_takes_one_of_them() -> None:
    engine = scheduler(*map(node, "abc"), policy=EQUAL)
    some = SearchRequest(allowed_nodes=np.array([1, 2], dtype=np.intp))
    assert [engine.schedule_one(Pod.from_json(pod(f"p{number}")), some).node for number in range(3)] == [*"bcb"]
    huge = pod("huge", requests={"cpu": "9"})
    assert not engine.find(Pod.from_json(huge), some).node


def test_1_9_takes_equal_nodes_from_the_last_name_on() -> None:
    assert place(
        [pod(f"p{number}") for number in range(4)], *map(node, "bca"), policy=EQUAL, edition=Edition("1.9")
    ) == [*"cbac"]


def test_nodes_are_walked_zone_by_zone_in_turn() -> None:
    nodes = [node(f"{zone}{number}", labels={ZONE: zone}) for zone in "xy" for number in range(2)]
    assert place([pod(f"p{number}") for number in range(4)], *nodes, policy=EQUAL) == ["x0", "y0", "x1", "y1"]


def test_zones_of_todays_labels_do_not_count() -> None:
    nodes = [
        node(f"{zone}{number}", labels={"topology.kubernetes.io/zone": zone}) for zone in "xy" for number in range(2)
    ]
    assert place([pod(f"p{number}") for number in range(4)], *nodes, policy=EQUAL) == ["x0", "x1", "y0", "y1"]


def test_the_first_rejection_of_each_node_makes_the_message() -> None:
    nodes = [node("a", taints=[{"key": "k", "effect": "NoSchedule"}]), node("b"), node("c", unschedulable=True)]
    raw = pod("p", requests={"cpu": "9"}, nodeSelector={"disk": "ssd"})
    message = (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, "
        "2 node(s) didn't match node selector."
    )
    assert scheduler(*nodes).find(Pod.from_json(raw)).message == message
    assert explain_pod(raw, *nodes)["message"] == message


def test_every_rejection_counts_where_all_predicates_are_checked() -> None:
    nodes = [node("a", taints=[{"key": "k", "effect": "NoSchedule"}], unschedulable=True)]
    placement = scheduler(*nodes, policy={"alwaysCheckAllPredicates": True}).find(
        Pod.from_json(pod("p", requests={"cpu": "9"}))
    )
    assert placement.message == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 node(s) had taints that the pod didn't tolerate, "
        "1 node(s) were unschedulable."
    )


def test_1_9_tells_every_reason_by_its_short_name() -> None:
    nodes = [node("a", taints=[{"key": "k", "effect": "NoSchedule"}], unschedulable=True), node("b")]
    placement = scheduler(*nodes, edition=Edition("1.9")).find(Pod.from_json(pod("p", requests={"cpu": "9"})))
    assert (
        placement.message
        == "0/2 nodes are available: 1 NodeUnschedulable, 1 PodToleratesNodeTaints, 2 Insufficient cpu."
    )


def test_without_nodes_there_is_nothing_to_ask() -> None:
    assert scheduler().find(Pod.from_json(pod("p"))).message == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (None, 'persistentvolumeclaim "c" not found'),
        ({"deletionTimestamp": "x"}, 'persistentvolumeclaim "c" is being deleted'),
        ({}, "pod has unbound immediate PersistentVolumeClaims (repeated 2 times)"),
    ],
)
def test_claims_that_are_not_there_end_the_cycle(claim: dict | None, message: str) -> None:
    raw = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    objects = [node("a"), node("b")]
    if claim is not None:
        objects.append(
            {"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default", **claim}, "spec": {}}
        )
    placement = scheduler(*objects).find(Pod.from_json(raw))
    assert (placement.node, placement.message) == ("", message)
    assert scheduler(*objects, edition=Edition("1.9")).find(Pod.from_json(raw)).node == "b"


def test_of_many_nodes_a_part_is_asked_and_the_next_walk_goes_on_behind_it() -> None:
    nodes = [node(f"n{number:03}") for number in range(250)]
    engine = scheduler(*nodes, policy=EQUAL, edition=Edition(percentage=10))
    placements = [engine.find(Pod.from_json(pod(f"p{number}"))) for number in range(3)]
    assert [(placement.evaluated, placement.feasible) for placement in placements] == [
        (101, 100),
        (101, 100),
        (101, 100),
    ]
    # The turn counts on among the hundred that were found.
    assert [placement.node for placement in placements] == ["n000", "n102", "n204"]


@pytest.mark.parametrize(
    ("edition", "nodes", "feasible"),
    [
        (Edition(), 99, 99),
        (Edition(), 150, 100),
        (Edition(), 300, 150),
        (Edition(percentage=100), 300, 300),
        (Edition("1.9"), 300, 300),
        (Edition("1.9", percentage=50), 300, 300),
    ],
)
def test_half_of_the_nodes_are_enough_where_nothing_is_said(edition: Edition, nodes: int, feasible: int) -> None:
    """kube-scheduler 1.13 took 50 for 0, and never less than a hundred nodes; 1.9 had no such setting."""
    engine = scheduler(*(node(f"n{number:03}") for number in range(nodes)), policy=EQUAL, edition=edition)
    assert engine.find(Pod.from_json(pod("p"))).feasible == feasible


def test_a_bound_pod_is_explained_as_if_it_had_no_node() -> None:
    engine = scheduler(node("a", allocatable={"pods": "1"}), pod("p", on="a"))
    explanation = engine.explain(engine.snapshot.get_pod("default/p")).to_dict()
    assert explanation["feasible"] == ["a"]
    assert engine.snapshot.get_pod("default/p").node_name == "a"


def test_without_priorities_all_nodes_have_one() -> None:
    answer = explain_pod(pod("p"), *map(node, "ab"), policy={"priorities": []})
    assert answer["total"] == {"a": 1, "b": 1}
    assert "priorities" not in answer


def extended(*more: dict, answers: Answers | None, **extender: Any) -> tuple[ClassicScheduler, Pod]:
    policy = {**EQUAL, "extenders": [{"urlPrefix": "http://e/", **extender}, *more]}
    return scheduler(*map(node, "abc"), policy=policy, post=answers), Pod.from_json(pod("p"))


def test_scores_of_extenders_count_as_they_are_times_their_weight() -> None:
    answers = Answers(prioritize=[{"host": "b", "score": 3}, {"host": "c", "score": 2}])
    engine, incoming = extended(answers=answers, prioritizeVerb="prioritize", weight=4, nodeCacheCapable=True)
    assert engine.explain(incoming).to_dict()["total"] == {"a": 1, "b": 13, "c": 9}
    assert engine.find(incoming).node == "b"
    assert answers.asked[0][1]["NodeNames"] == ["a", "b", "c"]


def test_extenders_are_asked_in_the_order_of_the_policy() -> None:
    answers = Answers(first={"nodenames": ["c", "b"]}, second={"nodenames": ["b"], "failedNodes": {"c": "no"}})
    last = {"urlPrefix": "http://e", "filterVerb": "second", "nodeCacheCapable": True}
    engine, incoming = extended(last, answers=answers, filterVerb="first", nodeCacheCapable=True, ignorable=True)
    assert engine.find(incoming).node == "b"
    assert [call[1]["NodeNames"] for call in answers.asked] == [["a", "b", "c"], ["c", "b"]]
    assert engine.explain(incoming).to_dict()["feasible"] == ["b"]


def test_what_extenders_say_of_nodes_is_part_of_the_message() -> None:
    answers = Answers(filter={"nodenames": [], "failedNodes": {"a": "too far", "b": "too far"}})
    engine, incoming = extended(answers=answers, filterVerb="filter", nodeCacheCapable=True)
    assert engine.find(incoming).message == "0/3 nodes are available: 2 too far."


def test_extenders_that_nobody_may_ask_are_named() -> None:
    engine, incoming = extended(answers=None, filterVerb="filter")
    assert engine.explain(incoming).to_dict()["extendersNotAsked"] == ["http://e/"]
    assert engine.find(incoming).message.startswith("outside the simulation: extender")


class NoPlans(SignaturePlans):
    def get(self, framework: Framework, pod: Pod) -> SignaturePlan | AdHocPlan:
        return AdHocPlan(framework, self._snapshot)


class Forgetful(ClassicScheduler):
    """Asks every predicate and priority about every node, each time."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._plans = NoPlans(self.snapshot)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_remembered_changes_no_placement(seed: int) -> None:
    raw = ClassicMaker(Random(seed)).scenario("remembered")
    pods = [
        {**raw_pod, "metadata": {**raw_pod["metadata"], "name": f"q{turn}-{number}", "uid": f"q{turn}-{number}"}}
        for turn in range(5)
        for number, raw_pod in enumerate(raw["pending"])
    ]
    placed = []
    for kind in (ClassicScheduler, Forgetful):
        engine = kind(ClassicSnapshot.from_objects(raw["objects"]), Registry().build_algorithm())
        placed.append([placement.to_dict() for placement in engine.schedule_pods(map(Pod.from_json, pods))])
    assert placed[0] == placed[1]


def test_an_explanation_as_scheduled_says_what_the_cycle_says() -> None:
    maker = ClassicMaker(Random(7))
    ends: set[bool | str] = set()
    for number in range(120):
        raw = maker.scenario(f"s{number}")
        loaded = load_policy({**POLICY, **raw.get("policy", {}), "extenders": []})
        if loaded.policy is None:
            continue
        algorithm = (
            Registry(Edition("1.9")).build_algorithm() if number % 3 else Registry().build_algorithm(loaded.policy)
        )
        engine = ClassicScheduler(ClassicSnapshot.from_objects(raw["objects"]), algorithm)
        for pending_pod in map(Pod.from_json, raw["pending"]):
            explanation, failure = schedule_or_error(engine, pending_pod)
            placed = engine.find(pending_pod)
            if explanation is None:
                assert (placed.node, placed.message) == ("", failure)
                ends.add("fails")
            else:
                assert (placed.node, placed.message) == (explanation.node, explanation.message)
                ends.add(algorithm.always_check_all if explanation.message else f"{len(explanation.best)} best")
    assert {"fails", True, False, "1 best", "2 best"} <= ends


def schedule_or_error(engine: ClassicScheduler, pod: Pod) -> tuple[ClassicExplanation | None, str]:
    """The explanation, or why there is none."""
    try:
        return engine.explain(pod, as_scheduled=True), ""
    except CycleError as error:
        return None, str(error)
