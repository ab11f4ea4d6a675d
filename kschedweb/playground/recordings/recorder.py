"""One attempt at a recording: reflectors watch every kind that a scenario reads, and their events are stored.

Each reflector has a thread that puts events into one queue, and one thread reads the queue. The kinds are those of a
snapshot, without Secrets and ConfigMaps.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connection

from kschedweb.clusters.connecting import openers
from kschedweb.clusters.following.clock import SteadyClock
from kschedweb.clusters.following.reflector import Changed, Listed, Reflector, Removed
from kschedweb.clusters.kinds import BY_NAME, SCHEDULER_KINDS
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.studies.document.limits import MOST_EVENTS, MOST_NODES, MOST_PODS, MOST_RECORD
from kschedweb.engine.studies.traces.ledger import Ledger
from kschedweb.engine.studies.traces.text import read_lines
from kschedweb.jobs.services import job_progress
from kschedweb.jobs.tasks import Cancelled
from kschedweb.playground.recordings import selectors, services
from kschedweb.playground.recordings.storage import Writer
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.jobs.models import Job
    from kschedweb.playground.recordings.models import Recording

# Seconds between writes to the database; a worker that dies loses no more than this.
KEEP_EVERY = 1.0
# Seconds to wait for an event before the time is checked again.
LONGEST_WAIT = 0.2
# Events between two checks of the time.
AT_ONCE = 500
# Seconds for the first list of nodes and pods.
PATIENCE = 30.0
# Seconds without a watch that are worth a note.
GAP = 5.0
# Seconds to wait for each reflector's thread to end; a watch may hang.
STOP_SECONDS = 2.0
# Kinds without which a recording is of no use.
NEEDED = frozenset(kind.name for kind in SCHEDULER_KINDS if kind.needed)
logger = structlog.get_logger(__name__)


class ClusterRecorder:
    """Records a cluster; ``clock`` returns seconds of the epoch that never go back."""

    def __init__(self, recording: Recording, job: Job, *, clock: Callable[[], float] | None = None) -> None:
        self._recording, self._job, self._clock = recording, job, clock or SteadyClock()
        self._inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._notes = list(recording.notes)
        # Kinds whose first list has not arrived.
        self._unlisted = {kind.name for kind in SCHEDULER_KINDS}
        # An earlier attempt has begun the recording.
        self._resumes = recording.began_at is not None
        start = services.recording_begin(recording=recording, at=_to_moment(int(self._clock())))
        self._began = start.timestamp()
        self._until = self._began + recording.seconds
        self._writer, self._ledger = Writer(recording, job), Ledger(self._began)
        if self._resumes:
            self._resume_ledger()
        # Monotonic time of the last write; 0 makes the first one due at once.
        self._kept = 0.0

    def _resume_ledger(self) -> None:
        """Rebuild the ledger from the stored lines, and note the gap since they were stored."""
        if self._recording.records:
            text = read_lines(selectors.read_chunks(self._recording), longest=MOST_RECORD)
            self._ledger = Ledger.from_lines(self._began, text)
        last = self._recording.kept_at.timestamp() if self._recording.kept_at else self._began
        missed = min(self._clock(), self._until) - last
        if missed >= GAP:
            after = last - self._began
            self._add_note(
                f"Nobody watched for {missed:.0f} s, {after:.0f} s after the beginning: pods that came and went "
                "meanwhile are missing."
            )

    def run(self) -> Json:
        """Record until the time is over or the limit is reached. Raise ``Cancelled`` after storing all events."""
        reflectors: list[Reflector] = []
        try:
            # An attempt that comes after the time is over only ends the recording.
            if self._clock() < self._until:
                opens = openers.get_opener(self._recording.cluster).open
                reflectors = [Reflector(opens, kind, self._inbox.put) for kind in SCHEDULER_KINDS]
                for reflector in reflectors:
                    reflector.start()
            self._follow_events(reflectors)
        finally:
            for reflector in reflectors:
                reflector.end()
            for reflector in reflectors:
                reflector.join(STOP_SECONDS)
        return {"recording": str(self._recording.pk), "records": self._writer.records, "pods": self._ledger.pods}

    def _follow_events(self, reflectors: list[Reflector]) -> None:
        """Store events until the time is over or the recording is full; raise ApplicationError if nodes or pods do
        not come."""
        patience = time.monotonic() + PATIENCE
        while not (full := self._full_reason()) and self._clock() < self._until:
            self._drain_inbox()
            if time.monotonic() - self._kept >= KEEP_EVERY:
                self._store_lines()
            # A resumed recording has a first list already, and waits out an outage of the API server.
            if time.monotonic() > patience and not self._resumes and self._unlisted & NEEDED:
                problems = [
                    reflector.problem for reflector in reflectors if reflector.kind.name in NEEDED and reflector.problem
                ]
                raise ApplicationError(
                    problems[0] if problems else "The cluster did not list its nodes and pods in time."
                )
        if full:
            after = self._clock() - self._began
            self._add_note(f"Ended after {after:.0f} s: {full}.")
        self._store_lines(last=True)

    # Events.

    def _drain_inbox(self) -> None:
        """Wait for an event for a moment, and handle up to AT_ONCE of those that are there."""
        try:
            news = self._inbox.get(timeout=LONGEST_WAIT)
            for _ in range(AT_ONCE):
                self._handle_event(news)
                if self._full_reason():
                    return
                news = self._inbox.get_nowait()
            self._handle_event(news)
        except queue.Empty:
            pass

    def _handle_event(self, news: object) -> None:
        """Write the records of one event of a reflector."""
        # Events are recorded with the time of their arrival, since most objects do not tell when they changed.
        now = self._clock()
        try:
            match news:
                case Changed(_, raw):
                    self._write_lines(self._ledger.record_change(raw, now))
                case Removed(_, raw):
                    self._write_lines(self._ledger.record_removal(raw, now))
                case Listed(kind, items):
                    self._unlisted.discard(kind)
                    # Few clusters serve the optional kinds.
                    if news.problem and not BY_NAME[kind].optional:
                        self._add_note(f"{news.problem}: they are missing.")
                    elif not news.problem:
                        self._write_lines(self._ledger.sync_list(kind, items, now))
        except ObjectError as problem:
            self._add_note(f"An object was left out: {problem}.")

    def _write_lines(self, records: list[str]) -> None:
        """Add the records to the writer, up to the limit of the recording."""
        for line in records:
            if len(line) > MOST_RECORD:
                self._add_note(
                    f"An object of {len(line):,} characters was left out; a record has at most {MOST_RECORD:,}."
                )
            elif self._full_reason():
                return
            else:
                self._writer.add_line(line)

    def _full_reason(self) -> str:
        """Return why the recording is full; "" if it is not."""
        if self._writer.size >= settings.UPLOAD_LIMIT:
            return f"a file has at most {settings.UPLOAD_LIMIT >> 20:,} MiB of text (KSCHEDWEB_UPLOAD_LIMIT_MIB)"
        bounds = (
            (self._writer.records, MOST_EVENTS, "records"),
            (self._ledger.pods, MOST_PODS, "pods"),
            (self._ledger.nodes, MOST_NODES, "nodes"),
        )
        return next(
            (f"a scenario takes at most {limit:,} {noun}" for count, limit, noun in bounds if count >= limit), ""
        )

    def _add_note(self, text: str) -> None:
        if text not in self._notes and len(self._notes) < services.MOST_NOTES:
            self._notes.append(text)

    # Storage.

    def _store_lines(self, *, last: bool = False) -> None:
        """Store what is written so far and report progress; raise ``Cancelled`` if the job must stop."""
        self._kept, now = time.monotonic(), min(self._clock(), self._until)
        close_old_connections()
        try:
            self._writer.store_lines(
                _to_moment(now), nodes=self._ledger.nodes, pods=self._ledger.pods, notes=self._notes
            )
            openers.renew_opener(self._recording.cluster)
            if not self._go_on(now):
                raise Cancelled
        except (OperationalError, InterfaceError):
            # The lines wait in memory until the database is back.
            logger.warning("recording_without_database", recording=str(self._recording.pk))
            connection.close()
            if last:
                raise

    def _go_on(self, now: float) -> bool:
        """Report the progress; return whether to go on."""
        pods, records, total = self._ledger.pods, self._writer.records, self._recording.seconds
        step = f"{records:,} records of {self._ledger.nodes:,} nodes and {pods:,} pods; seconds:"
        return job_progress(
            self._job, step=step, completed=int(now - self._began), total=total, seconds_left=self._until - now
        )


def _to_moment(time: float) -> datetime:
    return datetime.fromtimestamp(time, UTC)
