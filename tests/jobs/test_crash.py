"""A worker that is killed: what its jobs become, with a real Redis and real worker processes."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from kschedweb.jobs import services
from kschedweb.jobs.models import Job, JobState
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def start(kind: str, to: int, pause: float) -> Job:
    now = timezone.now()
    return Job.objects.create(
        kind=kind, title=kind, params={"to": to, "pause": pause}, restartable=kind == "tests.count_again", sent_at=now
    )


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


def test_after_kill_9_a_restartable_job_starts_over_and_another_says_that_its_worker_stopped(
    worker_process, send, ended
):
    restartable, once = start("tests.count_again", 100, 0.2), start("tests.count", 100, 0.2)
    for job in (restartable, once):  # One after the other, since the worker has one process.
        with worker_process() as process:
            send(job)
            wait_until(lambda job=job: state_of(job) == JobState.RUNNING, "the job runs")
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    assert {state_of(restartable), state_of(once)} == {JobState.RUNNING}

    # Nobody waits a minute here: the clock is put back instead.
    silent = timezone.now() - services.SILENT - timedelta(seconds=1)
    Job.objects.update(heartbeat_at=silent, params={"to": 3, "pause": 0})
    with worker_process():
        assert ended(restartable, 30).state == JobState.SUCCEEDED
        assert ended(once, 30).error == services.WORKER_STOPPED
    assert restartable.result == {"counted": 3, "attempt": 2}


@pytest.mark.nightly
def test_a_killed_child_does_not_run_its_job_twice(worker_process, send, tick, ended, tmp_path):
    job = start("tests.count_again", 100, 0.2)
    with worker_process() as process:
        send(job)
        wait_until(lambda: state_of(job) == JobState.RUNNING, "the job runs")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        # Celery delivers the message again; the row says that it runs, so the delivery ends at once.
        log = tmp_path / "worker.log"
        wait_until(lambda: "job_skipped" in log.read_text(), "the message came again")
        assert Job.objects.get(pk=job.pk).attempt == 1
        silent = timezone.now() - services.SILENT - timedelta(seconds=1)
        Job.objects.filter(pk=job.pk).update(heartbeat_at=silent, params={"to": 2, "pause": 0})
        tick()
        assert ended(job, 30).result == {"counted": 2, "attempt": 2}


@pytest.mark.nightly
def test_work_apart_takes_no_place_in_the_worker_and_outlives_tasks_that_end(worker_process, send, ended):
    threaded, worker_jobs = start("tests.count_apart", 1000, 0.1), [start("tests.count", 1, 0.0) for _ in range(5)]
    with worker_process():
        send(threaded)
        wait_until(lambda: state_of(threaded) == JobState.RUNNING, "the work apart has begun")
        for job in worker_jobs:
            send(job)
        assert [ended(job, 30).state for job in worker_jobs] == [JobState.SUCCEEDED] * 5
        assert state_of(threaded) == JobState.RUNNING
        services.job_cancel(job=threaded, user=None)
        assert (ended(threaded, 30).state, threaded.attempt) == (JobState.CANCELLED, 1)
