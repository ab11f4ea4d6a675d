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
        found = explain_try(prepared, rules, outcome.pods[row], outcome=outcome)
        assert isinstance(found.explanation, ClassicExplanation)
        assert found.placement.node == found.explanation.node
        if found.placement.node and outcome.node[row] >= 0:
            assert found.placement.node == outcome.nodes[outcome.node[row]]


def test_a_classic_policy_packs_where_another_spreads() -> None:
    prepared = PreparedScenario([node("a"), node("b"), pod("old", on="b", requests={"cpu": "1"})], arrivals(pod("p")))
    packed, spread = (run_scenario(prepared, classic(one)) for one in (PACKING, SPREADING))
    assert [one.nodes[one.node[one.index["default/p"]]] for one in (packed, spread)] == ["b", "a"]


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
    outcomes = [run_scenario(prepared, one) for one in sides]
    for first, second in ((0, 1), (1, 0)):
        found = compare_runs(outcomes[first], outcomes[second], prepared, sides[first], sides[second])
        changes = [*found.moved, *found.newly_scheduled, *found.newly_unscheduled]
        assert changes
        assert all(one.plugin or one.message for one in changes)


def test_nodes_that_join_have_the_zones_of_then() -> None:
    rules = classic({"priorities": [{"name": "EqualPriority", "weight": 1}]})
    seen = Simulation([node("a", labels={ZONE: "x"})], rules, [NodeJoins(1.0, node("b", labels={ZONE: "y"}))])
    seen.run(2.0)
    snapshot = seen.world.snapshot
    assert isinstance(snapshot, ClassicSnapshot)
    assert [one and one.partition("\0")[2] for one in snapshot.zones().values] == [":x", ":y"]


def test_extenders_of_a_policy_are_asked_in_a_simulation() -> None:
    asked: list[str] = []

    def post(url: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        asked.append(url)
        names = json.loads(body)["NodeNames"]
        return 200, json.dumps({"NodeNames": names[1:], "FailedNodes": {names[0]: "not this one"}}).encode()

    extender = {"urlPrefix": "http://e", "filterVerb": "filter", "nodeCacheCapable": True}
    rules = classic({"extenders": [extender]})
    extenders = ClassicExtenders(rules.extenders, post)
    found = Simulation([node("a"), node("b")], rules, arrivals(pod("p")), extenders=extenders).run(10.0)
    assert [(one.pod, one.node) for one in found.bound] == [("default/p", "b")]
    assert asked == ["http://e/filter"]


def test_extenders_that_nobody_may_ask_end_the_cycle_in_a_simulation() -> None:
    rules = classic({"extenders": [{"urlPrefix": "http://e", "filterVerb": "filter"}]})
    found = Simulation([node("a")], rules, arrivals(pod("p"))).run(1.0)
    assert [one.message for one in found.pending] == ["outside the simulation: extender http://e/filter is to be asked"]


def test_capacity_is_that_of_the_policy() -> None:
    rules = classic()
    snapshot = rules.release.build_snapshot([node("a"), node("b"), pod("old", on="a", requests={"cpu": "1"})])
    shape = pod_shape(pod("web", requests={"cpu": "1"}), snapshot)
    found = fit_clones(snapshot, rules, shape)
    assert (found.count, found.exact, found.message) == (7, True, "0/2 nodes are available: 2 Insufficient cpu.")
    assert [(one.plugin, one.text, one.filled) for one in found.reasons] == [
        ("GeneralPredicates", "Insufficient cpu", 2)
    ]
    pods = [shape.clone(number) for number in range(20)]
    more = compute_sizing(snapshot, rules, pods, node_shape(node("new"), zones=("x", "y")))
    assert (more.fits_now, more.needed) == (7, 4)
    assert sorted(one.zone for one in more.nodes) == ["x", "x", "y", "y"]


def test_a_drain_is_rehearsed_under_a_policy() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}]
    moving = pod("web-1", on="a", requests={"cpu": "1"})
    moving["metadata"]["ownerReferences"] = owner
    rules = classic({"predicates": [{"name": "PodFitsResources"}]})
    snapshot = rules.release.build_snapshot([node("a"), node("b"), moving])
    found = rehearse_drain(snapshot, rules, ["a"])
    assert [(one.pod, one.target) for one in found.moves] == [("default/web-1", "b")]
    assert found.emptied
