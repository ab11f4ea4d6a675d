"""The same sweep with 1, 2 and 4 worker processes: running time falls with added workers, as the machine lets it.

What it lets is measured in the same run, with processes that share nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from kschedweb.accounts.models import User
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.playground.sweeps.models import Trial
from tests.bench.conftest import timed
from tests.bench.cores import gains
from tests.jobs.conftest import WorkerProcess, broker, send, worker_process
from tests.support import seed_demo, seed_sweeps
from tests.support.processes import wait_until

__all__ = ["broker", "send", "worker_process"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql, pytest.mark.redis, pytest.mark.nightly]

TRIALS = 20
COUNTS = (2, 4)
LEAST_SHARE = 0.7  # of what as many processes gain that share nothing
ROUNDS = 3  # of which the best counts: a shared machine has bad moments
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
    with contextlib.ExitStack() as stack:
        workers: list[int] = []

        def timed_with(count: int) -> float:
            while len(workers) < count:
                workers.append(stack.enter_context(worker_process(f"worker-{len(workers)}")).pid)
            wait_until(lambda: ready(tmp_path) == count, f"{count} workers ready")
            warmed(editor, revision, send, count)
            before = Spent.by(workers)
            took = timed(lambda: swept(editor, revision, send, TRIALS))
            report(f"sweep of {TRIALS} trials, workers: {count}", [took], 0, Spent.by(workers).since(before, took))
            return took

        alone = timed_with(1)
        assert all(gained(alone, count, timed_with) for count in COUNTS)


def gained(alone: float, count: int, timed_with: Callable[[int], float]) -> bool:
    """Return whether ``count`` workers are as much faster than one as the machine permits."""
    for _ in range(ROUNDS):
        gain, possible = alone / timed_with(count), gains([count])[count]
        print(f"\n{count} workers: {gain:.2f} times as fast as one; processes that share nothing: {possible:.2f} times")
        if gain >= LEAST_SHARE * possible:
            return True
    return False


class Spent(NamedTuple):
    """Seconds of the processes that do the workers' tasks: ``running`` on a core, ``queued`` for one."""

    running: float
    queued: float

    @classmethod
    def by(cls, workers: Sequence[int]) -> Spent:
        schedstats = [
            Path(f"/proc/{child}/schedstat").read_text().split() for pid in workers for child in children(pid)
        ]
        return cls(sum(int(stat[0]) for stat in schedstats) / 1e9, sum(int(stat[1]) for stat in schedstats) / 1e9)

    def since(self, before: Spent, milliseconds: float) -> str:
        """In words, of the time since ``before``."""
        running, queued = ((now - then) * 1000 / milliseconds for now, then in zip(self, before, strict=True))
        return f"on average {running:.2f} of them at work, {queued:.2f} waiting for a core"


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
    wait_until(
        lambda: Job.objects.filter(pk=job.pk, state=JobState.SUCCEEDED).exists(),
        "the sweep ended",
        seconds=180,
        step=0.05,
    )
