"""The quota queues of a snapshot. They are cached, as snapshots never change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.kinds import QUEUE_KINDS
from kschedweb.clusters.models import FIXED_SOURCES
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions.snapshots import get_cache
from kschedweb.engine.queueing.explaining.queue_state import QueueState, find_newest_time, read_state, select_objects

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot


def has_queues(snapshot: Snapshot) -> bool:
    """Return whether the snapshot has any of Kueue's objects."""
    return any(snapshot.counts.get(kind) for kind in QUEUE_KINDS)


def read_queues(snapshot: Snapshot) -> QueueState:
    """Return the queues of a snapshot, which nobody may change."""

    def read() -> QueueState:
        objects = select_objects(snapshot_objects(snapshot))
        now = snapshot.taken_at.timestamp()
        if snapshot.cluster.source in FIXED_SOURCES:
            now = min(now, find_newest_time(objects) or now)
        return read_state(objects, now)

    state: QueueState = get_cache(snapshot).answers.get("queues", read)
    return state


def find_queues(snapshot: Snapshot) -> QueueState | None:
    """Return the queues of a snapshot, which nobody may change; None if it has none."""
    return read_queues(snapshot) if has_queues(snapshot) else None
