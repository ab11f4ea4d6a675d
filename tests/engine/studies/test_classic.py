"""Scenarios, comparisons and capacity under a classic Policy: the same studies, another scheduler."""

from __future__ import annotations

import json

import pytest

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import ClassicExplanation, ClassicSnapshot, Edition, classic_release
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.simulation import NodeJoins, PodArrives, Simulation, SimulationEvent
from kschedweb.engine.studies.capacity.capacity import fit_clones
from kschedweb.engine.studies.capacity.drain import rehearse_drain
from kschedweb.engine.studies.capacity.shapes import node_shape, pod_shape
from kschedweb.engine.studies.capacity.sizing import compute_sizing
from kschedweb.engine.studies.compare.comparison import compare_runs
from kschedweb.engine.studies.play.explained_tries import explain_try
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import CLASSES, configuration, make_crowded_scenario

ZONE = "topology.kubernetes.io/zone"
PACKING = {"priorities": [{"name": "MostRequestedPriority", "weight": 1}]}
SPREADING = {"priorities": [{"name": "LeastRequestedPriority", "weight": 1}]}


def classic(policy: Json | None = None, edition: Edition | None = None) -> Configuration:
    """A Policy with these fields, the default provider where there are none."""
    loaded = load({"kind": "Policy", "apiVersion": "v1", **(policy or {})}, classic_release(edition or Edition()))
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def arrivals(*pods: Json) -> list[SimulationEvent]:
    return [PodArrives(float(number), raw) for number, raw in enumerate(pods)]


@pytest.mark.parametrize("seed", range(6))
def test_every_last_try_of_a_run_is_explained_as_it_went(seed: int) -> None:
    prepared, rules = make_crowded_scenario(seed), classic(PACKING if seed % 2 else None)
    outcome = run_scenario(prepared, rules)
    assert run_scenario(prepared, rules).encode() == outcome.encode()
    for row in range(0, len(outcome.pods), 5):
        if not outcome.attempts[row]:
            continue
        explained_try = explain_try(prepared, rules, outcome.pods[row], outcome=outcome)
        assert isinstance(explained_try.explanation, ClassicExplanation)
        assert explained_try.placement.node == explained_try.explanation.node
        if explained_try.placement.node and outcome.node[row] >= 0:
            assert explained_try.placement.node == outcome.nodes[outcome.node[row]]


def test_a_classic_policy_packs_where_another_spreads() -> None:
    prepared = PreparedScenario([node("a"), node("b"), pod("old", on="b", requests={"cpu": "1"})], arrivals(pod("p")))
    packed, spread = (run_scenario(prepared, classic(policy)) for policy in (PACKING, SPREADING))
    assert [outcome.nodes[outcome.node[outcome.index["default/p"]]] for outcome in (packed, spread)] == ["b", "a"]


def test_pods_make_room_in_a_run_as_of_1_13_and_not_as_of_1_9() -> None:
    low = pod("low", on="a", requests={"cpu": "3"}, priority=1)
    low["spec"]["terminationGracePeriodSeconds"] = 5
    high = pod("high", requests={"cpu": "2"}, priorityClassName="high")
    prepared = PreparedScenario([node("a"), low, *CLASSES], arrivals(high), end=300.0)
    outcome = run_scenario(prepared, classic())
    assert outcome.nodes[outcome.node[outcome.index["default/high"]]] == "a"
    assert [outcome.pods[row] for row in outcome.recorded_forced_moves.pod] == ["default/low"]
    old = run_scenario(prepared, classic({"predicates": [{"name": "PodFitsResources"}]}, Edition("1.9")))
    assert old.node[old.index["default/high"]] == -1
    assert not len(old.recorded_forced_moves.pod)


def test_a_classic_policy_is_compared_with_a_profile_either_way() -> None:
    prepared = make_crowded_scenario(3)
    sides = classic(), configuration()
    outcomes = [run_scenario(prepared, rules) for rules in sides]
    for first, second in ((0, 1), (1, 0)):
        comparison = compare_runs(outcomes[first], outcomes[second], prepared, sides[first], sides[second])
        changes = [*comparison.moved, *comparison.newly_scheduled, *comparison.newly_unscheduled]
        assert changes
        assert all(change.plugin or change.message for change in changes)


def test_nodes_that_join_have_the_zones_of_then() -> None:
    rules = classic({"priorities": [{"name": "EqualPriority", "weight": 1}]})
    simulation = Simulation([node("a", labels={ZONE: "x"})], rules, [NodeJoins(1.0, node("b", labels={ZONE: "y"}))])
    simulation.run(2.0)
    snapshot = simulation.world.snapshot
    assert isinstance(snapshot, ClassicSnapshot)
    assert [zone and zone.partition("\0")[2] for zone in snapshot.zones().values] == [":x", ":y"]


def test_extenders_of_a_policy_are_asked_in_a_simulation() -> None:
    asked_urls: list[str] = []

    def post(url: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        asked_urls.append(url)
        names = json.loads(body)["NodeNames"]
        return 200, json.dumps({"NodeNames": names[1:], "FailedNodes": {names[0]: "not this one"}}).encode()

    extender = {"urlPrefix": "http://e", "filterVerb": "filter", "nodeCacheCapable": True}
    rules = classic({"extenders": [extender]})
    extenders = ClassicExtenders(rules.extenders, post)
    result = Simulation([node("a"), node("b")], rules, arrivals(pod("p")), extenders=extenders).run(10.0)
    assert [(binding.pod, binding.node) for binding in result.bound] == [("default/p", "b")]
    assert asked_urls == ["http://e/filter"]


def test_extenders_that_nobody_may_ask_end_the_cycle_in_a_simulation() -> None:
    rules = classic({"extenders": [{"urlPrefix": "http://e", "filterVerb": "filter"}]})
    result = Simulation([node("a")], rules, arrivals(pod("p"))).run(1.0)
    assert [waiting_pod.message for waiting_pod in result.pending] == [
        "outside the simulation: extender http://e/filter is to be asked"
    ]


def test_capacity_is_that_of_the_policy() -> None:
    rules = classic()
    snapshot = rules.release.build_snapshot([node("a"), node("b"), pod("old", on="a", requests={"cpu": "1"})])
    shape = pod_shape(pod("web", requests={"cpu": "1"}), snapshot)
    capacity = fit_clones(snapshot, rules, shape)
    assert (capacity.count, capacity.exact, capacity.message) == (
        7,
        True,
        "0/2 nodes are available: 2 Insufficient cpu.",
    )
    assert [(reason.plugin, reason.text, reason.filled) for reason in capacity.reasons] == [
        ("GeneralPredicates", "Insufficient cpu", 2)
    ]
    pods = [shape.clone(number) for number in range(20)]
    more = compute_sizing(snapshot, rules, pods, node_shape(node("new"), zones=("x", "y")))
    assert (more.fits_now, more.needed) == (7, 4)
    assert sorted(new_node.zone for new_node in more.nodes) == ["x", "x", "y", "y"]


def test_a_drain_is_rehearsed_under_a_policy() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}]
    moving = pod("web-1", on="a", requests={"cpu": "1"})
    moving["metadata"]["ownerReferences"] = owner
    rules = classic({"predicates": [{"name": "PodFitsResources"}]})
    snapshot = rules.release.build_snapshot([node("a"), node("b"), moving])
    drain = rehearse_drain(snapshot, rules, ["a"])
    assert [(move.pod, move.target) for move in drain.moves] == [("default/web-1", "b")]
    assert drain.emptied
