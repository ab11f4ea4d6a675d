"""REST: sweeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.playground.scenarios.selectors import revision_get
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.playground.sweeps.models import Sweep
from kschedweb.playground.sweeps.selectors import objective_choices
from kschedweb.policies.models import Policy
from tests.support import seed_runs, seed_sweeps

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]
START = "/api/v1/sweeps/start/"


def sweep_body(editor: User, **changes: Any) -> dict[str, Any]:
    scenario = str(seed_runs.scenario(editor, pods=10).scenario_id)
    fields = {"scenario": scenario, "policy": "default", "space": seed_sweeps.SPACE, "method": "grid"}
    return {**fields, "objectives": seed_sweeps.OBJECTIVES, **changes}


def test_a_program_starts_a_sweep_follows_it_and_keeps_the_best_trial(api_as: Clients, editor: User) -> None:
    client = api_as("editor")
    answer = client.post(START, sweep_body(editor), format="json")
    assert answer.status_code == 202, answer.json()
    address = answer["Location"]
    assert answer.json()["planned"] == 8
    assert answer.json()["objectives"][0] == {"measure": "nodes_empty", "direction": "higher"}
    seed_sweeps.work_off()
    sweep = client.get(address).json()
    assert (sweep["state"], sweep["done"]) == ("succeeded", 8)
    assert sweep["best"] in [entry["trial"] for entry in sweep["front"]]
    assert [entry["path"] for entry in sweep["sensitivity"]] == [seed_sweeps.FIT, seed_sweeps.STRATEGY]
    assert sweep["space"] == seed_sweeps.SPACE
    trials = client.get(f"{address}trials/?limit=3").json()
    assert [row["number"] for row in trials["results"]] == [0, 1, 2]
    assert trials["results"][0]["values"]["moved"] == [0.0]
    saved_policy = client.post(f"{address}save/", {"trial": sweep["best"], "name": "by-a-program"}, format="json")
    assert (saved_policy.status_code, saved_policy.json()) == (201, {"policy": "by-a-program", "revision": 1})
    assert Policy.objects.get(name="by-a-program").revisions.get().comment.endswith(f"/sweeps/{sweep['id']}/")


def test_cost_is_a_goal_where_the_scenario_has_prices(api_as: Clients, editor: User) -> None:
    prices = {"currency": "EUR", "prices": [{"labels": {"topology.kubernetes.io/zone": "zone-0"}, "price": 2}]}
    text = json.dumps({**seed_runs.document(pods=10), "name": "priced", "prices": prices})
    priced_revision = revision_get(scenario_create(text=text, author=editor))
    assert {"cost", "cost_used"} <= {choice.name for choice in objective_choices(priced_revision)}
    assert not [choice for choice in objective_choices(seed_runs.scenario(editor)) if choice.name.startswith("cost")]
    fields = sweep_body(editor, scenario=str(priced_revision.scenario_id), objectives=[{"measure": "cost_used"}])
    answer = api_as("editor").post(START, fields, format="json")
    assert answer.status_code == 202, answer.json()
    seed_sweeps.work_off()
    sweep = api_as("editor").get(answer["Location"]).json()
    assert (sweep["state"], sweep["objectives"][0]["direction"]) == ("succeeded", "lower")
    trials = api_as("editor").get(f"{answer['Location']}trials/").json()["results"]
    costs = {trial["number"]: trial["values"]["cost_used"][0] for trial in trials}
    assert costs[sweep["best"]] == min(costs.values()) < max(costs.values())


def test_a_sweep_is_shown_before_any_of_its_trials_is_done(api_as: Clients, client_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.started(editor)
    response = api_as("viewer").get(f"/api/v1/sweeps/{sweep.pk}/")
    assert response.status_code == 200
    assert (response.json()["done"], response.json()["best"], response.json()["front"]) == (0, None, [])
    assert {len(dimension["shares"]) for dimension in response.json()["sensitivity"]} == {len(seed_sweeps.OBJECTIVES)}
    assert {share for dimension in response.json()["sensitivity"] for share in dimension["shares"]} == {None}
    assert client_as("viewer").get(f"/sweeps/{sweep.pk}/").status_code == 200


def test_a_sweep_is_cancelled_and_resumed(api_as: Clients, editor: User) -> None:
    sweep = seed_sweeps.started(editor)
    client, address = api_as("editor"), f"/api/v1/sweeps/{sweep.pk}/"
    assert client.post(f"{address}resume/").status_code == 409
    assert client.post(f"{address}cancel/").json()["state"] == "cancelled"
    assert client.post(f"{address}cancel/").status_code == 409
    assert client.post(f"{address}resume/").json()["state"] == "queued"
    assert api_as("viewer").post(f"{address}cancel/").status_code == 403


@pytest.mark.parametrize(
    ("changes", "path", "expected_message"),
    [
        ({"space": [{"path": seed_sweeps.FIT, "from": 3, "to": 1}]}, "space[0].to", "must be above from"),
        ({"space": [{"path": seed_sweeps.FIT, "from": 1, "to": 3, "by": 2}]}, "space[0].by", "is unknown"),
        ({"space": [{"path": "nothing.here", "from": 1, "to": 3}]}, "space[0].from", "nothing"),
        ({"space": "all"}, "space", ""),
        ({"objectives": [{"measure": "beauty"}]}, "objectives[0].measure", "no measure 'beauty'"),
        ({"objectives": [{"measure": "requested_cpu"}]}, "objectives[0].direction", "lower or higher"),
        ({"objectives": [{"measure": "moved"}] * 2}, "objectives[1].measure", "twice"),
        ({"objectives": []}, "objectives", "1 to 4"),
        ({"policy": "nobody"}, "policy", "no policy nobody"),
        ({"trials": 1}, "trials", ""),
        ({"method": "guess"}, "method", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_path(
    api_as: Clients, editor: User, changes: dict[str, Any], path: str, expected_message: str
) -> None:
    answer = api_as("editor").post(START, sweep_body(editor, **changes), format="json")
    assert answer.status_code == 400
    assert answer["Content-Type"].startswith("application/problem+json")
    errors = {error["path"]: error["message"] for error in answer.json()["errors"]}
    assert any(key.startswith(path) and expected_message in message for key, message in errors.items()), errors
    assert not Sweep.objects.exists()
