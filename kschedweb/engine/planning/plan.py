"""The entry point of planning: the fewest moves that reach an objective (docs/planner.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.planning.evictable import Evictable
from kschedweb.engine.planning.fragments import Fragmentation
from kschedweb.engine.planning.node_freeing import FreedNodes, SavedCost
from kschedweb.engine.planning.results import PRICE, REACHED, Move, MovePlan, MoveSearchResult, Stop
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.planning.trial_cluster import Late, Pulse, TrialCluster, TrialMove, never
from kschedweb.engine.state.snapshot import Snapshot

# More moves than there can be.
UNLIMITED = 1 << 30
Objective: TypeAlias = Skew | FreedNodes | SavedCost | Fragmentation


def plan_moves(
    snapshot: Snapshot,
    configuration: Configuration,
    objective: Objective,
    *,
    price: float = 0.0,
    max_moves: int | None = None,
    start: int = 0,
    registry: Mapping[str, PluginFactory] | None = None,
    rules: Evictable | None = None,
    pulse: Pulse | None = None,
    late: Late = never,
) -> MovePlan:
    """Return the pods of ``snapshot`` to evict so that the scheduler of ``configuration`` puts them where it helps.

    ``price`` is the cost of a move in units of the objective; no move is made that gains less. ``start`` is the
    position of the node at which the scheduler's first search begins. ``registry`` is that of Scheduler. ``rules``
    cache which pods may go, for repeated plans. ``pulse`` is called before each try; an exception that it raises ends
    the work. Once ``late`` returns True, the best plan so far is returned, and says so.

    ``snapshot`` is left as it was. Raises PlanError if there can be no plan.
    """
    trial_cluster = TrialCluster(snapshot, configuration, registry, start=start, rules=rules, pulse=pulse, late=late)
    result = objective.find_moves(trial_cluster, UNLIMITED if max_moves is None else max_moves, price)
    moved = list(trial_cluster.moved)
    trial_cluster.rollback(0)
    num_moves, stop = (len(moved), result.stop) if result.cordons else _trim_moves(objective, result, price)
    after = result.values[num_moves - 1] if num_moves else result.before
    if result.cordons and result.after is not None:
        after = result.after
    return MovePlan(
        objective=objective.name,
        unit=objective.unit,
        before=result.before,
        after=after,
        target=objective.target,
        reached=objective.is_reached(after),
        waves=_group_into_waves(moved[:num_moves], result, 1 if objective.rises else -1),
        bound=result.bound(after),
        stop=stop,
        price=price,
        cordons=(*result.cordons, *result.opened),
        uncordons=result.opened,
        stays=trial_cluster.count_staying(),
    )


def _trim_moves(objective: Objective, result: MoveSearchResult, price: float) -> tuple[int, Stop]:
    """Return how many moves to keep: the fewest after which the gain less the cost of moves is highest."""
    gains = [
        objective.compute_gain(result.before, value) - price * (place + 1) for place, value in enumerate(result.values)
    ]
    best = max(gains, default=0.0)
    num_moves = 0 if best <= 0.0 else gains.index(best) + 1
    if num_moves < len(result.values) and price and result.stop.kind != REACHED:
        return num_moves, Stop(PRICE, f"More moves would gain less than they cost, {price:g} {objective.unit} each.")
    if num_moves < len(result.values) and price:
        text = f"To reach the objective would cost more than it gains, at {price:g} {objective.unit} a move."
        return num_moves, Stop(PRICE, text)
    return num_moves, result.stop


def _group_into_waves(moved: Sequence[TrialMove], result: MoveSearchResult, sign: int) -> tuple[tuple[Move, ...], ...]:
    moves = []
    before = result.before
    for trial_move, value, reason in zip(moved, result.values, result.reasons, strict=False):
        moves.append(
            (
                trial_move.wave,
                Move(
                    trial_move.pod,
                    trial_move.source,
                    trial_move.target,
                    reason,
                    sign * (value - before),
                    trial_move.budget,
                ),
            )
        )
        before = value
    return tuple(tuple(move for _, move in group) for _, group in groupby(moves, key=lambda entry: entry[0]))
