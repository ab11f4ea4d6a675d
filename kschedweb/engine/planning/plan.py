"""The fewest moves that reach an objective: the way in (docs/planner.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.planning.evictable import Evictable
from kschedweb.engine.planning.fragments import Fragmentation
from kschedweb.engine.planning.freeing import Money, Nodes
from kschedweb.engine.planning.ground import Ground, Late, Moved, Pulse, never
from kschedweb.engine.planning.results import PRICE, REACHED, Found, Move, Plan, Stop
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.state.snapshot import Snapshot

MOST = 1 << 30
Objective: TypeAlias = Skew | Nodes | Money | Fragmentation


def plan(
    snapshot: Snapshot,
    configuration: Configuration,
    objective: Objective,
    *,
    price: float = 0.0,
    most: int | None = None,
    start: int = 0,
    registry: Mapping[str, Factory] | None = None,
    rules: Evictable | None = None,
    pulse: Pulse | None = None,
    late: Late = never,
) -> Plan:
    """Which pods of ``snapshot`` to evict so that the scheduler of ``configuration`` puts them where it helps.

    ``price`` is what a move costs in units of the objective: no move is made that gains less. There are at most
    ``most`` moves. The scheduler's first search begins at the node at position ``start``. ``registry`` is as for
    Scheduler; ``rules`` remember which pods may go, for whoever plans again and again; ``pulse`` is called before each
    try, and what it raises ends the work. Once ``late`` says so the best plan so far is told, and that it is that.
    ``snapshot`` stays as it is.
    Raises PlanError where this cannot be planned.
    """
    ground = Ground(snapshot, configuration, registry, start=start, rules=rules, pulse=pulse, late=late)
    found = objective.search(ground, MOST if most is None else most, price)
    moved = list(ground.moved)
    ground.rollback(0)
    kept, stop = (len(moved), found.stop) if found.cordons else _cut(objective, found, price)
    after = found.values[kept - 1] if kept else found.before
    if found.cordons and found.after is not None:
        after = found.after
    return Plan(
        objective=objective.name,
        unit=objective.unit,
        before=found.before,
        after=after,
        target=objective.target,
        reached=objective.reached(after),
        waves=_waves(moved[:kept], found, 1 if objective.rises else -1),
        bound=found.bound(after),
        stop=stop,
        price=price,
        cordons=(*found.cordons, *found.opened),
        uncordons=found.opened,
        stays=ground.staying(),
    )


def _cut(objective: Objective, found: Found, price: float) -> tuple[int, Stop]:
    """How many of the moves to keep: those after which the gain less what the moves cost is highest, the fewest."""
    gains = [objective.gained(found.before, value) - price * (place + 1) for place, value in enumerate(found.values)]
    best = max(gains, default=0.0)
    kept = 0 if best <= 0.0 else gains.index(best) + 1
    if kept < len(found.values) and price and found.stop.kind != REACHED:
        return kept, Stop(PRICE, f"More moves would gain less than they cost, {price:g} {objective.unit} each.")
    if kept < len(found.values) and price:
        said = f"To reach the objective would cost more than it gains, at {price:g} {objective.unit} a move."
        return kept, Stop(PRICE, said)
    return kept, found.stop


def _waves(moved: Sequence[Moved], found: Found, sign: int) -> tuple[tuple[Move, ...], ...]:
    moves = []
    before = found.before
    for one, value, reason in zip(moved, found.values, found.reasons, strict=False):
        moves.append((one.wave, Move(one.pod, one.source, one.target, reason, sign * (value - before), one.budget)))
        before = value
    return tuple(tuple(move for _, move in group) for _, group in groupby(moves, key=lambda one: one[0]))
