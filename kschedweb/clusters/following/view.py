"""A cluster in memory, kept up to date by its own reflectors, for read-only use.

Threads: one a reflector, which bring events, and those that ask; a lock lets one at a time at what is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from kschedweb.clusters.connecting.opening import opener
from kschedweb.clusters.following.clock import SteadyClock
from kschedweb.clusters.following.reflector import Changed, Listed, Reflector, Removed
from kschedweb.clusters.kinds import KINDS, kinds_watched
from kschedweb.engine.live import LiveLoop

if TYPE_CHECKING:
    from kschedweb.clusters.following.reflector import Message
    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.objects.access import Json
    from kschedweb.engine.objects.pod import Pod
    from kschedweb.engine.state.snapshot import Snapshot
    from kschedweb.engine.state.watermarks.table import Watermarks

# The API server says something at least once a minute, and a watch ends after six.
STALE = 120.0  # seconds
NEEDED = frozenset(kind.name for kind in KINDS if kind.needed)


class View:
    """What is known of a cluster. ``clock`` is monotonic seconds, ``now`` seconds of the epoch that never go back."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] | None = None,
    ) -> None:
        self._loop = LiveLoop(configuration)
        self._clock, self._now = clock, now or SteadyClock()
        self._lock = RLock()
        self._heard: dict[str, float] = {}  # kind -> when something was heard of it last
        self._listed: set[str] = set()

    def replace(self, kind: str, items: Iterable[Json]) -> None:
        """A whole list of ``kind``."""
        with self._lock:
            self._loop.replace(kind, items, self._now())
            self._listed.add(kind)
            self.heard(kind)

    def apply(self, kind: str, raw: Json) -> None:
        """An object came or changed."""
        with self._lock:
            self._loop.apply(kind, raw, self._now())
            self.heard(kind)

    def delete(self, kind: str, raw: Json) -> None:
        """An object is gone."""
        with self._lock:
            self._loop.delete(kind, raw, self._now())
            self.heard(kind)

    def heard(self, kind: str) -> None:
        """The cluster said something of ``kind``: what is known of it is true now."""
        self._heard[kind] = self._clock()

    def measured(self, watermarks: Watermarks | None) -> None:
        """What nodes and workloads use was measured anew; ``None``: what the objects' annotations say counts."""
        with self._lock:
            self._loop.measured(watermarks, self._now())

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """The cluster as it is now; nothing changes while it is read. Copy what is to be changed."""
        with self._lock:
            snapshot = self._loop.snapshot
            snapshot.now = self._now()
            yield snapshot

    def pod(self, uid: str) -> Pod | None:
        """The pod as it was last heard of."""
        with self._lock:
            return self._loop.pod(uid)

    @property
    def synced(self) -> bool:
        """Whether nodes and pods were listed."""
        return self._listed >= NEEDED

    @property
    def trouble(self) -> str:
        """Why nothing should be decided by it now, "" where nothing is wrong."""
        if not self.synced:
            return "the cluster is still being read"
        age = self._clock() - min(self._heard[kind] for kind in NEEDED)
        return f"nothing was heard of the cluster for {age:.0f} s" if age > STALE else ""


def follow(cluster: Cluster, view: View) -> Callable[[], None]:
    """Have reflectors keep ``view`` true; returns what stops them."""

    def take(message: Message) -> None:
        if isinstance(message, Listed):
            view.replace(message.kind, message.items)
        elif isinstance(message, Changed):
            view.apply(message.kind, message.raw)
        elif isinstance(message, Removed):
            view.delete(message.kind, message.raw)
        else:
            view.heard(message.kind)

    reflectors = follow_kinds(cluster, take)

    def stop() -> None:
        for reflector in reflectors:
            reflector.end()

    return stop


def follow_kinds(cluster: Cluster, sink: Callable[[Message], object]) -> list[Reflector]:
    """Reflectors at work for every kind that decisions need. Raises ApplicationError where it may not be asked."""
    opens = opener(cluster).open
    reflectors = [Reflector(opens, kind, sink) for kind in KINDS if kind.name in kinds_watched()]
    for reflector in reflectors:
        reflector.start()
    return reflectors
