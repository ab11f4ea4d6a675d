"""Runs with an autoscaler of nodes: what it did, what it cost, and other NodePools on the same scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.studies.measure.costs import compute_costs
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.playground.scenarios.ready import all_ready
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.policies.services import policy_create
from tests.support import seed_runs
from tests.support.html import elements
from tests.support.seed_karpenter import DOCUMENT

pytestmark = pytest.mark.django_db
TEXT = next(scenario.text for scenario in all_ready() if scenario.key == "burst-karpenter")


@pytest.fixture
def burst(editor: User) -> ScenarioRevision:
    """The burst of the ready scenario; in policies the NodePool has another name than in the scenario."""
    return selectors.revision_get(scenario_create(text=TEXT, author=editor))


@pytest.fixture
def pools(editor: User) -> list[str]:
    roomy = DOCUMENT.replace("cpu: 100 ", "cpu: 1000 ")
    eager = policy_create(name="eager", document=roomy, author=editor)
    calm = policy_create(name="calm", document=roomy.replace("WhenEmptyOrUnderutilized", "WhenEmpty"), author=editor)
    return [f"default@1+{policy.name}@1" for policy in (eager, calm)]


def measure_values(run: Run) -> dict[str, Any]:
    return {measure["name"]: measure["value"] for measure in run.summary}


def test_the_run_lists_what_the_autoscaler_did_on_its_page_and_over_rest(
    editor: User, burst: ScenarioRevision, client_as: Callable[..., Any], api_as: Callable[..., Any]
) -> None:
    run = services.run_start(user=editor, revision=burst, policy="default")
    seed_runs.work_off()
    records = selectors.load_outcome(run_again(run)).autoscaler_actions
    assert {action for _, action, *_ in records} == {"launched", "removed"}
    page = client_as("editor").get(f"/runs/{run.pk}/")
    assert [element["data-deed"] for element in elements(page, "[data-deed]")] == [action for _, action, *_ in records]
    actions = [action for _, action, *_ in records]
    launches, removals = actions.count("launched"), actions.count("removed")
    assert page.context["sections"][0]["sentences"] == [f"Nodes that came: {launches}; that went: {removals}."]
    rows = api_as("editor").get(f"/api/v1/runs/{run.pk}/deeds/").json()["results"]
    assert [(row["what"], row["node"]) for row in rows] == [(action, node) for _, action, node, _ in records]
    values = measure_values(run_again(run))
    assert values["node_cost"] > 0
    assert values["evictions_rate"] == pytest.approx(values["evictions"] / 2)
    file = client_as("editor").get(f"/runs/{run.pk}/", {"format": "csv", "of": "deeds"})
    assert b"launched" in b"".join(file)


def test_where_there_are_prices_the_page_says_what_an_hour_costs_then(
    editor: User, client_as: Callable[..., Any]
) -> None:
    prices = """
prices:
  currency: EUR
  prices: [{labels: {karpenter.sh/nodepool: general}, price: 2}]
"""
    priced_revision = selectors.revision_get(scenario_create(text=TEXT + prices, author=editor))
    run = services.run_start(user=editor, revision=priced_revision, policy="default")
    seed_runs.work_off()
    [sentence] = client_as("editor").get(f"/runs/{run.pk}/").context["sections"][0]["sentences"]
    costs = compute_costs(selectors.load_outcome(run_again(run)))
    assert costs.hour is not None
    assert costs.first_hour is not None
    assert f"all nodes cost {costs.hour:.2f} EUR an hour" in sentence
    assert f"{abs(costs.hour - costs.first_hour):.2f} " in sentence


def run_again(run: Run) -> Run:
    return Run.objects.select_related("revision__scenario", "policy__policy", "job").get(pk=run.pk)


def test_two_nodepools_are_compared_on_one_scenario(
    editor: User, burst: ScenarioRevision, pools: list[str], client_as: Callable[..., Any]
) -> None:
    comparison = services.comparison_start(user=editor, revision=burst, policies=pools, seeds=[1])
    seed_runs.work_off()
    eager, calm = Comparison.objects.get(pk=comparison.pk).runs.order_by("position")
    assert [eager.label, calm.label] == pools
    assert measure_values(eager)["node_cost"] < measure_values(calm)["node_cost"]
    assert measure_values(eager)["evictions"] > measure_values(calm)["evictions"] == 0
    assert {node.partition("-")[0] for _, _, node, _ in selectors.load_outcome(eager).autoscaler_actions} == {"general"}
    page = client_as("editor").get(f"/comparisons/{comparison.pk}/")
    assert page.status_code == 200
    assert "node_cost" in [line.measure.name for line in page.context["lines"]]
    assert calm.difference.counts


def test_the_form_runs_each_policy_with_each_of_the_nodepools(
    editor: User, burst: ScenarioRevision, pools: list[str], client_as: Callable[..., Any]
) -> None:
    client = client_as("editor")
    form = {"scenario": str(burst.pk), "reference": "default@1", "seeds": "1"}
    too_few = client.post("/comparisons/new/", {**form, "nodepools": ["calm@1"]})
    assert (too_few.status_code, list(too_few.context["form"].errors)) == (400, ["policies"])
    response = client.post("/comparisons/new/", {**form, "nodepools": ["eager@1", "calm@1"]})
    assert response.status_code == 302
    comparison = Comparison.objects.latest("created_at")
    assert [run.label for run in comparison.runs.order_by("position")] == pools
    second_response = client.post("/comparisons/new/", {**form, "reference": pools[1], "policies": [pools[0]]})
    assert second_response.status_code == 302
    run_response = client.post(
        "/runs/new/", {"scenario": str(burst.pk), "policy": "default@1", "nodepools": "calm@1", "seed": 1}
    )
    assert Run.objects.latest("created_at").label == "default@1+calm@1"
    assert run_response.status_code == 302


def test_a_scenario_without_an_autoscaler_gets_that_of_the_policy(editor: User, pools: list[str]) -> None:
    run = services.run_start(user=editor, revision=seed_runs.scenario(editor), policy=pools[0])
    seed_runs.work_off()
    assert selectors.load_outcome(run_again(run)).prices.size


@pytest.mark.parametrize(
    ("policy_name", "message"),
    [
        ("default+missing", "There is no policy missing"),
        ("default+default", "choose a policy with NodePools of Karpenter"),
        ("calm", "which places no pod by itself"),
    ],
)
def test_what_is_no_policy_with_nodepools_is_refused(
    policy_name: str, message: str, burst: ScenarioRevision, pools: list[str], api_as: Callable[..., Any]
) -> None:
    body = {"scenario": str(burst.scenario_id), "policy": policy_name}
    answer = api_as("editor").post("/api/v1/runs/start/", body, format="json")
    assert 400 <= answer.status_code < 500
    assert message in str(answer.json())


def test_a_decision_of_such_a_run_is_explained(editor: User, burst: ScenarioRevision, pools: list[str]) -> None:
    run = services.run_start(user=editor, revision=burst, policy=pools[1])
    seed_runs.work_off()
    finished_run = run_again(run)
    outcome = selectors.load_outcome(finished_run)
    row = int(outcome.attempts.argmax())
    _, try_explained = selectors.replay_decision(
        finished_run, outcome.pods[row], int(outcome.attempts[row]), lambda *_: None
    )
    assert try_explained.pod.key == outcome.pods[row]
    assert try_explained.explanation.node == outcome.nodes[int(outcome.node[row])]
