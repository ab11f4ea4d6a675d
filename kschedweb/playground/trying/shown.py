"""What the page shows of an answer: tables of measures, and the list of pods that end elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator

from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.gate.verdict import SKEWS
from kschedweb.engine.studies.measure.measured import NODE_HOURS
from kschedweb.engine.studies.measure.measures import measure_of
from kschedweb.engine.studies.measure.registry import (
    NODE_HOURS_DAY,
    NODES_USED,
    USE,
    family_of,
    find_spec,
    get_spec,
)
from kschedweb.playground.gate.words import measured
from kschedweb.playground.trying import words
from kschedweb.playground.trying.selectors import changes
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.playground.trying.models import TriedChange

PAGE_SIZE, MOST_PENDING = 10, 50
HOURS = 24
HEAD = ("pod", "of", "what", "current", "changed", "plugin", "lead", "follows", "said")
WHAT = {
    "gained": _("find a node only under the change"),
    "lost": _("find no node under the change"),
    "moved": _("land on another node"),
}


def cells(change: dict[str, Any]) -> list[Any]:
    """The row of a file."""
    return [change[name] for name in HEAD]


def context(query: Mapping[str, str], tried: TriedChange, answer: dict[str, Any]) -> dict[str, Any]:
    """The context of the page for an ``answer``."""
    measures = [measured(_paired(one)) for one in answer["measures"] if one["name"] != "nodes_empty"]
    costs = [one for one in measures if _is_cost(one["name"])]
    real = [one for one in measures if family_of(one["name"]) == USE]
    use = [*real, *(one for one in measures if one["name"] in SKEWS)]
    rest = [one for one in measures if one not in (*use, *costs)]
    what = query.get("what", "") if query.get("what") in WHAT else ""
    listed = [row(one) for one in changes(answer, of=ALL, what=what)]
    return {
        "sentence": words.sentence(answer),
        "use": use,
        "has_use": bool(real),
        "cost": [*(measured(_paired(one)) for one in cost(answer)), *costs],
        "others": [one for one in rest if one["differs"]],
        "same": [one for one in rest if not one["differs"]],
        "pending_rows": [row(one) for one in changes(answer, of=PENDING)][:MOST_PENDING],
        "told": len(answer["warnings"]) + len(answer["notes"]),
        "what": what,
        "kinds": [(name, said, answer["anew"][name]) for name, said in WHAT.items() if answer["anew"][name]],
        "page": Paginator(listed, PAGE_SIZE).get_page(query.get("page")),
    }


def cost(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Nodes in use as a measure, and of a cluster at one moment the node-hours a day that these come to."""
    used = {side: answer["nodes"][side] for side in ("current", "changed")}
    listed = [(NODES_USED, used)]
    if answer["pending"]:
        listed.append((NODE_HOURS_DAY, {side: HOURS * number for side, number in used.items()}))
    for name, values in listed:
        yield {key: value for key, value in asdict(measure_of(get_spec(name), None)).items() if key != "value"} | values


def row(change: dict[str, Any]) -> dict[str, Any]:
    """A pod for a table; ``moved`` is what its decision page needs."""
    namespace, _, name = change["pod"].partition("/")
    return {**change, "namespace": namespace, "name": name, "why": words.why(change), "words": WHAT[change["what"]]}


def _is_cost(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and (spec.is_money or spec.unit == NODE_HOURS)


def _paired(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "baseline": one["current"], "policy": one["changed"]}
