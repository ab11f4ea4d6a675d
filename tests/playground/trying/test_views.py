"""The door: what it offers, what a press of a button answers, and that no text is lost on the way."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.jobs.models import Job
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.runs.models import Comparison
from kschedweb.playground.trying import selectors, services, tasks
from kschedweb.playground.trying.models import TriedChange
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.web.nodemap.grouping import unpack_column
from tests.engine.studies.gates import PACKED
from tests.support import seed_moves, seed_runs
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db
Client = Callable[..., Any]
DOOR = "/trying/?cluster=small&policy=default"
WEIGHT = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
# The field of that weight.
FIT = "w2"


def submit(client: Any, form_data: dict[str, str], door: str = DOOR) -> str:
    """Press a button and return the address to which it leads."""
    answer = client.post(door, form_data)
    assert answer.status_code == 302, html_of(answer)
    return str(answer["Location"])


def submit_packing(client: Any, door: str = DOOR) -> str:
    (offer,) = client.get(door).context["offers"].strategies
    return submit(client, {"change": offer.key}, door)


def test_the_door_opens_with_the_policy_and_the_cluster_of_its_address(
    client_as: Client, small: Snapshot, packed_policy: str
) -> None:
    client = client_as("editor")
    page = client.get(f"/trying/?cluster=small&policy=packed&pod=default/web-1&snapshot={small.pk}")
    try_request = page.context["target"]
    assert (try_request.base.policy.name, try_request.snapshot, try_request.pod) == ("packed", small, "default/web-1")
    for form in elements(page, "main form[method=post]"):
        assert form["action"] == try_request.address
    assert {"policy=packed", "revision=1", f"snapshot={small.pk}"} <= set(
        try_request.address.partition("?")[2].split("&")
    )
    for wrong in ("policy=nobody", "revision=9", "snapshot=nonsense", f"scenario={small.pk}"):
        assert client.get(f"/trying/?cluster=small&{wrong}").status_code == 404


def test_without_a_cluster_the_door_says_so(client_as: Client) -> None:
    Cluster.objects.all().delete()
    assert "No cluster yet" in html_of(client_as("editor").get("/trying/"))


def test_one_press_answers_in_one_page(client_as: Client, small: Snapshot) -> None:
    client = client_as("editor")
    page = client.get(submit_packing(client))
    answer = selectors.answer_of(TriedChange.objects.get())
    assert answer is not None
    assert [measure["after"] for measure in page.context["cost"]] == ["1 node", "24 node-hours"]
    assert [measure["name"] for measure in page.context["use"]] == ["skew_cpu_end", "skew_memory_end"]
    assert elements(page, "#use [data-placed-anew]"), "these are not the numbers of the cluster as it runs"
    rows = {row["data-pod"] for row in elements(page, "#anew tr[data-pod]")}
    assert rows == {change["pod"] for change in answer["changes"] if change["of"] == "all"}
    assert len(rows) == answer["anew"]["moved"] == 4
    decision = f"/decision/small/default/web-1/?policy=default&revision=1&snapshot={small.pk}"
    assert decision in [link["href"] for link in elements(page, "#anew a")]
    (change,) = page.context["changes"]
    assert (change.before, change.after) == ("LeastAllocated", "MostAllocated")
    assert "MostAllocated" in page.context["editor"].document


def test_the_files_have_every_pod(client_as: Client, small: Snapshot) -> None:
    client = client_as("editor")
    place = submit_packing(client)
    answer = selectors.answer_of(TriedChange.objects.get())
    assert answer is not None
    text = b"".join(client.get(f"{place}?format=csv").streaming_content).decode()
    assert [line["pod"] for line in csv.DictReader(text.splitlines())] == [
        change["pod"] for change in answer["changes"]
    ]
    exported = client.get(f"{place}?format=json&what=lost").json()
    assert exported["items"] == []


@pytest.mark.parametrize(
    ("form_data", "change"),
    [
        ({"do": "weights", FIT: "9"}, "NodeResourcesFit weight: 1 → 9"),
        ({"do": "weights", "strategy": "MostAllocated"}, "NodeResourcesFit: LeastAllocated → MostAllocated"),
        ({"do": "instead", "instead": "packed@1"}, "NodeResourcesFit: LeastAllocated → MostAllocated"),
        ({"do": "weights", "release": "1.36"}, "kube-scheduler: 1.37"),
        ({"do": "document", "document": PACKED}, "NodeResourcesFit: LeastAllocated → MostAllocated"),
    ],
)
def test_a_weight_a_policy_a_release_and_a_document_are_tried(
    client_as: Client, small: Snapshot, packed_policy: str, form_data: dict[str, str], change: str
) -> None:
    submit(client_as("editor"), form_data)
    assert TriedChange.objects.get().change.startswith(change)


@pytest.mark.parametrize(
    ("form_data", "form", "field", "message"),
    [
        ({"do": "weights", FIT: "-1"}, "weights", FIT, "greater than or equal to 0"),
        ({"do": "weights", FIT: "much"}, "weights", FIT, "whole number"),
        ({"do": "weights", FIT: "1"}, "weights", "__all__", "does what default@1 does"),
        ({"do": "weights", "release": "1.1"}, "weights", "release", "valid choice"),
        ({"do": "instead", "instead": "nobody@1"}, "instead", "instead", "valid choice"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    client_as: Client, small: Snapshot, form_data: dict[str, str], form: str, field: str, message: str
) -> None:
    answer = client_as("editor").post(DOOR, form_data)
    assert 400 <= answer.status_code < 500
    assert message in str(answer.context["forms"][form].errors[field])
    assert not TriedChange.objects.exists()


def test_a_document_with_errors_stays_in_the_editor_with_each_at_its_line(client_as: Client, small: Snapshot) -> None:
    wrong = f"# mine\n{PACKED}parallelism: -1\n"
    answer = client_as("editor").post(DOOR, {"do": "document", "document": wrong})
    assert answer.status_code == 422
    assert answer.context["editor"].document == wrong
    assert elements(answer, "textarea#document")[0].text == " ".join(wrong.split())
    (problem,) = answer.context["editor"].problems
    assert problem.line == wrong.count("\n")
    assert elements(answer, "details#write[open]")
    assert not TriedChange.objects.exists()


def test_buttons_of_the_editor_redraw_it_and_try_nothing(client_as: Client, small: Snapshot) -> None:
    form_data = {"document": PACKED, "add_profile": "1"}
    answer = client_as("editor").post(DOOR, form_data)
    assert answer.status_code == 200
    assert "scheduler-2" in elements(answer, "textarea#document")[0].text
    assert not TriedChange.objects.exists()


def test_an_unsaved_document_of_the_policy_page_is_tried_as_it_is_there(client_as: Client, small: Snapshot) -> None:
    client = client_as("editor")
    page = client.get("/policies/default/?cluster=small")
    (button,) = elements(page, "#policy-form button[formaction]")
    submit(client, {"document": PACKED, button["name"]: button["value"]}, button["formaction"])
    assert TriedChange.objects.get().document == PACKED
    assert policy_get("default").newest == 1


def test_the_door_is_on_the_overview_on_policies_on_decisions_and_in_the_palette(
    client_as: Client, small: Snapshot, packed_policy: str
) -> None:
    client, viewer = client_as("editor"), client_as("viewer")
    decision = "/decision/small/default/web-1/?policy=packed&revision=1"
    for page in ("/?cluster=small", "/policies/packed/?cluster=small", decision, "/search/?q=policy+change"):
        (link,) = [element for element in elements(client.get(page), "main a") if "Try a policy change" in element.text]
        assert client.get(link["href"]).status_code == 200
        assert not [
            element for element in elements(viewer.get(page), "main a") if "Try a policy change" in element.text
        ]
    try_request = client.get(link_on(client, decision)).context["target"]
    assert (try_request.base.policy.name, try_request.base.number, try_request.snapshot) == ("packed", 1, small)
    assert try_request.pod == "default/web-1"


def link_on(client: Any, page: str) -> str:
    (link,) = [element for element in elements(client.get(page), "main a") if "Try a policy change" in element.text]
    return str(link["href"])


def test_the_pod_of_a_decision_is_told_of(client_as: Client, small: Snapshot) -> None:
    client = client_as("editor")
    page = client.get(submit_packing(client, f"{DOOR}&pod=default/web-1"))
    (pod_paragraph,) = elements(page, "p[data-pod]")
    pod_answer = page.context["answer"]["pod"]
    assert pod_answer["current"] != pod_answer["changed"]
    assert all(
        phrase in pod_paragraph.text for phrase in ("default/web-1", pod_answer["current"], pod_answer["changed"])
    )


def test_a_viewer_may_look_and_try_nothing(client_as: Client, small: Snapshot) -> None:
    place = submit_packing(client_as("editor"))
    viewer = client_as("viewer")
    assert not elements(viewer.get(DOOR), "main form[method=post]")
    assert not elements(viewer.get(place), "main form[method=post]")
    assert viewer.post(DOOR, {"change": f"{WEIGHT}=3"}).status_code == 403
    assert viewer.post(place, {"do": "save", "kind": "revision"}).status_code == 403


def test_a_long_answer_shows_how_far_it_is(client_as: Client, small: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    client = client_as("editor")
    place = submit_packing(client)
    assert elements(client.get(place), "#waits[hx-get]")
    assert len(elements(client.get(place), ".steps li")) == 7
    assert client.get(place, headers={"hx-request": "true"}).templates[0].name == "parts/job_wait.html"
    tasks.answer(str(Job.objects.get().pk))
    answer = client.get(place, headers={"hx-request": "true"})
    assert answer["HX-Refresh"] == "true"
    assert elements(client.get(place), "#anew")


def test_a_cancelled_answer_leads_back_to_the_door(
    client_as: Client, small: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    client = client_as("editor")
    place = submit_packing(client)
    client.post(f"/jobs/{Job.objects.get().pk}/cancel/")
    (retry_link,) = elements(client.get(place), "#waits a")
    assert retry_link["href"].startswith("/trying/?cluster=small&policy=default")


def test_a_change_is_saved_judged_and_compared_from_its_page(client_as: Client, small: Snapshot) -> None:
    client = client_as("editor")
    place = submit_packing(client)
    draft = client.post(place, {"do": "save", "kind": "draft", "name": "mine", "comment": ""})
    assert draft["Location"] == "/policies/mine/weights/"
    save_response = client.post(place, {"do": "save", "kind": "revision", "name": "default-draft", "comment": "why"})
    assert save_response["Location"] == "/policies/default/weights/"
    assert revision_get(policy_get("default")).comment == "why"
    gate_response = client.post(place, {"do": "judge", "newly": "0", "moved": "50%", "skew": ""})
    gate = Gate.objects.get()
    assert gate_response["Location"] == f"/gate/{gate.pk}/"
    assert gate.thresholds["maxMoved"] == "50%"
    comparison_response = client.post(place, {"do": "compare", "scenario": ""})
    assert comparison_response["Location"] == f"/comparisons/{Comparison.objects.get().pk}/"


@pytest.mark.parametrize(
    ("form_data", "form", "field", "message"),
    [
        ({"do": "save", "kind": "draft", "name": "", "comment": ""}, "save", "name", "A draft needs a name"),
        ({"do": "save", "kind": "draft", "name": "default", "comment": ""}, "save", "name", "already"),
        ({"do": "save", "kind": "draft", "name": "No Name", "comment": ""}, "save", "name", "Lower-case"),
        ({"do": "judge", "moved": "many"}, "judge", "moved", "must be"),
        ({"do": "compare", "scenario": "nothing"}, "compare", "scenario", "valid choice"),
    ],
)
def test_what_is_wrong_afterwards_is_said_beside_its_field_too(
    client_as: Client, small: Snapshot, form_data: dict[str, str], form: str, field: str, message: str
) -> None:
    client = client_as("editor")
    answer = client.post(submit_packing(client), form_data)
    assert 400 <= answer.status_code < 500
    assert message in str(answer.context["next"][form].errors[field])


def test_a_scenario_is_chosen_in_place_of_the_cluster(client_as: Client, editor: User, small: Snapshot) -> None:
    scenario = seed_runs.scenario(editor)
    client = client_as("editor")
    door = f"{DOOR}&scenario={scenario.scenario_id}"
    assert client.get(door).context["place_form"]["scenario"].value() == str(scenario.scenario_id)
    page = client.get(submit_packing(client, door))
    assert page.context["tried_change"].revision == scenario
    assert not elements(page, "#pending")


def test_a_classic_policy_has_its_own_form_and_releases(client_as: Client, admin: User, small: Snapshot) -> None:
    seed_moves.classic(admin)
    client = client_as("editor")
    door = "/trying/?cluster=small&policy=filling"
    page = client.get(door)
    assert page.context["fields_template"] == "policies/classic/_fields.html"
    place = submit(client, {"do": "weights", "release": "1.9"}, door)
    assert client.get(place).context["tried_change"].started["version"] == "1.9"
    assert client.post("/trying/preview/filling/", {"document": seed_moves.FILLING}).status_code == 200


def test_the_preview_draws_the_form_of_what_was_typed(client_as: Client, small: Snapshot) -> None:
    answer = client_as("editor").post("/trying/preview/default/", {"document": PACKED})
    assert answer.context["editor"].document == PACKED
    assert client_as("viewer").post("/trying/preview/default/", {"document": PACKED}).status_code == 403


def test_sliders_are_answered_about_all_pods_and_nothing_is_stored(client_as: Client, small: Snapshot) -> None:
    viewer, address = client_as("viewer"), f"/trying/effect/{DOOR.removeprefix('/trying/')}"
    still = viewer.post(address, {})
    assert still.context["answer"]["anew"]["moved"] == 0
    packed = viewer.post(address, {"strategy": "MostAllocated"})
    assert packed.context["answer"]["anew"]["moved"] == len(elements(packed, "tr[data-pod]")) == 4
    picture = packed.context["picture"]
    before, after = (unpack_column(side.inline["frames"]["cpu"]).tolist() for side in picture.map.sides)
    assert len(before) == 4
    differing = sum(percent != changed for percent, changed in zip(before, after, strict=True))
    assert differing == picture.changed_count > 0
    assert elements(packed, "[data-nodemap][data-changes]")
    nodes = next(tile for tile in picture.tiles if tile.label == "nodes in use")
    assert (nodes.before, nodes.after, nodes.arrow, nodes.tone) == ("4", "1", "down", "better")
    assert not TriedChange.objects.exists()


def test_what_is_too_much_for_a_slider_is_left_to_a_job(
    client_as: Client, small: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    page = client_as("editor").post(f"/trying/effect/{DOOR.removeprefix('/trying/')}", {FIT: "9"})
    assert page.context["reason"] == "large"
    assert elements(page, "button[name=do][value=weights]")


def test_weights_are_the_first_page_of_a_policy(client_as: Client, small: Snapshot) -> None:
    page = client_as("editor").get("/policies/default/weights/?cluster=small")
    assert elements(page, "nav.tabs a[aria-current=page]")[0].text == "Weights"
    sliders = page.context["forms"]["weights"].sliders
    assert {slider.label for slider in sliders} >= {"NodeResourcesFit", "TaintToleration"}
    assert sliders[int(FIT[1:])].label == "NodeResourcesFit"
    assert all(slider.phrase for slider in sliders)
