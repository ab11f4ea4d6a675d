"""REST over tried changes: the powers of the page, problems at their paths, and progress of what takes long."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.jobs.models import Job
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.trying import selectors, services, tasks
from kschedweb.playground.trying.models import TriedChange
from tests.engine.studies.gates import PACKED, cluster
from tests.support import seed_runs

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/trying/"
WEIGHT = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
Api = Callable[..., Any]


def trial_body(**changes: Any) -> Json:
    defaults = {"policy": {"name": "default"}, "change": {"document": PACKED}, "snapshot": {"cluster": "small"}}
    return {name: value for name, value in (defaults | changes).items() if value is not None}


def test_rest_answers_what_the_page_does(api_as: Api, client_as: Api, small: Snapshot) -> None:
    answer = api_as("editor").post(ADDRESS, trial_body(pod="default/web-1"))
    assert answer.status_code == 201
    body, tried_change = answer.json(), TriedChange.objects.get()
    answer_kept = selectors.answer_of(tried_change)
    assert answer_kept is not None
    changes = answer_kept.pop("changes")
    assert body["answer"] == answer_kept
    assert (body["policy"], body["change"], body["state"]) == ("default@1", tried_change.change, "succeeded")
    assert answer["Location"].endswith(f"{ADDRESS}{tried_change.pk}/")
    viewer = api_as("viewer")
    assert viewer.get(f"{ADDRESS}{tried_change.pk}/").json() == body
    assert [row["id"] for row in viewer.get(ADDRESS).json()["results"]] == [str(tried_change.pk)]
    assert viewer.get(f"{ADDRESS}{tried_change.pk}/pods/").json()["results"] == changes
    assert viewer.get(f"{ADDRESS}{tried_change.pk}/pods/?of=pending").json()["results"] == []
    assert viewer.get(f"{ADDRESS}{tried_change.pk}/pods/?what=moved").json()["results"] == changes
    page = client_as("viewer").get(f"/trying/{tried_change.pk}/")
    assert page.context["answer"]["anew"] == body["answer"]["anew"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"values": {WEIGHT: 5}}, "NodeResourcesFit weight: 1 → 5"),
        ({"policy": {"name": "packed", "revision": 1}}, "NodeResourcesFit: LeastAllocated → MostAllocated"),
        ({"release": "1.36"}, "kube-scheduler: 1.37"),
        ({"release": "1.36", "feature_gates": {"GenericWorkload": True}}, "kube-scheduler: 1.37"),
        ({"document": PACKED, "values": {WEIGHT: 5}, "release": "1.36"}, "kube-scheduler: 1.37"),
    ],
)
def test_every_kind_of_change_can_be_tried(
    api_as: Api, small: Snapshot, packed_policy: str, change: Json, sentence: str
) -> None:
    answer = api_as("editor").post(ADDRESS, trial_body(change=change))
    assert answer.status_code == 201, answer.content
    assert answer.json()["change"].startswith(sentence)


@pytest.mark.parametrize(
    ("fields", "status", "path", "message"),
    [
        ({"policy": {"name": "nobody"}}, 404, "policy.name", "There is no policy"),
        ({"policy": {"name": "default", "revision": 7}}, 404, "policy.name", "no revision 7"),
        ({"snapshot": {"cluster": "nowhere"}}, 404, "snapshot.cluster", "nowhere"),
        ({"snapshot": None}, 400, "", "one of both"),
        ({"change": {}}, 400, "change", "Say what is changed"),
        ({"change": {"document": PACKED, "policy": {"name": "default"}}}, 400, "change", "one of both"),
        ({"change": {"values": {"nothing": 1}}}, 400, "change.values", "no such field"),
        ({"change": {"release": "9.99"}}, 400, "change.release", "must be one of"),
        ({"change": {"policy": {"name": "nobody"}}}, 404, "change.policy.name", "There is no policy"),
        ({"change": {"document": "kind: KubeSchedulerConfiguration\n"}}, 422, "apiVersion", ""),
        ({"change": {"values": {WEIGHT: 1}}}, 400, "change", "does what default@1 does"),
    ],
)
def test_problems_say_where_and_why(
    api_as: Api, small: Snapshot, fields: Json, status: int, path: str, message: str
) -> None:
    answer = api_as("editor").post(ADDRESS, trial_body(**fields))
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    (problem,) = answer.json()["errors"]
    assert problem["path"] == path
    assert message in problem["message"]


def test_what_takes_long_is_accepted_and_answered_by_a_job(
    api_as: Api, small: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    editor = api_as("editor")
    answer = editor.post(ADDRESS, trial_body())
    assert (answer.status_code, answer["Retry-After"], answer.json()["answer"]) == (202, "2", None)
    assert editor.get(f"{answer['Location']}pods/").json()["results"] == []
    tasks.answer(str(Job.objects.get().pk))
    assert editor.get(answer["Location"]).json()["answer"]["anew"]["moved"] == 4


def test_a_change_is_saved_judged_and_compared(api_as: Api, small: Snapshot, editor: User) -> None:
    api = api_as("editor")
    place = api.post(ADDRESS, trial_body()).json()["id"]
    draft = api.post(f"{ADDRESS}{place}/save/", {"draft": "mine"})
    assert (draft.status_code, draft.json()["policy"], draft.json()["number"]) == (201, "mine", 1)
    revision_response = api.post(f"{ADDRESS}{place}/save/", {"comment": "why"})
    assert (
        revision_response.json()["policy"],
        revision_response.json()["number"],
        revision_response.json()["comment"],
    ) == ("default", 2, "why")
    assert api.get(revision_response["Location"]).json()["document"] == PACKED
    conflict = api.post(f"{ADDRESS}{place}/save/", {})
    assert conflict.status_code == 412
    gate_response = api.post(f"{ADDRESS}{place}/gate/", {"thresholds": {"maxMoved": 0}})
    assert gate_response.status_code == 201
    assert Gate.objects.get().passed is False
    assert api.get(gate_response["Location"]).json()["verdict"] == "fail"
    wrong = api.post(f"{ADDRESS}{place}/gate/", {"thresholds": {"maxMoved": "many"}})
    assert (wrong.status_code, wrong.json()["errors"][0]["path"]) == (400, "thresholds.maxMoved")
    scenario = seed_runs.scenario(editor)
    comparison_response = api.post(f"{ADDRESS}{place}/comparison/", {"scenario": {"id": str(scenario.scenario_id)}})
    assert comparison_response.status_code == 202
    assert [run["policy"] for run in comparison_response.json()["runs"]] == ["default@1", "default@1, changed"]


def test_the_bodies_of_the_document_are_answered_as_they_stand(
    api_as: Api, store_snapshot: Callable[..., Snapshot]
) -> None:
    store_snapshot(cluster(), "demo")
    text = (Path(__file__).parents[3] / "docs" / "trying.md").read_text(encoding="utf-8")
    bodies = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]
    assert len(bodies) == 2
    for body in bodies:
        answer = api_as("editor").post(ADDRESS, body)
        assert answer.status_code == 201, answer.content
        pod_answer = answer.json()["answer"]["pod"]
        assert (pod_answer or {}).get("pod", "") == body.get("pod", "")


def test_a_command_with_a_key_is_done_once(api_as: Api, small: Snapshot) -> None:
    api = api_as("editor")
    first, second = (api.post(ADDRESS, trial_body(), headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    assert TriedChange.objects.count() == 1


def test_a_change_on_a_private_scenario_is_its_owners(api_as: Api, editor: User) -> None:
    scenario = seed_runs.scenario(editor, shared=False)
    body = trial_body(snapshot=None, scenario={"id": str(scenario.scenario_id)}, change={"values": {WEIGHT: 5}})
    place = api_as("editor").post(ADDRESS, body).json()["id"]
    viewer = api_as("viewer")
    assert viewer.get(f"{ADDRESS}{place}/").status_code == 404
    assert viewer.get(f"{ADDRESS}{place}/pods/").status_code == 404
    assert viewer.get(ADDRESS).json()["results"] == []
