"""Engine snapshots of stored snapshots. They are cached and shared: ``copy`` them before a change.

Everything that a process has computed from one snapshot is in one cache, and leaves memory at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import figures_in_force
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.objects.resources import COUNTING, Counting
from kschedweb.engine.releases.classic import ClassicSnapshot, in_zones_of_then
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kschedweb.clusters.models import Snapshot

# Bytes of objects that a request may read, once per process: some 5 s of one core.
READ_AT_ONCE = 60_000_000
# The key of the snapshot for classic policies, among the ways of counting.
CLASSIC = "classic"
# Bytes of objects of the snapshots that a process holds: some 500 MiB of memory.
CACHE_BYTES = 32_000_000
# So many snapshots are held, however large they are.
AT_LEAST = 4


class SnapshotCache:
    """Everything that this process has computed from one stored snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        # The weight is capped, so that one huge snapshot does not push all others out.
        self.weight = min(snapshot.size, CACHE_BYTES // AT_LEAST)
        self.engines: LRU[Any] = LRU(6)
        self.schedulers: LRU[Any] = LRU(8)
        self.answers: LRU[Any] = LRU(64)


_caches: LRU[SnapshotCache] = LRU(CACHE_BYTES, weigh=lambda shelf: shelf.weight)


def get_cache(snapshot: Snapshot) -> SnapshotCache:
    """Return the cache of ``snapshot``, an empty one if this process holds nothing of it (any more)."""
    return _caches.get(snapshot.pk, lambda: SnapshotCache(snapshot))


def figures_version(snapshot: Snapshot) -> tuple[Hashable, ...]:
    """Return a version of the figures for ``snapshot``.

    Answers depend on it, as figures of its time may still arrive.
    """
    return (snapshot.pk, figures_in_force.figures_version(snapshot))


def at_hand(snapshot: Snapshot) -> bool:
    """Return whether a request may call ``engine_snapshot``: it is small, or this process holds it already."""
    return snapshot.size <= READ_AT_ONCE or has_read(snapshot)


def has_read(snapshot: Snapshot, counting: Counting = COUNTING) -> bool:
    """Return whether this process holds the ``engine_snapshot`` already."""
    return _has_engine(snapshot, counting)


def has_read_classic(snapshot: Snapshot) -> bool:
    """Return the same for ``classic_snapshot``."""
    return _has_engine(snapshot, CLASSIC)


def _has_engine(snapshot: Snapshot, key: Hashable) -> bool:
    cache = _caches.peek(snapshot.pk)
    return cache is not None and cache.engines.peek(key) is not None


def engine_snapshot(snapshot: Snapshot, counting: Counting = COUNTING) -> EngineSnapshot:
    """Return the engine snapshot of a stored snapshot, with the watermarks in force when it was taken.

    ``counting`` is how the deciding release counts the resources of pods.
    """
    engines = get_cache(snapshot).engines

    def read_engine() -> EngineSnapshot:
        return EngineSnapshot.from_objects(snapshot_objects(snapshot), counting=counting)

    def build() -> EngineSnapshot:
        return figures_in_force.apply_figures(engines.get(counting, read_engine), snapshot)

    engine: EngineSnapshot = engines.get((*figures_version(snapshot), counting), build)
    return engine


def classic_snapshot(snapshot: Snapshot) -> ClassicSnapshot:
    """Return the engine snapshot for classic policies, in which today's zone labels count as those of 1.13."""

    def read_snapshot() -> ClassicSnapshot:
        return ClassicSnapshot.from_objects(map(in_zones_of_then, snapshot_objects(snapshot)))

    engine: ClassicSnapshot = get_cache(snapshot).engines.get(CLASSIC, read_snapshot)
    return engine


def clear_caches() -> None:
    """Clear the caches, for tests, in which primary keys repeat."""
    _caches.clear()


def clear_policy_caches() -> None:
    """Clear what depends on policies, but not the engine's snapshots; for tests that share a snapshot."""
    for cache in _caches.values():
        cache.schedulers.clear()
        cache.answers.clear()
