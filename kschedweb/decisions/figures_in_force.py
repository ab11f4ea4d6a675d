"""The watermarks in force for a stored snapshot: those collected by its time, else those in its annotations."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.watermarks import selectors
from kschedweb.web.durations import format_range, format_rough_duration

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine import Snapshot as EngineSnapshot

# Seconds; the shortest window that policies look at.
STALE = 15 * 60.0


@dataclass(frozen=True)
class FiguresInForce:
    """The known usage of the nodes: its source, how many nodes have it, and its age at the time of the snapshot."""

    source: str
    # Nodes with figures, and all nodes.
    nodes: int
    total: int
    # Ages in seconds.
    youngest: float = 0.0
    oldest: float = 0.0
    # True if all figures were collected after the snapshot.
    late: bool = False

    @property
    def ages(self) -> str:
        """Return the ages as "30 s", or "30 s to 4 min" if nodes differ."""
        return format_range(format_rough_duration(self.youngest), format_rough_duration(self.oldest))

    @property
    def stale(self) -> bool:
        return self.oldest > STALE


def figures_version(snapshot: Snapshot) -> Hashable:
    """Return a value that changes if ``apply_figures`` would give other figures.

    It makes one query per ``Snapshot`` object, and remembers the value on it.
    """
    if not hasattr(snapshot, "_watermark_version"):
        current_version = selectors.figures_version(snapshot.cluster, snapshot.taken_at.timestamp())
        snapshot._watermark_version = current_version  # type: ignore[attr-defined]
    return snapshot._watermark_version  # type: ignore[attr-defined, no-any-return]


def apply_figures(base: EngineSnapshot, snapshot: Snapshot) -> EngineSnapshot:
    """Return a copy of ``base`` with the figures in force when the snapshot was taken, and with that time.

    The figures of ``base`` come from annotations. They stay if nothing was collected.
    """
    engine = base.copy()
    engine.now = snapshot.taken_at.timestamp()
    collected = selectors.current_watermarks(snapshot.cluster, engine.now) if figures_version(snapshot) else None
    if collected is not None:
        engine.watermarks = collected
    return engine


def in_force(engine: EngineSnapshot, snapshot: Snapshot) -> FiguresInForce:
    """Return the source and age of the figures in force."""
    watermarks = engine.watermarks
    if watermarks is None:
        return FiguresInForce("", 0, len(engine), late=bool(selectors.figures_version(snapshot.cluster)))
    ages = engine.now - watermarks.updated[~np.isnan(watermarks.updated)]
    if not ages.size:
        return FiguresInForce(watermarks.source, 0, len(engine))
    return FiguresInForce(watermarks.source, int(ages.size), len(engine), float(ages.min()), float(ages.max()))


def find_in_force(engine: EngineSnapshot, snapshot: Snapshot) -> FiguresInForce | None:
    """Return ``in_force``, or None if nothing is known."""
    return in_force(engine, snapshot) if engine.watermarks is not None else None


def in_force_to_json(usage: FiguresInForce) -> Json:
    """Return ``usage`` for REST."""
    ages = {"youngest": usage.youngest, "oldest": usage.oldest}
    return {"origin": usage.source, "nodes": usage.nodes, **ages, "late": usage.late}
