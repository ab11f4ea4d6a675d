"""The message broker goes away and comes back: a real Redis that the test stops and starts."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from kschedweb.accounts.models import User
from kschedweb.celery import app
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.tasks import reconcile
from kschedweb.web.errors import Unavailable
from tests.jobs.conftest import WorkerProcess
from tests.support import seed_runs
from tests.support.databases import Redis
from tests.support.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.server]

BROKER_AWAY = "The message broker cannot be reached. The job is kept, and starts when the broker is back."


@pytest.fixture
def own_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Redis]:
    """A Redis of this test's own, to which what this process sends goes."""
    server = Redis(tmp_path)
    server.start()
    monkeypatch.setenv("CELERY_BROKER_URL", server.url)
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    monkeypatch.setattr(app, "_pool", None)
    monkeypatch.setattr(app, "_away_until", 0.0)
    yield server
    server.stop()


@pytest.mark.parametrize(
    "how",
    [pytest.param(signal.SIGKILL, id="gone"), pytest.param(signal.SIGSTOP, id="silent", marks=pytest.mark.nightly)],
)
def test_a_job_asked_for_while_the_broker_is_away_is_kept_and_starts_once_it_is_back(
    own_broker: Redis,
    worker_process: WorkerProcess,
    editor: User,
    api_as: Callable[[str], APIClient],
    client_as: Callable[[str], Client],
    how: signal.Signals,
) -> None:
    body = {"scenario": str(seed_runs.scenario(editor, pods=4).scenario_id), "policy": "default"}
    api = api_as("editor")

    def start() -> Job:
        answer = api.post("/api/v1/runs/start/", body)
        assert answer.status_code == 202, answer.content
        return Job.objects.get(pk=answer.json()["job"])

    with worker_process("worker", REDIS_URL=own_broker.url):
        before = start()
        wait_until(lambda: Job.objects.filter(pk=before.pk, state=JobState.SUCCEEDED).exists(), "the run ended")
        own_broker.kill() if how == signal.SIGKILL else own_broker.signal(how)
        begun = time.monotonic()
        jobs = [start() for _ in range(3)]
        assert time.monotonic() - begun < 60  # it would take minutes if each waited for Redis as a worker does
        assert {(job.state, job.undelivered) for job in jobs} == {(JobState.QUEUED, True)}
        assert BROKER_AWAY in client_as("editor").get(reverse("job", args=[jobs[0].pk])).content.decode()
        assert BROKER_AWAY in client_as("editor").get(reverse("jobs")).content.decode()
        assert api.get(f"/api/v1/jobs/{jobs[0].pk}/").json()["undelivered"]
        own_broker.start() if how == signal.SIGKILL else own_broker.signal(signal.SIGCONT)
        if how == signal.SIGSTOP:
            # A worker that never lost its connection has nothing to notice: what beat does each minute.
            wait_until(reconciled, "the broker takes messages again")
        succeeded = Job.objects.filter(pk__in=[job.pk for job in jobs], state=JobState.SUCCEEDED, undelivered=False)
        wait_until(lambda: succeeded.count() == 3, "the jobs that were kept ended", seconds=180, step=0.3)


def reconciled() -> bool:
    try:
        reconcile.delay()
    except Unavailable:
        return False
    return True


def test_what_cannot_be_kept_says_that_the_broker_is_away(
    own_broker: Redis, editor: User, api_as: Callable[[str], APIClient]
) -> None:
    """Anything but a job: there is no row that could wait for it."""
    own_broker.kill()
    for _ in range(2):
        with pytest.raises(Unavailable, match="The message broker cannot be reached"):
            app.send_task("watermarks.annotate", ["x", 1.0])
    own_broker.start()
    app.broker_is_back()
    app.send_task("watermarks.annotate", ["x", 1.0])
