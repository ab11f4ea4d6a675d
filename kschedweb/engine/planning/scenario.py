"""A cluster and an objective described in JSON, and the plan for them, in the form of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, Number, Text
from kschedweb.engine.documents.types import REQUIRED, Field, Struct
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.planning.fragments import Fragmentation
from kschedweb.engine.planning.freeing import Money, Nodes
from kschedweb.engine.planning.ground import Late, never
from kschedweb.engine.planning.plan import Objective, plan
from kschedweb.engine.planning.results import PlanError, evictions, kubectl
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.pricing import table
from kschedweb.engine.pricing.table import PriceTable, TableError
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.values import dataclass

HOURS = 24.0
Clock = Callable[[], float]


class PlanningError(ValueError):
    """A scenario that cannot be planned; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: one objective, the price of a move, the most moves."""

    skew: Skew | None
    nodes: Nodes | None
    money: float | None  # hours
    fragmentation: Fragmentation | None
    price: float
    most_moves: int | None
    seconds: float | None

    def objective(self, prices: PriceTable | None) -> Objective:
        """Raises PlanningError."""
        found = self.skew or self.nodes or self.fragmentation
        if found is not None:
            return found
        if prices is None:
            raise PlanningError('prices: is missing: give a table of prices, or ask for "nodes"')
        assert self.money is not None
        return Money(prices, self.money)


def _resource(name: str) -> str:
    if name not in (CPU, MEMORY):
        raise ValueError(f"resource: must be {CPU} or {MEMORY}, is {name}")
    return name


_NOT_NEGATIVE = Number(0)
DOCUMENT = Struct(
    "Objective",
    "What moves are to reach.",
    (
        Field(
            "skew",
            Struct(
                "Skew",
                "How far apart the real use of nodes may be.",
                (
                    Field("atMost", Number(0, 100), "Points between the highest and the lowest node.", REQUIRED),
                    Field("resource", Text(1, 20), "cpu or memory.", CPU),
                ),
                make=lambda at_most, resource: Skew(at_most, _resource(resource)),
            ),
            "Real use at most so uneven.",
        ),
        Field(
            "nodes",
            Struct(
                "Nodes",
                "Nodes that nothing but pods of DaemonSets and static pods runs on.",
                (Field("atLeast", Number(1, 1_000_000, whole=True), "How many; as many as can be if absent."),),
                make=Nodes,
            ),
            "Nodes freed.",
        ),
        Field(
            "money",
            Struct(
                "Money",
                "Cost saved by nodes that go.",
                (Field("hours", Number(0, 100_000, above=True), "For how long the saving counts.", HOURS),),
                make=lambda hours: hours,
            ),
            "Cost saved, less the price of moves.",
        ),
        Field(
            "fragmentation",
            Struct(
                "Fragmentation",
                "Devices free on nodes that cannot serve a pod.",
                (
                    Field("resource", Text(1, 317), "The extended resource, such as nvidia.com/gpu.", REQUIRED),
                    Field("size", Number(1, 1_000_000, whole=True), "How many the pod asks for.", REQUIRED),
                    Field("atMost", Number(0, whole=True), "How many such devices may be left.", 0),
                ),
                make=Fragmentation,
            ),
            "Fewer fragments of devices.",
        ),
        Field("price", _NOT_NEGATIVE, "What a move costs, in units of the objective.", 0.0),
        Field("mostMoves", Number(0, 1_000_000, whole=True), "How many moves there may be."),
        Field("seconds", Number(0, 86_400, above=True), "How long may be searched; then the best plan so far is told."),
    ),
    one_of=(("skew", "nodes", "money", "fragmentation"),),
    make=Wanted,
)


def answer(raw: Json, clock: Clock | None = None) -> Json:
    """The plan for a scenario, with its evictions and its lines for kubectl. Raises PlanningError, ScenarioError.

    ``clock`` gives the time in seconds; without one the search takes as long as it takes.
    """
    scenario = Scenario.of({key: value for key, value in raw.items() if key not in ("objective", "prices")})
    try:
        wanted = _wanted(raw.get("objective"))
        found = plan(
            scenario.snapshot,
            scenario.configuration,
            wanted.objective(_prices(raw.get("prices"))),
            price=wanted.price,
            most=wanted.most_moves,
            late=until(wanted.seconds, clock),
        )
    except (PlanningError, PlanError, CycleError) as error:
        raise PlanningError(f"{scenario.name}: {error}" if scenario.name else str(error)) from None
    return {
        "name": scenario.name,
        **found.to_dict(),
        "evictions": list(evictions(found)),
        "kubectl": kubectl(found),
        "engine": scenario.engine,
    }


def until(seconds: float | None, clock: Clock | None) -> Late:
    """Whether so many seconds are over, from now on."""
    if seconds is None or clock is None:
        return never
    end, read = clock() + seconds, clock
    return lambda: read() > end


def _wanted(raw: Any) -> Wanted:
    problems: list[DocumentProblem] = []
    wanted = DOCUMENT.read({} if raw is None else raw, "objective", problems)
    if problems:
        raise PlanningError("; ".join(map(str, problems)))
    assert isinstance(wanted, Wanted)
    return wanted


def _prices(raw: Any) -> PriceTable | None:
    if raw is None:
        return None
    try:
        return table.read(raw)
    except TableError as error:
        raise PlanningError("; ".join(f"prices.{one}" for one in error.problems)) from None
