"""Jobs that tests start; worker processes load them by ``--include tests.jobs.sample_tasks``."""

from __future__ import annotations

import time
from typing import Any

from kschedweb.errors import ApplicationError
from kschedweb.jobs.tasks import job_task


def _count(progress: Any, to: int, pause: float) -> dict[str, Any]:
    for number in range(to):
        progress.step("Counting", number, to)
        time.sleep(pause)
    progress.step("Counting", to, to)
    return {"counted": to, "attempt": progress.job.attempt}


@job_task(name="tests.count")
def count(progress: Any, to: int, pause: float = 0.0) -> dict[str, Any]:
    return _count(progress, to, pause)


@job_task(name="tests.count_again", restartable=True)
def count_again(progress: Any, to: int, pause: float = 0.0) -> dict[str, Any]:
    return _count(progress, to, pause)


@job_task(name="tests.refuse")
def refuse(progress: Any) -> dict[str, Any]:
    raise ApplicationError("The cluster does not answer; Authorization: Bearer abcdef123456")


@job_task(name="tests.crash")
def crash(progress: Any) -> dict[str, Any]:
    raise RuntimeError("password=hunter2 at line 3")


@job_task(name="tests.count_apart", restartable=True, apart=True)
def count_apart(progress: Any, to: int, pause: float = 0.0) -> dict[str, Any]:
    return _count(progress, to, pause)
