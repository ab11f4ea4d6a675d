"""A cluster and an objective in JSON, and their plan, in the command line's format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, Number, Text
from kschedweb.engine.documents.types import REQUIRED, Struct, StructField
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.planning.fragments import Fragmentation
from kschedweb.engine.planning.node_freeing import FreedNodes, SavedCost
from kschedweb.engine.planning.plan import Objective, plan_moves
from kschedweb.engine.planning.results import PlanError, list_evictions, render_kubectl
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.planning.trial_cluster import Late, never
from kschedweb.engine.pricing import price_table
from kschedweb.engine.pricing.price_table import PriceTable, TableError
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.values import dataclass

# Hours over which saved cost counts by default.
HOURS = 24.0
Clock = Callable[[], float]


class PlanningError(ValueError):
    """A scenario that cannot be planned; the message has the place and the reason."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A request for a plan: exactly one objective, and limits."""

    skew: Skew | None
    nodes: FreedNodes | None
    # Hours.
    money: float | None
    fragmentation: Fragmentation | None
    # The cost of a move, in units of the objective.
    price: float
    most_moves: int | None
    # How long to search; None for no limit.
    seconds: float | None

    def build_objective(self, prices: PriceTable | None) -> Objective:
        """Return the objective; raises PlanningError."""
        objective = self.skew or self.nodes or self.fragmentation
        if objective is not None:
            return objective
        if prices is None:
            raise PlanningError('prices: is missing: give a table of prices, or ask for "nodes"')
        assert self.money is not None
        return SavedCost(prices, self.money)


def _check_resource(name: str) -> str:
    if name not in (CPU, MEMORY):
        raise ValueError(f"resource: must be {CPU} or {MEMORY}, is {name}")
    return name


_NOT_NEGATIVE = Number(0)
DOCUMENT = Struct(
    "Objective",
    "What moves are to reach.",
    (
        StructField(
            "skew",
            Struct(
                "Skew",
                "How far apart the real use of nodes may be.",
                (
                    StructField("atMost", Number(0, 100), "Points between the highest and the lowest node.", REQUIRED),
                    StructField("resource", Text(1, 20), "cpu or memory.", CPU),
                ),
                make=lambda at_most, resource: Skew(at_most, _check_resource(resource)),
            ),
            "Real use at most so uneven.",
        ),
        StructField(
            "nodes",
            Struct(
                "Nodes",
                "Nodes that nothing but pods of DaemonSets and static pods runs on.",
                (StructField("atLeast", Number(1, 1_000_000, whole=True), "How many; as many as can be if absent."),),
                make=FreedNodes,
            ),
            "Nodes freed.",
        ),
        StructField(
            "money",
            Struct(
                "Money",
                "Cost saved by nodes that go.",
                (StructField("hours", Number(0, 100_000, above=True), "For how long the saving counts.", HOURS),),
                make=lambda hours: hours,
            ),
            "Cost saved, less the price of moves.",
        ),
        StructField(
            "fragmentation",
            Struct(
                "Fragmentation",
                "Devices free on nodes that cannot serve a pod.",
                (
                    StructField("resource", Text(1, 317), "The extended resource, such as nvidia.com/gpu.", REQUIRED),
                    StructField("size", Number(1, 1_000_000, whole=True), "How many the pod asks for.", REQUIRED),
                    StructField("atMost", Number(0, whole=True), "How many such devices may be left.", 0),
                ),
                make=Fragmentation,
            ),
            "Fewer fragments of devices.",
        ),
        StructField("price", _NOT_NEGATIVE, "What a move costs, in units of the objective.", 0.0),
        StructField("mostMoves", Number(0, 1_000_000, whole=True), "How many moves there may be."),
        StructField(
            "seconds", Number(0, 86_400, above=True), "How long may be searched; then the best plan so far is told."
        ),
    ),
    one_of=(("skew", "nodes", "money", "fragmentation"),),
    make=PlanRequest,
)


def plan_scenario(raw: Json, clock: Clock | None = None) -> Json:
    """Return the plan of a scenario, with its evictions and lines for kubectl. Raises PlanningError, ScenarioError.

    ``clock`` returns seconds; without it the search has no time limit.
    """
    scenario = Scenario.from_json({key: value for key, value in raw.items() if key not in ("objective", "prices")})
    try:
        plan_request = _read_request(raw.get("objective"))
        move_plan = plan_moves(
            scenario.snapshot,
            scenario.configuration,
            plan_request.build_objective(_read_prices(raw.get("prices"))),
            price=plan_request.price,
            max_moves=plan_request.most_moves,
            late=create_deadline(plan_request.seconds, clock),
        )
    except (PlanningError, PlanError, CycleError) as error:
        raise PlanningError(f"{scenario.name}: {error}" if scenario.name else str(error)) from None
    return {
        "name": scenario.name,
        **move_plan.to_dict(),
        "evictions": list(list_evictions(move_plan)),
        "kubectl": render_kubectl(move_plan),
        "engine": scenario.engine,
    }


def create_deadline(seconds: float | None, clock: Clock | None) -> Late:
    """Return a function that returns whether ``seconds`` have passed since now."""
    if seconds is None or clock is None:
        return never
    end, read = clock() + seconds, clock
    return lambda: read() > end


def _read_request(raw: Any) -> PlanRequest:
    problems: list[DocumentProblem] = []
    plan_request = DOCUMENT.read({} if raw is None else raw, "objective", problems)
    if problems:
        raise PlanningError("; ".join(map(str, problems)))
    assert isinstance(plan_request, PlanRequest)
    return plan_request


def _read_prices(raw: Any) -> PriceTable | None:
    if raw is None:
        return None
    try:
        return price_table.read_price_table(raw)
    except TableError as error:
        raise PlanningError("; ".join(f"prices.{problem}" for problem in error.problems)) from None
