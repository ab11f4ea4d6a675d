from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from celery.contrib.testing.worker import start_worker
from django.db import connection
from kombu import Connection

from kschedweb.celery import app
from kschedweb.jobs.models import Job
from tests.conftest import ROOT
from tests.support.needs import missing
from tests.support.processes import free_port, running, wait_until

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


@pytest.fixture(scope="module")
def one_worker(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with (
        django_db_blocker.unblock(),
        start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, shutdown_timeout=20),
    ):
        yield


@pytest.fixture
def worker(transactional_db: None, one_worker: None) -> None:
    """A real Celery worker on a thread of this process, as `make run` has one; the tests of a module share it."""


@pytest.fixture
def ended() -> Callable[[Job], Job]:
    """``ended(job)`` waits until the job is over and returns its row as it is then."""

    def wait(job: Job, seconds: float = 20) -> Job:
        wait_until(
            lambda: Job.objects.filter(pk=job.pk, ended_at__isnull=False).exists(),
            f"{job.title} ended",
            seconds=seconds,
        )
        job.refresh_from_db()
        return job

    return wait


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Redis server that only these tests use."""
    if not shutil.which("redis-server"):
        missing("redis-server is not installed")
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with running(command, folder / "log"):
        address = f"redis://127.0.0.1:{port}/0"

        def answers() -> bool:
            with Connection(address) as probe:
                try:
                    probe.ensure_connection(max_retries=1, timeout=1)
                except OSError:
                    return False
                return True

        wait_until(answers, "Redis answers")
        yield address


def database_url() -> str:
    """The test database's address, for another process."""
    it = connection.settings_dict
    if it["ENGINE"] == "kschedweb.web.sqlite":
        return f"sqlite:///{it['NAME']}"
    return f"postgres://{it['USER']}:{it['PASSWORD']}@{it['HOST']}:{it['PORT']}/{it['NAME']}"


WorkerProcess = Callable[..., AbstractContextManager["subprocess.Popen[bytes]"]]


@pytest.fixture
def worker_process(transactional_db: None, broker: str, tmp_path: Path) -> WorkerProcess:
    """``with worker_process("one") as process``: a real worker with Redis, in a process group of its own.

    Further words go to Celery (it is a prefork worker of one process otherwise), further names are settings.
    """
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "kschedweb.settings",
        "KSCHEDWEB_DATA_DIR": str(tmp_path),
        "DATABASE_URL": database_url(),
        "REDIS_URL": broker,
    }
    command = [sys.executable, "-m", "celery", "-A", "kschedweb.celery", "worker", "-c", "1", "-l", "INFO"]
    command += ["--include", "tests.jobs.sample_tasks"]

    @contextmanager
    def start(name: str = "worker", *words: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
        log = tmp_path / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*command, "-n", f"{name}@%h", *words],
                cwd=ROOT,
                env={**env, **settings},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(10)

    return start


@pytest.fixture
def send(broker: str) -> Callable[[Job], None]:
    """Give the job's message to the tests' Redis."""

    def send_job(job: Job) -> None:
        with Connection(broker) as connection:
            app.send_task(job.kind, [str(job.pk)], connection=connection)

    return send_job


@pytest.fixture
def tick(broker: str) -> Callable[[], None]:
    """Send the task that beat sends each minute."""

    def reconcile() -> None:
        with Connection(broker) as connection:
            app.send_task("kschedweb.jobs.tasks.reconcile", connection=connection)

    return reconcile
