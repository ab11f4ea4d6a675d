"""Heavy work in processes of its own, with real workers and Redis: its limits end it, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from kschedweb.jobs import processes, services
from kschedweb.jobs.models import Job, JobState
from tests.jobs.conftest import WorkerProcess
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

POOLS = [("--pool", "threads", "-c", "2"), ("--pool", "prefork", "-c", "2")]
Ended = Callable[[Job, float], Job]


def queued(kind: str, **params: Any) -> Job:
    return Job.objects.create(kind=kind, title=kind, params=params, restartable=True, sent_at=timezone.now())


def step_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).step


def running(job: Job) -> bool:
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING).exclude(step="").exists()


def stat(pid: int) -> list[str]:
    """Return Linux's status of a process: its state, its parent, …"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def parent(pid: int) -> int:
    return int(stat(pid)[1])


def is_alive(pid: int) -> bool:
    """Return whether the process works; a zombie, which no parent has waited for, does not."""
    with suppress(FileNotFoundError):
        return stat(pid)[0] != "Z"
    return False


@pytest.mark.parametrize(
    "pool",
    [pytest.param(POOLS[0], id="threads"), pytest.param(POOLS[1], id="prefork", marks=pytest.mark.nightly)],
)
def test_too_much_memory_ends_one_job_with_a_sentence_and_nothing_else(
    worker_process: WorkerProcess, send: Callable[[Job], None], ended: Ended, pool: tuple[str, ...]
) -> None:
    small, large = queued("tests.count", to=100_000, pause=0.05), queued("tests.grow")
    with worker_process("worker", *pool, KSCHEDWEB_JOB_MEMORY_MIB="512") as worker:
        send(small)
        wait_until(lambda: running(small), "the job beside runs")
        send(large)
        assert ended(large, 90).error == (
            "This needed more memory than the 512 MiB that a job may use: make it smaller, with fewer nodes, pods or "
            "seeds."
        )
        assert (large.state, large.attempt) == (JobState.FAILED, 1)
        assert running(small)
        assert worker.poll() is None
        after = queued("tests.count", to=3)
        send(after)
        assert ended(after, 60).result == {"counted": 3, "attempt": 1}
        services.job_cancel(job=small, user=None)
        assert ended(small, 60).state == JobState.CANCELLED


@pytest.mark.parametrize("victim", ["process", pytest.param("nursery", marks=pytest.mark.nightly)])
def test_a_killed_process_ends_its_job_with_a_sentence_and_is_not_begun_again(
    worker_process: WorkerProcess, send: Callable[[Job], None], ended: Ended, victim: str
) -> None:
    lost = queued("tests.wait")
    with worker_process("worker", *POOLS[0]) as worker:
        send(lost)
        wait_until(lambda: running(lost), "the job runs")
        process = int(step_of(lost))
        assert process != worker.pid
        os.kill(process if victim == "process" else parent(process), signal.SIGKILL)
        assert ended(lost, 60).error.startswith("The system ended the process of this job")
        assert (lost.state, lost.attempt) == (JobState.FAILED, 1)
        after = queued("tests.count", to=3)
        send(after)
        assert ended(after, 60).state == JobState.SUCCEEDED
        assert worker.poll() is None


def test_what_takes_too_long_is_ended_with_a_sentence(
    worker_process: WorkerProcess, send: Callable[[Job], None], ended: Ended
) -> None:
    endless = queued("tests.wait")
    with worker_process("worker", *POOLS[0], KSCHEDWEB_JOB_SECONDS="2"):
        send(endless)
        assert ended(endless, 90).error == processes.TOO_LONG


@pytest.mark.nightly
def test_a_process_does_one_job_after_the_other_and_logs_the_id_of_the_request(
    worker_process: WorkerProcess, send: Callable[[Job], None], ended: Ended, tmp_path: Path
) -> None:
    jobs = [queued("tests.process") for _ in range(3)]
    Job.objects.update(request_id="request-7")
    with worker_process("worker", "--pool", "threads") as worker:
        for job in jobs:
            send(job)
            ended(job, 90)
        assert len({job.result["pid"] for job in jobs}) == 1
        assert jobs[0].result["group"] == jobs[0].result["pid"] != worker.pid
    lines = [line for line in (tmp_path / "worker.log").read_text().splitlines() if "sample_task_logs" in line]
    assert len(lines) == 3
    assert all("request-7" in line for line in lines)


@pytest.mark.nightly
def test_processes_end_with_their_worker_however_it_ends(
    worker_process: WorkerProcess, send: Callable[[Job], None]
) -> None:
    job = queued("tests.wait")
    with worker_process("worker", *POOLS[0]) as worker:
        send(job)
        wait_until(lambda: running(job), "the job runs")
        process = int(step_of(job))
        assert is_alive(process)
        worker.kill()
        worker.wait(10)
        wait_until(lambda: not is_alive(process), "the job's process is gone")
    # Its worker did not live to say so: reconciliation begins it again.
    assert Job.objects.get(pk=job.pk).state == JobState.RUNNING
