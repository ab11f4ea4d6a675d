"""Store the lines of a recording in rows that grow, so that a worker that dies loses no stored line."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.tasks import Cancelled
from kschedweb.playground.recordings.models import Chunk, Recording
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from datetime import datetime

# Bytes of text after which a new chunk begins; the open chunk is written again with each store.
CHUNK = 512 * 1024


class Writer:
    """Stores lines for one attempt of ``job``. ``size`` and ``records`` count all lines, stored or not."""

    def __init__(self, recording: Recording, job: Job) -> None:
        self._recording, self._job = recording, job
        self.size, self.records = recording.size, recording.records
        last = Chunk.objects.filter(recording=recording).order_by("-number").values_list("number", flat=True).first()
        # Chunks of earlier attempts are not changed.
        self._number = 0 if last is None else last + 1
        self._open: list[bytes] = []
        # Full chunks that are not stored yet, with their numbers.
        self._full: list[tuple[int, bytes]] = []
        # Bytes of the open chunk, and how many of them are stored.
        self._open_size, self._stored_size = 0, 0

    def add_line(self, line: str) -> None:
        """Add ``line``, which has no line end."""
        text = f"{line}\n".encode()
        self._open.append(text)
        self._open_size += len(text)
        self.size += len(text)
        self.records += 1
        if self._open_size >= CHUNK:
            self._full.append((self._number, b"".join(self._open)))
            self._number, self._open, self._open_size, self._stored_size = self._number + 1, [], 0, 0

    @transaction.atomic
    def store_lines(self, at: datetime, **counts: Any) -> None:
        """Store all lines, which cover everything up to ``at``. Raise ``Cancelled`` if the attempt is over."""
        # The lock keeps a newer attempt from starting until these lines are stored.
        mine = Job.objects.select_for_update().filter(
            pk=self._job.pk, state=JobState.RUNNING, attempt=self._job.attempt
        )
        if not mine.exists():
            raise Cancelled
        if not Recording.objects.select_for_update().filter(pk=self._recording.pk).exists():
            raise NotFound("The cluster was deleted while it was recorded, and the recording with it.")
        grown = [(self._number, b"".join(self._open))] if self._open_size > self._stored_size else []
        for number, text in [*self._full, *grown]:
            content = gzip.compress(text, 6, mtime=0)
            Chunk.objects.update_or_create(recording=self._recording, number=number, defaults={"content": content})
        Recording.objects.filter(pk=self._recording.pk).update(
            kept_at=at, size=self.size, records=self.records, **counts
        )
        # After a rollback the lines must still count as not stored.
        transaction.on_commit(self._mark_stored)

    def _mark_stored(self) -> None:
        self._full, self._stored_size = [], self._open_size
