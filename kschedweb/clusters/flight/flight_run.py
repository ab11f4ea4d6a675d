"""One run of a flight recorder: reflectors bring news, and one thread stores it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog
from django.db import DatabaseError, InterfaceError, connection

from kschedweb.clusters.connecting import openers
from kschedweb.clusters.events.reading import EventFollower
from kschedweb.clusters.flight import services
from kschedweb.clusters.flight.storage import RecorderLost
from kschedweb.clusters.flight.stretches import Flight
from kschedweb.clusters.following.clock import SteadyClock
from kschedweb.clusters.following.reflector import Message, Reflector
from kschedweb.clusters.kinds import KINDS
from kschedweb.web import connections
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.clusters.flight.models import FlightRecorder

# Seconds between two writes to the database.
KEEP_EVERY = 5.0
# Seconds that the thread waits for news.
LONGEST_WAIT = 1.0
# News taken in one go, so that storing is not put off for ever.
AT_ONCE = 1000
# Seconds: a tick that comes more than five seconds late means that the process was suspended.
TICK, STOOD_STILL = 1.0, 5.0
# Seconds that a stop waits for each thread.
STOP_SECONDS = 2.0
logger = structlog.get_logger(__name__)


class FlightRun:
    """Records the cluster of ``recorder`` as ``holder``, who claimed it, until ``stop``."""

    def __init__(
        self, recorder: FlightRecorder, holder: str, *, reason: str, clock: Callable[[], float] | None = None
    ) -> None:
        self._recorder, self._clock = recorder, clock or SteadyClock()
        self._flight = Flight(recorder.cluster, holder, (kind.name for kind in KINDS), reason)
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._reflectors: list[Reflector] = []
        # Events are kept in the ring of the cluster, and are no part of a moment.
        self._events: EventFollower | None = None
        self._thread = threading.Thread(target=self._run, name="flight-recorder", daemon=True)
        self._ticker = threading.Thread(target=self._tick, name="flight-clock", daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Start to follow and to record. Raises ApplicationError if the server is not allowed."""
        opens = openers.get_opener(self._recorder.cluster).open
        self._events = EventFollower(self._recorder.cluster, opens)
        self._reflectors = [Reflector(opens, kind, self._queue_news, broken=self._queue_break) for kind in KINDS]
        self._reflectors.append(self._events.reflector)
        for reflector in self._reflectors:
            reflector.start()
        self._thread.start()
        self._ticker.start()

    def stop(self) -> None:
        """Store what is known, and end."""
        self._stop.set()
        for reflector in self._reflectors:
            reflector.end()
        for thread in (self._thread, self._ticker):
            thread.join(STOP_SECONDS)
        for reflector in self._reflectors:
            reflector.join(STOP_SECONDS)

    # Threads of reflectors, and the clock's.

    def _queue_news(self, news: Message) -> None:
        # The time is taken here, where news comes in, and not when the writing thread gets to it.
        at = self._now_micros()
        self._inbox.put(lambda: self._flight.take_news(at, news))

    def _queue_break(self, kind: str, problem: str) -> None:
        at = self._now_micros()
        self._inbox.put(lambda: self._flight.note_broken(at, kind, problem))

    def _tick(self) -> None:
        before = self._clock()
        while not self._stop.wait(TICK):
            now = self._clock()
            if now - before > TICK + STOOD_STILL:
                at = self._now_micros()
                self._inbox.put(lambda at=at: self._flight.stood_still(at))  # type: ignore[misc]
            before = now

    def _now_micros(self) -> int:
        return int(self._clock() * 1e6)

    # The thread that writes.

    def _run(self) -> None:
        try:
            stored_at = time.monotonic()
            while not self._stop.is_set():
                self._work_inbox()
                if time.monotonic() - stored_at >= KEEP_EVERY:
                    self._store_known()
                    stored_at = time.monotonic()
            self._work_inbox()
            self._store_known()
        except RecorderLost as lost:
            logger.info("flight_recorder_lost", cluster=self._recorder.cluster.name, reason=lost.detail)
        finally:
            for reflector in self._reflectors:
                reflector.end()
            connection.close()

    def _work_inbox(self) -> None:
        try:
            self._inbox.get(timeout=LONGEST_WAIT)()
            for _ in range(AT_ONCE):
                self._inbox.get_nowait()()
        except queue.Empty:
            pass

    def _store_known(self) -> None:
        try:
            connections.drop_stale_connection()
            self._flight.store_known(self._now_micros())
            if self._events is not None:
                self._events.store()
            openers.renew_opener(self._recorder.cluster)
            problems = [
                reflector.problem for reflector in self._reflectors if reflector.kind.needed and reflector.problem
            ]
            services.recorder_trouble(recorder=self._recorder, problem=problems[0] if problems else "")
            connections.return_connection()
        except (DatabaseError, InterfaceError):
            # News waits in memory until the database is back.
            logger.warning("flight_recorder_without_database", cluster=self._recorder.cluster.name)
            connection.close()
        except ApplicationError as error:
            if isinstance(error, RecorderLost):
                raise
            logger.warning("flight_recorder_trouble", cluster=self._recorder.cluster.name, error=error.detail)
