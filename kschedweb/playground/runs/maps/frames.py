"""Frames of a run: how full every node is at a limited number of times, and rows of a heatmap.

At most MOST_TIMES times and MOST_VALUES values go to the page: a run on 1,523 nodes sends 120 times (183 kB before
compression), one on 5,000 nodes 48. A heatmap has at most MOST_ROWS rows: with more nodes, a row is the mean of
neighbours in the order of load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_TIMES, FEWEST_TIMES, MOST_VALUES, MOST_ROWS = 120, 24, 240_000, 50


@dataclass(frozen=True, eq=False)
class Frames:
    """The shown ``values``: float32[times, nodes], nan where the node does not exist."""

    times: NDArray[np.float64]
    nodes: list[str]
    values: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class HeatmapRow:
    """A row of the heatmap: a node, or the mean of ``count`` neighbours."""

    label: str
    count: int
    values: NDArray[np.float32]


def frame_times(end: float, nodes: int) -> NDArray[np.float64]:
    """The times of the frames, evenly from 0 to ``end`` (seconds)."""
    count = max(FEWEST_TIMES, min(MOST_TIMES, MOST_VALUES // max(nodes, 1)))
    return np.linspace(0.0, end, count)


def heatmap_rows(frames: Frames) -> list[HeatmapRow]:
    """The nodes by mean load, fullest first, in at most MOST_ROWS rows."""
    exists = ~np.isnan(frames.values)
    mean = np.where(exists, frames.values, 0).sum(axis=0) / np.maximum(exists.sum(axis=0), 1)
    order = np.argsort(-mean, kind="stable")
    parts = np.array_split(order, min(MOST_ROWS, len(order))) if len(order) else []
    rows = []
    place = 1
    for part in parts:
        label = frames.nodes[int(part[0])] if len(part) == 1 else f"places {place:,} to {place + len(part) - 1:,}"
        counts = exists[:, part].sum(axis=1)
        values = np.where(exists[:, part], frames.values[:, part], 0).sum(axis=1) / np.maximum(counts, 1)
        rows.append(HeatmapRow(label, len(part), np.where(counts > 0, values, np.nan).astype(np.float32)))
        place += len(part)
    return rows
