"""Plans in plain sentences."""

from __future__ import annotations

from django.utils import translation
from django.utils.translation import gettext, ngettext

from kschedweb.advice.moves.words import DAY, MeasureGain
from kschedweb.advice.moves.words import list_gains as gains_of
from kschedweb.engine.json_types import Json
from kschedweb.web import messages
from kschedweb.web.counting import format_count


def render_sentence(answer: Json) -> str:
    """Return what the plan does, and how far it gets, in one sentence."""
    moves = answer["moves"]
    if not moves and not answer["freed"]:
        return (
            gettext("There is nothing to move: the objective is reached")
            if answer["reached"]
            else gettext("No plan helps")
        )
    parameters = {
        "moves": format_count(moves, "moves"),
        "waves": format_count(len(answer["waves"]), "waves"),
        "change": _describe_change(answer),
    }
    if not moves:
        return gettext("%(moves)s bring %(change)s") % parameters
    return (
        ngettext("%(moves)s in %(waves)s brings %(change)s", "%(moves)s in %(waves)s bring %(change)s", moves)
        % parameters
    )


def _describe_change(answer: Json) -> str:
    parameters = {
        "before": _format_number(answer["before"]),
        "after": _format_number(answer["after"]),
        "unit": (
            gettext("%(currency)s in 24 h") % {"currency": answer["currency"]}
            if answer["objective"] == "money"
            else messages.translate_words(answer["unit"])
        ),
    }
    texts = {
        "nodes": gettext("the empty nodes from %(before)s to %(after)s"),
        "skew": gettext("the skew from %(before)s to %(after)s %(unit)s"),
        "money": gettext("the cost from %(before)s to %(after)s %(unit)s"),
        "fragmentation": gettext("the fragments from %(before)s to %(after)s %(unit)s"),
    }
    return texts[answer["objective"]] % parameters


def describe_bound(answer: Json) -> str:
    """Return the bound that no plan can beat, beside what this one reaches; "" if nothing has to move."""
    min_moves, moves, value = answer["bound"]["moves"], answer["moves"], answer["bound"]["value"]
    if not moves and not min_moves:
        return ""
    many = ngettext(
        "At least %(least)s is needed for that; this plan has %(moves)s.",
        "At least %(least)s are needed for that; this plan has %(moves)s.",
        min_moves,
    ) % {"least": format_count(min_moves, "moves"), "moves": f"{moves:,}"}
    if value is None:
        return many
    parameters = {"many": many, "value": _format_number(value), "unit": messages.translate_words(answer["unit"])}
    if answer["objective"] == "nodes":
        return gettext("%(many)s At most %(value)s nodes could be empty.") % parameters
    return gettext("%(many)s No plan gets below %(value)s %(unit)s.") % parameters


def render_english(answer: Json) -> Json:
    """Return both sentences in English, for REST and for the stored answer."""
    with translation.override("en"):
        return {"answer": render_sentence(answer), "least": describe_bound(answer)}


def _format_number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def list_gains(answer: Json) -> list[MeasureGain]:
    """Return the gains in skew, nodes and cost. If nodes go, the saving counts all nodes, empty ones too."""
    # Plans of older releases have no "staying".
    goes = bool(answer["freed"]) and "staying" in answer
    listed = gains_of({**answer["standing"], "currency": answer["currency"]}, cost=not goes)
    if not goes:
        return listed
    before, after = answer["staying"]["before"], answer["staying"]["after"]
    listed.append(MeasureGain(gettext("Nodes that stay"), gettext("nodes"), before["nodes"], after["nodes"]))
    priced = before["cost"] is not None and after["cost"] is not None
    listed.append(compute_savings(answer, priced=priced))
    if priced and (before["unpriced"] or after["unpriced"]):
        unpriced = round(before["unpriced"]), round(after["unpriced"])
        listed.append(MeasureGain(gettext("Nodes that stay without a price"), gettext("nodes"), *unpriced))
    return listed


def compute_savings(answer: Json, *, priced: bool) -> MeasureGain:
    """Return the hourly cost of the nodes that stay, or without prices their node-hours a day."""
    before, after = answer["staying"]["before"], answer["staying"]["after"]
    if priced:
        unit = gettext("%(currency)s an hour") % {"currency": answer["currency"]}
        return MeasureGain(gettext("Cost of the nodes that stay"), unit, before["cost"], after["cost"])
    hours = DAY * before["nodes"], DAY * after["nodes"]
    return MeasureGain(gettext("Node-hours of the nodes that stay"), gettext("node-hours a day"), *hours)
