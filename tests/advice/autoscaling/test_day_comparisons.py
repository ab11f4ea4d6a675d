"""Other NodePools over a day, before and after a change: the page, what is typed in it, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.autoscaling import day_comparisons
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.scenarios.models import Scenario, ScenarioRevision
from kschedweb.playground.scenarios.ready import all_ready
from kschedweb.playground.scenarios.services import scenario_create
from tests.support import seed_recordings, seed_runs
from tests.support.html import elements
from tests.support.seed_karpenter import DOCUMENT, karpenter

pytestmark = pytest.mark.django_db
BURST = next(scenario.text for scenario in all_ready() if scenario.key == "burst-karpenter")
ROOMY = DOCUMENT.replace("cpu: 100 ", "cpu: 1000 ")
ADDRESS = "/autoscaling/change/?nodepools=nodepools@1"


@pytest.fixture
def burst(editor: User) -> Scenario:
    karpenter(editor)
    return scenario_create(text=BURST, author=editor)


def comparison_form(day: str, document: str, **fields: str) -> dict[str, str]:
    return {"do": "compare", "day": day, "scheduler": "default@1", "pool": "", "document": document, **fields}


def test_a_change_in_the_form_is_compared_over_a_scenario(
    burst: Scenario, client_as: Callable[..., Any], editor: User
) -> None:
    client = client_as("editor")
    page = client.get(ADDRESS)
    assert page.status_code == 200
    assert f"scenario:{burst.pk}" in [element["value"] for element in elements(page, "#id_day option")]
    # What the form says is written into the YAML, as in the editor of the policy.
    fields = {"base": ROOMY, "pool.0.spec.disruption.consolidationPolicy": "WhenEmpty"}
    answer = client.post(ADDRESS, comparison_form(f"scenario:{burst.pk}", ROOMY, **fields))
    comparison = Comparison.objects.get()
    assert answer["Location"] == f"/comparisons/{comparison.pk}/"
    before, after = comparison.runs.order_by("position")
    assert (before.label, after.label) == ("default@1+nodepools@1", "default@1+nodepools@1 changed")
    assert before.autoscaler == DOCUMENT
    assert "consolidationPolicy: WhenEmpty\n" in after.autoscaler
    seed_runs.work_off()
    comparison_page = client.get(answer["Location"])
    rows = [element["data-scaled"] for element in elements(comparison_page, "[data-scaled]")]
    assert rows == ["nodes", "cost", "evictions", "launched", "removed"]
    nodes, cost, *_ = comparison_page.context["scaled"]
    for run, mean, money in zip((before, after), nodes.values, cost.values, strict=True):
        run.refresh_from_db()
        assert run.virtual_seconds
        measured_values = {measure["name"]: measure["value"] for measure in run.summary}
        assert mean == pytest.approx(measured_values["node_hours"] / (run.virtual_seconds / 3600))
        assert money == pytest.approx(measured_values["node_cost"] / (run.virtual_seconds / 3600))


def test_a_comparison_with_what_is_not_saved_is_run_again(
    burst: Scenario, client_as: Callable[..., Any], api_as: Callable[..., Any], editor: User
) -> None:
    client = client_as("editor")
    client.post(ADDRESS, comparison_form(f"scenario:{burst.pk}", ROOMY))
    seed_runs.work_off()
    first = Comparison.objects.get()
    page = client.get(f"/comparisons/{first.pk}/")
    (address,) = {element["action"] for element in elements(page, "form.sentence")}
    labels = ["default@1+nodepools@1", "default@1+nodepools@1 changed"]
    comparison_form_sent = {
        "scenario": str(first.revision_id),
        "reference": labels[0],
        "policies": labels[1:],
        "seeds": "1",
    }
    answer = client.post(address, comparison_form_sent)
    assert answer.status_code == 302, elements(answer, ".field-error")
    second = Comparison.objects.exclude(pk=first.pk).get()
    runs_of_both = [
        list(comparison.runs.order_by("position").values_list("label", "autoscaler")) for comparison in (first, second)
    ]
    assert runs_of_both[0] == runs_of_both[1] == [(labels[0], DOCUMENT), (labels[1], ROOMY)]
    # Without the comparison nobody knows what was changed: nothing else is played in its stead.
    rejection = client.post("/comparisons/new/", comparison_form_sent)
    assert (rejection.status_code, list(rejection.context["form"].errors)) == (400, ["policies"])

    changed_run = first.runs.get(position=1)
    Run.objects.filter(pk=changed_run.pk).update(ended_at=None)  # as a run that did not finish, which has the link
    (link,) = [
        element["href"]
        for element in elements(client.get(f"/runs/{changed_run.pk}/"), "a")
        if "like=" in element["href"]
    ]
    form = client.get(link).context["form"]
    run = {"scenario": str(first.revision_id), "policy": form.initial["policy"], "seed": "1"}
    assert client.post(link, run).status_code == 302
    assert Run.objects.get(comparison=None).autoscaler == ROOMY

    body = {"scenario": str(burst.pk), "policies": labels, "like": str(first.pk)}
    assert api_as("editor").post("/api/v1/comparisons/start/", body, format="json").status_code == 202
    alone = {"scenario": str(burst.pk), "policy": labels[1], "like": str(changed_run.pk)}
    assert api_as("editor").post("/api/v1/runs/start/", alone, format="json").status_code == 202
    for like in (str(burst.pk), "none"):
        assert client.get(f"/runs/new/?like={like}").status_code == (404 if like == "none" else 200)
        assert api_as("editor").post("/api/v1/runs/start/", alone | {"like": like}, format="json").status_code == 400


def test_a_recording_is_played_with_its_nodes_as_of_a_nodepool(client_as: Callable[..., Any], editor: User) -> None:
    karpenter(editor)
    recording = seed_recordings.recording(editor)
    day, changed_document = f"recording:{recording.pk}", ROOMY.replace("20%", "100%")
    answer = client_as("editor").post(ADDRESS, comparison_form(day, changed_document, pool="general"))
    assert answer.status_code == 302
    revision = ScenarioRevision.objects.get()
    assert "adopt: general" in revision.text
    seed_runs.work_off()
    page = client_as("editor").get(answer["Location"])
    removed_counts = {scaled.name: scaled.values for scaled in page.context["scaled"]}["removed"]
    assert removed_counts[0] > 0, "a recorded node is of the NodePool, and goes"


@pytest.mark.parametrize(
    ("fields", "status", "error_place"),
    [
        ({"document": ROOMY.replace("cpu: 1000", "cpu: many")}, 422, "refused"),
        ({"document": ROOMY.replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n")}, 422, "refused"),
        ({"document": "a: ["}, 422, "refused"),
        ({"document": DOCUMENT}, 422, "refused"),
        (
            {"document": "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"},
            422,
            "refused",
        ),
        ({"day": "scenario:none"}, 400, "day"),
        ({"scheduler": "gone@1"}, 400, "scheduler"),
        ({"pool": "gone", "recorded": "yes"}, 400, "pool"),
    ],
)
def test_what_was_typed_is_kept_and_the_problem_is_at_its_place(
    burst: Scenario, client_as: Callable[..., Any], editor: User, fields: dict[str, str], status: int, error_place: str
) -> None:
    day = f"scenario:{burst.pk}"
    if fields.get("recorded"):
        day = f"recording:{seed_recordings.recording(editor).pk}"
    form = {**comparison_form(day, ROOMY), **fields}
    answer = client_as("editor").post(ADDRESS, form)
    assert answer.status_code == status
    assert elements(answer, "#document")[0].text.split() == form["document"].split()
    assert answer.context["form"].data["day"] == form["day"]
    if error_place == "refused":
        assert answer.context["refused"].errors
    else:
        assert error_place in answer.context["form"].errors
    assert not Comparison.objects.exists()


def test_what_the_editor_of_a_policy_posts_is_taken_over(client_as: Callable[..., Any], editor: User) -> None:
    karpenter(editor)
    page = client_as("editor").post(ADDRESS, {"do": "show", "document": ROOMY})
    assert page.status_code == 200
    assert page.context["editor"].document == ROOMY
    assert [change.after for change in page.context["changes"]] == ["1000"]
    assert page.context["form"].initial["pool"] == "general"


def test_the_ready_nodepool_is_changed_without_a_policy(burst: Scenario, client_as: Callable[..., Any]) -> None:
    changed_document = day_comparisons.document_of(None).replace(
        "spec: {}", "spec: {disruption: {consolidateAfter: Never}}"
    )
    answer = client_as("editor").post("/autoscaling/change/", comparison_form(f"scenario:{burst.pk}", changed_document))
    assert answer.status_code == 302
    assert [run.label for run in Comparison.objects.get().runs.order_by("position")] == [
        "default@1+ready",
        "default@1+ready changed",
    ]


def test_a_viewer_looks_and_an_editor_compares(burst: Scenario, client_as: Callable[..., Any]) -> None:
    assert client_as("viewer").get(ADDRESS).status_code == 200
    assert client_as("viewer").post(ADDRESS, comparison_form(f"scenario:{burst.pk}", ROOMY)).status_code == 403


def test_the_same_over_rest(burst: Scenario, api_as: Callable[..., Any]) -> None:
    body = {"policy": "nodepools@1", "document": ROOMY, "scenario": str(burst.pk)}
    response = api_as("editor").post("/api/v1/autoscaling/change/", body, format="json")
    assert response.status_code == 202
    assert response.json()["id"] == str(Comparison.objects.get().pk)


@pytest.mark.parametrize(
    ("fields", "status", "path"),
    [
        ({"document": ROOMY.replace("cpu: 1000", "cpu: many")}, 422, "nodePools[0].spec.limits.cpu"),
        ({"document": DOCUMENT}, 422, "document"),
        ({"scenario": "0199f1a2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"}, 400, "scenario"),
        ({"scheduler": "gone"}, 400, "scheduler"),
        ({"policy": "gone"}, 400, "policy"),
        ({"recording": "0199f1a2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"}, 400, "scenario"),
    ],
)
def test_rest_says_where_a_problem_is(
    burst: Scenario, api_as: Callable[..., Any], fields: dict[str, str], status: int, path: str
) -> None:
    body = {"policy": "nodepools@1", "document": ROOMY, "scenario": str(burst.pk), **fields}
    answer = api_as("editor").post("/api/v1/autoscaling/change/", body, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (status, path)
