"""Read objectives from documents, and refuse them with each problem at its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.planning.scenario import DOCUMENT, PlanRequest
from kschedweb.web.counting import format_count
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.engine.documents.leaves import DocumentProblem
    from kschedweb.engine.pricing.price_table import PriceTable
    from kschedweb.web.errors import FieldProblem

PATH = "objective"
NO_PRICES = "The cluster has no price table: set prices, or ask for nodes. Nodes are counted in node-hours then."


def read_objective(document: Any, table: PriceTable | None) -> PlanRequest:
    """Return the objective. Raise ApplicationError with each problem at its field."""
    problems: list[DocumentProblem] = []
    objective = DOCUMENT.read(document, PATH, problems)
    if problems:
        errors: list[FieldProblem] = [{"path": problem.path, "message": problem.text} for problem in problems]
        raise ApplicationError("The objective is not one that can be planned for.", errors=errors)
    assert isinstance(objective, PlanRequest)
    if objective.money is not None and table is None:
        raise ApplicationError.at(f"{PATH}.money", NO_PRICES)
    return objective


def describe_objective(document: Json) -> str:
    """Return the objective in a few words."""
    if criteria := document.get("skew"):
        parameters = {"resource": criteria.get("resource", "cpu"), "most": f"{criteria['atMost']:g}"}
        return gettext("a skew of %(resource)s of at most %(most)s points") % parameters
    if criteria := document.get("fragmentation"):
        parameters = {"resource": criteria["resource"], "most": criteria.get("atMost", 0), "size": criteria["size"]}
        return gettext("at most %(most)s %(resource)s on nodes with fewer than %(size)s free") % parameters
    if "money" in document:
        hours = (document["money"] or {}).get("hours", 24)
        return gettext("the lowest cost over %(hours)s hours") % {"hours": f"{hours:g}"}
    min_nodes = (document.get("nodes") or {}).get("atLeast")
    if min_nodes is None:
        return gettext("as many nodes freed as possible")
    return gettext("%(nodes)s freed") % {"nodes": format_count(min_nodes, "nodes")}
