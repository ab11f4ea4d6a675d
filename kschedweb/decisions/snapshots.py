"""Engine snapshots of stored snapshots, cached and shared: ``copy`` them before a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.objects.resources import COUNTING, Counting
from kschedweb.engine.releases.classic import ClassicSnapshot, in_zones_of_then
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kschedweb.clusters.models import Snapshot

READ_AT_ONCE = 60_000_000  # bytes of objects that a request may read, once a process: some 5 s of one core

_bases: LRU[EngineSnapshot] = LRU(4)
_snapshots: LRU[EngineSnapshot] = LRU(8)
_classics: LRU[ClassicSnapshot] = LRU(4)


def version(snapshot: Snapshot) -> tuple[Hashable, ...]:
    """A version of the figures for ``snapshot``, on which answers depend; figures of its time may still come in."""
    return (snapshot.pk, utilisation.version(snapshot))


def at_hand(snapshot: Snapshot) -> bool:
    """Whether a request may ask for ``engine_snapshot``: it is small, or this process has read it already."""
    return snapshot.size <= READ_AT_ONCE or has_read(snapshot)


def has_read(snapshot: Snapshot, counting: Counting = COUNTING) -> bool:
    """Whether this process has read ``engine_snapshot`` already."""
    return (snapshot.pk, counting) in _bases.cached()


def has_read_classic(snapshot: Snapshot) -> bool:
    """As ``has_read``, for ``classic_snapshot``."""
    return snapshot.pk in _classics.cached()


def engine_snapshot(snapshot: Snapshot, counting: Counting = COUNTING) -> EngineSnapshot:
    """The engine snapshot of a stored snapshot, with the watermarks in force when it was taken.

    ``counting`` is how the release that decides counts what pods take.
    """

    def read() -> EngineSnapshot:
        return EngineSnapshot.from_objects(snapshot_objects(snapshot), counting=counting)

    def make() -> EngineSnapshot:
        return utilisation.applied(_bases.get((snapshot.pk, counting), read), snapshot)

    return _snapshots.get((*version(snapshot), counting), make)


def classic_snapshot(snapshot: Snapshot) -> ClassicSnapshot:
    """The engine snapshot of a stored snapshot for classic policies; today's zone labels count as those of 1.13."""
    return _classics.get(
        snapshot.pk, lambda: ClassicSnapshot.from_objects(map(in_zones_of_then, snapshot_objects(snapshot)))
    )


def forget() -> None:
    """Clear the caches; for tests, which use primary keys again."""
    for cache in (_bases, _snapshots, _classics):
        cache.clear()
