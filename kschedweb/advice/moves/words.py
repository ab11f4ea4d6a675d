"""Dry runs in plain sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils import translation
from django.utils.translation import gettext

from kschedweb.engine.studies.measure.registry import NODE_HOURS_DAY, NODES_USED, get_spec
from kschedweb.web import told
from kschedweb.web.counting import counted

Json = dict[str, Any]
DAY = 24.0  # hours


class Gain(NamedTuple):
    """A value before and after. ``sentence`` is the definition of a measure, "" for what is none."""

    label: str
    unit: str
    before: float
    after: float
    sentence: str = ""

    @classmethod
    def of(cls, measure: str, unit: str, before: float, after: float) -> Gain:
        """Return that of a measure, which is one of a cluster at one moment."""
        spec = get_spec(measure)
        return cls(told.words(spec.label), unit, before, after, told.words(spec.sentence))


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
    points, nodes = told.unit("points"), gettext("nodes")
    listed = [
        Gain.of(f"{stem}_{resource}_end", points, old["skew"], after[part][resource]["skew"])
        for part, stem in (("requests", "skew"), ("use", "use_skew"))
        for resource, old in before[part].items()
        if resource in after[part]
    ]
    listed.append(Gain.of(NODES_USED, nodes, before["nodes"], after["nodes"]))
    if not cost:
        return listed
    if before["cost"] is None or after["cost"] is None:
        hours = DAY * before["nodes"], DAY * after["nodes"]
        return [*listed, Gain.of(NODE_HOURS_DAY, gettext("node-hours a day"), *hours)]
    unit = gettext("%(currency)s an hour") % {"currency": found["currency"]}
    listed.append(Gain.of("cost_used_end", unit, before["cost"], after["cost"]))
    if before["unpriced"] or after["unpriced"]:
        left = round(before["unpriced"]), round(after["unpriced"])
        listed.append(Gain(gettext("Nodes in use without a price"), nodes, *left))
    return listed


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
