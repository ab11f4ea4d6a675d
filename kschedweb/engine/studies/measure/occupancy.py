"""Which nodes do work: those with a pod that did not come because of the node itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedweb.engine.state.columns import Codes, Floats, Ints, Mask
from kschedweb.engine.studies.play.outcome import MoveKind, RunOutcome

HOUR = 3600.0
OF_NODES = frozenset({"DaemonSet", "Node"})  # controllers of pods that each node has; "Node": of static pods


def empty_nodes(outcome: RunOutcome, times: Sequence[float] | Floats) -> Ints:
    """The number of nodes with nothing but pods of DaemonSets and static pods at each of the ascending times."""
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
    """The hours of all nodes that were there, and of those with more than pods of DaemonSets and static pods."""
    log = outcome.node_log
    present_seconds = _total_seconds(log.node, log.time, ~np.isnan(log.allocatable[:, 0]), outcome.end)
    order = np.argsort(outcome.moves.node, kind="stable")
    node, working = outcome.moves.node[order], np.cumsum(working_steps(outcome)[order])
    first = np.searchsorted(node, node, side="left")  # where the moves of the same node begin
    before = np.append(0, working)[first]
    used = _total_seconds(node, outcome.moves.time[order], working - before > 0, outcome.end)
    return present_seconds / HOUR, used / HOUR


def node_cost(outcome: RunOutcome) -> tuple[float, float]:
    """What nodes cost whose price is known, and the hours of those whose price is not; by the offerings' prices."""
    log, price = outcome.node_log, outcome.prices
    present, priced = ~np.isnan(log.allocatable[:, 0]), ~np.isnan(price)
    paid = _total_seconds(log.node, log.time, present & priced[log.node], outcome.end, np.nan_to_num(price))
    return paid / HOUR, _total_seconds(log.node, log.time, present & ~priced[log.node], outcome.end) / HOUR


def working_steps(outcome: RunOutcome) -> Ints:
    """By how many pods that count each move changes its node. Shape [moves]."""
    counts = np.array([name.split("/")[1] not in OF_NODES for name in outcome.workloads] + [True])
    counted = counts[outcome.workload] if len(outcome.workload) else np.ones(len(outcome.pods), dtype=np.bool_)
    sign = np.where(outcome.moves.kind == MoveKind.BOUND, 1, -1)
    steps: Ints = sign * counted[outcome.moves.pod]
    return steps


def _total_seconds(node: Codes, time: Floats, holds: Mask, end: float, weights: Floats | None = None) -> float:
    """How long it ``holds``, over all nodes: each entry counts until the next one of its node, the last to ``end``.

    A second of a node counts as what ``weights``, f8[nodes], says; 1 without it.
    """
    order = np.argsort(node, kind="stable")
    node, time, holds = node[order], time[order], holds[order]
    last = np.append(node[1:] != node[:-1], True)[: len(node)]
    ends = np.where(last, end, np.append(time[1:], end)[: len(time)])
    lasted = (np.minimum(ends, end) - time).clip(0.0)
    return float((lasted if weights is None else lasted * weights[node])[holds].sum())
