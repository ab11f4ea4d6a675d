"""The result of a dry run as plain data, for pages, REST, files and the database."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kschedweb.advice.moves import words
from kschedweb.advice.moves.tables import LANDINGS
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.evictions import kubectl_line
from kschedweb.engine.studies.moves.dry_run import LANDS, NOT_REPLACED, RETURNS, UNFIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kschedweb.engine.studies.moves.repeated_cycles import Rounds

FATES = (LANDS, RETURNS, UNFIT, NOT_REPLACED)
FORMATS = ("json", "csv", "kubectl")


def to_json(rounds: Rounds, currency: str) -> Json:
    """Return the whole result as JSON."""
    first = rounds.first
    outcome = first.cycle.outcome
    answer: Json = {
        "skipped": first.cycle.skipped,
        "evicted": len(first.landings),
        "counts": {fate: first.count(fate) for fate in FATES},
        "landings": [
            LANDINGS.make_row(
                landing.pod, landing.workload, landing.source, landing.plugin, landing.profile, landing.fate,
                landing.target, landing.message,
            )
            for landing in first.landings
        ],
        "before": first.before.to_dict(),
        "after": first.after.to_dict(),
        "currency": currency,
        "emptied": list(first.emptied),
        "filled": list(first.filled),
        "budgets": [
            {"name": budget.name, "before": budget.before, "left": budget.after} for budget in first.budgets
        ],
        "disturbed": [asdict(workload) for workload in first.disturbed],
        "refused": [{"pod": failure.get("pod", ""), "message": failure["error"]} for failure in first.cycle.failures],
        "classes": [
            {"plugin": node["plugin"], "node": node["node"], "category": node["category"]} for node in outcome.classes
        ],
        "notes": [*first.notes, *outcome.notes],
        "plugin_errors": outcome.plugin_errors,
        "rounds": [
            {"evicted": cycle.evicted, "returned": cycle.returned, "unfit": cycle.unfit, "again": cycle.repeated,
             "after": cycle.after.to_dict()}
            for cycle in rounds.rounds
        ],
        "every": rounds.interval,
        "settled": rounds.settled,
        "fights": [
            {"plugin": fight.plugin, "scorer": fight.scorer, "pods": list(fight.pods),
             "workloads": list(fight.workloads), "times": fight.times, "sentence": fight.sentence}
            for fight in rounds.fights
        ],
    }  # fmt: skip
    return {"answer": words.render_english(answer), **answer}


def kubectl_lines(answer: Json) -> Iterator[str]:
    """Yield the evictions as lines of a shell script. They use the eviction API, which checks budgets again."""
    yield "#!/bin/sh\n# Evicts what a dry run of the descheduler named. Read it before you run it.\n"
    for landing in answer["landings"]:
        yield kubectl_line(landing["pod"]) + "\n"
