"""Files judged before anything is made of them."""

from __future__ import annotations

import gzip
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.studies import ScenarioError
from kschedweb.engine.studies.document import limits
from kschedweb.engine.studies.traces import inspection
from kschedweb.engine.studies.traces.inspection import (
    CSV,
    KINDS,
    NODES,
    PODS,
    RECORDING,
    RECORDS,
    inspect_file,
    kind_of,
)
from kschedweb.engine.studies.traces.text import TraceError, count_lines, read_lines
from tests.data import DATA
from tests.engine.builders import node
from tests.engine.studies.traces.test_traces import NODES as NODE_LINES
from tests.engine.studies.traces.test_traces import arrivals, pods, record, traced


def refused(data: bytes, kind: str = "") -> str:
    with pytest.raises(TraceError) as caught:
        inspect_file(kind, data)
    return str(caught.value)


def test_a_table_of_pods_is_told_with_its_columns_first_rows_times_and_bad_lines() -> None:
    data = pods("a,1000,2048,1,460,T4,LS,Running,10,200,50", "b,-5,64,0,0,,BE,Pending,20,90,", "c,1,1,0,0,,,,5,,")
    for packed in (data, gzip.compress(data)):
        inspection = inspect_file("", packed)
        assert (inspection.kind, inspection.lines, inspection.looked_at, inspection.usable) == (PODS, 4, 4, 2)
        assert inspection.columns[:3] == ["name", "cpu_milli", "memory_mib"]
        assert [row[:2] for row in inspection.rows] == [["a", "1000"], ["b", "-5"], ["c", "1"]]
        assert inspection.span == (5.0, 10.0)
        assert inspection.problems == [
            (0, "pods that asked for a share of a GPU ask for a whole one here"),
            (3, "is left out: cpu_milli is -5, which is negative"),
            (0, "times run backwards 1 times, first in line 4: put in order"),
        ]
        assert inspection.cost.objects == 2


def test_each_kind_is_told_by_its_first_line() -> None:
    records = "\n".join([record("12:00:00", "Add", node("n1")), record("12:00:30", "Delete", node("n1"))]).encode()
    recording = b"machine-1,10,20.5\nmachine-2,30,40\n"
    inspections = {
        kind: inspect_file("", data) for kind, data in {NODES: NODE_LINES.encode(), RECORDS: records}.items()
    }
    assert [inspection.kind for inspection in inspections.values()] == [NODES, RECORDS]
    assert [inspection.usable for inspection in inspections.values()] == [2, 2]
    assert inspections[RECORDS].rows[0] == ["2024-05-01T12:00:00+00:00", "Add", "Node", "", "n1"]
    first, last = inspections[RECORDS].span or (0.0, 0.0)
    assert last - first == 30.0
    table = inspect_file("", b"submitted,cores\n1,2\n3,4\n5\n")
    assert (table.kind, table.columns, table.rows[0], table.usable) == (CSV, ["submitted", "cores"], ["1", "2"], 2)
    assert table.problems == [(4, "is left out: has 1 cells, the first line 2")]
    assert inspect_file(CSV, recording).kind == kind_of(recording) == RECORDING
    machines = inspect_file("", recording)
    assert (machines.columns, machines.rows[0]) == (["machine", "0 min", "5 min"], ["machine-1", "10 %", "20.5 %"])
    assert (machines.usable, machines.span) == (2, (0.0, 600.0))


def test_files_of_no_use_are_refused_with_their_line() -> None:
    good = pods(*(f"p{n},1,1,0,0,,,,{n},," for n in range(500)))
    packed = gzip.compress(good)
    assert refused(b"") == "the file is empty"
    assert refused(packed[:-20]) == "the file ends in the middle of what gzip packed: upload it again"
    assert refused(packed[:-4] + struct.pack("<I", 7)).startswith("the file is not what gzip packs: ")
    assert refused(b"PK\x03\x04....").startswith("the file is a zip archive")
    assert refused(good + b"x\x00") == "line 502: holds a NUL character: the file is not text, or not UTF-8"
    assert refused(good + b"\xff") == "line 502: is not UTF-8 text"
    assert refused(good, NODES).startswith("line 1: has no column sn")
    assert refused(pods(*["x,-1,1,0,0,,,,0,,"] * 2000)).startswith("line 1002: 1,001 lines cannot be used")
    assert refused(b"machine,1,2\nother,1,NaN\n") == "line 2, value 2: NaN is not a percentage from 0 to 100"
    assert refused(good + b"x" * (1 << 20)).startswith("line 502: is longer than")
    assert "line 1: is longer than" in refused(gzip.compress(b"x" * (1 << 24)), CSV)


def test_lines_beyond_those_that_are_looked_at_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inspection.INSPECTED_LINES, PODS, 101)
    monkeypatch.setitem(inspection.MAX_OBJECTS, PODS, 150)
    rows = [f"p{n},{-1 if n % 4 == 0 else 1},1,0,0,,,,{n},," for n in range(400)]
    result = inspect_file("", pods(*rows))
    assert (result.lines, result.looked_at, result.usable, result.cost.objects) == (401, 101, 75, 300)
    assert result.problems[-2:] == [
        (0, "has about 300 lines that can be used; a scenario takes at most 150"),
        (0, "only the first 101 of 401 lines were looked at one by one"),
    ]
    assert refused(pods(*rows) + b"\xff\n") == "line 402: is not UTF-8 text"
    assert refused(pods(*rows) + b"ok\n\x00\n") == "line 403: holds a NUL character: the file is not text, or not UTF-8"


def test_a_file_of_more_lines_than_are_taken_is_refused_by_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.engine.studies.traces.text.MOST_LINES", 1000)
    assert refused(pods(*["p,1,1,0,0,,,,0,,"] * 1000)) == "the file has more than 1,000 lines: upload a part of it"
    assert limits.MOST_LINES < 10_000_000


def test_the_recorded_cluster_is_judged_as_it_is_read() -> None:
    data = (DATA / "openb_pod_list_default.csv.gz").read_bytes()
    inspection = inspect_file("", data)
    assert (inspection.kind, inspection.lines, inspection.usable) == (PODS, 8153, 8152)
    assert [f"f: {text}" for line, text in inspection.problems] == traced(data).notes
    assert len(arrivals(traced(data))) == inspection.cost.objects


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1), st.booleans())
def test_lines_are_counted_as_they_are_read(text: str, packed: bool) -> None:
    data = gzip.compress(text.encode()) if packed else text.encode()
    assert count_lines(data) == len(list(read_lines(data)))


@given(st.binary(max_size=300), st.sampled_from(["", *KINDS]), st.booleans())
def test_any_bytes_are_judged_or_refused_with_a_reason(tail: bytes, kind: str, head: bool) -> None:
    data = (pods() if head else b"") + tail
    try:
        inspection = inspect_file(kind, data)
    except TraceError:
        usable = 0
    else:
        usable = inspection.usable
        assert 0 < usable <= inspection.looked_at <= inspection.lines
    if kind == PODS and head:
        try:
            assert len(arrivals(traced(data))) == usable
        except ScenarioError:
            assert not usable
