"""The form and the schema are those of the policy's own release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.releases import RELEASES, get_release, load
from kschedweb.policies.editing import editor
from kschedweb.policies.editing.release_tables import load_tables
from kschedweb.policies.editing.switches import merge_plugins
from tests.support.formfields import fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.policies.editing.form import PluginRow

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
GROUPS = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
LATER = HEAD + (
    "profiles:\n  - schedulerName: default-scheduler\n    plugins:\n      multiPoint:\n        enabled:\n"
    "          - name: NodeDeclaredFeatures # ours\n            weight: 3\n"
)


def plugin_rows(document: str, release: str) -> dict[str, PluginRow]:
    return {row.name: row for row in editor.open_editor(document, 0, {"release": release}).form.plugins}


def points_of(rows_by_plugin: dict[str, PluginRow], name: str) -> set[str]:
    return {switch.point for switch in rows_by_plugin[name].switches}


def test_the_form_offers_the_plugins_and_extension_points_of_the_release() -> None:
    older, newer = plugin_rows(HEAD, "1.34"), plugin_rows(HEAD, "1.37")
    assert newer.keys() - older.keys() == {
        "NodeDeclaredFeatures",
        "GangScheduling",
        "TopologyPlacementGenerator",
        "PodGroupPodsCount",
        "DeferredPodScheduling",
    }
    assert older.keys() <= newer.keys()
    assert points_of(newer, "NodeResourcesFit") - points_of(older, "NodeResourcesFit") == {"placementScore"}
    assert points_of(newer, "NodeName") - points_of(older, "NodeName") == {"preFilter"}


def test_weights_and_arguments_have_the_defaults_of_the_release() -> None:
    """Before 1.35 DynamicResources does not score; bindingTimeout came then."""
    older, newer = plugin_rows(HEAD, "1.34")["DynamicResources"], plugin_rows(HEAD, "1.37")["DynamicResources"]
    assert older.weight is None
    assert newer.weight is not None
    assert newer.weight.default == "2"
    labels = [
        {field.label for field in row.arguments.fields} if row.arguments else set[str]() for row in (older, newer)
    ]
    assert labels[1] - labels[0] == {"bindingTimeout"}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("gates", [{}, GROUPS])
def test_the_merge_is_the_engine_s(name: str, gates: dict[str, bool]) -> None:
    release = get_release(name, {gate: on for gate, on in gates.items() if gate in RELEASES[name].gates})
    configuration = load(None, release).configuration
    assert configuration is not None
    mine = merge_plugins({}, load_tables(release))
    for point, plugins in configuration.profiles[0].points.items():
        assert {plugin.name for plugin in plugins} == mine[point].keys()
    assert load_tables(release).default_arguments.items() >= configuration.profiles[0].args.items()


def test_a_plugin_that_the_release_does_not_have_is_shown_as_written_with_the_error() -> None:
    row = plugin_rows(LATER, "1.34")["NodeDeclaredFeatures"]
    assert (row.state, row.text) == ("unknown", "multiPoint: enabled, weight 3")
    assert 'PreFilterPlugin "NodeDeclaredFeatures" does not exist' in row.problems[0].message
    assert all(
        not other_row.problems
        for other_row in plugin_rows(LATER, "1.34").values()
        if other_row is not row and other_row.name != row.name
    )
    row = plugin_rows(LATER, "1.37")["NodeDeclaredFeatures"]
    assert (row.state, row.text, row.problems) == ("on", "", [])


def test_an_extension_point_that_the_release_does_not_have_is_told_at_its_plugin() -> None:
    document = HEAD + "profiles:\n  - plugins:\n      placementScore:\n        enabled: [{name: PodGroupPodsCount}]\n"
    row = plugin_rows(document, "1.34")["PodGroupPodsCount"]
    assert row.text == "placementScore: enabled"
    assert [problem.message for problem in row.problems] == ['unknown field "profiles[0].plugins.placementScore"']
    assert not plugin_rows(document, "1.37")["PodGroupPodsCount"].problems


def test_taking_such_a_plugin_out_takes_every_word_of_it() -> None:
    configured = LATER + "    pluginConfig:\n      - name: NodeDeclaredFeatures\n        args: {a: 1}\n"
    form_data = {"document": configured, "process.release": "1.34", "base.release": "1.34"}
    shortened = editor.read_posted({**form_data, "reset": "NodeDeclaredFeatures"}, {})
    assert parse_document(shortened.document).data["profiles"] == [{"schedulerName": "default-scheduler"}]
    assert shortened.checked.valid


@pytest.fixture
def client(client_as: Callable[[str], Client]) -> Client:
    return client_as("editor")


PAGE = "/policies/default/"


def posted_fields(answer: Any) -> dict[str, str]:
    return fields(answer.content.decode(), "policy-form")


@pytest.mark.django_db
def test_choosing_a_release_changes_what_the_form_offers_and_keeps_what_was_typed(client: Client) -> None:
    values = posted_fields(client.get(PAGE))
    assert {"on.NodeDeclaredFeatures.filter", "on.NodeResourcesFit.placementScore"} <= values.keys()
    typed_values = {"weight.NodeAffinity": "7", "args.DynamicResources.bindingTimeout": "30s"}
    older = client.post(PAGE, {**values, **typed_values, "process.release": "1.34", "update": ""})
    page, kept_values = older.content.decode(), posted_fields(older)
    assert not {name for name in kept_values if "NodeDeclaredFeatures" in name or "placementScore" in name}
    assert kept_values["weight.NodeAffinity"] == "7"
    assert "args.DynamicResources.bindingTimeout" not in kept_values
    assert "bindingTimeout: 30s" in kept_values["document"]
    assert "unknown field &quot;bindingTimeout&quot;" in page.replace("\\&quot;", "&quot;")
    newer = posted_fields(client.post(PAGE, {**kept_values, "process.release": "1.37", "update": ""}))
    assert newer.keys() >= values.keys()
    assert {name: newer[name] for name in typed_values} == typed_values
    assert newer["document"] == kept_values["document"]
    assert newer["on.NodeResourcesFit.placementScore"] == "on"


@pytest.mark.django_db
def test_the_schema_of_a_release_can_be_asked_for(api_as: Callable[[str], APIClient]) -> None:
    api, address = api_as("viewer"), "/api/v1/policy-schema/"

    def extension_points(query: str) -> set[str]:
        properties: dict[str, Any] = api.get(address + query).json()["$defs"]["Plugins"]["properties"]
        return set(properties)

    assert extension_points("") == extension_points("?release=1.37")
    assert extension_points("?release=1.37") - extension_points("?release=1.34") == {
        "placementGenerate",
        "placementScore",
        "podGroupPostFilter",
    }
    wrong = api.get(f"{address}?release=newest")
    assert wrong.status_code == 400
    assert wrong.json()["errors"][0]["path"] == "release"
