"""Records and changes together: a change finds the cluster as the recording has it at the change's time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.simulation import NodeChanges, NodeDrains, NodeJoins, NodeLeaves, PodArrives, PodLeaves
from kschedweb.engine.studies import PreparedScenario, ScenarioError
from tests.engine.builders import node, pod
from tests.engine.studies.prepare.test_prepared import owned, prepared, run

Line = tuple[float, str, dict[str, Any]]
BEGUN = "2024-05-01T10:00:00Z"  # before the recording


def line(at: float, event: str, raw: dict[str, Any]) -> str:
    minutes, seconds = divmod(at, 60)
    time = f"2024-05-01T12:{int(minutes):02d}:{seconds:06.3f}"
    created = BEGUN if at == 0 else f"2024-05-01T12:{int(minutes):02d}:{int(seconds):02d}Z"
    metadata = {"creationTimestamp": created, **raw["metadata"]}
    return json.dumps({"time": f"{time}Z", "event": event, "resource": {**raw, "metadata": metadata}})


def played(lines: list[Line], *changes: dict[str, Any], **run: Any) -> PreparedScenario:
    text = [line(0.0, "Add", node("always")), *(line(*fields) for fields in lines)]
    trace = {"trace": {"file": "f", "format": "records"}}
    return prepared(files={"f": text}, changes=list(changes), arrivals=[trace], run={"place": "pending", **run})


def refused(lines: list[Line], *changes: dict[str, Any]) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        played(lines, *changes)
    return [str(problem) for problem in caught.value.problems]


def events_of_kind(kind: type, scenario: PreparedScenario) -> list[Any]:
    return [event for event in scenario.events if type(event) is kind]


def zoned(name: str, zone: str) -> dict[str, Any]:
    return node(name, labels={"topology.kubernetes.io/zone": zone})


def web(number: int, **fields: Any) -> dict[str, Any]:
    return owned(pod(f"web-{number}", requests={"cpu": "1"}, **fields), "ReplicaSet", "web")


def names(scenario: PreparedScenario) -> list[str]:
    raws = [
        event.pod if isinstance(event.pod, dict) else event.pod.raw for event in events_of_kind(PodArrives, scenario)
    ]
    return [raw["metadata"]["name"] for raw in raws]


SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"}, "spec": {
    "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main"}]}},
}}  # fmt: skip


def test_a_node_that_joined_by_then_is_drained_and_its_pods_move() -> None:
    lines: list[Line] = [(10.0, "Add", node("late")), (20.0, "Add", web(1)), (21.0, "Update", web(1, on="late"))]
    scenario = played(
        lines, {"at": 60, "drainNodes": {"nodes": ["late"]}}, {"at": 15, "cordonNodes": {"nodes": ["always"]}}
    )
    assert events_of_kind(NodeDrains, scenario) == [NodeDrains(60.0, "late")]
    assert [(eviction.pod, eviction.node) for eviction in run(scenario, 100.0).evicted] == [("default/web-1", "late")]
    assert refused(lines, {"at": 5, "drainNodes": {"nodes": ["late"]}}) == [
        "changes[0].drainNodes.nodes[0]: there is no node late at this time"
    ]


def test_selectors_and_zones_mean_the_nodes_of_the_changes_time() -> None:
    lines: list[Line] = [
        (10.0, "Add", zoned("b1", "b")), (20.0, "Add", zoned("b2", "b")), (40.0, "Delete", zoned("b1", "b")),
    ]  # fmt: skip
    taints = [{"key": "old", "effect": "NoSchedule"}]
    scenario = played(
        lines,
        {"at": 15, "taintNodes": {"zone": "b", "taints": taints}},
        {"at": 30, "failZone": {"zone": "b"}},
        {"at": 50, "resizeNodes": {"selector": {"matchLabels": {"topology.kubernetes.io/zone": "b"}}, "factor": 2}},
    )
    cordons = [(event.time, event.node) for event in events_of_kind(NodeChanges, scenario)]
    assert cordons == [(15.0, "b1"), (50.0, "b2")]
    assert sum("FallsSilent" in type(event).__name__ for event in scenario.events) == 2
    assert refused(lines, {"at": 5, "failZone": {"zone": "b"}})[0].startswith(
        "changes[0].failZone.zone: there is no node in zone b at this time"
    )


def test_a_recorded_change_is_seen_by_later_changes() -> None:
    lines: list[Line] = [(10.0, "Update", node("always", allocatable={"cpu": "8", "memory": "8Gi"}))]
    scenario = played(lines, {"at": 20, "resizeNodes": {"nodes": ["always"], "factor": 0.5}})
    assert events_of_kind(NodeChanges, scenario)[1].allocatable["cpu"] == "4000m"


def test_what_was_recorded_of_a_node_that_a_change_took_away_does_not_happen() -> None:
    daemon = owned(pod("agent", on="late"), "DaemonSet", "agent")
    lines: list[Line] = [
        (10.0, "Add", node("late")), (30.0, "Add", daemon), (30.0, "Add", web(1, on="late")),
        (40.0, "Update", node("late", unschedulable=True)), (50.0, "Delete", node("late")),
        (60.0, "Add", node("late")), (70.0, "Update", node("late", unschedulable=True)),
    ]  # fmt: skip
    scenario = played(lines, {"at": 20, "removeNodes": {"nodes": ["late"]}})
    assert [(type(event), event.time) for event in scenario.events if not isinstance(event, PodArrives)] == [
        (NodeJoins, 10.0), (NodeLeaves, 20.0), (NodeJoins, 60.0), (NodeChanges, 70.0),
    ]  # fmt: skip
    assert names(scenario) == ["web-1"], "a daemon's pod goes with its node, and another one finds a new node"
    assert [(bound.pod, bound.node) for bound in run(scenario).bound] == [("default/web-1", "always")]


def test_a_node_removed_at_the_beginning_takes_what_was_recorded_on_it_along() -> None:
    lines: list[Line] = [
        (0.0, "Add", node("gone")),
        (0.0, "Add", pod("bare", on="gone")),
        (0.0, "Add", web(1, on="gone")),
    ]
    lines += [(9.0, "Update", node("gone", unschedulable=True))]
    scenario = played(lines, {"removeNodes": {"nodes": ["gone"]}})
    assert names(scenario) == ["web-1"]
    assert [raw["metadata"]["name"] for raw in scenario.objects] == ["always"]
    assert [bound.node for bound in run(scenario).bound] == ["always"]


def test_new_nodes_keep_clear_of_names_that_the_recording_brings() -> None:
    room = {"cpu": "1", "memory": "1Gi"}
    scenario = played(
        [(60.0, "Add", node("new-1"))], {"at": 10, "addNodes": {"name": "new", "count": 2, "allocatable": room}}
    )
    assert [event.node["metadata"]["name"] for event in events_of_kind(NodeJoins, scenario)] == [
        "new-2",
        "new-3",
        "new-1",
    ]
    later_scenario = played([(60.0, "Add", node("new-1")), (70.0, "Delete", node("new-1"))], {
        "at": 80, "addNodes": {"name": "new", "allocatable": room},
    })  # fmt: skip
    assert [event.time for event in events_of_kind(NodeJoins, later_scenario)] == [60.0, 80.0]


def test_a_workload_is_scaled_by_the_pods_that_it_has_at_that_time() -> None:
    lines: list[Line] = [
        (10.0, "Add", SET), (10.0, "Add", web(1)), (11.0, "Add", web(2)),
        (20.0, "Delete", web(1)), (40.0, "Add", web(3)),
    ]  # fmt: skip
    more = played(lines, {"at": 30, "scaleWorkload": {"workload": "default/ReplicaSet/web", "replicas": 3}})
    assert [event.time for event in events_of_kind(PodArrives, more)] == [10.0, 11.0, 30.0, 30.0, 40.0]
    less = played(lines, {"at": 50, "scaleWorkload": {"workload": "default/ReplicaSet/web", "replicas": 1}})
    assert PodLeaves(50.0, "default/web-3", True) in less.events, "the newest of the two that are there goes"
    assert len([event for event in events_of_kind(PodLeaves, less) if event.time == 50.0]) == 1
    early = {"at": 5, "scaleWorkload": {"workload": "default/ReplicaSet/web", "replicas": 3}}
    assert refused(lines, early) == [
        "changes[0].scaleWorkload.workload: there is no workload default/ReplicaSet/web at this time"
    ]


def test_pods_recorded_after_their_workload_was_removed_do_not_come() -> None:
    lines: list[Line] = [(10.0, "Add", SET), (10.0, "Add", web(1)), (40.0, "Add", web(2)), (50.0, "Delete", web(2))]
    scenario = played(lines, {"at": 20, "removeWorkload": {"workload": "default/ReplicaSet/web"}})
    assert names(scenario) == ["web-1"]
    assert PodLeaves(20.0, "default/web-1", True) in scenario.events
    assert scenario.notes[-1] == "1 recorded pods of default/ReplicaSet/web do not come: it was removed before"
    run(scenario)


def test_a_workload_that_the_recording_took_away_is_not_there_any_more() -> None:
    lines: list[Line] = [(0.0, "Add", SET), (10.0, "Delete", SET)]
    assert refused(lines, {"at": 20, "removeWorkload": {"workload": "default/ReplicaSet/web"}}) == [
        "changes[0].removeWorkload.workload: there is no workload default/ReplicaSet/web at this time"
    ]
    played(lines, {"at": 5, "removeWorkload": {"workload": "default/ReplicaSet/web"}})


def test_a_daemon_set_of_a_change_has_a_pod_on_recorded_nodes_as_well() -> None:
    agent = {"kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
        "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "main"}]}},
    }}  # fmt: skip
    lines: list[Line] = [(60.0, "Add", node("late"))]
    scenario = played(lines, {"at": 10, "addWorkload": {"manifest": agent}})
    assert [event.time for event in events_of_kind(PodArrives, scenario)] == [10.0, 60.0]
    assert sorted(bound.node for bound in run(scenario).bound) == ["always", "late"]


CHANGES = st.sampled_from(["drainNodes", "cordonNodes", "uncordonNodes", "removeNodes"])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.sampled_from(["Add", "Update", "Delete"]), st.integers(0, 3)), max_size=12
    ),
    st.lists(st.tuples(st.integers(0, 50), CHANGES, st.integers(0, 3)), max_size=4),
)
def test_whatever_is_recorded_and_changed_is_played_or_refused(
    recorded: list[tuple[int, str, int]], changed: list[tuple[int, str, int]]
) -> None:
    lines: list[Line] = []
    for at, event, number in recorded:
        lines.append((float(at), event, node(f"n{number}", unschedulable=at % 2 == 0)))
        lines.append((float(at), event, web(number, on=f"n{number}")))
    problems = []
    try:
        run(played(lines, *({"at": at, key: {"nodes": [f"n{number}"]}} for at, key, number in changed)), 200.0)
    except ScenarioError as error:
        problems = error.problems
    assert all("there is no node" in problem.text for problem in problems)
