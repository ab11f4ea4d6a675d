"""A live run's thread for the approval gate: it stores requests and polls for answers.

The loop never waits for the database. A pod whose request cannot be stored yet waits, as if nobody had answered.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from django.db import InterfaceError, OperationalError, connection

from kschedweb.live.schedulers.decisions.rows import decision_id
from kschedweb.live.schedulers.running.gates import Decided, Ended, HeldRequest, NobodyToAsk, get_gate
from kschedweb.web import connections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.engine.live import HoldPod
    from kschedweb.live.schedulers.models import LiveScheduler

logger = structlog.get_logger(__name__)

# Seconds between two polls for answers.
LOOK_INTERVAL = 0.5
# Seconds between two tries while the database does not answer.
LONGEST_WAIT = 5.0
# Errors of a database that does not answer, which passes.
AWAY = (OperationalError, InterfaceError)


@dataclass(frozen=True)
class RequestStored:
    """The request of a held pod was stored, or could not be stored."""

    term: int
    uid: str
    plugin: str
    # Why it could not be stored, "" if it was.
    problem: str = ""


@dataclass(frozen=True)
class RequestsListed:
    """The stored requests that are still open."""

    term: int
    requests: Sequence[HeldRequest]


@dataclass(frozen=True)
class RequestsDecided:
    """The stored requests that were decided and not carried out yet."""

    term: int
    answers: Sequence[Decided]


@dataclass(frozen=True)
class BindPermission:
    """The gate's answer whether an approved pod may be bound now."""

    term: int
    uid: str
    granted: bool


Ask = Callable[[], None]


class GateClient:
    """Calls the gate for one live run, in the order in which calls are queued. Answers go to ``sink``."""

    def __init__(self, scheduler: LiveScheduler, revision: int, sink: Callable[[object], None]) -> None:
        self.scheduler, self.revision, self._sink = scheduler, revision, sink
        # True if the database did not answer the last time.
        self.away = False
        # The term whose answers are polled for; 0 for none.
        self.term = 0
        self._asks: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live-requests", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Make the queued calls for at most ``seconds``, then end the thread."""
        self._ended.set()
        self._wake.set()
        if self._thread.ident:
            self._thread.join(seconds)

    def open(self, term: int) -> None:
        """Request all requests that are still open."""
        self._queue_ask(lambda: self._sink(RequestsListed(term, get_gate().list_open(self.scheduler))))

    def hold(self, intent: HoldPod, *, term: int, epoch: int) -> None:
        """Store the request of a held pod."""

        def store_request() -> None:
            # Another process leads by now, and decides about this pod itself.
            if term != self.term:
                return
            try:
                get_gate().store_request(
                    scheduler=self.scheduler,
                    decision=intent.decision,
                    decision_id=str(decision_id(self.scheduler.pk, intent.decision)),
                    ask=intent.ask,
                    pod=intent.pod,
                    node=intent.node,
                    plugin=intent.plugin,
                    seconds=intent.seconds,
                    epoch=epoch,
                    revision=self.revision,
                )
            except AWAY:
                raise
            except NobodyToAsk as nobody:
                self._sink(RequestStored(term, intent.pod.uid, intent.plugin, str(nobody)))
            except Exception:
                logger.exception("live_request_not_stored", pod=intent.pod.key)
                self._sink(RequestStored(term, intent.pod.uid, intent.plugin, "its request could not be stored"))
            else:
                self._sink(RequestStored(term, intent.pod.uid, intent.plugin))

        self._queue_ask(store_request)

    def may_bind(self, uid: str, request_id: str, *, term: int, epoch: int) -> None:
        """Ask the gate whether the leader of ``epoch`` may bind an approved pod."""

        def ask_gate() -> None:
            if term == self.term:
                self._sink(BindPermission(term, uid, get_gate().may_bind(request_id=request_id, epoch=epoch)))

        self._queue_ask(ask_gate)

    def note_ended(self, uid: str, state: Ended, reason: str, epoch: int) -> None:
        """Tell the gate that the request of a pod has ended."""
        self._queue_ask(
            lambda: get_gate().record_end(
                scheduler=self.scheduler, uid=uid, state=state, reason=reason[:1000], epoch=epoch
            )
        )

    def _queue_ask(self, ask: Ask) -> None:
        self._asks.put(ask)
        self._wake.set()

    def _run(self) -> None:
        pending: Ask | None = None
        pause = LOOK_INTERVAL
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            try:
                connections.drop_stale_connection()
                while pending is not None or not self._asks.empty():
                    # A call stays pending until it succeeds, so one that meets a database failure is made again.
                    pending = pending or self._asks.get_nowait()
                    self._call_gate(pending)
                    pending = None
                if self.term and (answers := get_gate().list_decided(self.scheduler)):
                    self._sink(RequestsDecided(self.term, answers))
                self.away, pause = False, LOOK_INTERVAL
                connections.return_connection()
            except AWAY as error:
                if not self.away:
                    logger.warning("live_requests_wait", scheduler=str(self.scheduler.pk), error=type(error).__name__)
                self.away, pause = True, min(pause * 2, LONGEST_WAIT)
            if self._ended.is_set() and (self.away or (pending is None and self._asks.empty())):
                break
        connection.close()

    @staticmethod
    def _call_gate(ask: Ask) -> None:
        """Make one call. A failure other than the database's would only repeat itself: it is logged and passed over."""
        try:
            ask()
        except AWAY:
            raise
        except Exception:
            logger.exception("live_request_failed")
