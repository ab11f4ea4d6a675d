"""Runs the flight recorders that are on, each in one process: a step of the scheduler's workers, or a thread."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from typing import Any

import structlog
from celery import bootsteps
from django.db import connection

from kschedweb.clusters.flight import selectors, services
from kschedweb.clusters.flight.flight_run import FlightRun
from kschedweb.web import connections
from kschedweb.web.errors import ApplicationError

# The queue of the Celery workers that host recorders.
QUEUE = "scheduler"
# Seconds between looks at the rows.
LOOK_INTERVAL = 3.0
# Seconds until a run that failed starts again.
RETRY_PAUSE = 15.0
BETWEEN = "no process recorded: it was stopped, or the recorder was off"
logger = structlog.get_logger(__name__)


class FlightHost:
    """Hosts the recorders that no other process has."""

    def __init__(self) -> None:
        self.identity = f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"
        self._runs: dict[Any, FlightRun] = {}
        # Monotonic seconds before which a recorder is not started again.
        self._again: dict[Any, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="flight-host", daemon=True)

    def start(self, _: Any = None) -> None:
        self._thread.start()

    def stop(self, _: Any = None) -> None:
        self._ended.set()
        if self._thread.ident:
            self._thread.join(LOOK_INTERVAL + 5.0)

    def terminate(self, _: Any = None) -> None:
        self.stop()

    def _run(self) -> None:
        away = False
        while not self._ended.wait(LOOK_INTERVAL):
            try:
                connections.drop_stale_connection()
                self._reconcile_runs()
                connections.return_connection()
                away = False
            except Exception:
                # Runs in progress go on until the database is back. The warning is logged once for each outage.
                if not away:
                    logger.warning("flight_host_waits", exc_info=True)
                away = True
        for key in list(self._runs):
            self._end(key)
        connection.close()

    def _reconcile_runs(self) -> None:
        rows = {row.pk: row for row in selectors.active_recorders()}
        for key, run in list(self._runs.items()):
            if key not in rows or not run.is_alive:
                self._end(key)
        for key, row in rows.items():
            if key in self._runs or time.monotonic() < self._again.get(key, 0.0):
                continue
            if not services.recorder_claim(recorder=row, holder=self.identity):
                continue
            self._again[key] = time.monotonic() + RETRY_PAUSE
            try:
                run = FlightRun(row, self.identity, reason=BETWEEN)
                run.start()
                self._runs[key] = run
            except ApplicationError as error:
                services.recorder_trouble(recorder=row, problem=error.detail)

    def _end(self, key: Any) -> None:
        run = self._runs.pop(key)
        run.stop()
        services.holder_leave(cluster=key, holder=self.identity)


class FlightStep(bootsteps.StartStopStep):
    """The Celery step, included in workers that serve the queue ``scheduler``."""

    requires = {"celery.worker.components:Pool"}

    def include_if(self, parent: Any) -> bool:
        return QUEUE in parent.app.amqp.queues.consume_from

    def create(self, parent: Any) -> FlightHost:
        return FlightHost()
