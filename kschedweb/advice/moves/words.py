"""Dry runs in plain sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from django.utils import translation
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.measure.registry import NODE_HOURS_DAY, NODES_USED, get_spec
from kschedweb.web import messages
from kschedweb.web.counting import format_count

# Hours.
DAY = 24.0


class MeasureGain(NamedTuple):
    """A value before and after the moves."""

    label: str
    unit: str
    before: float
    after: float
    # The definition of a measure, "" for other values.
    sentence: str = ""

    @classmethod
    def from_measure(cls, measure: str, unit: str, before: float, after: float) -> MeasureGain:
        """Return the gain of a measure, which describes a cluster at one moment."""
        spec = get_spec(measure)
        return cls(messages.translate_words(spec.label), unit, before, after, messages.translate_words(spec.sentence))


def render_sentence(answer: Json) -> str:
    """Return what the cycle would do, and where its pods would be, in one sentence."""
    if answer["skipped"]:
        return str(answer["skipped"])  # the descheduler's own words
    if not answer["evicted"]:
        return gettext("The descheduler would evict no pod")
    counts = answer["counts"]
    parts = [
        (counts["lands"], gettext("%(number)s land on another node")),
        (counts["returns"], gettext("%(number)s come back to the node that they left")),
        (counts["unfit"], gettext("%(number)s would fit on no node")),
        (counts["gone"], gettext("%(number)s are not replaced")),
    ]
    fates = [text % {"number": f"{number:,}"} for number, text in parts if number]
    if len(fates) > 1:
        both = {"others": gettext(", ").join(fates[:-1]), "last": fates[-1]}
        fates = [gettext("%(others)s and %(last)s") % both]
    parameters = {"pods": format_count(answer["evicted"], "pods"), "fates": fates[0]}
    if not answer["emptied"]:
        return gettext("The descheduler would evict %(pods)s: %(fates)s") % parameters
    parameters["nodes"] = format_count(len(answer["emptied"]), "nodes")
    return gettext("The descheduler would evict %(pods)s: %(fates)s; %(nodes)s would be empty") % parameters


def render_english(answer: Json) -> str:
    """Return the sentence in English, for REST and for the stored answer."""
    with translation.override("en"):
        return render_sentence(answer)


def list_gains(answer: Json, *, cost: bool = True) -> list[MeasureGain]:
    """Return the gains in skew, nodes and, unless ``cost`` is False, cost: in node-hours without prices.

    Lower is better.
    """
    before, after = answer["before"], answer["after"]
    points, nodes = messages.translate_unit("points"), gettext("nodes")
    listed = [
        MeasureGain.from_measure(f"{stem}_{resource}_end", points, old["skew"], after[part][resource]["skew"])
        for part, stem in (("requests", "skew"), ("use", "use_skew"))
        for resource, old in before[part].items()
        if resource in after[part]
    ]
    listed.append(MeasureGain.from_measure(NODES_USED, nodes, before["nodes"], after["nodes"]))
    if not cost:
        return listed
    if before["cost"] is None or after["cost"] is None:
        hours = DAY * before["nodes"], DAY * after["nodes"]
        return [*listed, MeasureGain.from_measure(NODE_HOURS_DAY, gettext("node-hours a day"), *hours)]
    unit = gettext("%(currency)s an hour") % {"currency": answer["currency"]}
    listed.append(MeasureGain.from_measure("cost_used_end", unit, before["cost"], after["cost"]))
    if before["unpriced"] or after["unpriced"]:
        unpriced = round(before["unpriced"]), round(after["unpriced"])
        listed.append(MeasureGain(gettext("Nodes in use without a price"), nodes, *unpriced))
    return listed


@dataclass(frozen=True)
class PluginEvictions:
    """The evictions of a plugin: from how many nodes, and how many pods have each fate."""

    plugin: str
    nodes: int
    evicted: int
    lands: int
    returns: int
    unfit: int
    gone: int


def group_by_plugin(answer: Json) -> list[PluginEvictions]:
    """Return the evictions of each plugin."""
    landings_by_plugin: dict[str, list[Json]] = {}
    for landing in answer["landings"]:
        landings_by_plugin.setdefault(landing["plugin"], []).append(landing)
    return [_count_evictions(plugin, landings) for plugin, landings in landings_by_plugin.items()]


def _count_evictions(plugin: str, landings: list[Json]) -> PluginEvictions:
    fates = Counter(landing["fate"] for landing in landings)
    return PluginEvictions(
        plugin=plugin,
        nodes=len({landing["node"] for landing in landings}),
        evicted=len(landings),
        lands=fates["lands"],
        returns=fates["returns"],
        unfit=fates["unfit"],
        gone=fates["gone"],
    )
