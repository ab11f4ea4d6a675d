"""Runs on real workers, with a real Redis: one that is killed costs its part only, one that is cancelled ends soon."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from kschedweb.accounts.models import User
from kschedweb.jobs import services as jobs
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Comparison, Difference, Run
from kschedweb.playground.scenarios.services import scenario_create
from tests.jobs.conftest import WorkerProcess
from tests.support import seed_runs
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

Send = Callable[[Job], None]
MANY_PODS = {"perHour": 4000, "until": "1h", "shapes": [seed_runs.SMALL]}  # pods, so many that a run takes seconds


def comparison(user: User) -> Comparison:
    """Of two policies, whose runs wait for a worker."""
    text = json.dumps(seed_runs.document(nodes=40) | {"arrivals": [{"generate": MANY_PODS}], "run": {}})
    revision = scenario_create(text=text, author=user).revisions.get()
    policies = ["default", seed_runs.packed(user)]
    return services.comparison_start(user=user, revision=revision, policies=policies, seeds=[1])


def job_of(run: Run) -> Job:
    assert run.job is not None
    return Job.objects.get(pk=run.job.pk)


def under_way(run: Run) -> bool:
    job = job_of(run)
    return job.state == JobState.RUNNING and 0 < job.done < job.total


@pytest.mark.nightly
def test_a_run_whose_worker_is_killed_is_played_again_by_another_and_nothing_is_there_twice(
    editor: User, worker_process: WorkerProcess, send: Send
) -> None:
    started = comparison(editor)
    first, second = started.runs.order_by("position")
    with worker_process("one") as process:
        send(job_of(first))
        wait_until(lambda: under_way(first), "the first run is under way", step=0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    assert (job_of(first).state, job_of(first).attempt) == (JobState.RUNNING, 1)
    # Nobody waits a minute here: the clock is put back instead.
    Job.objects.filter(pk=job_of(first).pk).update(heartbeat_at=timezone.now() - jobs.SILENT - timedelta(seconds=1))
    with worker_process("two"):
        send(job_of(second))
        wait_until(lambda: Difference.objects.filter(counts__moved__gte=0).exists(), "the runs are compared")
        wait_until(lambda: job_of(first).state == JobState.SUCCEEDED, "the first run's job ended")
    assert [(job_of(run).state, job_of(run).attempt) for run in (first, second)] == [
        (JobState.SUCCEEDED, 2),
        (JobState.SUCCEEDED, 1),
    ]
    assert Run.objects.count() == 2
    assert Difference.objects.count() == Job.objects.filter(kind="runs.difference").count() == 1
    # What the killed worker had begun left no trace.
    alone = services.run_start(user=editor, revision=started.revision, policy="default")
    services.run_do(run=alone, step=lambda text, completed, total: None)
    outcomes = [selectors.load_outcome(Run.objects.get(pk=run.pk)).encode() for run in (first, alone)]
    assert outcomes[0] == outcomes[1]


def test_progress_only_grows_and_a_cancelled_run_ends_at_its_next_step(
    editor: User, worker_process: WorkerProcess, send: Send
) -> None:
    run = comparison(editor).runs.get(position=0)
    progress: list[tuple[int, int]] = []

    def advances() -> bool:
        job = job_of(run)
        if job.step == "Pods decided:":
            progress.append((job.done, job.total))
        return len(set(progress)) >= 3

    with worker_process():
        send(job_of(run))
        wait_until(advances, "the run advances", step=0.02)
        job = jobs.job_cancel(job=job_of(run), user=editor)
        assert job.state == JobState.RUNNING
        wait_until(lambda: job_of(run).state == JobState.CANCELLED, "the run is cancelled", step=0.02)
    assert progress == sorted(progress)
    assert len({total for _, total in progress}) == 1
    assert Run.objects.get(pk=run.pk).ended_at is None
