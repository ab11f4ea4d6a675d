from __future__ import annotations

import contextlib
import re
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kschedweb.accounts.models import AuditEntry
from kschedweb.jobs import services
from kschedweb.jobs.models import ENDED, Job, JobState
from kschedweb.jobs.tasks import Cancelled, Progress
from kschedweb.web.errors import Conflict
from tests.jobs import sample_tasks

pytestmark = [pytest.mark.django_db, pytest.mark.databases]

LONG_AGO = timedelta(minutes=11)


@pytest.fixture
def sent_ids(monkeypatch) -> list[str]:
    """The ids of the jobs whose message went out, instead of a broker."""
    ids: list[str] = []
    monkeypatch.setattr(services.app, "send_task", lambda name, args: ids.extend(args))
    return ids


def make(state: str = JobState.QUEUED, **values) -> Job:
    return Job.objects.create(kind="tests.count", title="Count", params={"to": 1}, state=state, **values)


def test_the_message_goes_out_when_the_transaction_commits(sent_ids, admin, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        job = services.job_start(sample_tasks.count.name, title="Count", params={"to": 1}, user=admin)
        assert sent_ids == []
    assert sent_ids == [str(job.pk)]
    assert AuditEntry.objects.get(verb="job.started").object_name == "Count"


def test_a_broker_that_is_away_does_not_lose_the_job(monkeypatch, admin, django_capture_on_commit_callbacks):
    def refuse(name, args):
        raise ConnectionError("no broker")

    monkeypatch.setattr(services.app, "send_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        job = services.job_start(sample_tasks.count.name, title="Count", params={"to": 1}, user=admin)
    job.refresh_from_db()
    assert (job.state, job.sent_at) == (JobState.QUEUED, None)


def test_a_waiting_job_is_cancelled_at_once_and_never_claimed(admin):
    job = services.job_cancel(job=make(), user=admin)
    assert job.state == JobState.CANCELLED
    assert job.ended_at
    assert services.job_claim(str(job.pk)) is None


def test_a_running_job_hears_of_its_cancellation_at_its_next_step(admin):
    job = services.job_claim(str(make().pk))
    progress = Progress(job)
    progress.step("First", 0, 2)
    services.job_cancel(job=job, user=admin)
    with pytest.raises(Cancelled):
        progress.step("Second", 1, 2)


def test_the_bar_never_goes_back_whatever_step_begins(client_as):
    job = services.job_claim(str(make().pk))
    progress, bar_values = Progress(job), []
    client = client_as("admin")
    steps = [("Reading", 0, 0), ("Reading", 4, 4), ("Measuring", 0, 0), ("Placing", 0, 10), ("Placing", 10, 10)]
    for text, completed, total in steps:
        progress.step(text, completed, total)
        page = client.get(f"/jobs/{job.pk}/", headers={"HX-Request": "true"}).content.decode()
        bar_values += re.findall(r'<progress[^>]* value="([\d.]+)"', page)
    assert bar_values == ["0.800", "0.800", "0.800", "0.960"]


@pytest.mark.parametrize("state", sorted(ENDED))
def test_what_has_ended_cannot_be_cancelled(admin, state):
    with pytest.raises(Conflict, match="already ended"):
        services.job_cancel(job=make(state), user=admin)


def test_a_run_that_lost_its_job_changes_nothing_any_more(sent_ids, admin):
    first = services.job_claim(str(make(restartable=True).pk))
    Job.objects.update(heartbeat_at=timezone.now() - LONG_AGO)
    assert services.jobs_reconcile()["requeued"] == 1
    second = services.job_claim(str(first.pk))
    assert second.attempt == 2
    assert not services.job_succeed(first, {"by": "the first"})
    assert not services.job_fail(first, "by the first")
    assert not services.job_beat(first)
    with pytest.raises(Cancelled):
        Progress(first).step("Still here", 1, 2)
    assert services.job_succeed(second, {"by": "the second"})
    assert Job.objects.get().result == {"by": "the second"}


class TestReconcile:
    def test_a_silent_run_fails_with_a_sentence(self, sent_ids):
        make(JobState.RUNNING, attempt=1, heartbeat_at=timezone.now() - LONG_AGO)
        assert services.jobs_reconcile()["failed"] == 1
        job = Job.objects.get()
        assert (job.state, job.error) == (JobState.FAILED, services.WORKER_STOPPED)
        assert job.ended_at
        assert sent_ids == []

    def test_a_silent_restartable_run_starts_over_once_only(self, sent_ids):
        job = make(JobState.RUNNING, attempt=1, restartable=True, heartbeat_at=timezone.now() - LONG_AGO)
        assert services.jobs_reconcile() == {"failed": 0, "cancelled": 0, "requeued": 1, "sent": 0}
        assert sent_ids == [str(job.pk)]
        assert services.job_claim(str(job.pk)).attempt == 2
        Job.objects.update(heartbeat_at=timezone.now() - LONG_AGO)
        assert services.jobs_reconcile()["failed"] == 1

    def test_a_silent_run_that_was_cancelled_is_cancelled(self, sent_ids):
        make(
            JobState.RUNNING, attempt=1, restartable=True, cancel_requested=True, heartbeat_at=timezone.now() - LONG_AGO
        )
        assert services.jobs_reconcile()["cancelled"] == 1
        assert Job.objects.get().state == JobState.CANCELLED

    def test_a_beating_run_is_left_alone(self, sent_ids):
        make(JobState.RUNNING, attempt=1, heartbeat_at=timezone.now() - timedelta(seconds=30))
        assert services.jobs_reconcile() == {"failed": 0, "cancelled": 0, "requeued": 0, "sent": 0}

    def test_a_lost_message_is_sent_again_but_not_each_minute(self, sent_ids):
        job = make(sent_at=timezone.now() - LONG_AGO)
        services.jobs_reconcile()
        services.jobs_reconcile()
        assert sent_ids == [str(job.pk)]

    def test_a_job_that_waits_its_turn_is_left_alone(self, sent_ids):
        make(sent_at=timezone.now() - services.UNSENT / 2)
        services.jobs_reconcile()
        assert sent_ids == []

    def test_the_only_worker_mends_everything_when_it_starts(self, sent_ids):
        waiting = make(sent_at=timezone.now())
        make(JobState.RUNNING, attempt=1, heartbeat_at=timezone.now())
        assert services.jobs_reconcile(alone_since=timezone.now())["failed"] == 1
        assert sent_ids == [str(waiting.pk)]


MOVES = st.lists(st.sampled_from(["claim", "succeed", "fail", "cancel", "age", "reconcile"]), max_size=12)


def make_move(move: str, job: Job, running: Job | None, user) -> Job | None:
    """Do ``move`` to the job as a worker, a person or the clock would; the run that the worker now holds."""
    if move == "claim":
        return services.job_claim(str(job.pk)) or running
    if move == "succeed" and running:
        services.job_succeed(running, {})
    elif move == "fail" and running:
        services.job_fail(running, "x")
    elif move == "cancel":
        with contextlib.suppress(Conflict):
            services.job_cancel(job=job, user=user)
    elif move == "age":
        Job.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now() - LONG_AGO)
    elif move == "reconcile":
        services.jobs_reconcile()
    return running


@given(moves=MOVES, restartable=st.booleans())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_however_moves_mix_a_job_ends_at_most_once_and_stays_ended(sent_ids, admin, moves, restartable):
    job = make(restartable=restartable)
    running: Job | None = None
    ended_as = ""
    for move in moves:
        running = make_move(move, job, running, admin)
        job.refresh_from_db()
        assert job.attempt <= services.MAX_ATTEMPTS
        assert (job.state in ENDED) == (job.ended_at is not None)
        assert job.state == ended_as or not ended_as
        ended_as = job.state if job.state in ENDED else ""
