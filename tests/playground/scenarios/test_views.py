"""The scenario pages, as they work without JavaScript."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from kschedweb.playground.scenarios import selectors, services, uploads
from kschedweb.playground.scenarios.models import Scenario
from tests.support.formfields import fields
from tests.support.html import elements, html_of, levels
from tests.support.scenarios import EMPTY, NODES, on_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def empty(editor: User) -> Scenario:
    scenario = services.scenario_create(text=EMPTY, author=editor)
    return selectors.scenario_get(editor, scenario.pk)


def scenario_address(scenario: Scenario, suffix: str = "") -> str:
    return f"/scenarios/{scenario.pk}/{suffix}"


def form_fields(client: Client, scenario: Scenario) -> dict[str, str]:
    return fields(client.get(scenario_address(scenario)).content.decode(), "scenario-form")


def text_of(answer: Any) -> str:
    return str(answer.context["editor"].document)


def text_shown(answer: Any) -> str:
    return unescape(html_of(answer))


def test_the_empty_list_teaches_and_leads_on(client_as: Callable[[str], Client]) -> None:
    page = client_as("editor").get("/scenarios/")
    assert page.context["page"].paginator.count == 0
    assert elements(page, "#main a[href=/scenarios/new/]")
    assert not elements(client_as("viewer").get("/scenarios/"), "#main a[href=/scenarios/new/]")


def test_a_scenario_is_made_from_a_snapshot(client_as: Callable[[str], Client], editor: User) -> None:
    snapshot = on_cluster(editor).partition("snapshot: ")[2].strip()
    form = {"name": "What if", "description": "a zone fails?", "start": snapshot}
    answer = client_as("editor").post("/scenarios/new/", form)
    scenario = Scenario.objects.get()
    assert answer["Location"] == scenario_address(scenario)
    assert (scenario.name, scenario.description) == ("What if", "a zone fails?")
    assert str(selectors.revision_get(scenario).snapshot_id) == snapshot


def test_a_scenario_is_made_as_a_copy(client_as: Callable[[str], Client], empty: Scenario) -> None:
    client_as("editor").post("/scenarios/new/", {"name": "Another", "start": f"copy:{empty.pk}"})
    assert selectors.revision_get(Scenario.objects.get(name="Another")).text == EMPTY.replace(
        "Nothing at all", "Another"
    )


def test_a_taken_name_is_said_beside_the_field_and_nothing_is_lost(
    client_as: Callable[[str], Client], empty: Scenario
) -> None:
    form = {"name": "Nothing at all", "description": "kept", "start": "empty"}
    answer = client_as("editor").post("/scenarios/new/", form)
    assert answer.status_code == 409
    assert "name" in answer.context["form"].errors
    assert elements(answer, "input[name=description][value=kept]")


def test_a_change_is_added_filled_in_and_saved_without_javascript(
    client_as: Callable[[str], Client], empty: Scenario
) -> None:
    client = client_as("editor")
    answer = client.post(
        scenario_address(empty), form_fields(client, empty) | {"new_changes": "addNodes", "add_changes": "1"}
    )
    assert text_of(answer).startswith("# What if nothing is there?\n")
    assert text_of(answer).endswith("changes:\n  - addNodes:\n      count: 1\n")
    form = fields(answer.content.decode(), "scenario-form")
    field_values = {
        "changes.0.addNodes.count": "3",
        "changes.0.addNodes.name": "new",
        "changes.0.addNodes.allocatable": "cpu: '4'\nmemory: 8Gi\n",
        "changes.0.at": "10m",
        "save": "1",
    }
    answer = client.post(scenario_address(empty), form | field_values)
    assert answer.status_code == 302, text_of(answer)
    revision = selectors.revision_get(empty)
    assert revision.number == 2
    assert revision.document["changes"] == [
        {"addNodes": {"count": 3, "name": "new", "allocatable": {"cpu": "4", "memory": "8Gi"}}, "at": "10m"}
    ]


def test_a_workload_is_autoscaled_by_the_form(
    client_as: Callable[[str], Client], empty: Scenario, editor: User
) -> None:
    template = "{spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}"
    manifest = f"{{kind: Deployment, metadata: {{name: web}}, spec: {{template: {template}}}}}"
    text = EMPTY + f"changes:\n  - addWorkload: {{manifest: {manifest}}}\n"
    services.scenario_save(scenario=empty, text=text, author=editor, expected=1)
    client = client_as("editor")
    form = form_fields(client, empty)
    for kind in ("autoscaleWorkload", "cronWorkload"):
        answer = client.post(scenario_address(empty), form | {"new_changes": kind, "add_changes": "1"})
        form = fields(answer.content.decode(), "scenario-form")
    field_values = {
        "changes.1.autoscaleWorkload.workload": "default/Deployment/web",
        "changes.1.autoscaleWorkload.max": "12",
        "changes.1.autoscaleWorkload.behavior": "scaleDown: {stabilizationWindowSeconds: 60}\n",
        "changes.1.autoscaleWorkload.load.cores": "8",
        "changes.1.autoscaleWorkload.load.tide.low": "0.2",
        "changes.2.cronWorkload.workload": "default/Deployment/web",
        "changes.2.cronWorkload.entries.0.schedule": "0 9 * * *",
    }
    wrong = client.post(
        scenario_address(empty), form | field_values | {"changes.2.cronWorkload.entries.0.schedule": "9", "save": "1"}
    )
    assert wrong.status_code == 422
    (problem,) = wrong.context["editor"].checked.problems
    assert problem.path == "changes[2].cronWorkload.entries[0]"
    assert problem.line
    answer = client.post(scenario_address(empty), form | field_values | {"save": "1"})
    assert answer.status_code == 302, text_of(answer)
    autoscale_change, cron = selectors.revision_get(empty).document["changes"][1:]
    assert autoscale_change["autoscaleWorkload"] == {
        "min": 1,
        "max": 12,
        "targetCpu": 80,
        "workload": "default/Deployment/web",
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
        "load": {"cores": "8", "tide": {"low": 0.2}},
    }
    assert cron["cronWorkload"]["entries"] == [
        {"schedule": "0 9 * * *", "replicas": 10},
        {"schedule": "0 20 * * *", "replicas": 2},
    ]


def test_items_are_moved_and_removed(client_as: Callable[[str], Client], empty: Scenario, editor: User) -> None:
    changes = "changes:\n  - failZone: {zone: a}  # first\n  - failZone: {zone: b}\n"
    services.scenario_save(scenario=empty, text=EMPTY + changes, author=editor, expected=1)
    client = client_as("editor")
    form = form_fields(client, empty)
    reordered = (
        client.post(scenario_address(empty), form | {"earlier": "changes.1"}).context["editor"].checked.data["changes"]
    )
    assert [change["failZone"]["zone"] for change in reordered] == ["b", "a"]
    remaining = (
        client.post(scenario_address(empty), form | {"remove": "changes.0"}).context["editor"].checked.data["changes"]
    )
    assert [change["failZone"]["zone"] for change in remaining] == ["b"]


def test_an_error_stands_beside_its_field_with_its_line_and_nothing_is_saved(
    client_as: Callable[[str], Client], empty: Scenario
) -> None:
    client = client_as("editor")
    form = form_fields(client, empty)
    form |= {"document": EMPTY + "changes:\n  - failZone: {zone: ''}\n", "save": "1", "comment": "because"}
    answer = client.post(scenario_address(empty), form)
    assert answer.status_code == 422
    assert [problem.path for problem in answer.context["editor"].checked.problems] == ["changes[0].failZone.zone"]
    assert elements(answer, "#f-changes-0-failZone-zone-error")
    assert elements(answer, "input[name=comment][value=because]")
    assert selectors.revision_get(empty).number == 1


def test_what_an_api_server_would_refuse_stands_at_its_line_and_is_saved(
    client_as: Callable[[str], Client], empty: Scenario
) -> None:
    client = client_as("editor")
    pod = "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}], tolerations: [{operator: Equal}]}}"
    text = EMPTY + f"objects:\n  - {pod}\n"
    line = text.count("\n")
    message = 'Pod "a" is invalid: spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists'
    editor_view = client.post(scenario_address(empty), form_fields(client, empty) | {"document": text}).context[
        "editor"
    ]
    (warning,) = editor_view.state["warnings"]
    assert warning["line"] == line
    assert warning["message"].startswith(message)
    saved_page = client.post(
        scenario_address(empty), form_fields(client, empty) | {"document": text, "save": "1"}, follow=True
    )
    assert selectors.revision_get(empty).number == 2
    (item,) = elements(saved_page, "[aria-label=Warnings] .notice.warn")
    assert message in item.text


def test_yaml_that_cannot_be_read_keeps_what_the_form_says(client_as: Callable[[str], Client], empty: Scenario) -> None:
    client = client_as("editor")
    form = form_fields(client, empty) | {"document": EMPTY + "changes: [", "general.description": "typed"}
    page = client.post(scenario_address(empty), form)
    assert page.context["editor"].checked.parsed is None
    assert fields(page.content.decode(), "scenario-form")["general.description"] == "typed"


def test_a_lost_update_shows_what_differs(client_as: Callable[[str], Client], empty: Scenario, editor: User) -> None:
    client = client_as("editor")
    form = form_fields(client, empty)
    services.scenario_save(scenario=empty, text=EMPTY + "# theirs\n", author=editor, expected=1)
    answer = client.post(scenario_address(empty), form | {"document": EMPTY + "# mine\n", "save": "1"})
    assert answer.status_code == 412
    assert "# mine" in answer.content.decode()
    assert selectors.revision_get(empty).text == EMPTY + "# theirs\n"


def test_what_becomes_of_the_cluster_is_told(client_as: Callable[[str], Client], editor: User) -> None:
    text = on_cluster(editor, changes="changes:\n  - addNodes: {count: 2, like: node-00000}\n")
    scenario = services.scenario_create(text=text, author=editor)
    client = client_as("editor")
    page = client.post(scenario_address(scenario, "edit/effect/"), {"document": text})
    assert page.context["effect"].sentences
    for sentence in (page.context["effect"].beginning, *page.context["effect"].sentences):
        assert sentence in text_shown(page)
    assert "2 nodes added" in text_shown(page)
    wrong = text.replace("node-00000", "node-9")
    page = client.post(scenario_address(scenario, "edit/effect/"), {"document": wrong})
    assert [error["path"] for error in page.context["refused"].errors] == ["changes[0].addNodes.like"]
    assert "changes[0].addNodes" in text_shown(page)


def test_of_very_many_pods_only_the_first_are_looked_at(client_as: Callable[[str], Client], editor: User) -> None:
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    head += "scheduled_time\n"
    lines = "".join(f"p-{number},100,100,0,0,,LS,Running,{number},,\n" for number in range(1, 25_000))
    scenario = services.scenario_create(text=EMPTY, author=editor)
    upload = uploads.read_upload("pods.csv", (head + lines).encode(), limit=2**23)
    services.file_add(scenario=scenario, upload=upload, author=editor)
    trace_document = EMPTY + "arrivals:\n  - trace: {file: pods.csv, format: openb}\n"
    generator_document = (
        EMPTY + "arrivals:\n  - generate: {perHour: 100000, until: 24h, tide: {}, shapes: [{cpu: 1}]}\n"
    )
    client = client_as("editor")

    def effect_sentences(document: str) -> list[str]:
        effect = client.post(scenario_address(scenario, "edit/effect/"), {"document": document}).context["effect"]
        return list(effect.sentences)

    assert effect_sentences(trace_document) == ["at least 20,000 pods arrive between 1 s and 5 h 33 min"]
    assert all(sentence.startswith("at least ") for sentence in effect_sentences(generator_document))
    few = EMPTY + "arrivals:\n  - trace: {file: pods.csv, format: openb, limit: 100}\n"
    assert effect_sentences(few) == ["100 pods arrive between 1 s and 1 min 40 s"]


def test_a_viewer_reads_what_is_shared_and_changes_nothing(
    client_as: Callable[[str], Client], empty: Scenario, editor: User
) -> None:
    viewer = client_as("viewer")
    assert viewer.get(scenario_address(empty)).status_code == 404
    assert client_as("editor").post(scenario_address(empty, "share/"), {"shared": "1"}).status_code == 302
    page = viewer.get(scenario_address(empty))
    assert page.status_code == 200
    save = "#scenario-form button[name=save]"
    assert not elements(page, save)
    assert elements(client_as("editor").get(scenario_address(empty)), save)
    assert viewer.post(scenario_address(empty), {"save": "1"}).status_code == 403
    assert viewer.get(scenario_address(empty, "export/")).status_code == 200


def test_files_are_uploaded_shown_fetched_and_deleted(client_as: Callable[[str], Client], empty: Scenario) -> None:
    client = client_as("editor")
    upload = {"file": SimpleUploadedFile("nodes.csv", NODES.encode())}
    assert client.post(scenario_address(empty, "files/"), upload).status_code == 302
    assert "nodes.csv" in client.get(scenario_address(empty, "files/")).content.decode()
    assert client.get(scenario_address(empty, "files/nodes.csv/")).content.decode() == NODES
    bad = client.post(
        scenario_address(empty, "files/"), {"name": "mine", "file": SimpleUploadedFile("a.csv", b"a\n\xff\xff")}
    )
    assert bad.status_code == 400
    assert list(bad.context["form"].errors) == ["file"]
    assert elements(bad, "input[name=name][value=mine]")
    assert client.post(scenario_address(empty, "files/nodes.csv/")).status_code == 302
    assert not empty.files.exists()


def test_lines_that_cannot_be_used_stand_beside_the_file(client_as: Callable[[str], Client], empty: Scenario) -> None:
    client = client_as("editor")
    upload = {"file": SimpleUploadedFile("nodes.csv", (NODES + "node-2,-1,1,0,\n").encode())}
    page = client.post(scenario_address(empty, "files/"), upload, follow=True)
    assert levels(page) == ["warning"]
    [file] = page.context["files"]
    assert [(problem["line"], problem["message"]) for problem in file.problems] == [
        (3, "is left out: cpu_milli is -1, which is negative")
    ]
    assert f"Line 3: {file.problems[0]['message']}" in text_shown(page)
    assert "openb-node-0000" in [element.text for element in elements(page, "td")]


def test_an_export_is_imported_under_a_free_name(client_as: Callable[[str], Client], empty: Scenario) -> None:
    client = client_as("editor")
    content = client.get(scenario_address(empty, "export/")).content
    answer = client.post("/scenarios/import/", {"file": SimpleUploadedFile("a.json.gz", content)})
    assert answer.status_code == 302
    assert Scenario.objects.filter(name="Nothing at all 2").exists()


def test_a_pasted_document_with_errors_is_refused_at_its_line(client_as: Callable[[str], Client]) -> None:
    answer = client_as("editor").post("/scenarios/import/", {"text": "kind: Scenario\nname: A\nspeed: 2\n"})
    assert answer.status_code == 422
    assert [(problem["path"], problem["line"]) for problem in answer.context["problems"]] == [("speed", 3)]
    assert "Line 3" in text_shown(answer)


def test_revisions_are_compared_restored_and_the_scenario_deleted(
    client_as: Callable[[str], Client], empty: Scenario, editor: User
) -> None:
    services.scenario_save(scenario=empty, text=EMPTY + "# two\n", author=editor, expected=1)
    client = client_as("editor")
    assert "# two" in client.get(scenario_address(empty, "diff/?from=1&to=2")).content.decode()
    assert client.post(scenario_address(empty, "revisions/1/restore/"), {"expected": "2"}).status_code == 302
    assert selectors.revision_get(empty).text == EMPTY
    repeated = client.post(scenario_address(empty, "revisions/1/restore/"), {"expected": "3"}, follow=True)
    assert levels(repeated)[-1] == "info"
    assert selectors.revision_get(empty).number == 3
    assert client.post(scenario_address(empty, "delete/")).status_code == 302
    assert not Scenario.objects.exists()
