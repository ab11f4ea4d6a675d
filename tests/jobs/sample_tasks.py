"""Jobs that tests start; worker processes load them by ``--include tests.jobs.sample_tasks``."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import structlog

from kschedweb.jobs.services import job_start
from kschedweb.jobs.tasks import job_task
from kschedweb.web.errors import ApplicationError


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


@job_task(name="tests.start_another")
def start_another(progress: Any) -> dict[str, Any]:
    job_start("tests.count", title="Count", params={"to": 1}, user=None)
    return {}


@job_task(name="tests.refuse")
def refuse(progress: Any) -> dict[str, Any]:
    raise ApplicationError("The cluster does not answer; Authorization: Bearer abcdef123456")


@job_task(name="tests.crash")
def crash(progress: Any) -> dict[str, Any]:
    raise RuntimeError("password=hunter2 at line 3")


@job_task(name="tests.count_apart", restartable=True, in_thread=True)
def count_apart(progress: Any, to: int, pause: float = 0.0) -> dict[str, Any]:
    return _count(progress, to, pause)


@job_task(name="tests.process")
def process(progress: Any) -> dict[str, Any]:
    structlog.get_logger(__name__).error("sample_task_logs")
    return {"pid": os.getpid(), "group": os.getpgid(0)}


@job_task(name="tests.grow", restartable=True)
def grow(progress: Any) -> dict[str, Any]:
    """Take memory, a piece at a time, until there is none."""
    blocks: list[Any] = []
    while True:
        progress.step(f"Process {os.getpid()} holds MiB:", len(blocks) * 64)
        blocks.append(np.ones(64 * 1024 * 1024, dtype=np.uint8))


@job_task(name="tests.wait", restartable=True)
def wait(progress: Any) -> dict[str, Any]:
    """Say who works, and work on without a word."""
    progress.step(str(os.getpid()))
    while True:
        time.sleep(0.01)
