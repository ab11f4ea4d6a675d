"""The context of an answer's page: tables of measures, and the list of pods that end elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.gate.verdict import SKEWS
from kschedweb.engine.studies.measure.groups import USE
from kschedweb.engine.studies.measure.measures import measure_of
from kschedweb.engine.studies.measure.registry import NODE_HOURS_DAY, NODES_USED, family_of, find_spec, get_spec
from kschedweb.engine.studies.measure.values import NODE_HOURS
from kschedweb.playground.gate.invocation import measure_row
from kschedweb.playground.trying import sentences
from kschedweb.playground.trying.effect_picture import build_picture
from kschedweb.playground.trying.selectors import list_changes
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.playground.trying.models import TriedChange

# Rows of a page, and pending pods that are listed above it.
PAGE_SIZE, MOST_PENDING = 10, 50
# Hours of a day.
HOURS = 24
# Keys of a change, in the order of a file's columns.
HEAD = ("pod", "of", "what", "current", "changed", "plugin", "lead", "follows", "said")
OUTCOME_LABELS = {
    "gained": _("find a node only under the change"),
    "lost": _("find no node under the change"),
    "moved": _("land on another node"),
}


def export_row(change: Json) -> list[Any]:
    """Return the row of a change in a file."""
    return [change[name] for name in HEAD]


def build_context(query: Mapping[str, str], tried_change: TriedChange, answer: Json) -> dict[str, object]:
    """Return the context of the page for an ``answer``."""
    # The number of empty nodes follows from that of used ones, which the costs have.
    measures = [measure_row(_with_sides(measure)) for measure in answer["measures"] if measure["name"] != "nodes_empty"]
    costs = [measure for measure in measures if _is_cost(measure["name"])]
    real = [measure for measure in measures if family_of(measure["name"]) == USE]
    use = [*real, *(measure for measure in measures if measure["name"] in SKEWS)]
    other_measures = [measure for measure in measures if measure not in (*use, *costs)]
    outcome = query.get("what", "") if query.get("what") in OUTCOME_LABELS else ""
    listed = [change_row(change) for change in list_changes(answer, place=ALL, outcome=outcome)]
    return {
        **build_effect(answer),
        "use": use,
        "has_use": bool(real),
        "cost": [*(measure_row(_with_sides(measure)) for measure in cost_measures(answer)), *costs],
        "other_measures": [measure for measure in other_measures if measure["differs"]],
        "same": [measure for measure in other_measures if not measure["differs"]],
        "pending_rows": [change_row(change) for change in list_changes(answer, place=PENDING)][:MOST_PENDING],
        "remark_count": len(answer["warnings"]) + len(answer["notes"]),
        "outcome": outcome,
        "kinds": [
            (name, label, answer["anew"][name]) for name, label in OUTCOME_LABELS.items() if answer["anew"][name]
        ],
        "page": Paginator(listed, PAGE_SIZE).get_page(query.get("page")),
    }


def build_effect(answer: Json) -> dict[str, object]:
    """Return the context of the picture of an ``answer``, with the first pods that move."""
    listed = [change_row(change) for change in list_changes(answer, place=ALL)]
    return {
        "answer": answer,
        "sentence": sentences.answer_title(answer),
        "picture": build_picture(answer),
        "moved_rows": listed[:PAGE_SIZE],
        "moved_count": len(listed),
    }


def cost_measures(answer: Mapping[str, Any]) -> Iterator[Json]:
    """Yield nodes in use as a measure, and for a snapshot also the node-hours a day to which these add up."""
    used = {side: answer["nodes"][side] for side in ("current", "changed")}
    listed = [(NODES_USED, used)]
    # Only an answer on a snapshot counts pending pods; a scenario has node-hours of its own.
    if answer["pending"]:
        listed.append((NODE_HOURS_DAY, {side: HOURS * number for side, number in used.items()}))
    for name, values in listed:
        yield {key: value for key, value in asdict(measure_of(get_spec(name), None)).items() if key != "value"} | values


def change_row(change: Json) -> dict[str, object]:
    """Return a pod as a row of a table."""
    namespace, _, name = change["pod"].partition("/")
    return {
        **change,
        "namespace": namespace,
        "name": name,
        "why": sentences.explain_move(change),
        "words": OUTCOME_LABELS[change["what"]],
    }


def _is_cost(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and (spec.is_money or spec.unit == NODE_HOURS)


def _with_sides(measure: Mapping[str, Any]) -> Json:
    """Return ``measure`` with the keys that the gate's table has for both sides."""
    return {**measure, "baseline": measure["current"], "policy": measure["changed"]}
