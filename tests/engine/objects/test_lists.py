"""One cluster in every form in which tools write it: the site's import and the command line read the same objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from kschedweb.clusters.importing.imports import files_read
from kschedweb.engine.documents.files import read_documents
from kschedweb.engine.studies.gate.gate import read_objects
from tests.engine.builders import node, pod

OBJECTS = [node("n1"), node("n2"), pod("a"), pod("b", on="n1")]
LOG = """==== START logs for container main of pod default/a ====
{"level": "info"}
==== END logs for container other of pod default/b ====
==== END logs for container main of pod default/a ====
"""


def bare(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in ("apiVersion", "kind")}


def typed_lists() -> list[dict[str, Any]]:
    nodes, pods = ([bare(raw) for raw in OBJECTS if raw["kind"] == kind] for kind in ("Node", "Pod"))
    return [
        {"kind": f"{kind}List", "apiVersion": "v1", "items": items} for kind, items in (("Node", nodes), ("Pod", pods))
    ]


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def simulator_export() -> dict[str, Any]:
    nodes, pods = (typed["items"] for typed in typed_lists())
    return {"nodes": nodes, "pods": pods, "schedulerConfig": {"kind": "KubeSchedulerConfiguration"}}


FORMS: dict[str, Callable[[], str]] = {
    "List": lambda: json.dumps({"kind": "List", "apiVersion": "v1", "items": OBJECTS}),
    "array": lambda: json.dumps(OBJECTS),
    "JSON lines": lambda: lines(OBJECTS),
    "lists behind each other": lambda: "".join(json.dumps(typed, indent=4) for typed in typed_lists()),
    "simulator's export": lambda: json.dumps(simulator_export()),
    "cluster-info dump": lambda: LOG.join(json.dumps(typed, indent=4) + "\n" for typed in typed_lists()) + LOG,
    "cluster-info dump in YAML": lambda: LOG.join(f"---\n{yaml.safe_dump(typed)}" for typed in typed_lists()) + LOG,
    "YAML documents": lambda: yaml.safe_dump_all(OBJECTS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_by_the_import_and_by_the_command_line(form: str) -> None:
    text = FORMS[form]()
    names = [(raw["kind"], raw["metadata"]["name"]) for raw in OBJECTS]
    imported = files_read([("dump", [text[at : at + 7].encode() for at in range(0, len(text), 7)])], limit=1 << 20)
    assert [(raw["kind"], raw["metadata"]["name"]) for raw in imported.objects] == names
    assert [(raw["kind"], raw["metadata"]["name"]) for raw in read_objects(read_documents(text.encode()))] == names


def test_a_list_gives_its_items_its_version() -> None:
    budget = {"metadata": {"name": "b"}, "spec": {"selector": {}}}
    text = json.dumps({"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1beta1", "items": [budget]})
    read = read_objects(read_documents(text.encode()))
    imported = files_read([("dump", lines([json.loads(text), OBJECTS]))], limit=1 << 20).objects
    for raw in (read[0], imported[0]):
        assert raw["apiVersion"] == "policy/v1"
        assert raw["spec"]["selector"]["matchExpressions"]
