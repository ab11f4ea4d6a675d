"""Tell nodes that do work from others: those with a pod that is not there because of the node itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedweb.engine.state.columns import Codes, Floats, Ints, Mask
from kschedweb.engine.studies.play.outcome import MoveKind, RunOutcome

# Seconds.
HOUR = 3600.0
# Kinds of controllers whose pods each node has; static pods belong to their "Node".
OF_NODES = frozenset({"DaemonSet", "Node"})


def empty_nodes(outcome: RunOutcome, times: Sequence[float] | Floats) -> Ints:
    """Return the number of nodes with only pods of DaemonSets and static pods at each of the ascending times."""
    if not outcome.nodes:
        return np.zeros(len(times), dtype=np.int64)
    working, place = np.zeros((len(times), len(outcome.nodes)), dtype=np.int64), np.asarray(times, dtype=np.float64)
    at = np.searchsorted(place, outcome.moves.time, side="left")
    in_range = at < len(place)
    np.add.at(working, (at[in_range], outcome.moves.node[in_range]), working_steps(outcome)[in_range])
    present = ~np.isnan(outcome.allocatable(times, outcome.resources[0]))
    empty: Ints = (present & (np.cumsum(working, axis=0) == 0)).sum(axis=1)
    return empty


def node_hours(outcome: RunOutcome) -> tuple[float, float]:
    """Return the hours of all nodes, and of those with more than pods of DaemonSets and static pods."""
    log = outcome.node_log
    present_seconds = _total_seconds(log.node, log.time, ~np.isnan(log.allocatable[:, 0]), outcome.end)
    order = np.argsort(outcome.moves.node, kind="stable")
    node, working = outcome.moves.node[order], np.cumsum(working_steps(outcome)[order])
    # Positions where the moves of the same node begin, so that the sums of other nodes are taken off.
    first = np.searchsorted(node, node, side="left")
    before = np.append(0, working)[first]
    used = _total_seconds(node, outcome.moves.time[order], working - before > 0, outcome.end)
    return present_seconds / HOUR, used / HOUR


def node_cost(outcome: RunOutcome) -> tuple[float, float]:
    """Return the cost of nodes with a known price, and the hours of the others, by the prices of offerings."""
    log, price = outcome.node_log, outcome.prices
    present, priced = ~np.isnan(log.allocatable[:, 0]), ~np.isnan(price)
    paid = _total_seconds(log.node, log.time, present & priced[log.node], outcome.end, np.nan_to_num(price))
    return paid / HOUR, _total_seconds(log.node, log.time, present & ~priced[log.node], outcome.end) / HOUR


def working_steps(outcome: RunOutcome) -> Ints:
    """Return by how many pods that count each move changes its node. Shape [moves]."""
    # The last entry is for pods without a controller, whose code is -1; they count.
    counts = np.array([name.split("/")[1] not in OF_NODES for name in outcome.workloads] + [True])
    counted = counts[outcome.workload] if len(outcome.workload) else np.ones(len(outcome.pods), dtype=np.bool_)
    sign = np.where(outcome.moves.kind == MoveKind.BOUND, 1, -1)
    steps: Ints = sign * counted[outcome.moves.pod]
    return steps


def _total_seconds(node: Codes, time: Floats, holds: Mask, end: float, weights: Floats | None = None) -> float:
    """Return the seconds for which ``holds`` is true, over all nodes.

    Each entry counts until the next one of its node, the last to ``end``. A second of a node counts ``weights``,
    f8[nodes], or 1 without them.
    """
    order = np.argsort(node, kind="stable")
    node, time, holds = node[order], time[order], holds[order]
    last = np.append(node[1:] != node[:-1], True)[: len(node)]
    ends = np.where(last, end, np.append(time[1:], end)[: len(time)])
    lasted = (np.minimum(ends, end) - time).clip(0.0)
    return float((lasted if weights is None else lasted * weights[node])[holds].sum())
