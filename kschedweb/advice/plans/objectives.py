"""Objectives as documents: read once, refused with each problem at its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.engine.planning.scenario import DOCUMENT, Wanted
from kschedweb.web.counting import counted
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
        said = {"resource": found.get("resource", "cpu"), "most": f"{found['atMost']:g}"}
        return gettext("a skew of %(resource)s of at most %(most)s points") % said
    if found := asked.get("fragmentation"):
        said = {"resource": found["resource"], "most": found.get("atMost", 0), "size": found["size"]}
        return gettext("at most %(most)s %(resource)s on nodes with fewer than %(size)s free") % said
    if "money" in asked:
        hours = (asked["money"] or {}).get("hours", 24)
        return gettext("the lowest cost over %(hours)s hours") % {"hours": f"{hours:g}"}
    least = (asked.get("nodes") or {}).get("atLeast")
    if least is None:
        return gettext("as many nodes freed as possible")
    return gettext("%(nodes)s freed") % {"nodes": counted(least, "nodes")}
