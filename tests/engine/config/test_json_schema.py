"""The JSON Schema for editors and forms agrees with what kube-scheduler takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kschedweb.engine.config import default_document
from kschedweb.engine.releases import CURRENT, json_schema, load
from tests.engine.config.test_conformance import CONFIGURATIONS

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for holder in (schema, *schema["$defs"].values()):
        yield from holder.get("properties", {}).items()


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_field_has_help() -> None:
    assert [name for name, field in fields(SCHEMA) if not field.get("description", "").endswith(".")] == []


@pytest.mark.parametrize(
    "golden",
    [golden for golden in CONFIGURATIONS if golden["expected"]["valid"]],
    ids=lambda golden: golden["name"],
)
def test_what_kube_scheduler_takes_fits_the_schema(golden: dict[str, Any]) -> None:
    document, loaded = golden["config"], load(golden["config"])
    assert loaded.configuration is not None
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert [error.message for error in VALIDATOR.iter_errors(loaded.configuration.document)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"percentOfNodes": 3},
        {"parallelism": 0},
        {"parallelism": "x"},
        {"percentageOfNodesToScore": 101},
        {"leaderElection": {"leaseDuration": "5"}},
        {"profiles": [{"plugins": {"filters": {}}}]},
        {"profiles": [{"plugins": {"filter": {"enabled": [{"weight": 1}]}}}]},
        {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"nope": 1}}]}]},
        {"profiles": [{"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]}]},
        {"profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "Auto"}}]}]},
    ],
)
def test_what_is_wrong_by_itself_is_wrong_by_the_schema(wrong: dict[str, Any]) -> None:
    assert not load(HEAD | wrong).valid
    assert not VALIDATOR.is_valid(HEAD | wrong)


def test_an_extension_point_offers_the_plugins_that_run_there() -> None:
    for point in ("filter", "score", "multiPoint"):
        enabled = SCHEMA["$defs"][f"PluginSet.{point}"]["properties"]["enabled"]["items"]
        offered = {choice["const"] for choice in enabled["properties"]["name"]["anyOf"] if "const" in choice}
        specs = CURRENT.registry.specs.values()
        assert offered == {spec.name for spec in specs if point in spec.points or point == "multiPoint"}


def test_each_kind_of_arguments_is_described() -> None:
    kinds = {spec.args.kind for spec in CURRENT.in_tree_plugins.specs.values() if spec.args}
    assert len(kinds) == 8
    assert kinds <= set(SCHEMA["$defs"])


def test_a_new_policy_fits_the_schema() -> None:
    loaded = load(default_document())
    assert loaded.configuration is not None
    assert VALIDATOR.is_valid(loaded.configuration.document)
