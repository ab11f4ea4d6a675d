"""Comparisons, runs, sweeps and the gate vary a scenario's quota queues, and measure how long jobs wait."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.playground.sweeps.models import Sweep
from tests.engine.studies.actors.test_queues import make_document
from tests.support import seed_runs, seed_sweeps
from tests.support.html import elements, text

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]
NOMINAL = "a/f/cpu/nominal"


@pytest.fixture
def queued(editor: User) -> ScenarioRevision:
    """A borrower whose quota is reclaimed; with a nominal quota of 6 it borrows nothing."""
    return selectors.revision_get(scenario_create(text=as_yaml(make_document()), author=editor))


def test_a_line_of_settings_is_a_side_of_a_comparison(
    editor: User, queued: ScenarioRevision, client_as: Clients, api_as: Clients
) -> None:
    client = client_as("editor")
    form = {"scenario": str(queued.pk), "reference": "default@1", "seeds": "1"}
    lines = f"{NOMINAL}=6\nfairSharing=true, b/cohort="
    assert client.post("/comparisons/new/", {**form, "quotas": lines}).status_code == 302
    seed_runs.work_off()
    comparison = Comparison.objects.get()
    labels = ["default@1", f"default@1+{NOMINAL}=6", "default@1+fairSharing=true, b/cohort="]
    assert [run.label for run in comparison.runs.order_by("position")] == labels
    page = client.get(f"/comparisons/{comparison.pk}/")
    rows = {line.measure.name: line for line in page.context["lines"]}
    assert [list(values.values()) for values in rows["jobs_evicted"].values] == [[1.0], [0.0], [0.0]]
    # Who gets its quota back at once, and who has to wait for the end of a job that does not borrow.
    waits = [next(iter(values.values())) for values in rows["queue_wait_p99_b"].values]
    assert waits[0] == 30.0
    assert rows["queue_wait_p99_b"].differs
    assert all(label in text(page) for label in labels)
    measures = api_as("editor").get(f"/api/v1/comparisons/{comparison.pk}/").json()["measures"]
    assert {measure["name"] for measure in measures} >= {"queue_wait_p99_a", "queue_wait_p99_priority_0"}
    run = comparison.runs.get(position=1)
    nominal = {quota["queue"]: quota["nominal"] for quota in _quotas(api_as("editor"), run)}
    assert nominal["a"] == 6000


def _quotas(api: Any, run: Run) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = api.get(f"/api/v1/runs/{run.pk}/queues/").json()["quotas"]
    return answer


def test_rest_compares_settings_by_their_labels_and_starts_one_again(
    editor: User, queued: ScenarioRevision, api_as: Clients, client_as: Clients
) -> None:
    api = api_as("editor")
    body = {"scenario": str(queued.scenario_id), "policies": ["default", f"default+{NOMINAL}=6"], "seeds": [1]}
    answer = api.post("/api/v1/comparisons/start/", body, format="json")
    assert answer.status_code == 202, answer.json()
    label = f"default@1+{NOMINAL}=6"
    like = {"scenario": str(queued.scenario_id), "policy": label, "like": answer.json()["id"]}
    assert api.post("/api/v1/runs/start/", like, format="json").status_code == 202
    run = Run.objects.latest("created_at")
    assert (run.label, run.queues) == (label, {NOMINAL: "6"})
    form = client_as("editor").get("/runs/new/", {"scenario": str(queued.scenario_id), "policy": label}).context["form"]
    assert (form.initial["policy"], form.initial["quotas"]) == ("default@1", f"{NOMINAL}=6")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("c/f/cpu/nominal=6", "The scenario has no c/f/cpu/nominal; it has the queues a, b."),
        ("a/f/cpu=6", "a/f/cpu must be fairSharing, QUEUE/FIELD"),
        ("a/queueingStrategy=Any", "must be BestEffortFIFO or StrictFIFO"),
    ],
)
def test_settings_that_the_scenario_does_not_have_are_refused(
    queued: ScenarioRevision, api_as: Clients, settings: str, message: str
) -> None:
    body = {"scenario": str(queued.scenario_id), "policies": ["default", f"default+{settings}"]}
    answer = api_as("editor").post("/api/v1/comparisons/start/", body, format="json")
    assert answer.status_code == 400
    assert message in json.dumps(answer.json())
    assert not Run.objects.exists()


def test_a_scenario_without_queues_has_no_settings(editor: User, api_as: Clients) -> None:
    body = {"scenario": str(seed_runs.scenario(editor).scenario_id), "policy": f"default+{NOMINAL}=6"}
    answer = api_as("editor").post("/api/v1/runs/start/", body, format="json")
    assert "The scenario has no quota queues" in json.dumps(answer.json())


def test_a_sweep_varies_quotas_and_rules(
    editor: User, queued: ScenarioRevision, api_as: Clients, client_as: Clients
) -> None:
    space = [
        {"path": NOMINAL, "from": 4, "to": 8, "step": 2},
        {"path": "b/reclaimWithinCohort", "values": ["Never", "Any"]},
    ]
    body = {
        "scenario": str(queued.scenario_id), "policy": "default", "space": space, "method": "grid",
        "objectives": [{"measure": "queue_wait_p99_b"}, {"measure": "jobs_evicted"}],
    }  # fmt: skip
    answer = api_as("editor").post("/api/v1/sweeps/start/", body, format="json")
    assert answer.status_code == 202, answer.json()
    seed_sweeps.work_off()
    trials = api_as("editor").get(f"{answer['Location']}trials/").json()["results"]
    results = {
        tuple(row["point"]): (row["values"]["queue_wait_p99_b"][0], row["values"]["jobs_evicted"][0]) for row in trials
    }
    assert results[4, "Any"] == (30.0, 1.0)
    assert results[4, "Never"] == (pytest.approx(300.0, abs=1.0), 0.0)
    assert results[6, "Any"][1] == results[8, "Never"][1] == 0.0
    page = client_as("editor").get(f"/sweeps/{Sweep.objects.get().pk}/")
    assert "a f cpu nominal" in text(page)
    refused = api_as("editor").post(f"{answer['Location']}save/", {"trial": 1, "name": "quotas"}, format="json")
    assert "no part of a policy" in json.dumps(refused.json())


def test_the_form_of_a_sweep_offers_the_scenario_s_quotas(
    editor: User, queued: ScenarioRevision, client_as: Clients
) -> None:
    client = client_as("editor")
    page = client.get("/sweeps/new/", {"scenario": str(queued.scenario_id), "policy": "default"})
    [row] = [row for row in page.context["quotas"] if row.offer.path == NOMINAL]
    assert (row.offer.now, row.low, row.high, row.step) == ("4", "0", "8", "1")
    assert f"q-{NOMINAL}-use" in {item["name"] for item in elements(page, "input[name]")}
    names = [choice.objective.name for choice in page.context["choices"]]
    assert {"queue_wait_p99", "queue_wait_p99_a"} <= set(names)
    posted = {
        "scenario": str(queued.pk), "policy": "default@1", "method": "grid", "seeds": "1", "seed": "1",
        f"q-{NOMINAL}-use": "on", f"q-{NOMINAL}-low": "4", f"q-{NOMINAL}-high": "6", f"q-{NOMINAL}-step": "2",
        "objective-queue_wait_p99": "on", "direction-queue_wait_p99": "lower",
    }  # fmt: skip
    answer = client.post("/sweeps/new/", posted)
    assert answer.status_code == 302, [row.errors for row in answer.context["quotas"]]
    assert Sweep.objects.get().space == [{"path": NOMINAL, "from": 4, "to": 6, "step": 2}]


def test_the_gate_holds_a_policy_to_times_in_queue(queued: ScenarioRevision, api_as: Clients) -> None:
    measures = {"queue_wait_p99_b": {"max": 60, "maxChange": 0}, "jobs_evicted": {"max": 0}}
    scenario = {"id": str(queued.scenario_id)}
    body = {"policy": {"name": "default"}, "scenario": scenario, "thresholds": {"measures": measures}}
    answer = api_as("editor").post("/api/v1/gate/", body, format="json").json()
    checks = {check["name"]: check for check in answer["checks"]}
    assert answer["verdict"] == "fail"
    kept = {name: check["passed"] for name, check in checks.items() if "queue_wait" in name or "evicted" in name}
    assert list(kept.values()).count(False) == 1, checks
