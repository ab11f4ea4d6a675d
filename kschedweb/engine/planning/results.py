"""The contents of a plan: moves in waves, their gains, a bound of what is possible, and why the search ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.evictions import kubectl_line, make_eviction
from kschedweb.engine.values import dataclass

# Kinds of `Stop`.
REACHED, BEST, MAX_MOVES, PRICE, TIME = "reached", "best", "mostMoves", "price", "time"
BUDGET, NO_PLACE, NO_GAIN = "budget", "noPlace", "noGain"


class PlanError(ValueError):
    """The request cannot be planned in this cluster; the message says why."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a pod."""

    # "namespace/name".
    pod: str
    source: str
    target: str
    reason: str
    # In units of the objective.
    gain: float
    # The disruption budget that the eviction uses up, "" for none.
    budget: str = ""

    def to_dict(self) -> Json:
        fields: Json = {"pod": self.pod, "from": self.source, "to": self.target, "reason": self.reason}
        return {**fields, "gain": round_value(self.gain)} | ({"budget": self.budget} if self.budget else {})


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits that no plan can beat."""

    # Any plan with this plan's result has at least this many moves.
    moves: int
    # The best value of the objective; None if no bound is known.
    value: float | None = None

    def to_dict(self) -> Json:
        return {"moves": self.moves, "value": None if self.value is None else round_value(self.value)}


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a search: one of the kinds above, and a sentence."""

    kind: str
    text: str

    def to_dict(self) -> Json:
        return {"kind": self.kind, "text": self.text}


@dataclass(frozen=True, slots=True)
class MoveSearchResult:
    """The result of a search."""

    # The objective before the first move.
    before: float
    # The objective after each move.
    values: Sequence[float]
    # Why each move is made.
    reasons: Sequence[str]
    stop: Stop
    # Returns the bound for a plan that brings the objective to a value.
    bound: Callable[[float], Bound]
    # Nodes that are cordoned for good.
    cordons: tuple[str, ...] = ()
    # The objective at the end, if cordoning empty nodes changes it too.
    after: float | None = None
    # Nodes that are cordoned only until the moves are done.
    opened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MovePlan:
    """A plan: nodes are cordoned, then pods evicted wave by wave, once those of the wave before are replaced."""

    objective: str
    # Of `before`, `after`, `target` and gains.
    unit: str
    before: float
    after: float
    # None if the objective has no target.
    target: float | None
    reached: bool
    waves: tuple[tuple[Move, ...], ...]
    bound: Bound
    stop: Stop
    # The cost of a move.
    price: float = 0.0
    # Nodes to cordon first; `uncordons` are opened again after the last wave.
    cordons: tuple[str, ...] = ()
    uncordons: tuple[str, ...] = ()
    # The number of pods that are not moved, by reason.
    stays: dict[str, int] = field(default_factory=dict)

    @property
    def moves(self) -> list[Move]:
        return [move for wave in self.waves for move in wave]

    def to_dict(self) -> Json:
        return {
            "objective": self.objective,
            "unit": self.unit,
            "before": round_value(self.before),
            "after": round_value(self.after),
            "target": self.target,
            "reached": self.reached,
            "moves": len(self.moves),
            "price": self.price,
            "cordons": list(self.cordons),
            "uncordons": list(self.uncordons),
            "waves": [[move.to_dict() for move in wave] for wave in self.waves],
            "bound": self.bound.to_dict(),
            "stopped": self.stop.to_dict(),
            "stays": self.stays,
        }


def round_value(value: float) -> float:
    return round(value, 6)


def list_evictions(plan: MovePlan) -> Iterator[Json]:
    """Yield an Eviction of policy/v1 for the API server for each move, with its wave, in order."""
    for number, wave in enumerate(plan.waves, start=1):
        for move in wave:
            yield {"wave": number, **make_eviction(move.pod)}


def render_kubectl(plan: MovePlan) -> list[str]:
    """Return the plan as lines for a shell.

    Evictions go through the eviction API, which respects budgets; `kubectl delete` would not. Comments between waves
    say what to wait for.
    """
    lines = [f"kubectl cordon {name}" for name in plan.cordons]
    for number, wave in enumerate(plan.waves, start=1):
        after = "" if number == 1 else ": once all pods in the place of those of the last wave are ready"
        lines.append(f"# wave {number} of {len(plan.waves)}{after}")
        lines += [kubectl_line(move.pod) for move in wave]
    return lines + [f"kubectl uncordon {name}" for name in plan.uncordons]
