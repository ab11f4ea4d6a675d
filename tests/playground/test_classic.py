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
SHAPED_POLICY = {
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
    return policy_create(name="shaped", document=json.dumps(SHAPED_POLICY, indent=2), author=editor).name


def test_a_run_keeps_the_kube_scheduler_and_explains_its_pods(editor: User, client_as: Clients) -> None:
    policy_create(name="plain", document="kind: Policy\n", author=editor)
    started = services.run_start(user=editor, revision=seed_runs.scenario(editor), policy="plain")
    seed_runs.work_off()
    run = Run.objects.get(pk=started.pk)
    assert (run.state, run.label, run.process) == ("succeeded", "plain@1", {"version": "1.13"})
    assert run.engine.endswith("kube-scheduler 1.13.0")
    outcome = selectors.load_outcome(run)
    assert len(outcome.recorded_forced_moves.pod) == 2
    for pod in ("default/web-03", "default/important"):
        case, explained = selectors.replay_decision(run, pod, int(outcome.attempts[outcome.index[pod]]))
        assert explained.placement.node == case.explanation.node == outcome.nodes[outcome.node[outcome.index[pod]]]
    client = client_as("viewer")
    page = client.get(f"/runs/{run.pk}/pods/default/important/?attempt=1")
    assert page.status_code == 200
    assert page.context["classic"].edition.version == "1.13"
    assert isinstance(present_case(selectors.replay_decision(run, "default/important", 1)[0]), ClassicDecision)
    assert client.get(f"/runs/{run.pk}/").status_code == 200
    assert client.get(f"/runs/{run.pk}/report/?as=json").status_code == 200


def test_a_classic_policy_is_compared_with_a_profile(editor: User, old: str, client_as: Clients) -> None:
    revision = seed_runs.scenario(editor)
    comparison = services.comparison_start(user=editor, revision=revision, policies=["default", old], seeds=[1])
    seed_runs.work_off()
    difference = Difference.objects.get(run__comparison=comparison)
    assert difference.counts["moved"] > 0
    differing_pods = selectors.load_difference(difference)
    assert all(pod["plugin"] or pod["said"] for pod in differing_pods)
    page = client_as("viewer").get(f"/comparisons/{comparison.pk}/")
    assert page.status_code == 200
    assert "shaped@1" in html_of(page)


def test_a_document_that_is_not_saved_is_run_as_of_1_13(editor: User) -> None:
    started = services.run_start(
        user=editor, revision=seed_runs.scenario(editor, pods=4), document=json.dumps(SHAPED_POLICY)
    )
    seed_runs.work_off()
    assert Run.objects.get(pk=started.pk).engine.endswith("kube-scheduler 1.13.0")


def test_a_sweep_varies_weights_and_arguments_of_a_policy(editor: User, old: str, client_as: Clients) -> None:
    rules = load_revision(revision_get(policy_get(old)))
    assert [(offer.path, offer.now) for offer in weight_offers(rules)] == [
        ("priorities[InterPodAffinityPriority].weight", "1"),
        ("priorities[LeastRequestedPriority].weight", "1"),
        ("priorities[Shape].weight", "2"),
    ]
    offers = {offer.path: (offer.low, offer.high) for offer in argument_offers(rules)}
    score = "priorities[Shape].argument.requestedToCapacityRatioArguments.shape[1].score"
    assert offers[score] == ("0", "10")
    assert offers["hardPodAffinitySymmetricWeight"] == ("1", "100")
    space = [
        {"path": "priorities[LeastRequestedPriority].weight", "from": 0, "to": 2},
        {"path": score, "values": [0, 10]},
    ]
    sweep = seed_sweeps.sweep(editor, policy=old, space=space)
    assert {trial.state for trial in sweep.trials.all()} == {"done"}
    assert sweep.engine.endswith("kube-scheduler 1.13.0")
    client = client_as("editor")
    assert client.get(f"/sweeps/{sweep.pk}/").status_code == 200
    first = client.get(f"/sweeps/new/?scenario={sweep.revision_id}&policy={old}")
    assert [row.offer.plugin for row in first.context["weights"]][-1] == "Shape"
    trial = next(trial for trial in sweep.trials.all() if trial.point[0] == 0)
    revision = sweep_policy_save(user=editor, sweep=sweep, number=trial.number, name=old)
    names = [priority["name"] for priority in json.loads(revision.document)["priorities"]]
    assert names == ["InterPodAffinityPriority", "Shape"]
    assert revision.policy.kind == "classic"
