"""Write a live run's decisions to the database, in batches and in a thread.

While the database is away, records wait in memory, so that scheduling goes on. Beyond a limit the oldest are dropped
and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import structlog
from django.db import (
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)

from kschedweb.live.schedulers.models import LiveColumns, LiveDecision, LiveScheduler, Result

if TYPE_CHECKING:
    from uuid import UUID

logger = structlog.get_logger(__name__)

# Records that are written in one transaction.
BATCH = 200
# Seconds between two writes.
WRITE_INTERVAL = 0.5
# Records that wait in memory before the oldest are dropped.
MOST_WAITING = 20_000
# Seconds between tries while the database does not answer.
LONGEST_WAIT = 10.0
# Errors of a database that does not answer, which passes.
AWAY = (OperationalError, InterfaceError)


@dataclass(frozen=True)
class DecisionResult:
    """The result of a decision that has a row already."""

    decision: UUID
    result: str
    at: datetime
    message: str = ""
    # Seconds from the pod's creation to its binding, without waits for people.
    latency: float | None = None


@dataclass(frozen=True)
class DecisionColumns:
    """Every verdict and score of a decision."""

    decision: UUID
    # Packs them in the writing thread, so that the loop does not spend the time.
    pack: Callable[[], bytes]


@dataclass(frozen=True)
class TakenOver:
    """The leader of ``epoch`` has begun: only ``continued`` of the open decisions of earlier leaders go on."""

    epoch: int
    continued: frozenset[UUID]
    at: datetime


Record = LiveDecision | DecisionResult | DecisionColumns | TakenOver


class DecisionLog:
    """Takes records from any thread, and writes them in the order in which they came."""

    def __init__(self, scheduler: UUID) -> None:
        self.scheduler = scheduler
        # Records that were dropped.
        self.lost = 0
        # True if the database did not take the last batch.
        self.away = False
        self._waiting: deque[Record] = deque()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live-records", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Write the waiting records for at most ``seconds``, then end."""
        self._ended.set()
        self._news.set()
        if self._thread.ident:
            self._thread.join(seconds)

    def add(self, record: Record) -> None:
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self.lost += 1
            self._waiting.append(record)
            full = len(self._waiting) >= BATCH
        if full:
            self._news.set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _run(self) -> None:
        pause = WRITE_INTERVAL
        while not (self._ended.is_set() and not self._waiting):
            self._news.wait(pause)
            self._news.clear()
            try:
                close_old_connections()
                while self._write_batch():
                    pass
                self.away, pause = False, WRITE_INTERVAL
                # Between batches the connection is free for another thread.
                connection.close()
            except AWAY as error:
                if not self.away:
                    logger.warning("live_records_wait", scheduler=str(self.scheduler), error=type(error).__name__)
                self.away, pause = True, min(pause * 2, LONGEST_WAIT)
                if self._ended.is_set():
                    break
        connection.close()

    def _write_batch(self) -> int:
        """Write one batch. Records leave the queue only after they are committed."""
        with self._lock:
            batch = [self._waiting[place] for place in range(min(BATCH, len(self._waiting)))]
        if not batch:
            return 0
        try:
            records_write(self.scheduler, batch)
        except AWAY:
            raise
        except Exception:
            self._write_singly(batch)
        with self._lock:
            for record in batch:
                # While the batch was written, its oldest records may have been dropped to make room.
                if self._waiting and self._waiting[0] is record:
                    self._waiting.popleft()
        return len(batch)

    def _write_singly(self, batch: list[Record]) -> None:
        """Write the records one by one, so that only the one that cannot be written is lost."""
        for record in batch:
            try:
                records_write(self.scheduler, [record])
            except AWAY:
                raise
            except Exception:
                self.lost += 1
                logger.exception("live_record_lost", scheduler=str(self.scheduler))


def records_write(scheduler: UUID, batch: list[Record]) -> None:
    """Write ``batch`` in order, all of it or nothing. Records of a deleted scheduler are dropped."""
    with transaction.atomic():
        if not LiveScheduler.objects.filter(pk=scheduler).exists():
            return
        rows = [record for record in batch if isinstance(record, LiveDecision)]
        # Ids follow from the decision, so a batch that is written again after a lost commit changes nothing.
        LiveDecision.objects.bulk_create(rows, ignore_conflicts=True)
        columns = [record for record in batch if isinstance(record, DecisionColumns)]
        _columns_write(columns)
        for record in batch:
            if isinstance(record, DecisionResult):
                _outcome_write(record)
            elif isinstance(record, TakenOver):
                _open_end(scheduler, record)


def _columns_write(columns: list[DecisionColumns]) -> None:
    if not columns:
        return
    decision_ids = [record.decision for record in columns]
    stored_ids = set(LiveDecision.objects.filter(pk__in=decision_ids).values_list("pk", flat=True))
    rows = [
        LiveColumns(decision_id=record.decision, content=record.pack())
        for record in columns
        if record.decision in stored_ids
    ]
    LiveColumns.objects.bulk_create(rows, ignore_conflicts=True)
    LiveDecision.objects.filter(pk__in=stored_ids).update(has_columns=True)


def _outcome_write(record: DecisionResult) -> None:
    values: dict[str, object] = {"result": record.result, "ended_at": record.at, "latency": record.latency}
    if record.message:
        values["message"] = record.message
    # Only the first end counts: a pod that was bound is not superseded afterwards.
    LiveDecision.objects.filter(pk=record.decision, ended_at=None).update(**values)


def _open_end(scheduler: UUID, record: TakenOver) -> None:
    open_decisions = LiveDecision.objects.filter(scheduler_id=scheduler, ended_at=None, epoch__lt=record.epoch)
    open_decisions = open_decisions.filter(result__in=(Result.ON_HOLD, Result.WAITING)).exclude(pk__in=record.continued)
    open_decisions.update(result=Result.SUPERSEDED, ended_at=record.at, message="another process took over")
