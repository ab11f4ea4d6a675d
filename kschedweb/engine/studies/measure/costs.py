"""What the nodes of a run cost over its clock."""

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
    """Costs from the beginning to the end of a run.

    ``total`` is that of all nodes, ``used`` what those alone would cost that run more than pods of DaemonSets and
    static pods, as if the others did not exist. ``hour`` and ``used_hour`` are of an hour at the end, ``first_hour`` is
    of one at the beginning; ``None`` where there is no price.
    """

    total: NodeCost
    used: NodeCost
    first_hour: float | None
    hour: float | None
    used_hour: float | None


def compute_costs(outcome: RunOutcome) -> RunCosts:
    """The costs of a run by the prices that its outcome has."""
    log, kinds = outcome.node_log, outcome.kinds
    total_cost, first, hour = _integrate_cost(kinds, log.node, log.time, outcome.kind, outcome.end)
    used, _, used_hour = _integrate_cost(kinds, *_working_entries(outcome), outcome.end)
    return RunCosts(total_cost, used, first, hour, used_hour)


def _working_entries(outcome: RunOutcome) -> tuple[Codes, Floats, Codes]:
    """Entries of nodes that begin or end to work, by node: node, time, and the kind while it works, else -1."""
    log, moves = outcome.node_log, outcome.moves
    node = np.concatenate([log.node, moves.node])
    time = np.concatenate([log.time, moves.time])
    steps = np.concatenate([np.zeros(len(log.node), dtype=np.int64), working_steps(outcome)])
    from_log = np.arange(len(node)) < len(log.node)
    kind = np.concatenate([outcome.kind, np.zeros(len(moves.node), dtype=np.int32)])
    order = np.lexsort((np.arange(len(node)), ~from_log, time, node))
    node, time, steps, from_log, kind = node[order], time[order], steps[order], from_log[order], kind[order]
    first = np.searchsorted(node, node, side="left")
    sums = np.cumsum(steps)
    working: Ints = sums - np.append(0, sums)[first]
    last = np.maximum.accumulate(np.where(from_log, np.arange(len(node)), -1))
    current_kind = np.where(last >= first, kind[np.maximum(last, 0)], -1)
    return node, time, np.where(working > 0, current_kind, -1).astype(np.int32)


def _integrate_cost(
    kinds: NodeKinds, node: Codes, time: Floats, kind: Codes, end: float
) -> tuple[NodeCost, float | None, float | None]:
    """What nodes cost that are of ``kind`` (-1: none) from ``time`` to their next entry.

    Also what they cost in an hour when the first of them are there, and in one at the end.
    """
    if not len(node):
        return NodeCost(None, 0.0), None, None
    order = np.argsort(node, kind="stable")
    node, time, kind = node[order], np.minimum(time[order], end), kind[order]
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
