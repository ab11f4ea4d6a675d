"""Which watermarks are in force for a stored snapshot: those collected by then, else those its annotations carry."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine import Snapshot as EngineSnapshot


def version(snapshot: Snapshot) -> Hashable:
    """Changes whenever ``applied`` would give other figures."""
    return None


def applied(base: EngineSnapshot, snapshot: Snapshot) -> EngineSnapshot:
    """``base`` with the figures in force when the snapshot was taken, at that time; ``base`` stays as it is."""
    engine = base.copy()
    engine.now = snapshot.taken_at.timestamp()
    return engine
