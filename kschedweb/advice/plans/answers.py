"""A plan as plain data, for pages, REST, files and the database; and how it is worked out."""

from __future__ import annotations

from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.advice.plans import objectives, words
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.planning.plan import plan
from kschedweb.engine.planning.results import Plan, PlanError, evictions, kubectl
from kschedweb.engine.planning.scenario import until
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.rebalancing.use import Use
from kschedweb.engine.studies.moves.standing import Standing, standing
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kschedweb.engine.config import Configuration
    from kschedweb.engine.pricing.table import PriceTable
    from kschedweb.engine.state.snapshot import Snapshot
    from kschedweb.jobs.inquiries import Step

Json = dict[str, Any]
HEAD = ("wave", "pod", "from", "to", "reason", "gain", "budget")
LOOKING = "Looking for moves"


def work_out(
    snapshot: Snapshot, rules: Configuration, asked: Json, table: PriceTable | None, step: Step, seconds: float
) -> Json:
    """The plan, with how the cluster stands before and after it; the search ends after ``seconds``.

    Raises ApplicationError at the objective where this cannot be planned.
    """
    wanted = objectives.read(asked, table)
    tried = 0

    def pulse() -> None:
        nonlocal tried
        tried += 1
        step(LOOKING, tried, 0)

    limits: Json = {"price": wanted.price, "most": wanted.most_moves}
    late = until(min(seconds, wanted.seconds or seconds), monotonic)
    try:
        found = plan(snapshot, rules, wanted.objective(table), **limits, pulse=pulse, late=late)
    except (PlanError, CycleError) as error:
        said = str(error)
        kind = next(name for name in ("skew", "nodes", "money", "fragmentation") if asked.get(name) is not None)
        raise ApplicationError.at(f"objective.{kind}", f"{said[:1].upper()}{said[1:]}.") from None
    return told(snapshot, found, table)


def told(snapshot: Snapshot, found: Plan, table: PriceTable | None) -> Json:
    """Everything that is shown of a plan."""
    before, after = _standings(snapshot, found, table)
    freed = frozenset(found.cordons) - frozenset(found.uncordons)
    rates = Rates.of(table, [node.labels for node in snapshot.nodes])
    said: Json = {
        **found.to_dict(),
        "freed": len(freed),
        "standing": {"before": before, "after": after},
        "staying": {"before": _staying(snapshot, rates, frozenset()), "after": _staying(snapshot, rates, freed)},
        "currency": table.currency if table is not None else "",
        "evictions": list(evictions(found)),
        "kubectl": kubectl(found),
    }
    return {**words.stored(said), **said}


def _standings(snapshot: Snapshot, found: Plan, table: PriceTable | None) -> tuple[Json, Json]:
    copy = snapshot.copy()
    use, rates = Use(copy), Rates.of(table, [node.labels for node in copy.nodes])
    before = standing(copy, use, rates)
    for move in found.moves:
        pod = copy.remove_pod(move.pod)
        copy.add_pod(pod, copy.index[move.target])
        use.move(pod, move.source, move.target)
    return _plain(before), _plain(standing(copy, use, rates))


def _staying(snapshot: Snapshot, rates: Rates, freed: frozenset[str]) -> Json:
    """How many nodes are there without those that are ``freed``, and what these cost an hour."""
    stays = np.array([name not in freed for name in snapshot.names], dtype=np.bool_)
    cost = rates.now(stays)
    return {"nodes": int(stays.sum()), "cost": cost.amount, "unpriced": cost.unpriced}


def _plain(found: Standing) -> Json:
    spreads = {
        name: {resource: asdict(spread) for resource, spread in of.items()}
        for name, of in (("requests", found.requests), ("use", found.use))
    }
    return {**spreads, "nodes": found.nodes, "cost": found.cost.amount, "unpriced": found.cost.unpriced}


def rows(found: Json) -> Iterator[Json]:
    """A row for each move, with its wave."""
    for number, wave in enumerate(found["waves"], start=1):
        for move in wave:
            yield {"wave": number, "budget": "", **move}


def cells(found: Json) -> list[list[object]]:
    return [[row[name] for name in HEAD] for row in rows(found)]


def script(found: Json) -> str:
    """The plan as lines of a shell."""
    head = "#!/bin/sh\n# Evicts what a plan of moves named, wave by wave. Read it before you run it.\n"
    return head + "".join(f"{line}\n" for line in found["kubectl"])
