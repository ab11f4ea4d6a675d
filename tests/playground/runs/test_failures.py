"""Pods that failed, were collected or are unknown, in a run's columns and as rows of pages and REST."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.simulation import Departure
from kschedweb.engine.studies import ScenarioError, prepare_scenario, read_scenario
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import MoveKind, NodeState, RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.playground.runs.pod_rows import MoveList, PodList
from kschedweb.playground.runs.samples import SampleList
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration

WEB: dict[str, Any] = {
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}},
}


def run_outcome(*objects: dict, end: str = "2000s", **document: Any) -> RunOutcome:
    place = document.pop("place", "all")
    raw = {"name": "x", **document, "run": {"until": end, "place": place, **document.pop("run", {})}}
    return run_scenario(prepare_scenario(read_scenario(raw), list(objects), {}, seed=1, now=0.0), configuration())


def add_pod_change(raw: dict, at: float = 5.0) -> dict:
    return {"at": at, "addWorkload": {"manifest": raw}}


def states_at(outcome: RunOutcome, time: float) -> dict[str, str]:
    return {row.name: row.state for row in PodList(outcome, time) if row.state != "to-come"}


def test_a_pod_of_a_change_fails_on_its_node() -> None:
    outcome = run_outcome(node("a"), changes=[add_pod_change(pod("p", on="a", requests={"cpu": "5"}))])
    (row,) = PodList(outcome, 10.0)
    message = (
        "OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"
    )
    assert (row.state, row.message) == ("failed", message)
    assert [(move.kind, move.node, move.text) for move in MoveList(outcome)] == [
        ("bound", "a", ""),
        ("failed", "a", message),
    ]
    assert [move.kind for move in MoveList(outcome, forced=True)] == ["failed"]
    assert compute_measures(outcome)["failed"].value == 1.0
    assert (outcome.requested([10.0], "cpu") == 0.0).all()


def test_a_pod_of_the_base_that_its_kubelet_has_not_taken_in_may_fail() -> None:
    objects = [node("a"), pod("first", on="a", requests={"cpu": "3"}), pod("second", on="a", requests={"cpu": "3"})]
    outcome = run_outcome(*objects, place="pending")
    assert states_at(outcome, 10.0) == {"first": "running", "second": "failed"}
    objects[2]["status"] = {"phase": "Running"}
    assert states_at(run_outcome(*objects, place="pending"), 10.0) == {"first": "failed", "second": "running"}


def test_a_pod_of_a_missing_node_is_collected() -> None:
    outcome = run_outcome(node("a"), changes=[add_pod_change(pod("p", on="gone"))])
    assert states_at(outcome, 59.0) == {"p": "waiting"}
    assert states_at(outcome, 60.0) == {"p": "collected"}
    (row,) = MoveList(outcome, forced=True)
    assert (row.time, row.node, row.kind, row.text) == (60.0, "", "collected", "PodGC: node no longer exists")
    assert PodList(outcome, 60.0).find_pod("default/p").message == "PodGC: node no longer exists"


def test_a_pod_of_the_base_whose_node_is_missing_is_collected_too() -> None:
    outcome = run_outcome(node("a"), pod("p", on="gone"), place="pending")
    assert states_at(outcome, 40.0) == {"p": "collected"}
    assert not outcome.refused


def test_pods_on_a_silent_node_are_unknown_and_their_evictions_are_in_the_log() -> None:
    nodes = [node(name) for name in "abc"]
    condition = {"at": 10, "setConditions": {"nodes": ["a"], "conditions": {"Ready": "Unknown"}}}
    back = {"at": 1000, "setConditions": {"nodes": ["a"], "conditions": {"Ready": True}}}
    selector = {"kubernetes.io/hostname": "a"}
    raw = {**WEB, "spec": {"template": {"spec": {**WEB["spec"]["template"]["spec"], "nodeSelector": selector}}}}
    changes = [add_pod_change(raw, 1.0), condition, back]
    outcome = run_outcome(*nodes, changes=changes)
    assert set(states_at(outcome, 5.0).values()) == {"running"}
    assert set(states_at(outcome, 200.0).values()) == {"unknown"}
    assert sorted(states_at(outcome, 500.0).values()) == ["unknown", "waiting"]
    assert sorted(states_at(outcome, 1500.0).values()) == ["evicted", "running"]
    log = [(move.kind, move.time) for move in MoveList(outcome)]
    assert [kind for kind, _ in log] == ["bound", "terminating", "evicted", "bound"]
    assert log[1][1] == 310.0
    assert log[2][1] == 1000.0
    assert log == sorted(log, key=lambda move: move[1])
    assert compute_measures(outcome)["unknown_most"].value == 1.0
    samples = {row["time"]: (row["bound"], row["unknown"]) for row in SampleList(outcome)[:]}
    assert (samples[0.0], samples[600.0], samples[1200.0]) == ((0, 0), (1, 1), (1, 0))


def test_the_columns_survive_being_stored() -> None:
    condition = {"at": 10, "setConditions": {"nodes": ["a"], "conditions": {"Ready": "Unknown"}}}
    outcome = run_outcome(node("a"), changes=[add_pod_change(pod("p", on="a"), 1.0), condition])
    decoded = RunOutcome.decode(outcome.encode())
    assert decoded.encode() == outcome.encode()
    assert decoded.samples.unknown is not None
    assert int(decoded.samples.unknown.max()) == 1
    assert NodeState.UNKNOWN in decoded.node_log.state


def test_an_outcome_that_was_stored_earlier_knows_of_nobody_unknown() -> None:
    outcome = run_outcome(node("a"))
    object.__setattr__(outcome.samples, "unknown", None)
    decoded = RunOutcome.decode(outcome.encode())
    assert compute_measures(decoded)["unknown_most"].value is None
    assert SampleList(decoded)[0]["unknown"] == 0


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({}, "must name a condition"),
        ({"Ready": "Unknown", "MemoryPressure": "True"}, "nobody knows the pressure"),
        ({"Ready": "no"}, "must be True or False or Unknown"),
        ({"Happy": "True"}, "is not known; known are DiskPressure"),
    ],
)
def test_conditions_that_mean_nothing_are_told(conditions: dict, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        read_scenario({"name": "x", "changes": [{"setConditions": {"nodes": ["a"], "conditions": conditions}}]})


def test_conditions_of_a_node_that_is_not_there_are_an_error() -> None:
    with pytest.raises(ScenarioError, match="there is no node b at this time"):
        run_outcome(node("a"), changes=[{"setConditions": {"nodes": ["b"], "conditions": {"Ready": "False"}}}])


def test_plugins_of_admission_are_turned_on_and_off() -> None:
    scenario = read_scenario(
        {"name": "x", "run": {"admission": {"enable": ["PodTolerationRestriction"], "disable": ["Priority"]}}}
    )
    assert scenario.run.admission == {
        "DefaultTolerationSeconds",
        "RuntimeClass",
        "ResourceQuota",
        "PodTolerationRestriction",
    }
    with pytest.raises(ScenarioError, match="Priority: is enabled and disabled"):
        read_scenario({"name": "x", "run": {"admission": {"enable": ["Priority"], "disable": ["Priority"]}}})


def test_a_quota_keeps_replicas_out_and_says_so() -> None:
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "2"}},
    }
    outcome = run_outcome(node("a"), objects=[quota], changes=[{"addWorkload": {"manifest": WEB, "replicas": 3}}])
    assert len(outcome.pods) == 2
    assert "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in outcome.refused[0][1]
    off = {"admission": {"disable": ["ResourceQuota"]}}
    assert len(run_outcome(node("a"), objects=[quota], changes=[add_pod_change(WEB)], run=off).pods) == 1


def test_kinds_of_departures_are_kinds_of_moves() -> None:
    assert {kind.name: int(kind) for kind in Departure}.items() <= {kind.name: int(kind) for kind in MoveKind}.items()
