"""Runs with a descheduler: what it did, who undoes it, and the same scenario with, without and with another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import ApplicationError
from tests.support import seed_runs
from tests.support.html import elements
from tests.support.seed_descheduled import FIGHTING, PACK, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def fighting(editor: User) -> ScenarioRevision:
    """A scenario whose descheduler packs while the default policy spreads."""
    return selectors.revision_get(scenario_create(text=as_yaml(FIGHTING), author=editor))


@pytest.fixture
def quiet(editor: User) -> ScenarioRevision:
    """The same one without a descheduler."""
    return selectors.revision_get(scenario_create(text=as_yaml(scenario("quiet")), author=editor))


@pytest.fixture
def pack(editor: User) -> str:
    policy_create(name="pack", document=PACK, author=editor)
    return "pack@1"


def reload_run(run: Run) -> Run:
    return Run.objects.select_related("revision__scenario", "policy__policy", "job").get(pk=run.pk)


def measure_values(run: Run) -> dict[str, Any]:
    return {measure["name"]: measure["value"] for measure in run.summary}


def test_the_page_and_rest_tell_who_was_evicted_by_whom_in_which_round(
    editor: User, fighting: ScenarioRevision, client_as: Callable[..., Any], api_as: Callable[..., Any]
) -> None:
    run = services.run_start(user=editor, revision=fighting, policy="default")
    seed_runs.work_off()
    page = client_as("editor").get(f"/runs/{run.pk}/")
    count = measure_values(reload_run(run))["evictions_descheduler"]
    [section] = page.context["sections"]
    assert count == section["total"] > 2
    assert len(elements(page, "[data-evicted]")) == len(section["rows"])
    [fight] = elements(page, "[data-fight]")
    assert fight["data-fight"] == "HighNodeUtilization"
    assert section["fights"][0].scorer == "PodTopologySpread"
    rows = api_as("editor").get(f"/api/v1/runs/{run.pk}/evictions/").json()["results"]
    assert (rows[0]["round"], rows[0]["plugin"], rows[0]["time"]) == (1, "HighNodeUtilization", 300.0)
    assert {row["fate"] for row in rows if row["round"] < 6} <= {"lands", "returns"}
    rest_answer = api_as("editor").get(f"/api/v1/runs/{run.pk}/descheduler/").json()
    assert (len(rest_answer["rounds"]), rest_answer["fights"][0]["plugin"]) == (6, "HighNodeUtilization")
    for list_name, word in (("evictions", b"HighNodeUtilization"), ("rounds", b"refused")):
        assert word in b"".join(client_as("editor").get(f"/runs/{run.pk}/", {"format": "csv", "of": list_name}))


def test_a_run_without_a_descheduler_has_no_section(
    editor: User, quiet: ScenarioRevision, client_as: Callable[..., Any], api_as: Callable[..., Any]
) -> None:
    run = services.run_start(user=editor, revision=quiet, policy="default")
    seed_runs.work_off()
    assert not elements(client_as("editor").get(f"/runs/{run.pk}/"), "#evictions")
    assert api_as("editor").get(f"/api/v1/runs/{run.pk}/descheduler/").json() == {"rounds": [], "fights": []}


def test_with_and_without_are_compared(
    editor: User, quiet: ScenarioRevision, pack: str, client_as: Callable[..., Any]
) -> None:
    comparison = services.comparison_start(
        user=editor, revision=quiet, policies=["default", f"default+{pack}"], seeds=[1]
    )
    seed_runs.work_off()
    plain_run, descheduled_run = Comparison.objects.get(pk=comparison.pk).runs.order_by("position")
    assert [plain_run.label, descheduled_run.label] == ["default@1", "default@1+pack@1"]
    page = client_as("editor").get(f"/comparisons/{comparison.pk}/")
    lines = {line.measure.name: line for line in page.context["lines"]}
    assert lines["evictions_descheduler"].values == [{1: 0.0}, {1: measure_values(descheduled_run)["evictions"]}]
    assert lines["evictions_descheduler"].differs
    assert [side.label for side, _ in page.context["fighting"]] == ["default@1+pack@1"]
    assert elements(page, "[data-fight]")


def test_a_run_takes_another_one_at_another_interval_or_none(
    editor: User, fighting: ScenarioRevision, pack: str
) -> None:
    policies = (f"default+{pack} every 10m", "default+no descheduler", "default")
    runs = [services.run_start(user=editor, revision=fighting, policy=policy) for policy in policies]
    seed_runs.work_off()
    slow, undisturbed, own_descheduler = (selectors.load_outcome(reload_run(run)) for run in runs)
    assert runs[0].label == "default@1+pack@1 every 10m"
    assert [time for time, *_ in slow.rounds] == [600.0, 1200.0, 1800.0]
    assert (len(undisturbed.rounds), len(own_descheduler.rounds)) == (0, 6)
    assert (reload_run(runs[0]).descheduler or {})["name"] == "pack@1"


def test_forms_take_deschedulers(
    editor: User, fighting: ScenarioRevision, pack: str, client_as: Callable[..., Any]
) -> None:
    client, comparison_form = (
        client_as("editor"),
        {"scenario": str(fighting.pk), "seeds": "1", "reference": "default@1"},
    )
    response = client.post(
        "/comparisons/new/", {**comparison_form, "deschedulers": [pack, "no descheduler"], "every": "7"}
    )
    assert response.status_code == 302
    labels = [run.label for run in Comparison.objects.latest("created_at").runs.order_by("position")]
    assert labels == ["default@1+pack@1 every 7m", "default@1+no descheduler"]
    too_few = client.post("/comparisons/new/", {**comparison_form, "deschedulers": [pack]})
    assert (too_few.status_code, list(too_few.context["form"].errors)) == (400, ["policies"])
    run_form = {"scenario": str(fighting.pk), "policy": "default@1", "seed": 1}
    assert client.post("/runs/new/", {**run_form, "descheduler": pack, "every": "9"}).status_code == 302
    label = Run.objects.latest("created_at").label
    assert label == "default@1+pack@1 every 9m"
    form = client.get("/runs/new/", {"scenario": str(fighting.scenario_id), "policy": label}).context["form"]
    assert {name: form.initial[name] for name in ("policy", "descheduler", "every")} == {
        "policy": "default@1",
        "descheduler": pack,
        "every": 9,
    }


@pytest.mark.parametrize(
    ("policy_name", "message"),
    [
        ("default+missing", "There is no policy missing"),
        ("default+default", "choose a policy with NodePools of Karpenter, or one that holds a DeschedulerPolicy"),
        ("default+pack every soon", "must be a duration"),
        ("default+pack every 1s", "must be at least"),
        ("pack", "which places no pod by itself"),
    ],
)
def test_what_cannot_be_run_is_refused(
    policy_name: str, message: str, fighting: ScenarioRevision, pack: str, api_as: Callable[..., Any]
) -> None:
    body = {"scenario": str(fighting.scenario_id), "policy": policy_name}
    answer = api_as("editor").post("/api/v1/runs/start/", body, format="json")
    assert 400 <= answer.status_code < 500
    assert message in str(answer.json())


def test_names_that_are_too_long_are_refused(editor: User, fighting: ScenarioRevision, pack: str) -> None:
    policy_create(name=(long := "p" * 63), document=PACK, author=editor)
    with pytest.raises(ApplicationError, match="more than 160 characters"):
        services.run_start(user=editor, revision=fighting, policy=f"default+{long}+{long}+{long}")


def test_a_class_that_the_cluster_does_not_have_fails_the_run_in_words(editor: User, quiet: ScenarioRevision) -> None:
    evictor = "\n  - name: DefaultEvictor\n    args: {priorityThreshold: {name: high}}"
    document = PACK.replace("pluginConfig:", f"pluginConfig:{evictor}")
    policy_create(name="classy", document=document, author=editor)
    run = services.run_start(user=editor, revision=quiet, policy="default+classy")
    seed_runs.work_off()
    job = reload_run(run).job
    assert job is not None
    assert "with classy@1: unable to get priority value" in job.error


def test_a_decision_of_such_a_run_is_explained(editor: User, fighting: ScenarioRevision) -> None:
    run = services.run_start(user=editor, revision=fighting, policy="default")
    seed_runs.work_off()
    finished_run = reload_run(run)
    outcome = selectors.load_outcome(finished_run)
    row = int(outcome.evictions.pod[-1])
    _, try_explained = selectors.replay_decision(
        finished_run, outcome.pods[row], int(outcome.attempts[row]), lambda *_: None
    )
    assert try_explained.explanation.node == outcome.nodes[int(outcome.node[row])]
