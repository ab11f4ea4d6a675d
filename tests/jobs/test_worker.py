"""Jobs on a real worker, whose broker is memory, or Redis where ``REDIS_URL`` is set."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
import structlog
from django.utils import timezone

from kschedweb.celery import app
from kschedweb.jobs import reconciling, services, tasks
from kschedweb.jobs.models import Job, JobState
from tests.jobs import sample_tasks
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_runs_and_keeps_its_result(worker, ended, admin):
    job = services.job_start(sample_tasks.count.name, title="Count to three", params={"to": 3}, user=admin)
    assert job.state == JobState.QUEUED
    job = ended(job)
    assert (job.state, job.result, job.done, job.total) == (JobState.SUCCEEDED, {"counted": 3, "attempt": 1}, 3, 3)
    assert job.created_at <= job.started_at <= job.ended_at
    assert job.sent_at is not None


def test_progress_is_seen_while_it_runs(worker, ended, admin):
    job = services.job_start(sample_tasks.count.name, title="Slowly", params={"to": 40, "pause": 0.1}, user=admin)

    def halfway() -> bool:
        job.refresh_from_db()
        return job.state == JobState.RUNNING and 0 < job.done < job.total == 40 and job.step == "Counting"

    wait_until(halfway, "progress")
    services.job_cancel(job=job, user=admin)
    job = ended(job)
    assert job.state == JobState.CANCELLED
    assert job.done < 40
    assert job.result == {}


def test_what_a_service_refuses_is_shown_without_its_secret(worker, ended, admin):
    job = ended(services.job_start(sample_tasks.refuse.name, title="Refuse", params={}, user=admin))
    assert job.state == JobState.FAILED
    assert job.error.startswith("The cluster does not answer")
    assert "abcdef123456" not in job.error


def test_what_nobody_foresaw_is_logged_and_shown_without_traceback(worker, ended, admin, caplog):
    with caplog.at_level(logging.ERROR):
        job = ended(services.job_start(sample_tasks.crash.name, title="Crash", params={}, user=admin))
    assert job.state == JobState.FAILED
    assert "hunter2" not in job.error
    assert "Traceback" not in job.error
    assert str(job.pk) in job.error
    assert any(str(job.pk) in record.getMessage() for record in caplog.records)


def test_the_log_of_a_job_carries_the_id_of_the_request_that_started_it(worker, ended, admin, caplog):
    with caplog.at_level(logging.ERROR), structlog.contextvars.bound_contextvars(request_id="request-7"):
        ended(services.job_start(sample_tasks.crash.name, title="Crash", params={}, user=admin))
    failures = [record.getMessage() for record in caplog.records if "job_failed" in record.getMessage()]
    assert failures
    assert all("request-7" in text for text in failures)


def test_a_job_that_another_ones_message_woke_keeps_its_own_request(admin, caplog, monkeypatch):
    """A message wakes a worker, which takes the job whose turn it is."""
    monkeypatch.setattr(services, "job_send", lambda job: None)  # a worker of another test would take it
    with structlog.contextvars.bound_contextvars(request_id="request-8"):
        first = services.job_start(sample_tasks.crash.name, title="Crash", params={}, user=admin)
    with structlog.contextvars.bound_contextvars(request_id="request-9"), caplog.at_level(logging.ERROR):
        assert services.job_take() == first
        first.refresh_from_db()
        tasks._dispatch_job(first)
    (failure,) = [record.getMessage() for record in caplog.records if "job_failed" in record.getMessage()]
    assert "request-8" in failure
    assert "request-9" not in failure


def test_a_message_delivered_three_times_runs_once(worker, ended, admin):
    job = services.job_start(sample_tasks.count.name, title="Once", params={"to": 3, "pause": 0.1}, user=admin)
    services.job_send(job)
    services.job_send(job)
    job = ended(job)
    after = Job.objects.filter(pk=job.pk).values().get()
    services.job_send(job)
    time.sleep(0.5)
    unchanged = Job.objects.filter(pk=job.pk).values().get()
    assert unchanged["attempt"] == 1
    assert unchanged["ended_at"] == after["ended_at"]


def test_two_workers_threads_never_run_one_job_twice(worker, ended, admin):
    jobs = [
        services.job_start(sample_tasks.count.name, title=f"Job {number}", params={"to": 2}, user=admin)
        for number in range(10)
    ]
    for job in jobs:
        services.job_send(job)
    assert [ended(job).attempt for job in jobs] == [1] * 10


def test_a_starting_worker_mends_what_the_last_process_left(worker, ended, settings, monkeypatch):
    settings.REDIS_URL = ""
    start_time = timezone.now()
    monkeypatch.setattr(reconciling, "_process_began", start_time)
    before = start_time - timedelta(seconds=5)
    queued = Job.objects.create(kind="tests.count", title="Forgotten", params={"to": 1}, sent_at=before)
    Job.objects.filter(pk=queued.pk).update(created_at=before)
    cut_off = Job.objects.create(
        kind="tests.count", title="Cut off", params={"to": 1}, state=JobState.RUNNING, attempt=1, heartbeat_at=before
    )
    reconciling.mend_jobs()
    assert ended(queued).state == JobState.SUCCEEDED
    assert ended(cut_off).error == services.WORKER_STOPPED


def test_a_worker_that_has_connected_mends_though_the_broker_was_away_a_moment_ago(worker, ended, monkeypatch):
    job = Job.objects.create(kind="tests.count", title="Kept", params={"to": 1}, undelivered=True)
    monkeypatch.setattr(app, "_away_until", time.monotonic() + 600)
    reconciling.MendStep(None).start(SimpleNamespace(app=app))
    assert ended(job).state == JobState.SUCCEEDED
