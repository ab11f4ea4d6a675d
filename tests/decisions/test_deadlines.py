"""A pod whose decision takes longer than a request may: a job finds it, and lists go on without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import pod_refs
from kschedweb.decisions import services, snapshots
from kschedweb.decisions.inquiring import services as inquiring
from kschedweb.decisions.models import Question
from kschedweb.engine.patience import Patience, limit_by
from kschedweb.jobs.models import JobState
from kschedweb.policies.models import Revision
from tests.engine.builders import pod
from tests.engine.test_patience import cluster_with_dear_selector


@pytest.fixture
def slow_cluster(store_snapshot: Callable[..., Snapshot], monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """A cluster whose pod ``p`` takes minutes."""
    services.clear_caches()
    monkeypatch.setattr(services, "AT_LEAST", 0.1)
    snapshot = store_snapshot([*cluster_with_dear_selector(256), pod("quick")], "lab")
    snapshots.engine_snapshot(snapshot)
    return snapshot


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let requests take half a second."""
    with limit_by(Patience(0.5)):
        yield


def test_the_page_of_the_decision_leads_to_the_job(
    slow_cluster: Snapshot, hasty: None, client_as: Callable[[str], Client]
) -> None:
    answer = client_as("viewer").get("/decision/lab/default/p/")
    question = Question.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/decisions/questions/{question.pk}/")


@pytest.mark.usefixtures("hasty")
def test_rest_answers_with_the_job(slow_cluster: Snapshot, api_as: Callable[[str], APIClient]) -> None:
    answer = api_as("viewer").get("/api/v1/clusters/lab/pods/default/p/decision/")
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"


@pytest.mark.usefixtures("hasty")
def test_a_job_has_a_limit_too(
    slow_cluster: Snapshot, api_as: Callable[[str], APIClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    api_as("viewer").get("/api/v1/clusters/lab/pods/default/p/decision/")
    job = Question.objects.get().job
    assert job is not None
    monkeypatch.setattr(inquiring, "MOST_SECONDS", 0)
    from kschedweb.decisions.inquiring.tasks import answer

    answer(str(job.pk))
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.FAILED, "The answer takes longer than 0 min: ask about less.")


def test_lists_go_on_without_it(slow_cluster: Snapshot, revision: Revision) -> None:
    pods = pod_refs(slow_cluster.pods.filter(name__in=["p", "quick"]))
    assert set(services.summarize_pods(slow_cluster, revision, pods, seconds=2.5)) == {"default/quick"}
