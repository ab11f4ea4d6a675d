"""Files that the command reads: JSON and YAML, packed or not, with the line where something is wrong."""

from __future__ import annotations

import gzip
import json

import pytest

from kschedweb.engine.documents import files
from kschedweb.engine.documents.files import ReadError, read_document, read_documents, text_of
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.scenario_files import read_scenario_file

POD = {"kind": "Pod", "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}


def test_json_and_yaml_say_the_same_also_packed_and_with_marks() -> None:
    text = json.dumps(POD)
    yaml = "kind: Pod\nmetadata: {name: a, creationTimestamp: 2026-01-01T00:00:00Z}\n"
    for data in (text.encode(), yaml.encode(), gzip.compress(text.encode()), b"\xef\xbb\xbf" + text.encode()):
        assert read_documents(data) == [POD]
    assert read_documents(text.encode("utf-16")) == [POD]
    assert text_of("ä".encode("utf-16")) == "ä"


def test_several_documents_of_yaml_are_one_after_the_other() -> None:
    assert read_documents(b"a: 1\n---\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    with pytest.raises(ReadError, match="holds 2 documents; one is wanted"):
        read_document(b"a: 1\n---\nb: 2\n")


@pytest.mark.parametrize(
    ("data", "expected_start"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (b"---\n", "holds no document"),
        (b'{"a": 1,\n}', "is not JSON: line 2, column 1: "),
        (b"[NaN]", "is not JSON: NaN is no value of JSON"),
        (b"a: [1\nb: 2\n", "is not YAML: line 2, column 2: "),
        (b"a: b: c\n", "is not YAML: line 1, column 5: mapping values are not allowed"),
        (b"\xff\xfe\x00", "is not text: byte"),
        (b"a: \xff", "is not text: byte 4 is not UTF-8"),
        (b"a: [1]\nb: *x\n", "line 2: the alias *x stands for no complete value before it"),
        (
            b"a: !!python/object:os.system {}\n",
            "line 1: the type tag:yaml.org,2002:python/",
        ),
        (b"a: \x01", "is not YAML: "),
        (b"[" * 100_000, "is nested deeper than 100 levels"),
        (b"- " * 300 + b"a", "line 1: values are nested deeper than 100 levels"),
        (b"\x1f\x8b\x08junk", "is no whole gzip file"),
        (gzip.compress(b"{}" * 1000)[:-9], "is no whole gzip file: it ends in the middle"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(data: bytes, expected_start: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_documents(data)
    assert str(caught.value).startswith(expected_start)


def test_a_file_that_unpacks_to_more_than_it_may_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    with pytest.raises(ReadError, match="is larger than 1 MiB unpacked"):
        text_of(gzip.compress(b" " * (10 << 20)))


def test_an_exported_scenario_brings_its_objects_its_time_and_its_files() -> None:
    text = "kind: Scenario\nname: brought\nbase: {snapshot: one}\n"
    snapshot = {"id": "1", "takenAt": 7.0, "objects": [POD]}
    body = {"kind": "ScenarioExport", "scenario": text, "snapshot": snapshot, "files": [{"name": "f", "text": "x"}]}
    scenario_file = read_scenario_file(gzip.compress(json.dumps(body).encode()))
    assert scenario_file.document.name == "brought"
    assert (scenario_file.objects, scenario_file.now, scenario_file.files) == ([POD], 7.0, {"f": b"x"})
    bare = read_scenario_file(text.encode())
    assert (bare.document, bare.objects, bare.now, bare.files) == (scenario_file.document, [], None, {})


@pytest.mark.parametrize(
    ("changes", "expected_error"),
    [
        ({"scenario": 5}, "scenario: must be text"),
        ({"snapshot": []}, "snapshot.objects: must be a list"),
        ({"snapshot": {"objects": 1}}, "snapshot.objects: must be a list"),
        ({"files": "all"}, "files: must be a list of objects with name and text"),
        ({"files": [{"name": "x"}]}, "files: must be a list of objects with name and text"),
    ],
)
def test_an_export_that_is_none_is_refused(changes: dict, expected_error: str) -> None:
    body = {"kind": "ScenarioExport", "scenario": "name: a"} | changes
    with pytest.raises(ReadError) as caught:
        read_scenario_file(json.dumps(body).encode())
    assert str(caught.value) == expected_error


def test_what_is_wrong_in_a_scenario_keeps_its_path() -> None:
    with pytest.raises(ScenarioError, match=r"changes\[0\]"):
        read_scenario_file(b"name: a\nchanges: [{addNode: {}}]\n")
