"""News of a cluster become records, and records a cluster again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.studies.traces.ledger import Ledger
from kschedweb.engine.studies.traces.records import parse_seconds, read_records
from kschedweb.engine.studies.traces.table import LineProblems
from tests.engine.builders import node, pod
from tests.engine.studies.prepare.test_prepared import owned, prepared

START = parse_seconds("2024-05-01T12:00:00Z", "")


def at(time: float) -> str:
    """A time as an object names it, in whole seconds."""
    return datetime.fromtimestamp(START + int(time), UTC).isoformat().replace("+00:00", "Z")


def created_object(raw: Json, created: float = -3600.0, uid: str = "1") -> Json:
    metadata = {**raw["metadata"], "uid": uid, "creationTimestamp": at(created)}
    return {"apiVersion": "v1", **raw, "metadata": metadata}


def read_lines_of(lines: list[str]) -> list[tuple[float, str, str]]:
    """Read each line: seconds from the beginning, event, and name."""
    records = read_records(lines, LineProblems("", [])) if lines else ()
    return [(round(change.time - START, 6), change.event, change.key[2]) for change in records]


def test_what_is_there_at_the_beginning_is_written_with_that_time() -> None:
    ledger = Ledger(START)
    assert read_lines_of(ledger.sync_list("Node", [created_object(node("n"))], START + 0.3)) == [(0.0, "Add", "n")]
    running, waiting = created_object(pod("old", on="n")), created_object(pod("new"), created=0.2)
    assert read_lines_of(ledger.sync_list("Pod", [running, waiting], START + 0.4)) == [
        (0.0, "Add", "old"),
        (0.0, "Add", "new"),
    ]
    assert (ledger.nodes, ledger.pods) == (1, 2)


def test_only_what_a_scenario_can_tell_from_before_is_written() -> None:
    ledger, raw = Ledger(START), created_object(node("n"))
    ledger.sync_list("Node", [raw], START)
    beating = json.loads(json.dumps(raw))
    beating["metadata"]["resourceVersion"] = "99"
    beating["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": at(5)}]
    assert ledger.record_change({**raw, "metadata": {**raw["metadata"], "resourceVersion": "7"}}, START + 5) == []
    created_pod = created_object(pod("p"), created=6)
    assert read_lines_of(ledger.record_change(created_pod, START + 6.25)) == [(6.25, "Add", "p")]
    bound = created_object(pod("p", on="n"), created=6)
    assert read_lines_of(ledger.record_change(bound, START + 6.5)) == [(6.5, "Update", "p")]
    assert ledger.record_change({**bound, "status": {"phase": "Running", "podIP": "10.0.0.1"}}, START + 7) == []
    assert read_lines_of(ledger.record_change({**bound, "status": {"phase": "Succeeded"}}, START + 8)) == [
        (8.0, "Update", "p")
    ]
    cordoned = created_object(node("n", unschedulable=True))
    assert read_lines_of(ledger.record_change(cordoned, START + 9)) == [(9.0, "Update", "n")]
    unready = {**cordoned, "status": {**cordoned["status"], "conditions": [{"type": "Ready", "status": "Unknown"}]}}
    assert read_lines_of(ledger.record_change(unready, START + 10)) == [(10.0, "Update", "n")]
    (removal_line,) = ledger.record_removal(bound, START + 11)
    assert json.loads(removal_line) == {
        "time": "2024-05-01T12:00:11.000000Z",
        "event": "Delete",
        "resource": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "1"}},
    }
    assert ledger.record_removal(bound, START + 12) == []
    web = {"kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 1}}
    assert len(ledger.record_change(web, START + 13)) == 1
    assert ledger.record_change({**web, "status": {"replicas": 1}}, START + 14) == []
    assert read_lines_of(ledger.record_change({**web, "spec": {"replicas": 2}}, START + 15)) == [
        (15.0, "Update", "web")
    ]


def test_an_object_in_the_place_of_another_is_gone_and_there_again() -> None:
    ledger = Ledger(START)
    ledger.record_change(created_object(pod("p"), 1), START + 1)
    assert read_lines_of(ledger.record_change(created_object(pod("p"), 2, uid="2"), START + 2.5)) == [
        (2.5, "Delete", "p"),
        (2.5, "Add", "p"),
    ]


def test_a_list_after_a_time_without_news_tells_what_has_changed_at_the_times_of_the_objects() -> None:
    ledger = Ledger(START)
    lines = ledger.sync_list("Pod", [created_object(pod("stays", on="n")), created_object(pod("goes", on="n"))], START)
    lines += ledger.record_change(created_object(pod("waits"), 3), START + 3.5)
    scheduled = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(22)}]}
    newcomer = {**created_object(pod("came", on="n"), 20), "status": scheduled}
    now = [created_object(pod("stays", on="n")), created_object(pod("waits", on="n"), 3), newcomer]
    for other in (ledger, Ledger.from_lines(START, lines)):
        added = other.sync_list("Pod", now, START + 60)
        assert read_lines_of(added) == [
            (20.0, "Add", "came"), (22.0, "Update", "came"), (60.0, "Delete", "goes"), (60.0, "Update", "waits"),
        ]  # fmt: skip
        assert "nodeName" not in json.loads(added[0])["resource"]["spec"]


def test_a_recorded_cluster_is_played_with_its_times_and_names() -> None:
    ledger = Ledger(START)
    lines = ledger.sync_list("Node", [created_object(node("n"))], START + 0.1)
    lines += ledger.record_change(created_object(owned(pod("web"), "ReplicaSet", "web"), 10), START + 10.25)
    lines += ledger.record_change(created_object(owned(pod("web", on="n"), "ReplicaSet", "web"), 10), START + 11)
    lines += ledger.record_removal(created_object(pod("web"), 10), START + 41)
    trace = {"trace": {"file": "f", "format": "records"}}
    scenario = prepared(files={"f": lines}, arrivals=[trace], run={"place": "pending"})
    (arrival,) = (event for event in scenario.events if isinstance(event, PodArrives))
    assert (arrival.time, arrival.duration, scenario.notes) == (10.25, 30.0, [])


STATES = st.tuples(st.integers(0, 4), st.sampled_from(["", "n1", "n2"]), st.booleans(), st.integers(1, 2))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(STATES, st.just("cut")), max_size=25))
def test_a_recording_that_was_cut_anywhere_knows_what_one_that_was_not_knows(news: list[Any]) -> None:
    whole, cut = Ledger(START), Ledger(START)
    lines: list[str] = []
    raw_by_name: dict[str, Json] = {}
    for second, happening in enumerate(news, start=1):
        if happening == "cut":
            cut = Ledger.from_lines(START, lines) if lines else Ledger(START)
            lines += cut.sync_list("Pod", raw_by_name.values(), START + second)
            continue
        number, on, is_deleted, uid = happening
        raw = created_object(pod(f"p{number}", **({"on": on} if on else {})), second, uid=str(uid))
        if is_deleted:
            raw_by_name.pop(f"p{number}", None)
            whole.record_removal(raw, START + second)
            lines += cut.record_removal(raw, START + second)
        else:
            raw_by_name[f"p{number}"] = raw
            whole.record_change(raw, START + second)
            lines += cut.record_change(raw, START + second)
    assert cut._known == whole._known
    assert whole.sync_list("Pod", raw_by_name.values(), START + 99) == []
