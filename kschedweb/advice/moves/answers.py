"""What became of a dry run as plain data: for pages, REST, files and the database."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kschedweb.advice.moves import words
from kschedweb.engine.objects.evictions import kubectl_line
from kschedweb.engine.studies.moves.landing import GONE, LANDS, RETURNS, UNFIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kschedweb.engine.studies.moves.fight import Rounds
    from kschedweb.engine.studies.moves.standing import Standing

Json = dict[str, Any]
FATES = (LANDS, RETURNS, UNFIT, GONE)
HEAD = ("pod", "workload", "node", "plugin", "profile", "fate", "target", "message")
FORMATS = ("json", "csv", "kubectl")


def plain(found: Rounds, currency: str) -> Json:
    """Everything that was found, in JSON."""
    first = found.first
    outcome = first.cycle.outcome
    said: Json = {
        "skipped": first.cycle.skipped,
        "evicted": len(first.landings),
        "counts": {fate: first.count(fate) for fate in FATES},
        "landings": [
            dict(zip(HEAD, (one.pod, one.workload, one.source, one.plugin, one.profile, *rest), strict=True))
            for one in first.landings
            for rest in ((one.fate, one.target, one.message),)
        ],
        "before": _standing(first.before),
        "after": _standing(first.after),
        "currency": currency,
        "emptied": list(first.emptied),
        "filled": list(first.filled),
        "budgets": [asdict(one) for one in first.budgets],
        "disturbed": [asdict(one) for one in first.disturbed],
        "refused": [{"pod": one.get("pod", ""), "message": one["error"]} for one in first.cycle.failures],
        "classes": [
            {"plugin": one["plugin"], "node": one["node"], "category": one["category"]} for one in outcome.classes
        ],
        "notes": [*first.notes, *outcome.notes],
        "plugin_errors": outcome.plugin_errors,
        "rounds": [
            {"evicted": one.evicted, "returned": one.returned, "unfit": one.unfit, "again": one.again,
             "after": _standing(one.after)}
            for one in found.rounds
        ],
        "every": found.every,
        "settled": found.settled,
        "fights": [
            {"plugin": one.plugin, "scorer": one.scorer, "pods": list(one.pods), "workloads": list(one.workloads),
             "times": one.times, "sentence": one.sentence}
            for one in found.fights
        ],
    }  # fmt: skip
    return {"answer": words.stored(said), **said}


def _standing(found: Standing) -> Json:
    told = {
        name: {resource: asdict(spread) for resource, spread in spreads.items()}
        for name, spreads in (("requests", found.requests), ("use", found.use))
    }
    return {**told, "nodes": found.nodes, "cost": found.cost.amount, "unpriced": found.cost.unpriced}


def rows(found: Json) -> list[list[object]]:
    """A row for each evicted pod, with the columns of HEAD."""
    return [[one[name] for name in HEAD] for one in found["landings"]]


def kubectl(found: Json) -> Iterator[str]:
    """The evictions as lines of a shell, through the eviction API, which asks budgets again."""
    yield "#!/bin/sh\n# Evicts what a dry run of the descheduler named. Read it before you run it.\n"
    for one in found["landings"]:
        yield kubectl_line(one["pod"]) + "\n"
