"""What the page shows of an answer: tables of measures, and the list of pods that end elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.utils.translation import gettext_noop

from kschedweb.engine.studies.document.parts import ALL, PENDING
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
COST = ("cost", "unpriced_", "node_hours")
USE = ("use_", "skew_cpu_end", "skew_memory_end")


def cells(change: dict[str, Any]) -> list[Any]:
    """The row of a file."""
    return [change[name] for name in HEAD]


def context(query: Mapping[str, str], tried: TriedChange, answer: dict[str, Any]) -> dict[str, Any]:
    """The context of the page for an ``answer``."""
    measures = [measured(_paired(one)) for one in answer["measures"] if one["name"] != "nodes_empty"]
    costs = [one for one in measures if one["name"].startswith(COST)]
    use = sorted((one for one in measures if one["name"].startswith(USE)), key=lambda one: _rank(one["name"]))
    rest = [one for one in measures if one not in (*use, *costs)]
    what = query.get("what", "") if query.get("what") in WHAT else ""
    listed = [row(one) for one in changes(answer, of=ALL, what=what)]
    return {
        "sentence": words.sentence(answer),
        "use": use,
        "has_use": any(one["name"].startswith("use_") for one in use),
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
    nodes = answer["nodes"]
    said = gettext_noop("Nodes with more than pods of DaemonSets and static pods. All other nodes can go.")
    told = {"direction": "lower", "current": nodes["current"], "changed": nodes["changed"]}
    yield {"name": "nodes_used", "label": gettext_noop("Nodes in use"), "unit": "nodes", "sentence": said, **told}
    if answer["pending"]:
        said = gettext_noop("What the nodes in use come to in a day, once all others are gone.")
        told = {**told, **{side: HOURS * nodes[side] for side in ("current", "changed")}}
        yield {
            "name": "node_hours_day",
            "label": gettext_noop("Node-hours a day"),
            "unit": "h",
            "sentence": said,
            **told,
        }


def row(change: dict[str, Any]) -> dict[str, Any]:
    """A pod for a table; ``moved`` is what its decision page needs."""
    namespace, _, name = change["pod"].partition("/")
    return {**change, "namespace": namespace, "name": name, "why": words.why(change), "words": WHAT[change["what"]]}


def _rank(name: str) -> int:
    return next(rank for rank, start in enumerate(USE) if name.startswith(start))


def _paired(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "baseline": one["current"], "policy": one["changed"]}
