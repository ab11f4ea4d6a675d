"""A plan as plain data, for pages, REST, files and the database, and its computation."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.advice.plans import objectives, words
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.planning.plan import plan_moves
from kschedweb.engine.planning.results import MovePlan, PlanError, list_evictions, render_kubectl
from kschedweb.engine.planning.scenario import create_deadline
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.rebalancing.cluster_usage import ClusterUsage
from kschedweb.engine.studies.moves.balance import compute_balance
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kschedweb.engine.config import Configuration
    from kschedweb.engine.pricing.price_table import PriceTable
    from kschedweb.engine.state.snapshot import Snapshot
    from kschedweb.jobs.inquiries import Step

LOOKING = "Looking for moves"


def work_out(
    snapshot: Snapshot, rules: Configuration, document: Json, table: PriceTable | None, step: Step, seconds: float
) -> Json:
    """Compute the plan, with the balance of the cluster before and after it; the search ends after ``seconds``.

    Raises ApplicationError at the field of the objective if it cannot be planned for.
    """
    objective = objectives.read_objective(document, table)
    attempts = 0

    def report_progress() -> None:
        nonlocal attempts
        attempts += 1
        step(LOOKING, attempts, 0)

    limits: Json = {"price": objective.price, "max_moves": objective.most_moves}
    late = create_deadline(min(seconds, objective.seconds or seconds), monotonic)
    try:
        plan_result = plan_moves(
            snapshot, rules, objective.build_objective(table), **limits, pulse=report_progress, late=late
        )
    except (PlanError, CycleError) as error:
        message = str(error)
        kind = next(name for name in ("skew", "nodes", "money", "fragmentation") if document.get(name) is not None)
        raise ApplicationError.at(f"objective.{kind}", f"{message[:1].upper()}{message[1:]}.") from None
    return plan_to_json(snapshot, plan_result, table)


def plan_to_json(snapshot: Snapshot, plan_result: MovePlan, table: PriceTable | None) -> Json:
    """Return everything that is shown of a plan."""
    before, after = _measure_standings(snapshot, plan_result, table)
    freed = frozenset(plan_result.cordons) - frozenset(plan_result.uncordons)
    rates = Rates.from_table(table, [node.labels for node in snapshot.nodes])
    answer: Json = {
        **plan_result.to_dict(),
        "freed": len(freed),
        "standing": {"before": before, "after": after},
        "staying": {
            "before": _count_staying(snapshot, rates, frozenset()),
            "after": _count_staying(snapshot, rates, freed),
        },
        "currency": table.currency if table is not None else "",
        "evictions": list(list_evictions(plan_result)),
        "kubectl": render_kubectl(plan_result),
    }
    return {**words.render_english(answer), **answer}


def _measure_standings(snapshot: Snapshot, plan_result: MovePlan, table: PriceTable | None) -> tuple[Json, Json]:
    copy = snapshot.copy()
    use, rates = ClusterUsage(copy), Rates.from_table(table, [node.labels for node in copy.nodes])
    before = compute_balance(copy, use, rates)
    for move in plan_result.moves:
        pod = copy.remove_pod(move.pod)
        copy.add_pod(pod, copy.index[move.target])
        use.move_pod(pod, move.source, move.target)
    return before.to_dict(), compute_balance(copy, use, rates).to_dict()


def _count_staying(snapshot: Snapshot, rates: Rates, freed: frozenset[str]) -> Json:
    """Return the number of nodes without the ``freed`` ones, and their hourly cost."""
    stays = np.array([name not in freed for name in snapshot.names], dtype=np.bool_)
    cost = rates.cost_per_hour(stays)
    return {"nodes": int(stays.sum()), "cost": cost.amount, "unpriced": cost.unpriced}


def move_rows(answer: Json) -> Iterator[Json]:
    """Yield a row for each move, with its wave."""
    for number, wave in enumerate(answer["waves"], start=1):
        for move in wave:
            yield {"wave": number, "budget": "", **move}


def render_script(answer: Json) -> str:
    """Return the plan as lines of a shell script."""
    head = "#!/bin/sh\n# Evicts what a plan of moves named, wave by wave. Read it before you run it.\n"
    return head + "".join(f"{line}\n" for line in answer["kubectl"])
