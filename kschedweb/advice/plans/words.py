"""Plans in plain sentences."""

from __future__ import annotations

from typing import Any

from django.utils import translation
from django.utils.translation import gettext, ngettext

from kschedweb.advice.moves.words import DAY, Gain
from kschedweb.advice.moves.words import gains as gains_of
from kschedweb.web import told
from kschedweb.web.counting import counted

Json = dict[str, Any]


def sentence(found: Json) -> str:
    """What the plan does, and how far it gets."""
    moves = found["moves"]
    if not moves and not found["freed"]:
        return (
            gettext("There is nothing to move: the objective is reached")
            if found["reached"]
            else gettext("No plan helps")
        )
    said = {"moves": counted(moves, "moves"), "waves": counted(len(found["waves"]), "waves"), "change": _change(found)}
    if not moves:
        return gettext("%(moves)s bring %(change)s") % said
    return ngettext("%(moves)s in %(waves)s brings %(change)s", "%(moves)s in %(waves)s bring %(change)s", moves) % said


def _change(found: Json) -> str:
    said = {"before": _number(found["before"]), "after": _number(found["after"]), "unit": told.words(found["unit"])}
    what = {
        "nodes": gettext("the empty nodes from %(before)s to %(after)s"),
        "skew": gettext("the skew from %(before)s to %(after)s %(unit)s"),
        "money": gettext("the cost from %(before)s to %(after)s %(unit)s"),
        "fragmentation": gettext("the fragments from %(before)s to %(after)s %(unit)s"),
    }
    return what[found["objective"]] % said


def bound(found: Json) -> str:
    """What no plan can do better, beside what this one does; "" where nothing has to move."""
    least, moves, value = found["bound"]["moves"], found["moves"], found["bound"]["value"]
    if not moves and not least:
        return ""
    many = ngettext(
        "At least %(least)s is needed for that; this plan has %(moves)s.",
        "At least %(least)s are needed for that; this plan has %(moves)s.",
        least,
    ) % {"least": counted(least, "moves"), "moves": f"{moves:,}"}
    if value is None:
        return many
    said = {"many": many, "value": _number(value), "unit": told.words(found["unit"])}
    if found["objective"] == "nodes":
        return gettext("%(many)s At most %(value)s nodes could be empty.") % said
    return gettext("%(many)s No plan gets below %(value)s %(unit)s.") % said


def stored(found: Json) -> Json:
    """Both for every reader, and for REST."""
    with translation.override("en"):
        return {"answer": sentence(found), "least": bound(found)}


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def gains(found: Json) -> list[Gain]:
    """Of skew, nodes and money. Where nodes go, what is saved is of all that are there, also of empty ones."""
    goes = bool(found["freed"]) and "staying" in found  # it is not in plans of before it was kept
    listed = gains_of({**found["standing"], "currency": found["currency"]}, cost=not goes)
    if not goes:
        return listed
    before, after = found["staying"]["before"], found["staying"]["after"]
    listed.append(Gain(gettext("Nodes that stay"), gettext("nodes"), before["nodes"], after["nodes"]))
    priced = before["cost"] is not None and after["cost"] is not None
    listed.append(saved(found, priced=priced))
    if priced and (before["unpriced"] or after["unpriced"]):
        left = round(before["unpriced"]), round(after["unpriced"])
        listed.append(Gain(gettext("Nodes that stay without a price"), gettext("nodes"), *left))
    return listed


def saved(found: Json, *, priced: bool) -> Gain:
    """What the nodes that stay cost an hour, or where they have no price the node-hours a day that they come to."""
    before, after = found["staying"]["before"], found["staying"]["after"]
    if priced:
        unit = gettext("%(currency)s an hour") % {"currency": found["currency"]}
        return Gain(gettext("Cost of the nodes that stay"), unit, before["cost"], after["cost"])
    hours = DAY * before["nodes"], DAY * after["nodes"]
    return Gain(gettext("Node-hours of the nodes that stay"), gettext("node-hours a day"), *hours)
