"""Stores the lines of one stretch in segments. The last segment grows, so a process that dies loses seconds only."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now

from kschedweb.clusters.flight.models import FlightRecorder, Segment, Stretch
from kschedweb.clusters.flight.track import Track
from kschedweb.clusters.models import Cluster
from kschedweb.web.errors import Conflict

# zlib's own default.
LEVEL = 6
# Bytes of text, after which a new segment begins.
CHUNK = 512 * 1024
# A full segment follows after so many bytes of changes, or this share of a full one, whichever is more.
LEAST_BETWEEN, SHARE_BETWEEN = 1 << 20, 0.1
# Microseconds; a full segment follows after this time in any case.
MOST_BETWEEN = 3_600_000_000
# Bytes of text that wait in memory while the database is away.
MOST_WAITING = 64 << 20
# How long a process may stay silent before another one takes over.
HOLD_TIME = timedelta(seconds=15)


class RecorderLost(Conflict):
    """Another process records the cluster now, or nobody may."""


@dataclass
class OpenSegment:
    """A segment that takes lines, which are compressed as they come."""

    number: int
    full: bool
    # Microseconds of its first line.
    start: int
    compressor: zlib._Compress = field(default_factory=lambda: zlib.compressobj(LEVEL))
    parts: list[bytes] = field(default_factory=list)
    # Bytes of text.
    size: int = 0
    # Bytes of text that the database has.
    stored_size: int = 0

    def add(self, line: bytes) -> None:
        self.parts.append(self.compressor.compress(line + b"\n"))
        self.size += len(line) + 1

    @property
    def content(self) -> bytes:
        # A copy is flushed, so that the compressor itself can go on.
        return b"".join(self.parts) + self.compressor.copy().flush()


class Tape:
    """The segments of one stretch of ``cluster``, written by ``holder``, who must hold the recorder's row."""

    def __init__(self, cluster: Cluster, holder: str, track: Track, at: int, reason: str, missing: list[str]) -> None:
        self._cluster, self._holder, self._track = cluster, holder, track
        # Nothing is known before every watch was heard once more, since its connection may be dead already.
        self._stretch = Stretch(cluster=cluster, began=at, until=at - 1, reason=reason[:500], missing=missing)
        self._waiting: list[OpenSegment] = []
        self._numbers, self._fresh = 0, True
        self._begin_full(at)

    @property
    def waiting_size(self) -> int:
        """The bytes of text that are not stored yet."""
        return sum(segment.size - segment.stored_size for segment in self._waiting)

    def add(self, at: int, line: bytes) -> None:
        """Add a change, which ``track`` has already."""
        segment = self._waiting[-1]
        if segment.full or segment.size >= CHUNK:
            segment = self._begin_segment(at, full=False)
        segment.add(line)
        self._between += len(line)

    def refill(self, at: int) -> None:
        """Begin with a full segment again if enough has changed since the last one."""
        enough = max(LEAST_BETWEEN, SHARE_BETWEEN * self._whole)
        if self._between > enough or (self._between and at - self._filled > MOST_BETWEEN):
            self._begin_full(at)

    def _begin_full(self, at: int) -> None:
        segment = self._begin_segment(at, full=True)
        for line in self._track.whole_lines(at):
            segment.add(line)
        self._whole, self._between, self._filled = segment.size, 0, at

    def _begin_segment(self, at: int, *, full: bool) -> OpenSegment:
        segment = OpenSegment(self._numbers, full, at)
        self._numbers += 1
        self._waiting.append(segment)
        return segment

    def store_lines(self, known_until: int) -> None:
        """Store all lines. Everything up to ``known_until`` is known.

        Raises ``RecorderLost`` if another process records.
        """
        known_until = max(self._stretch.until, known_until)
        grown = [segment for segment in self._waiting if segment.size > segment.stored_size or self._fresh]
        with transaction.atomic():
            # First, so that a process that lost the row writes nothing.
            self._renew_hold()
            if self._fresh:
                self._stretch.save(force_insert=True)
            if not Stretch.objects.filter(pk=self._stretch.pk).update(until=known_until):
                raise RecorderLost("What was recorded was deleted.")
            for segment in grown:
                content = segment.content
                stored = {"content": content, "stored": len(content)}
                defaults = {"full": segment.full, "began": segment.start, **stored}
                Segment.objects.update_or_create(stretch=self._stretch, number=segment.number, defaults=defaults)
        self._stretch.until, self._fresh = known_until, False
        self._is_kept()

    def _renew_hold(self) -> None:
        mine = FlightRecorder.objects.filter(pk=self._cluster.pk, holder=self._holder, on=True)
        if not mine.update(held_until=Now() + HOLD_TIME):
            raise RecorderLost("Another process records this cluster now, or nobody may.")

    def _is_kept(self) -> None:
        last = self._waiting[-1]
        last.stored_size = last.size
        if last.full:
            # It takes no more lines, so its parts need no memory.
            last.parts = []
        self._waiting = [last]


def segment_lines(content: bytes | memoryview) -> Iterator[bytes]:
    """Return the lines of a segment."""
    return iter(zlib.decompress(content).splitlines())
