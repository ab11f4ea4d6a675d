"""The same sweep with 1, 2 and 4 worker processes: running time falls with added workers, as far as there are cores."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
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
LEAST = 0.75  # times as fast by each worker that has a core of its own
MOST_WORK = 1.3  # times the processor time of one worker that several spend on the same trials
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
    spent: dict[int, Spent] = {}
    workers: list[int] = []
    with contextlib.ExitStack() as stack:
        for count in (1, 2, 4):
            while len(workers) < count:
                workers.append(stack.enter_context(worker_process(f"worker-{len(workers)}")).pid)
            wait_until(lambda count=count: ready(tmp_path) == count, 60, f"{count} workers ready")  # type: ignore[misc]
            warmed(editor, revision, send, count)
            before = Spent.by(workers)
            took[count] = timed(lambda: swept(editor, revision, send, TRIALS))
            spent[count] = Spent(*np.subtract(Spent.by(workers), before))
    cores = os.cpu_count() or 1
    for count, milliseconds in took.items():
        worked, queued = (seconds / count / milliseconds * 100_000 for seconds in spent[count])
        remark = f"{took[1] / milliseconds:.2f} times as fast as with one, on {cores} cores; of the workers' time "
        remark += f"{worked:.0f} % work, {queued:.0f} % wait for a core, the rest for the database or nothing"
        processes = f"{count} worker process{'es' if count > 1 else ''}"
        report(f"sweep of {TRIALS} trials, {processes}", [milliseconds], 0, remark)
    assert max(one.worked for one in spent.values()) <= MOST_WORK * spent[1].worked
    for count in (2, 4):
        assert count > cores or took[1] / took[count] >= LEAST * count


class Spent(NamedTuple):
    """Seconds of the processes that do the workers' tasks: ``worked`` on a core, ``queued`` for one."""

    worked: float
    queued: float

    @classmethod
    def by(cls, workers: Sequence[int]) -> Spent:
        found = [Path(f"/proc/{one}/schedstat").read_text().split() for pid in workers for one in children(pid)]
        return cls(sum(int(one[0]) for one in found) / 1e9, sum(int(one[1]) for one in found) / 1e9)


def children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def ready(folder: Path) -> int:
    return sum(" ready." in log.read_text() for log in folder.glob("worker-*.log"))


def warmed(editor: User, revision: ScenarioRevision, send: Callable[[Job], None], count: int) -> None:
    """Have each of ``count`` workers do a trial: what a process does once, such as imports, is not measured.

    Workers that are at it already can do all of a small sweep before an added one has begun.
    """
    for _ in range(20):
        swept(editor, revision, send, 4 * count)
        if Trial.objects.exclude(worker="").values("worker").distinct().count() == count:
            return
    raise AssertionError(f"not all of {count} workers took part")


def swept(editor: User, revision: ScenarioRevision, send: Callable[[Job], None], trials: int) -> None:
    """A grid, of which the first ``trials`` points are done."""
    sweep = seed_sweeps.started(editor, revision, space=SPACE, objectives=[{"measure": "skew_cpu"}])
    Trial.objects.filter(sweep=sweep, number__gte=trials).delete()
    type(sweep).objects.filter(pk=sweep.pk).update(planned=trials)
    job = sweep.job
    assert job is not None
    send(job)
    wait_until(lambda: Job.objects.filter(pk=job.pk, state=State.SUCCEEDED).exists(), 180, "the sweep ended", 0.05)
