"""A classic policy in runs, comparisons and sweeps, from the start to the pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.decisions.classic.decision import ClassicDecision
from kschedweb.decisions.deciders import present_case
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Difference, Run
from kschedweb.playground.sweeps.offers import argument_offers, weight_offers
from kschedweb.playground.sweeps.services import sweep_policy_save
from kschedweb.policies.selectors import load_revision, policy_get, revision_get
from kschedweb.policies.services import policy_create
from tests.support import seed_runs, seed_sweeps
from tests.support.html import html_of

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]
SHAPED = {
    "kind": "Policy",
    "apiVersion": "v1",
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 1},
        {"name": "InterPodAffinityPriority", "weight": 1},
        {
            "name": "Shape",
            "weight": 2,
            "argument": {
                "requestedToCapacityRatioArguments": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                }
            },
        },
    ],
}


@pytest.fixture
def old(editor: User) -> str:
    return policy_create(name="shaped", document=json.dumps(SHAPED, indent=2), author=editor).name


def test_a_run_keeps_the_kube_scheduler_and_explains_its_pods(editor: User, client_as: Clients) -> None:
    policy_create(name="plain", document="kind: Policy\n", author=editor)
    made = services.run_start(user=editor, revision=seed_runs.scenario(editor), policy="plain")
    seed_runs.work_off()
    run = Run.objects.get(pk=made.pk)
    assert (run.state, run.label, run.process) == ("succeeded", "plain@1", {"version": "1.13"})
    assert run.engine.endswith("kube-scheduler 1.13.0")
    outcome = selectors.load_outcome(run)
    assert len(outcome.told.pod) == 2
    for pod in ("default/web-03", "default/important"):
        case, tried = selectors.replay_decision(run, pod, int(outcome.attempts[outcome.index[pod]]))
        assert tried.placement.node == case.explanation.node == outcome.nodes[outcome.node[outcome.index[pod]]]
    client = client_as("viewer")
    page = client.get(f"/runs/{run.pk}/pods/default/important/?attempt=1")
    assert page.status_code == 200
    assert page.context["classic"].edition.version == "1.13"
    assert isinstance(present_case(selectors.replay_decision(run, "default/important", 1)[0]), ClassicDecision)
    assert client.get(f"/runs/{run.pk}/").status_code == 200
    assert client.get(f"/runs/{run.pk}/report/?as=json").status_code == 200


def test_a_classic_policy_is_compared_with_a_profile(editor: User, old: str, client_as: Clients) -> None:
    revision = seed_runs.scenario(editor)
    made = services.comparison_start(user=editor, revision=revision, policies=["default", old], seeds=[1])
    seed_runs.work_off()
    found = Difference.objects.get(run__comparison=made)
    assert found.counts["moved"] > 0
    moved = selectors.load_difference(found)
    assert all(one["plugin"] or one["said"] for one in moved)
    page = client_as("viewer").get(f"/comparisons/{made.pk}/")
    assert page.status_code == 200
    assert "shaped@1" in html_of(page)


def test_a_document_that_is_not_saved_is_run_as_of_1_13(editor: User) -> None:
    made = services.run_start(user=editor, revision=seed_runs.scenario(editor, pods=4), document=json.dumps(SHAPED))
    seed_runs.work_off()
    assert Run.objects.get(pk=made.pk).engine.endswith("kube-scheduler 1.13.0")


def test_a_sweep_varies_weights_and_arguments_of_a_policy(editor: User, old: str, client_as: Clients) -> None:
    rules = load_revision(revision_get(policy_get(old)))
    assert [(one.path, one.now) for one in weight_offers(rules)] == [
        ("priorities[InterPodAffinityPriority].weight", "1"),
        ("priorities[LeastRequestedPriority].weight", "1"),
        ("priorities[Shape].weight", "2"),
    ]
    offered = {one.path: (one.low, one.high) for one in argument_offers(rules)}
    score = "priorities[Shape].argument.requestedToCapacityRatioArguments.shape[1].score"
    assert offered[score] == ("0", "10")
    assert offered["hardPodAffinitySymmetricWeight"] == ("1", "100")
    space = [
        {"path": "priorities[LeastRequestedPriority].weight", "from": 0, "to": 2},
        {"path": score, "values": [0, 10]},
    ]
    done = seed_sweeps.sweep(editor, policy=old, space=space)
    assert {trial.state for trial in done.trials.all()} == {"done"}
    assert done.engine.endswith("kube-scheduler 1.13.0")
    client = client_as("editor")
    assert client.get(f"/sweeps/{done.pk}/").status_code == 200
    first = client.get(f"/sweeps/new/?scenario={done.revision_id}&policy={old}")
    assert [row.offer.plugin for row in first.context["weights"]][-1] == "Shape"
    trial = next(one for one in done.trials.all() if one.point[0] == 0)
    saved = sweep_policy_save(user=editor, sweep=done, number=trial.number, name=old)
    names = [one["name"] for one in json.loads(saved.document)["priorities"]]
    assert names == ["InterPodAffinityPriority", "Shape"]
    assert saved.policy.kind == "classic"
