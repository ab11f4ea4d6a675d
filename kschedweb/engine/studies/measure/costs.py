"""Compute the cost of a run's nodes over its virtual time."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.pricing.costs import HOUR, NodeCost
from kschedweb.engine.pricing.node_kinds import NodeKinds
from kschedweb.engine.state.columns import Codes, Floats, Ints
from kschedweb.engine.studies.measure.occupancy import working_steps
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class RunCosts:
    """Costs from the beginning to the end of a run."""

    # Cost of all nodes.
    total: NodeCost
    # Cost of nodes while they run more than pods of DaemonSets and static pods, as if there were no others.
    used: NodeCost
    # Price of an hour at the beginning, of one at the end, and of one at the end without unused nodes; None without
    # prices.
    first_hour: float | None
    hour: float | None
    used_hour: float | None


def compute_costs(outcome: RunOutcome) -> RunCosts:
    """Return the costs of a run by the prices in its outcome."""
    log, kinds = outcome.node_log, outcome.kinds
    total_cost, first, hour = _integrate_cost(kinds, log.node, log.time, outcome.kind, outcome.end)
    used, _, used_hour = _integrate_cost(kinds, *_working_entries(outcome), outcome.end)
    return RunCosts(total_cost, used, first, hour, used_hour)


def _working_entries(outcome: RunOutcome) -> tuple[Codes, Floats, Codes]:
    """Return entries of nodes that begin or end to work, by node: node, time, and the kind while it works, else -1."""
    log, moves = outcome.node_log, outcome.moves
    node = np.concatenate([log.node, moves.node])
    time = np.concatenate([log.time, moves.time])
    steps = np.concatenate([np.zeros(len(log.node), dtype=np.int64), working_steps(outcome)])
    from_log = np.arange(len(node)) < len(log.node)
    kind = np.concatenate([outcome.kind, np.zeros(len(moves.node), dtype=np.int32)])
    # By node and time; at equal times the node's own entries come before moves of pods.
    order = np.lexsort((np.arange(len(node)), ~from_log, time, node))
    node, time, steps, from_log, kind = node[order], time[order], steps[order], from_log[order], kind[order]
    # The running sum over all nodes, less its value before the node's first entry, is the number of the node's pods.
    first = np.searchsorted(node, node, side="left")
    sums = np.cumsum(steps)
    working: Ints = sums - np.append(0, sums)[first]
    # Position of the last entry of the node log so far; before `first` it belongs to another node.
    last = np.maximum.accumulate(np.where(from_log, np.arange(len(node)), -1))
    current_kind = np.where(last >= first, kind[np.maximum(last, 0)], -1)
    return node, time, np.where(working > 0, current_kind, -1).astype(np.int32)


def _integrate_cost(
    kinds: NodeKinds, node: Codes, time: Floats, kind: Codes, end: float
) -> tuple[NodeCost, float | None, float | None]:
    """Integrate the cost of nodes of ``kind`` (-1: none) from each ``time`` to the node's next entry.

    Return it with the price of an hour when the first of them exist, and of one at the end.
    """
    if not len(node):
        return NodeCost(None, 0.0), None, None
    order = np.argsort(node, kind="stable")
    node, time, kind = node[order], np.minimum(time[order], end), kind[order]
    # The kind that each entry ends: that of the node's entry before.
    before = np.where(np.append(False, node[1:] == node[:-1]), np.append(-1, kind[:-1]), -1)
    moments, place = np.unique(time, return_inverse=True)
    changes = np.zeros((len(moments), len(kinds.price)))
    for codes, sign in ((kind, 1.0), (before, -1.0)):
        has_kind = codes >= 0
        np.add.at(changes, (place[has_kind], codes[has_kind]), sign)
    counts = np.cumsum(changes, axis=0)
    hours = np.diff(np.append(moments, end)) / HOUR
    amount, unpriced = kinds.cost_per_hour(counts)
    some = not np.isnan(kinds.price).all()
    total = NodeCost(
        float(amount @ hours) if some else None, float(counts.sum(axis=1) @ hours), float(unpriced @ hours)
    )
    return (total, float(amount[0]), float(amount[-1])) if some else (total, None, None)
