"""What a plan says: moves in waves, what they gain, the best that can be hoped for, and what ended the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from kschedweb.engine.objects.evictions import kubectl_line, make_eviction
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.values import dataclass

REACHED, BEST, MAX_MOVES, PRICE, TIME = "reached", "best", "mostMoves", "price", "time"
BUDGET, NO_PLACE, NO_GAIN = "budget", "noPlace", "noGain"


class PlanError(ValueError):
    """What was asked for cannot be planned in this cluster; says why."""


@dataclass(frozen=True, slots=True)
class Move:
    """``gain`` is in units of the objective; ``budget`` is the disruption budget that the eviction uses up."""

    pod: str
    source: str
    target: str
    reason: str
    gain: float
    budget: str = ""

    def to_dict(self) -> Json:
        fields: Json = {"pod": self.pod, "from": self.source, "to": self.target, "reason": self.reason}
        return {**fields, "gain": round_value(self.gain)} | ({"budget": self.budget} if self.budget else {})


@dataclass(frozen=True, slots=True)
class Bound:
    """No plan does with fewer ``moves`` what this one does; none brings the objective beyond ``value``.

    ``None``: nothing is known of that.
    """

    moves: int
    value: float | None = None

    def to_dict(self) -> Json:
        return {"moves": self.moves, "value": None if self.value is None else round_value(self.value)}


@dataclass(frozen=True, slots=True)
class Stop:
    """What ended the search: one of the words above, and a sentence."""

    kind: str
    text: str

    def to_dict(self) -> Json:
        return {"kind": self.kind, "text": self.text}


@dataclass(frozen=True, slots=True)
class MoveSearchResult:
    """What a search came to: the objective ``before`` and after each move on the ground, with a reason for each.

    ``bound`` gives the bound for a plan that brings the objective to a value. ``after`` is the objective once all is
    done, where nodes that nothing has to leave are cordoned as well. ``opened`` are nodes that are cordoned only until
    then.
    """

    before: float
    values: Sequence[float]
    reasons: Sequence[str]
    stop: Stop
    bound: Callable[[float], Bound]
    cordons: tuple[str, ...] = ()
    after: float | None = None
    opened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MovePlan:
    """``cordons`` are nodes to be cordoned first, of which ``uncordons`` are opened again after the last wave. The pods
    of a wave are evicted once those of the last are replaced.

    ``stays`` says how many pods are not moved, by why. ``unit`` is that of ``before``, ``after``, ``target`` and gains.
    """

    objective: str
    unit: str
    before: float
    after: float
    target: float | None
    reached: bool
    waves: tuple[tuple[Move, ...], ...]
    bound: Bound
    stop: Stop
    price: float = 0.0
    cordons: tuple[str, ...] = ()
    uncordons: tuple[str, ...] = ()
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
    """An Eviction of policy/v1 for each move, with its wave, in order: what the API server is asked for."""
    for number, wave in enumerate(plan.waves, start=1):
        for move in wave:
            yield {"wave": number, **make_eviction(move.pod)}


def render_kubectl(plan: MovePlan) -> list[str]:
    """The plan as lines for a shell. Evictions go through the eviction API, which asks budgets; `delete` does not.

    Between waves a comment says what to wait for.
    """
    lines = [f"kubectl cordon {name}" for name in plan.cordons]
    for number, wave in enumerate(plan.waves, start=1):
        after = "" if number == 1 else ": once all pods in the place of those of the last wave are ready"
        lines.append(f"# wave {number} of {len(plan.waves)}{after}")
        lines += [kubectl_line(move.pod) for move in wave]
    return lines + [f"kubectl uncordon {name}" for name in plan.uncordons]
