"""A sweep on real workers, with real PostgreSQL and Redis, of which one is killed half way."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.sweeps.models import Sweep, Trial, TrialState
from tests.jobs.conftest import WorkerProcess
from tests.support import seed_demo, seed_sweeps
from tests.support.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql, pytest.mark.redis, pytest.mark.nightly]

TRIALS = 200
SPACE = [
    *seed_sweeps.SPACE,
    {"path": seed_sweeps.BALANCED, "from": 0, "to": 5},
    {"path": "profiles[0].plugins.score.enabled[PodTopologySpread].weight", "from": 0, "to": 5},
]


def test_a_sweep_of_200_runs_with_a_worker_killed_half_way_finishes_complete(
    editor: User, worker_process: WorkerProcess, send: Callable[[Job], None]
) -> None:
    revision = seed_demo.scenario(editor, "pending")
    objectives = [{"measure": "skew_cpu_end"}, {"measure": "moved"}]
    sweep = seed_sweeps.started(editor, revision, space=SPACE, objectives=objectives, method="tpe", trials=TRIALS)
    job = sweep.job
    assert job is not None

    def count_finished(**filters: Any) -> int:
        return Trial.objects.filter(sweep=sweep, state=TrialState.FINISHED, **filters).count()

    def caught() -> bool:
        """Return whether the first worker was killed in the middle of a trial, with the process that ran it."""
        theirs = Trial.objects.filter(state=TrialState.RUNNING, worker__startswith="first")
        claim = theirs.values_list("worker", flat=True).first()
        if claim is None:
            return False
        process = int(claim.rpartition(" ")[2])
        os.killpg(process, signal.SIGSTOP)
        time.sleep(0.2)  # what it sent to the database before arrives
        busy = theirs.exists()
        if busy:
            os.killpg(first.pid, signal.SIGKILL)
        os.killpg(process, signal.SIGKILL if busy else signal.SIGCONT)
        return busy

    with worker_process("first") as first, worker_process("second"):
        send(job)
        wait_until(lambda: count_finished() >= TRIALS // 2, "half of the trials done")
        wait_until(caught, "the first worker is killed", step=0.01)
        first.wait(10)
        by_first = count_finished(worker__startswith="first")
        wait_until(
            lambda: Job.objects.filter(pk=job.pk, state=JobState.SUCCEEDED).exists(), "the sweep ended", step=0.3
        )
    trials = list(Trial.objects.filter(sweep=sweep))
    assert [trial.state for trial in trials] == [TrialState.FINISHED] * TRIALS
    assert len({tuple(trial.point) for trial in trials}) == TRIALS == Sweep.objects.get(pk=sweep.pk).planned
    by_worker = Counter(trial.worker.partition("@")[0] for trial in trials)
    assert by_worker["first"] == by_first > TRIALS // 10
    assert by_worker["second"] == TRIALS - by_first
    # The killed worker cost its own part only: the trial that it was doing was begun a second time.
    assert Counter(trial.attempt for trial in trials) == {1: TRIALS - 1, 2: 1}
    assert Job.objects.get(pk=job.pk).attempt == 1
