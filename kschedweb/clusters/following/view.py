"""A read-only cluster in memory, which reflectors keep up to date.

Each reflector has a thread that brings events, and other threads read. A lock serialises them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from kschedweb.clusters.connecting.openers import get_opener
from kschedweb.clusters.following.clock import SteadyClock
from kschedweb.clusters.following.reflector import Changed, Listed, Reflector, Removed
from kschedweb.clusters.kinds import KINDS, kinds_watched
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import LiveLoop

if TYPE_CHECKING:
    from kschedweb.clusters.following.reflector import Message
    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.objects.pod import Pod
    from kschedweb.engine.state.snapshot import Snapshot
    from kschedweb.engine.state.watermarks.table import Watermarks

# Seconds: the API server sends something at least once a minute, and a watch ends after six.
STALE = 120.0
NEEDED = frozenset(kind.name for kind in KINDS if kind.needed)


class View:
    """The view of a cluster. ``clock`` is in monotonic seconds, ``now`` in monotonic seconds of the epoch."""

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
        # The time of each kind's last message.
        self._heard: dict[str, float] = {}
        self._listed: set[str] = set()

    def replace(self, kind: str, items: Iterable[Json]) -> None:
        """Replace all objects of ``kind``."""
        with self._lock:
            self._loop.replace_objects(kind, items, self._now())
            self._listed.add(kind)
            self.note_heard(kind)

    def apply(self, kind: str, raw: Json) -> None:
        """Add or update an object."""
        with self._lock:
            self._loop.apply_object(kind, raw, self._now())
            self.note_heard(kind)

    def delete(self, kind: str, raw: Json) -> None:
        """Delete an object."""
        with self._lock:
            self._loop.delete_object(kind, raw, self._now())
            self.note_heard(kind)

    def note_heard(self, kind: str) -> None:
        """Note a message about ``kind``: its objects are up to date now."""
        self._heard[kind] = self._clock()

    def update_watermarks(self, watermarks: Watermarks | None) -> None:
        """Set new watermarks. With ``None``, those in the objects' annotations count."""
        with self._lock:
            self._loop.update_watermarks(watermarks, self._now())

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Give the current cluster, which does not change inside the context. Copy it before changes."""
        with self._lock:
            snapshot = self._loop.snapshot
            snapshot.now = self._now()
            yield snapshot

    def pod(self, uid: str) -> Pod | None:
        """Return the last known state of the pod."""
        with self._lock:
            return self._loop.find_pod(uid)

    @property
    def synced(self) -> bool:
        """True once nodes and pods were listed."""
        return self._listed >= NEEDED

    @property
    def trouble(self) -> str:
        """The reason not to use the view for decisions now; "" if there is none."""
        if not self.synced:
            return "the cluster is still being read"
        age = self._clock() - min(self._heard[kind] for kind in NEEDED)
        return f"nothing was heard of the cluster for {age:.0f} s" if age > STALE else ""


def follow_cluster(cluster: Cluster, view: View) -> Callable[[], None]:
    """Start reflectors that update ``view``. Returns a function that stops them."""

    def take_message(message: Message) -> None:
        if isinstance(message, Listed):
            view.replace(message.kind, message.items)
        elif isinstance(message, Changed):
            view.apply(message.kind, message.raw)
        elif isinstance(message, Removed):
            view.delete(message.kind, message.raw)
        else:
            view.note_heard(message.kind)

    reflectors = follow_kinds(cluster, take_message)

    def stop() -> None:
        for reflector in reflectors:
            reflector.end()

    return stop


def follow_kinds(cluster: Cluster, sink: Callable[[Message], object]) -> list[Reflector]:
    """Start reflectors for every kind that decisions need. Raises ApplicationError if the server is not allowed."""
    opens = get_opener(cluster).open
    reflectors = [Reflector(opens, kind, sink) for kind in KINDS if kind.name in kinds_watched()]
    for reflector in reflectors:
        reflector.start()
    return reflectors
