"""Files that people bring: bounded, refused with what is wrong; a scenario goes to another site as one file."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from kschedweb.clusters.models import Cluster
from kschedweb.playground.scenarios import selectors, services, transfer, uploads
from kschedweb.playground.scenarios.models import FileKind
from kschedweb.web.errors import ApplicationError, TooLarge
from tests.support.scenarios import EMPTY, MIB, NODES, on_cluster

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
PODS += "a,1000,2048,0,0,,LS,Running,10,200,50\n"
RECORD = json.dumps(
    {
        "time": "2024-05-01T12:00:00Z",
        "event": "Add",
        "resource": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}},
    }
)
HEAD = b'{"kind": "ScenarioExport", "apiVersion": "kschedweb/v1", "scenario": "a"'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (NODES, FileKind.NODES),
        (PODS, FileKind.PODS),
        (RECORD, FileKind.RECORDS),
        ("machine-1,10,20.5\nmachine-2,30,40\n", FileKind.RECORDING),
        ("when,cores\n1,2\n", FileKind.CSV),
        ("figure,object,1,2\nnode/cpu/5m,n0,1,2\n", FileKind.FIGURES),
    ],
)
def test_what_a_file_is_its_first_line_tells(text: str, kind: str) -> None:
    for content in (text.encode(), gzip.compress(text.encode())):
        read = uploads.read_upload("some/where/a.csv.gz", content, limit=MIB)
        assert (read.name, read.kind, gzip.decompress(read.content).decode()) == ("a.csv", kind, text)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv: the file is empty"),
        ("a.csv", b"a,b\n\xff\xfe", "a.csv: line 2: is not UTF-8 text"),
        ("a.csv", b"a\x00b", "a.csv: line 1: holds a NUL"),
        ("a.csv", gzip.compress(b"a,b\n" * 1000)[:40], "ends too early"),
        ("a.csv", b"PK\x03\x04abc", "zip file"),
        ("../a\nb.csv", b"a", "A file's name has"),
        ("a.csv", b"a,b\n", "a.csv: there is no line that can be used"),
        ("a.csv", b"a,b\n" * 5_000_001, "a.csv: the file has more than 5,000,000 lines"),
        ("a.csv", PODS.encode() + b"p,-1,1,0,0,,,,0,,\n" * 2000, "a.csv: line 1003: 1,001 lines cannot be used"),
    ],
)
def test_a_file_that_is_no_text_is_refused(name: str, content: bytes, message: str) -> None:
    with pytest.raises(ApplicationError, match=message):
        uploads.read_upload(name, content, limit=64 * MIB)


def test_what_cannot_be_used_of_a_file_is_kept_with_its_lines() -> None:
    lines = "b,-5,64,0,0,,BE,Pending,20,90,\nc,,1,0,0,,,,5,,\n"
    read = uploads.read_upload("pods.csv", (PODS + lines).encode(), limit=MIB)
    assert (read.lines, read.about["usable"], read.about["columns"][0], read.about["span"]) == (4, 1, "name", (10, 10))
    assert [(problem["line"], problem["message"]) for problem in read.problems] == [
        (3, "is left out: cpu_milli is -5, which is negative"),
        (4, "is left out: cpu_milli is empty"),
    ]


def test_a_file_that_unpacks_to_more_than_it_seems_is_refused_unread() -> None:
    bomb = gzip.compress(b"0" * 40 * MIB)
    assert len(bomb) < MIB
    with pytest.raises(TooLarge, match="larger than this site takes"):
        uploads.read_upload("bomb.csv", bomb, limit=MIB)


@pytest.mark.django_db
def test_an_export_brings_cluster_and_files_to_another_site(editor: User) -> None:
    text = on_cluster(editor, changes="changes:\n  - addNodes: {file: nodes.csv}\n")
    file = uploads.read_upload("nodes.csv", NODES.encode(), limit=MIB)
    scenario = services.scenario_create(text=text, author=editor, files=[file])
    before = selectors.prepare_revision(selectors.revision_get(scenario), seed=1)
    exported = selectors.export_revision(selectors.revision_get(scenario))
    services.scenario_delete(scenario=scenario, author=editor)
    Cluster.objects.all().delete()
    scenario_export = transfer.read_export("export.json.gz", exported, limit=4 * MIB)
    imported_scenario = services.scenario_import(imported=scenario_export, author=editor)
    revision = selectors.revision_get(imported_scenario)
    assert (revision.text, revision.snapshot) == (text, None)
    after = selectors.prepare_revision(revision, seed=1)
    names = [sorted(item["metadata"]["name"] for item in ready.objects) for ready in (before, after)]
    assert names[0] == names[1]
    assert len(after.events) == len(before.events) > 0
    assert services.scenario_import(imported=scenario_export, author=editor).name == "Three more 2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1, 2]", "neither an exported scenario"),
        (b'{"kind": "ScenarioExport"}', "apiVersion None"),
        (b'{"kind": "ScenarioExport", "apiVersion": "kschedweb/v1"}', "holds no scenario"),
        (HEAD + b', "files": 3}', "must be a list"),
        (HEAD + b', "files": [1]}', r"files\[0\]"),
        (HEAD + b', "snapshot": 1}', "snapshot must"),
        (b"\x1f\x8b\x00", "damaged or ends too early"),
    ],
)
def test_a_damaged_export_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(ApplicationError, match=message):
        transfer.read_export("export.json.gz", content, limit=MIB)


@pytest.mark.django_db
def test_a_plain_document_is_imported_with_its_comments(editor: User) -> None:
    from_yaml = services.scenario_import(
        imported=transfer.read_export("a.yaml", EMPTY.encode(), limit=MIB), author=editor
    )
    assert selectors.revision_get(from_yaml).text == EMPTY
    as_json = json.dumps({"apiVersion": "kschedweb/v1", "kind": "Scenario", "name": "From JSON"}).encode()
    from_json = services.scenario_import(imported=transfer.read_export("a.json", as_json, limit=MIB), author=editor)
    assert from_json.name == "From JSON"
