"""The same sweep with 1, 2 and 4 worker processes: running time falls with added workers, as far as there are cores."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedweb.accounts.models import User
from kschedweb.jobs.models import Job, State
from kschedweb.scenarios.models import ScenarioRevision
from kschedweb.sweeps.models import Trial
from tests.bench.conftest import timed
from tests.jobs.conftest import WorkerProcess, broker, send, worker_process
from tests.support import seed_demo, seed_sweeps
from tests.support.processes import wait_until

__all__ = ["broker", "send", "worker_process"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql, pytest.mark.redis]

TRIALS = 40
LEAST = 1.3  # times as fast with two workers on two cores
SPACE = [
    {"path": seed_sweeps.FIT, "from": 1, "to": 10},
    {"path": seed_sweeps.BALANCED, "from": 1, "to": 6},
]


def test_running_time_falls_with_added_workers(
    editor: User,
    worker_process: WorkerProcess,
    send: Callable[[Job], None],
    tmp_path: Path,
    report: Callable[..., None],
) -> None:
    revision = seed_demo.scenario(editor)
    took: dict[int, float] = {}
    with contextlib.ExitStack() as stack:
        for count in (1, 2, 4):
            for number in range(len(took) and count // 2, count):
                stack.enter_context(worker_process(f"worker-{number}"))
            wait_until(lambda count=count: ready(tmp_path) == count, 60, f"{count} workers ready")  # type: ignore[misc]
            swept(editor, revision, send, 4 * count)  # what a process does once: imports, the scenario
            took[count] = timed(lambda: swept(editor, revision, send, TRIALS))
    cores = os.cpu_count() or 1
    for count, milliseconds in took.items():
        remark = f"{took[1] / milliseconds:.2f} times as fast as with one, on {cores} cores"
        report(
            f"sweep of {TRIALS} trials, {count} worker process{'es' if count > 1 else ''}", [milliseconds], 0, remark
        )
    assert cores < 2 or took[1] / took[2] >= LEAST


def ready(folder: Path) -> int:
    return sum(" ready." in log.read_text() for log in folder.glob("worker-*.log"))


def swept(editor: User, revision: ScenarioRevision, send: Callable[[Job], None], trials: int) -> None:
    """A grid, of which the first ``trials`` points are done."""
    sweep = seed_sweeps.started(editor, revision, space=SPACE, objectives=[{"measure": "skew_cpu"}])
    Trial.objects.filter(sweep=sweep, number__gte=trials).delete()
    type(sweep).objects.filter(pk=sweep.pk).update(planned=trials)
    job = sweep.job
    assert job is not None
    send(job)
    wait_until(lambda: Job.objects.filter(pk=job.pk, state=State.SUCCEEDED).exists(), 180, "the sweep ended", 0.02)
