"""Dry runs in plain sentences."""

from __future__ import annotations

from typing import Any

from django.utils import translation
from django.utils.translation import gettext

from kschedweb.engine.studies.measure.registry import NODE_HOURS_DAY, NODES_USED, get_spec
from kschedweb.web import told
from kschedweb.web.counting import counted

Json = dict[str, Any]
DAY = 24.0  # hours
Gain = tuple[str, str, float, float, bool]  # what, unit, before, after, and whether it is a whole number


def sentence(found: Json) -> str:
    """What the cycle would do, and where its pods would be."""
    if found["skipped"]:
        return str(found["skipped"])  # the descheduler's own words
    if not found["evicted"]:
        return gettext("The descheduler would evict no pod")
    counts = found["counts"]
    parts = [
        (counts["lands"], gettext("%(number)s land on another node")),
        (counts["returns"], gettext("%(number)s come back to the node that they left")),
        (counts["unfit"], gettext("%(number)s would fit on no node")),
        (counts["gone"], gettext("%(number)s are not replaced")),
    ]
    fates = [what % {"number": f"{number:,}"} for number, what in parts if number]
    if len(fates) > 1:
        both = {"others": gettext(", ").join(fates[:-1]), "last": fates[-1]}
        fates = [gettext("%(others)s and %(last)s") % both]
    said = {"pods": counted(found["evicted"], "pods"), "fates": fates[0]}
    if not found["emptied"]:
        return gettext("The descheduler would evict %(pods)s: %(fates)s") % said
    said["nodes"] = counted(len(found["emptied"]), "nodes")
    return gettext("The descheduler would evict %(pods)s: %(fates)s; %(nodes)s would be empty") % said


def stored(found: Json) -> str:
    """The sentence for every reader, and for REST."""
    with translation.override("en"):
        return sentence(found)


def gains(found: Json, *, cost: bool = True) -> list[Gain]:
    """Of skew, nodes and, unless ``cost`` is false, what these cost: node-hours where there is no price.

    Less is better.
    """
    before, after = found["before"], found["after"]
    points = told.unit("points")
    listed: list[Gain] = [
        (label(f"{stem}_{resource}"), points, old["skew"], after[kind][resource]["skew"], False)
        for kind, stem in (("requests", "skew"), ("use", "use_skew"))
        for resource, old in before[kind].items()
        if resource in after[kind]
    ]
    nodes = gettext("nodes")
    listed += [(label(NODES_USED), nodes, before["nodes"], after["nodes"], True)]
    if not cost:
        return listed
    if before["cost"] is None or after["cost"] is None:
        hours = (DAY * before["nodes"], DAY * after["nodes"], False)
        return [*listed, (label(NODE_HOURS_DAY), gettext("node-hours a day"), *hours)]
    unit = gettext("%(currency)s an hour") % {"currency": found["currency"]}
    listed += [(label("cost_used"), unit, before["cost"], after["cost"], False)]
    if before["unpriced"] or after["unpriced"]:
        left = (round(before["unpriced"]), round(after["unpriced"]), True)
        listed += [(gettext("Nodes in use without a price"), nodes, *left)]
    return listed


def label(name: str) -> str:
    """What the measure ``name`` is called on every page."""
    return told.words(get_spec(name).label)


def by_plugin(found: Json) -> list[Json]:
    """For each plugin: evictions, nodes, and what becomes of its pods."""
    grouped: dict[str, Json] = {}
    for one in found["landings"]:
        group = grouped.setdefault(
            one["plugin"],
            {"plugin": one["plugin"], "evicted": 0, "nodes": set(), "lands": 0, "returns": 0, "unfit": 0, "gone": 0},
        )
        group["evicted"] += 1
        group["nodes"].add(one["node"])
        group[one["fate"]] += 1
    return [{**group, "nodes": len(group["nodes"])} for group in grouped.values()]
