"""Host live schedulers in this process: read their rows, start and stop their runs, report their state.

In a scaled-out installation the host is a step of each Celery worker that serves the queue ``scheduler``. In an
embedded one it is a thread. It needs no messages: it reads the rows twice a second and finds people's orders there.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog
from celery import bootsteps
from django.conf import settings
from django.db import connection
from django.utils import timezone

from kschedweb.clusters.connecting import openers
from kschedweb.live.schedulers import metrics, selectors, services
from kschedweb.live.schedulers.decisions.rows import to_datetime
from kschedweb.live.schedulers.election.rivals import describe_awaited
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.running.runs import HostedRun, make_run
from kschedweb.watermarks import selectors as watermarks
from kschedweb.web import connections
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from uuid import UUID


logger = structlog.get_logger(__name__)

# In these modes one process runs a scheduler by a claim in its row; in others a lock in the cluster decides.
CLAIMED = frozenset({Mode.SHADOW})
# The queue of the Celery workers that host.
QUEUE = "scheduler"
# All in seconds: between two reads of the rows, between two heartbeats, and so on.
LOOK_INTERVAL = 0.5
BEAT_EVERY = 1.0

CLAIM_EVERY, IDLE_BEAT_EVERY = 2.0, 5.0
REFRESH_EVERY = 2.0
# Seconds without a turn of the loop after which the lease is handed over, and after which the process ends.
HANGS, GIVES_UP = 15.0, 60.0
# Seconds before a failed run is started again; they double with each failure.
FIRST_REST, LONGEST_REST = 1.0, 30.0
# Kubernetes kills a pod 30 s after SIGTERM: stopping takes far less, so that the lock is given back.
STOP_SECONDS = 8.0


@dataclass
class HostedScheduler:
    """A live scheduler that this process hosts, or tries to host."""

    row: LiveScheduler
    # The settings of the run: new settings need a new run.
    key: tuple[Any, ...]
    started_at: Any = field(default_factory=timezone.now)
    run: HostedRun | None = None
    # True if this process has joined and the mode needs no run here.
    idle: bool = False
    # These times are monotonic seconds.
    claimed_at: float = -math.inf
    beat_at: float = -math.inf

    # Why the last start or run failed, "" if it did not.
    error: str = ""
    failures: int = 0
    # Monotonic seconds: no new try before.
    again_at: float = 0.0
    # The version of the watermarks that the run has.
    figures: str = ""


class Host:
    """The host of this process. ``fatal`` is called if a run hangs for good and only a new process helps."""

    def __init__(self, *, fatal: Callable[[], None] | None = None) -> None:
        self._uuid = uuid.uuid4()
        self._fatal = fatal
        self._hosted: dict[UUID, HostedScheduler] = {}
        self._ended, self._compare = threading.Event(), threading.Event()
        self._beat_at = self._refresh_at = 0.0
        self._thread = threading.Thread(target=self._run, name="live-host", daemon=True)

    def identity_of(self, row: LiveScheduler) -> str:
        """Return the identity of this process in the election of ``row``.

        Live schedulers whose policies name the same lock are rivals, even in one process, so each has its own identity.
        """
        return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid5(self._uuid, str(row.pk))}"

    def start(self) -> None:
        if settings.METRICS_PORT:
            metrics.serve_metrics(settings.METRICS_PORT, settings.METRICS_HOST)
        self.listen_for_signal()
        self._thread.start()

    def listen_for_signal(self) -> None:
        """Make SIGUSR2 compare each run's state with a fresh list from now on, as in kube-scheduler."""
        # Python allows signal handlers only to be set in the main thread.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGUSR2, lambda *_: self._compare.set())

    def stop(self) -> None:
        """Stop every run in order, so that other processes can take over at once."""
        self._ended.set()
        if self._thread.ident:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        away = False
        while not self._ended.wait(LOOK_INTERVAL):
            try:
                connections.drop_stale_connection()
                self._tick()
                connections.return_connection()
                away = False
            except Exception:
                # The runs go on with their present settings until the database answers again.
                if not away:
                    logger.warning("live_host_waits", exc_info=True)
                away = True
                self._watch()
        self._stop_all()
        connection.close()

    def _tick(self) -> None:
        rows = {row.pk: row for row in selectors.list_running()}
        for pk, hosted in list(self._hosted.items()):
            if pk not in rows or hosted.key != key_of(rows[pk]):
                del self._hosted[pk]
                self._end(hosted)
        for pk, row in rows.items():
            hosted = self._hosted.setdefault(pk, HostedScheduler(row, key_of(row)))
            if self._may_run(hosted, row):
                self._keep_running(hosted)
            elif hosted.run is not None:
                self._stand_by(hosted)
            self._pass_on(hosted, row)
        self._watch()
        self._compare_all()
        now = time.monotonic()
        if now >= self._refresh_at:
            self._refresh_at = now + REFRESH_EVERY
            self._refresh_runs()
        if now >= self._beat_at:
            self._beat_at = now + BEAT_EVERY
            for hosted in self._hosted.values():
                if not hosted.idle or now >= hosted.beat_at + IDLE_BEAT_EVERY:
                    hosted.beat_at = now
                    self._report_candidate(hosted)

    def _compare_all(self) -> None:
        if self._compare.is_set():
            self._compare.clear()
            for hosted in self._hosted.values():
                if hosted.run is not None:
                    hosted.run.compare()

    def _may_run(self, hosted: HostedScheduler, row: LiveScheduler) -> bool:
        """Return whether this process may run it. With a leader lock every process may, otherwise one by a claim."""
        now, identity = time.monotonic(), self.identity_of(row)
        if row.mode not in CLAIMED or (row.holder == identity and now < hosted.claimed_at + CLAIM_EVERY):
            return True
        hosted.claimed_at = now
        return services.host_claim(live=row, identity=identity)

    @staticmethod
    def _stand_by(hosted: HostedScheduler) -> None:
        run, hosted.run, hosted.figures = hosted.run, None, ""
        if run is not None:
            run.stop()

    def _keep_running(self, hosted: HostedScheduler) -> None:
        """Start a run if there is none; wait first if the last one failed."""
        if hosted.run is not None and not hosted.run.alive:
            hosted.error = hosted.run.problem or "The scheduling loop ended by itself and starts over."
            self._schedule_retry(hosted)
        if hosted.run is not None or hosted.idle or time.monotonic() < hosted.again_at:
            return
        try:
            identity = self.identity_of(hosted.row)
            if not services.candidate_join(live=hosted.row, identity=identity, started_at=hosted.started_at):
                hosted.error = describe_awaited(hosted.row, identity)
                return
            hosted.error = ""
            hosted.run = make_run(hosted.row, identity)
            if hosted.run is not None:
                hosted.run.start()
            hosted.idle = hosted.run is None
        except ApplicationError as error:
            hosted.error = error.detail
            self._schedule_retry(hosted)
        except Exception as error:
            logger.exception("live_run_not_begun", scheduler=hosted.row.scheduler_name)
            hosted.error = f"The scheduler could not be started: {type(error).__name__}."
            self._schedule_retry(hosted)

    def _schedule_retry(self, hosted: HostedScheduler) -> None:
        self._stand_by(hosted)
        delay = min(LONGEST_REST, FIRST_REST * 2**hosted.failures)
        hosted.failures += 1
        hosted.again_at = time.monotonic() + delay

    @staticmethod
    def _pass_on(hosted: HostedScheduler, row: LiveScheduler) -> None:
        """Pass a person's orders to the leader. Steps are taken from the row only once."""
        if hosted.run is not None:
            steps = services.steps_take(live=row) if row.steps and hosted.run.leading else 0
            hosted.run.command(row.paused, steps)

    def _refresh_runs(self) -> None:
        """Pass replaced credentials and new measurements of usage on to the runs."""
        at_work = [hosted for hosted in self._hosted.values() if hosted.run is not None]
        clusters = {hosted.row.cluster for hosted in self._hosted.values()}
        for cluster in clusters:
            openers.renew_opener(cluster)
        versions = {cluster: watermarks.figures_version(cluster) for cluster in clusters}
        for hosted in at_work:
            version = versions[hosted.row.cluster]
            if hosted.run is not None and version != hosted.figures:
                hosted.run.update_watermarks(watermarks.current_watermarks(hosted.row.cluster))
                hosted.figures = version

    def _report_candidate(self, hosted: HostedScheduler) -> None:
        report = hosted.run.report() if hosted.run is not None else {}
        if error_at := report.pop("error_at", 0.0):
            report["error_at"] = to_datetime(error_at)
        if hosted.error and not report.get("error"):
            report |= {"error": hosted.error[:500], "error_at": report.get("error_at") or timezone.now()}
        silent = time.monotonic() - hosted.run.ticked if hosted.run is not None else 0.0
        services.candidate_beat(
            live=hosted.row,
            identity=self.identity_of(hosted.row),
            started_at=hosted.started_at,
            silent=silent,
            revision=selectors.revision_id_in_force(hosted.row),
            report=report,
        )

    def _watch(self) -> None:
        """Take the lease from a loop that hangs, as it must not lead. End the process if the loop cannot be stopped."""
        for hosted in self._hosted.values():
            if hosted.run is None:
                continue
            silent = time.monotonic() - hosted.run.ticked
            if silent > HANGS:
                logger.error("live_run_hangs", scheduler=hosted.row.scheduler_name, seconds=round(silent))
                hosted.error = "The scheduling loop hung: its lock was handed over."
                hosted.run.hand_over()
            if silent > GIVES_UP and self._fatal is not None:
                self._fatal()

    def _end(self, hosted: HostedScheduler) -> None:
        if hosted.run is not None:
            hosted.run.stop()
        services.host_leave(live=hosted.row, identity=self.identity_of(hosted.row))
        services.candidate_leave(live=hosted.row, identity=self.identity_of(hosted.row))

    def _stop_all(self) -> None:
        # In parallel, since Kubernetes gives the whole process one grace period.
        threads = [threading.Thread(target=self._leave_quietly, args=(hosted,)) for hosted in self._hosted.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(STOP_SECONDS)

    def _leave_quietly(self, hosted: HostedScheduler) -> None:
        try:
            self._end(hosted)
        except Exception:
            logger.warning("live_run_not_ended", scheduler=hosted.row.scheduler_name, exc_info=True)
        finally:
            connection.close()


def key_of(row: LiveScheduler) -> tuple[Any, ...]:
    """Return the settings of a run: if they change, it is stopped and a new one is started."""
    policy = selectors.revision_id_in_force(row)
    lease = (row.lock, row.lease_namespace, row.lease_name)
    server = (row.cluster.server, row.cluster.source)
    return row.mode, policy, row.qps, row.burst, row.keep_columns, lease, server, row.reloads


def give_up() -> None:
    """End a process whose loop hangs, so that its supervisor starts a new one."""
    # sysexits' EX_SOFTWARE. os._exit, since sys.exit would wait for the thread that hangs.
    os._exit(70)


class HostStep(bootsteps.StartStopStep):
    """The Celery step, included in workers that serve the queue ``scheduler``."""

    requires = {"celery.worker.components:Pool"}

    def include_if(self, parent: Any) -> bool:
        return QUEUE in parent.app.amqp.queues.consume_from

    def create(self, parent: Any) -> Host:
        return Host(fatal=give_up)
