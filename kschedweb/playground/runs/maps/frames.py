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

# Even with very many nodes a player needs some frames to be of use.
MOST_TIMES, FEWEST_TIMES, MOST_VALUES, MOST_ROWS = 120, 24, 240_000, 50


@dataclass(frozen=True, eq=False)
class Frames:
    """The shown values of all nodes over time."""

    # Seconds in the simulation.
    times: NDArray[np.float64]
    # Names of the nodes.
    nodes: list[str]
    # float32[times, nodes], nan where the node does not exist.
    values: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class HeatmapRow:
    """A row of the heatmap: a node, or the mean of neighbours."""

    label: str
    # Number of nodes in the row.
    count: int
    # float32[times], nan where none of the nodes exists.
    values: NDArray[np.float32]


def frame_times(end: float, nodes: int) -> NDArray[np.float64]:
    """Return the times of the frames in seconds, evenly from 0 to ``end``."""
    count = max(FEWEST_TIMES, min(MOST_TIMES, MOST_VALUES // max(nodes, 1)))
    return np.linspace(0.0, end, count)


def heatmap_rows(frames: Frames) -> list[HeatmapRow]:
    """Return the nodes by mean load, fullest first, in at most MOST_ROWS rows."""
    exists = ~np.isnan(frames.values)
    # np.nanmean would warn of nodes that never exist at a frame; these count as empty here.
    mean = np.where(exists, frames.values, 0).sum(axis=0) / np.maximum(exists.sum(axis=0), 1)
    # A stable sort keeps nodes with equal load in the order of the snapshot.
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
