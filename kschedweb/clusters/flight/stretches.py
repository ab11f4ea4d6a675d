"""Turns the news of a cluster into stretches: one lasts as long as every watch is heard; a gap follows if one is not.

This has no thread, clock or connection: ``flight_run`` feeds it. Times are microseconds of the epoch at which news came
in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kschedweb.clusters.flight.storage import MOST_WAITING, Tape
from kschedweb.clusters.flight.track import Track
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Message, Removed

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster

# Microseconds after a watch is heard again, in which it may still report what was missed.
SETTLE = 1_000_000


class Flight:
    """The recording of ``cluster`` by ``holder``. ``reason`` says why nothing was recorded before."""

    def __init__(self, cluster: Cluster, holder: str, kinds: Iterable[str], reason: str) -> None:
        self._cluster, self._holder, self._reason = cluster, holder, reason
        self._track = Track()
        # Kinds that were not heard since their watch began, or broke.
        self._silent = set(kinds)
        # Kinds that cannot be read.
        self._absent: set[str] = set()
        # The last time at which each kind was heard.
        self._heard: dict[str, int] = {}
        # When the last watch is settled, and the latest time that was given.
        self._settled = self._last = 0
        self.tape: Tape | None = None
        # Stretches whose last lines are not stored yet.
        self._ended: list[tuple[Tape, int]] = []

    @property
    def known_until(self) -> int:
        """The time up to which everything is known."""
        return min(self._heard[kind] for kind in self._heard.keys() - self._absent)

    def take_news(self, at: int, news: Message) -> None:
        """Take news that came in at ``at``."""
        # Lines must be in order of time, whatever the clock does.
        self._last = at = max(at, self._last)
        if isinstance(news, Listed):
            self._take_list(at, news)
        for line in self._lines_of(at, news):
            if self.tape is not None:
                self.tape.add(at, line)
        if news.kind in self._absent:
            return
        self._heard[news.kind] = at
        if news.kind in self._silent:
            self._silent.discard(news.kind)
            self._settled = at + SETTLE
        if self.tape is not None and self.tape.waiting_size > MOST_WAITING:
            self.end_stretch("the database was away for too long")

    def _take_list(self, at: int, news: Listed) -> None:
        if news.problem:
            if news.kind not in self._absent:
                self._absent.add(news.kind)
                self.end_stretch(news.problem)
            self._silent.discard(news.kind)
            return
        # A list after the first one says which objects exist, but not when they changed.
        self._absent.discard(news.kind)
        self.end_stretch(f"the watch of {news.kind} objects had to begin anew ({news.reason})")
        self._settled = at + SETTLE

    def _lines_of(self, at: int, news: Message) -> Iterator[bytes]:
        match news:
            case Listed(kind, items):
                return self._track.take_list(kind, items, at)
            case Changed(kind, raw):
                return self._track.take_changed(kind, raw, at)
            case Removed(kind, raw):
                return self._track.take_removed(kind, raw, at)
            case Bookmark():
                return iter(())

    def note_broken(self, at: int, kind: str, problem: str) -> None:
        """Note that the watch of ``kind`` lost its connection. Changes since it was last heard come late."""
        self._last = max(at, self._last)
        if kind not in self._absent:
            self._silent.add(kind)
            self.end_stretch(f"the watch of {kind} objects was interrupted: {problem}")

    def stood_still(self, at: int) -> None:
        """Note that the process did not run for a while, so that its news may be old."""
        self._last = max(at, self._last)
        self._silent |= self._heard.keys() - self._absent
        self.end_stretch("the process that records stood still")

    def end_stretch(self, reason: str) -> None:
        """Begin a gap, unless there is one already."""
        if self.tape is not None:
            self._ended.append((self.tape, self.known_until))
            self.tape, self._reason = None, reason

    def store_known(self, at: int) -> None:
        """Store what is known; ``at`` is the time now. Raises DatabaseError and ``RecorderLost``."""
        # A stretch leaves the list only once it is stored, so that an error loses nothing.
        while self._ended:
            tape, tape_end = self._ended[0]
            tape.store_lines(tape_end)
            self._ended.pop(0)
        if self.tape is None and not self._silent and self._heard and at >= self._settled:
            self._last = at = max(at, self._last)
            self.tape = Tape(self._cluster, self._holder, self._track, at, self._reason, sorted(self._absent))
        if self.tape is not None:
            self.tape.refill(self._last)
            self.tape.store_lines(self.known_until)
