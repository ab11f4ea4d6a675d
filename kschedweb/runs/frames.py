"""A run as pictures: how full every node is at a bounded number of times, alone or in groups of nodes.

Bounds: at most MOST_TIMES times and MOST_VALUES values go to the page, so a run on 1,523 nodes sends 120 times a node
(183 kB before compression), one on 5,000 nodes 48. A heatmap has at most MOST_ROWS rows: where there are more nodes,
a row is the mean of neighbours in the order by load.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.engine.whatif.outcome import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_TIMES, FEWEST_TIMES, MOST_VALUES, MOST_ROWS, WIDEST = 120, 24, 240_000, 50, 60
ABSENT = 255  # what a frame says of a node that is not there
FULLEST = 250  # a node may be asked for more than it has, but one byte has to do


@dataclass(frozen=True, eq=False)
class Frames:
    """``values`` is percent of allocatable: float32[times, nodes], nan where the node is not there."""

    times: NDArray[np.float64]
    nodes: list[str]
    values: NDArray[np.float32]

    def to_dict(self) -> dict[str, Any]:
        """As timeline.ts reads it: one byte a node and time."""
        known = np.where(np.isnan(self.values), ABSENT, np.clip(np.rint(self.values), 0, FULLEST))
        encoded = base64.b64encode(known.astype(np.uint8).tobytes()).decode()
        return {"times": np.round(self.times, 6).tolist(), "nodes": len(self.nodes), "values": encoded}


@dataclass(frozen=True, eq=False)
class Row:
    """A line of the heatmap: one node, or ``count`` neighbours and their mean."""

    label: str
    count: int
    values: NDArray[np.float32]


def times(end: float, nodes: int) -> NDArray[np.float64]:
    """When the frames are, evenly from 0 to ``end`` (seconds)."""
    count = max(FEWEST_TIMES, min(MOST_TIMES, MOST_VALUES // max(nodes, 1)))
    return np.linspace(0.0, end, count)


def frames(outcome: Outcome, resource: str) -> Frames:
    """How much of each node's ``resource`` is requested, over the whole run."""
    at = times(outcome.end, len(outcome.nodes))
    return Frames(at, outcome.nodes, 100 * outcome.loads(at, resource))


def at(outcome: Outcome, resource: str, time: float) -> NDArray[np.float32]:
    """Percent of each node's ``resource`` that is requested at ``time``: float32[nodes], nan where it is not there."""
    found: NDArray[np.float32] = 100 * outcome.loads(np.array([time]), resource)[0]
    return found


def rows(found: Frames) -> list[Row]:
    """The nodes by mean load, fullest first, in at most MOST_ROWS lines."""
    there = ~np.isnan(found.values)
    mean = np.where(there, found.values, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    order = np.argsort(-mean, kind="stable")
    parts = np.array_split(order, min(MOST_ROWS, len(order))) if len(order) else []
    made = []
    place = 1
    for part in parts:
        label = found.nodes[int(part[0])] if len(part) == 1 else f"places {place:,} to {place + len(part) - 1:,}"
        here = there[:, part].sum(axis=1)
        values = np.where(there[:, part], found.values[:, part], 0).sum(axis=1) / np.maximum(here, 1)
        made.append(Row(label, len(part), np.where(here > 0, values, np.nan).astype(np.float32)))
        place += len(part)
    return made


def cells(nodes: list[str], zones: dict[str, str]) -> tuple[list[str], list[list[int]]]:
    """The node map: labels of its lines and the nodes (positions) of each, by zone and name; -1 fills up a line."""
    by_zone: dict[str, list[int]] = {}
    for position in sorted(range(len(nodes)), key=lambda place: nodes[place]):
        by_zone.setdefault(zones.get(nodes[position], ""), []).append(position)
    labels, lines = [], []
    for zone, members in sorted(by_zone.items()):
        for start in range(0, len(members), WIDEST):
            name = zone or ("nodes" if len(by_zone) == 1 else "no zone")
            labels.append(name if start == 0 else f"{name} ({start + 1:,}–)")
            lines.append(members[start : start + WIDEST])
    width = max((len(line) for line in lines), default=0)
    return labels, [line + [-1] * (width - len(line)) for line in lines]
