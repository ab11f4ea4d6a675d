"""Files of recorded clusters: what is read from them, and what is said of files that are broken or lie."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import NodeChanges, NodeFallsSilent, NodeJoins, NodeLeaves, PodArrives, PodLeaves
from kschedweb.engine.studies import PreparedScenario, ScenarioError
from kschedweb.engine.studies.document.limits import MOST_LINE, MOST_PODS
from kschedweb.engine.studies.traces.text import TraceError, read_lines
from tests.data import DATA
from tests.engine.builders import node, pod
from tests.engine.studies.prepare.test_prepared import prepared, run

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nopenb-0,32000,262144,2,T4\nopenb-1,64000,1024,0,\n"


def traced(content: Any, form: str = "openb", **trace: Any) -> PreparedScenario:
    return prepared(files={"f": content}, arrivals=[{"trace": {"file": "f", "format": form, **trace}}])


def raw_pods(scenario: PreparedScenario) -> list[Json]:
    """The pods that arrive, as a trace describes them."""
    return [event.pod for event in scenario.events if isinstance(event, PodArrives) and isinstance(event.pod, dict)]


def refused(content: Any, form: str = "openb", **trace: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        traced(content, form, **trace)
    (problem,) = caught.value.problems
    assert problem.path.startswith("arrivals[0].trace")
    return problem.text


def pods(*rows: str) -> bytes:
    return (PODS + "".join(f"{row}\n" for row in rows)).encode()


def arrivals(scenario: PreparedScenario) -> dict[str, tuple[float, float | None]]:
    times_by_pod = {}
    for event in scenario.events:
        if isinstance(event, PodArrives):
            raw = event.pod if isinstance(event.pod, dict) else event.pod.raw
            times_by_pod[raw["metadata"]["name"]] = event.time, event.duration
    return times_by_pod


def test_openb_pods_come_when_they_were_created_and_run_for_as_long_as_they_ran() -> None:
    content = pods(
        "a,1000,2048,1,460,T4|A10,LS,Running,10,200,50", "b,500,64,0,0,,BE,Pending,20,90,", "c,1,1,0,0,,,,30,,"
    )
    scenario = traced(content, speed=10)
    assert arrivals(scenario) == {"a": (1.0, 15.0), "b": (2.0, None), "c": (3.0, None)}
    assert [event for event in scenario.events if isinstance(event, PodLeaves)] == [PodLeaves(9.0, "default/b", True)]
    spec = raw_pods(scenario)[0]["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1000m", "memory": "2048Mi", "nvidia.com/gpu": "1"}
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0] == {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["T4", "A10"]}
    assert scenario.notes == ["f: pods that asked for a share of a GPU ask for a whole one here"]
    assert arrivals(traced(content, leave=False, limit=2)) == {"a": (10.0, None), "b": (20.0, None)}


def test_openb_nodes_join_and_take_pods_of_their_model() -> None:
    scenario = prepared(
        files={"n": NODES.encode(), "p": pods("a,1000,64,1,1000,T4,LS,Running,0,,0")},
        changes=[{"addNodes": {"file": "n"}}],
        arrivals=[{"trace": {"file": "p", "format": "openb"}}],
    )
    assert [(bound.pod, bound.node) for bound in run(scenario).bound] == [("default/a", "openb-0")]


def test_the_recorded_cluster_is_read_whole() -> None:
    files = {
        "n": (DATA / "openb_node_list_all_node.csv.gz").read_bytes(),
        "p": (DATA / "openb_pod_list_default.csv.gz").read_bytes(),
    }
    trace = {"file": "p", "format": "openb"}
    scenario = prepared(files=files, changes=[{"addNodes": {"file": "n"}}], arrivals=[{"trace": trace}])
    assert len(scenario.objects) == 1523
    assert sum(isinstance(event, PodArrives) for event in scenario.events) == 8152
    assert all(earlier.time <= two.time for earlier, two in zip(scenario.events, scenario.events[1:], strict=False))


def test_a_share_of_what_is_counted_whole_is_rounded_up_and_told() -> None:
    columns = {
        "time": "at",
        "cpu": {"column": "cpu", "factor": 0.01},
        "memory": {"column": "gib", "factor": 1 << 30},
        "resources": {"nvidia.com/gpu": {"column": "gpu", "factor": 0.01}, "example.com/slice": "slice"},
    }
    content = b"at,cpu,gib,gpu,slice\n0,600,29.3,25,0\n1,600,29.3,50,500m\n2,57,1,150,2\n3,100,1,100,1.0\n"
    scenario = traced(content, "csv", columns=columns)
    pod_requests = [
        event.pod["spec"]["containers"][0]["resources"]["requests"]
        for event in scenario.events
        if isinstance(event, PodArrives) and isinstance(event.pod, dict)
    ]
    assert [(pod["nvidia.com/gpu"], pod["example.com/slice"]) for pod in pod_requests] == [
        ("1", "0"),
        ("1", "1"),
        ("2", "2"),
        ("1", "1"),
    ]
    assert pod_requests[0]["memory"] == "31460635444"  # 31460635443.2 bytes: never rounded down
    assert pod_requests[2]["cpu"] == "570m"
    assert [note for note in scenario.notes if "share" in note] == [
        "f: 3 pods ask for a share of nvidia.com/gpu, which is rounded up: kube-scheduler counts whole ones",
        "f: 1 pod asks for a share of example.com/slice, which is rounded up: kube-scheduler counts whole ones",
    ]


def test_rows_that_cannot_be_used_are_left_out_and_told_of_with_their_line() -> None:
    scenario = traced(
        pods(
            "a,-5,1,0,0,,,,0,,",
            "b,nan,1,0,0,,,,0,,",
            "c,1,1,0,0,,,,,,",
            "d,1,1,0,0,,,,50,40,",
            "e,1,1",
            "f,1e300,1,0,0,,,,0,,",
            "g,1,1,0.5,0,,,,0,,",
            "good,1,1,0,0,,,,9,,",
            "late,1,1,0,0,,,,3,,",
            "good,1,1,0,0,,,,9,,",
        )
    )
    assert arrivals(scenario) == {"late": (3.0, None), "good": (9.0, None), "good-2": (9.0, None)}
    assert scenario.notes == [
        "f, line 2: is left out: cpu_milli is -5, which is negative",
        "f, line 3: is left out: cpu_milli is nan, which is not finite, or too large",
        "f, line 4: is left out: creation_time is empty",
        "f, line 5: is left out: deletion_time is before creation_time",
        "f, line 6: is left out: has 3 cells, the first line 11",
        "f, line 7: is left out: cpu_milli is 1e300, which is not finite, or too large",
        "f, line 8: is left out: num_gpu is 0.5, which is no whole number",
        "f: times run backwards 1 times, first in line 10: put in order",
        "f: 1 pods had a name that there was already: a number was added",
    ]


def test_files_that_cannot_be_used_say_why() -> None:
    good = gzip.compress(pods(*(f"p{n},1,1,0,0,,,,{n},," for n in range(500))))
    assert len(arrivals(traced(good))) == 500
    twice = traced(good + good)
    assert len(arrivals(twice)) == 1000
    assert twice.notes[0] == "f, line 502: is left out: num_gpu is 'num_gpu', which is no number"
    assert refused(good[:-20]) == "f: the file ends in the middle of what gzip packed: upload it again"
    lies = good[:-4] + struct.pack("<I", 7)
    assert refused(lies).startswith("f: the file is not what gzip packs: ")
    assert refused(good[:50] + bytes(8) + good[58:]).startswith("f: ")
    assert refused(b"") == "f: the file is empty"
    assert refused(b"PK\x03\x04....").startswith("f: the file is a zip archive")
    assert refused(PODS.encode("utf-16")) == "f: line 1: is not UTF-8 text (byte 1 of the line)"
    assert "NUL" in refused(pods("a\x00,1,1,0,0,,,,0,,"))
    assert "longer than 65,536 characters" in refused(pods("x" * (MOST_LINE + 1)))
    assert "longer than 65,536 characters" in refused(gzip.compress(b"x" * (1 << 24)))
    assert refused(b"a,b\n1,2\n").startswith("f: line 1: has no column name, cpu_milli")
    assert refused(b"a,a\n1,2\n").startswith("f: line 1: has the column 'a' twice")
    assert refused(pods()) == "f: there is no line that can be used"
    assert refused(pods(*["x,-1,1,0,0,,,,0,,"] * 2000)).startswith("f: line 1002: 1,001 lines cannot be used")
    assert "field larger" in refused(pods('"' + "\n".join(["y" * 60_000] * 4)))


def test_a_trace_without_end_is_refused_once_it_is_too_long_and_taken_up_to_a_limit() -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        yield PODS.strip()
        while True:
            read += 1
            yield f"p{read},1,1,0,0,,,,{read},,"

    scenario = traced(endless(), limit=10)
    assert (len(arrivals(scenario)), read) == (10, 11)
    read = -MOST_PODS  # Cells of these lines are negative times: none can be used.
    assert "lines cannot be used" in refused(endless())


def test_times_of_the_epoch_are_counted_from_the_earliest() -> None:
    columns = {"time": "t", "cpu": {"column": "c", "factor": 0.01}, "memory": "m", "end": "e", "labels": {"app": "app"}}
    content = "t,c,m,e,app\n2024-05-01T00:01:00Z,50,1Gi,2024-05-01T00:02:00Z,web\n2024-05-01 00:00:00,200,512,,\n"
    scenario = traced(content.encode(), "csv", columns=columns)
    assert sorted(arrivals(scenario).values()) == [(0.0, None), (60.0, 60.0)]
    requests = [raw_pod["spec"]["containers"][0]["resources"]["requests"] for raw_pod in raw_pods(scenario)]
    assert requests == [{"cpu": "2000m", "memory": "512"}, {"cpu": "500m", "memory": "1Gi"}]


def record(time: str, event: str, raw: dict, created: str = "2024-05-01T10:00:00Z") -> str:
    raw = {**raw, "metadata": {**raw["metadata"], "creationTimestamp": created}}
    return json.dumps({"time": f"2024-05-01T{time}Z", "event": event, "resource": raw})


def test_records_keep_their_times() -> None:
    cordoned = node("n1", unschedulable=True)
    silent = node("n1", unschedulable=True)
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    finished = {**pod("late", on="n1"), "status": {"phase": "Succeeded"}}
    scenario = traced(
        [
            record("12:00:00.5", "Add", node("n1")),
            record("12:00:00.5", "Add", pod("old", on="n1")),
            record("12:00:10.5", "Add", node("n2"), "2024-05-01T12:00:10Z"),
            record("12:00:20.5", "Add", pod("late"), "2024-05-01T12:00:20Z"),
            record("12:00:21.5", "Update", pod("late", on="n1")),
            record("12:00:30.5", "Update", cordoned),
            record("12:00:31.5", "Update", cordoned),
            record("12:00:40.5", "Update", silent),
            record("12:00:51.5", "Update", finished),
            record("12:00:52.5", "Delete", pod("old", on="n1")),
            record("12:00:53.5", "Delete", node("n2")),
            "{broken",
        ],
        "records",
    )
    assert [raw["metadata"]["name"] for raw in scenario.objects] == ["n1"]
    assert arrivals(scenario) == {"old": (0.0, 52.0), "late": (20.0, 30.0)}
    happened = [(type(event), event.time) for event in scenario.events if not isinstance(event, PodArrives)]
    assert happened == [(NodeJoins, 10.0), (NodeChanges, 30.0), (NodeFallsSilent, 40.0), (NodeLeaves, 53.0)]
    assert scenario.notes[0].startswith("f, line 12: is left out: is not JSON")
    assert len(run(scenario).bound) == 2


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["openb", "records"]), st.booleans(), st.booleans())
def test_any_bytes_are_read_or_refused_with_a_reason(tail: bytes, form: str, head: bool, packed: bool) -> None:
    content = (PODS.encode() if head else b"") + tail
    problems = []
    try:
        traced(gzip.compress(content) if packed else content, form)
    except ScenarioError as error:
        problems = error.problems
    assert all(problem.path.startswith("arrivals[0].trace") for problem in problems)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"])), min_size=1))
def test_lines_come_back_as_they_were_however_they_are_packed_and_cut(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    packed = gzip.compress(text)
    expected_lines = [lines[0].removeprefix("\ufeff"), *lines[1:]]
    for source in (text, packed, [text[place : place + 3] for place in range(0, len(text), 3)]):
        assert list(read_lines(source)) == expected_lines


def test_a_bomb_is_stopped_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.engine.studies.traces.text.MOST_BYTES", 1 << 20)
    bomb = gzip.compress(b"a,b\n" * (1 << 20))
    with pytest.raises(TraceError, match="the file holds more than 1 MiB"):
        for _ in read_lines(bomb):
            pass
