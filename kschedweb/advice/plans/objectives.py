"""Objectives as documents: read once, refused with each problem at its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.engine.planning.scenario import DOCUMENT, Wanted
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.engine.documents.leaves import DocumentProblem
    from kschedweb.engine.pricing.table import PriceTable
    from kschedweb.web.errors import FieldProblem

Json = dict[str, Any]
PATH = "objective"
NO_PRICES = "The cluster has no price table: set prices, or ask for nodes. Nodes are counted in node-hours then."


def read(asked: Any, table: PriceTable | None) -> Wanted:
    """What is wanted; raises ApplicationError with each problem at its field."""
    problems: list[DocumentProblem] = []
    wanted = DOCUMENT.read(asked, PATH, problems)
    if problems:
        errors: list[FieldProblem] = [{"path": one.path, "message": one.text} for one in problems]
        raise ApplicationError("The objective is not one that can be planned for.", errors=errors)
    assert isinstance(wanted, Wanted)
    if wanted.money is not None and table is None:
        raise ApplicationError.at(f"{PATH}.money", NO_PRICES)
    return wanted


def words(asked: Json) -> str:
    """The objective in a few words."""
    if found := asked.get("skew"):
        return f"a skew of {found.get('resource', 'cpu')} of at most {found['atMost']:g} points"
    if found := asked.get("fragmentation"):
        size, most = found["size"], found.get("atMost", 0)
        return f"at most {most} {found['resource']} on nodes with fewer than {size} free"
    if "money" in asked:
        hours = (asked["money"] or {}).get("hours", 24)
        return f"the lowest cost over {hours:g} hours"
    least = (asked.get("nodes") or {}).get("atLeast")
    return "as many nodes freed as can be" if least is None else f"{least:,} nodes freed"
