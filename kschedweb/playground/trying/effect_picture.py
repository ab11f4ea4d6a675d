"""The picture of a change's effect: tiles, the nodes before and after, and the flows of pods between zones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.parts import ALL
from kschedweb.engine.studies.gate.verdict import SKEWS
from kschedweb.engine.studies.measure.groups import USE
from kschedweb.engine.studies.measure.registry import family_of
from kschedweb.engine.studies.trying.policy_effect import MOVED
from kschedweb.playground.gate.invocation import measure_row
from kschedweb.web.counting import format_count
from kschedweb.web.nodemap.before_after import map_before_and_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kschedweb.web.nodemap.nodemap import NodeMap

# Zones of the figure of flows; the smallest ones are joined.
MOST_ZONES = 8
# Sizes of the figure of flows, in units of its own.
WIDTH, HEIGHT, GAP, COLUMN = 600.0, 220.0, 10.0, 110.0


@dataclass(frozen=True)
class Tile:
    """A number under the current policy and under the changed one."""

    label: str
    before: str
    after: str
    # "up", "down" or "": equal, or there is only one number.
    arrow: str
    # "better", "worse" or "".
    tone: str
    section: str


@dataclass(frozen=True)
class Band:
    """The pods that move from one zone to another, as a band of the figure."""

    source: str
    target: str
    pods: int
    path: str
    colour: int


@dataclass(frozen=True)
class ZoneBar:
    """A zone at one edge of the figure of flows."""

    zone: str
    pods: int
    x: str
    y: str
    height: str
    label_x: str
    label_y: str
    anchor: str
    colour: int


@dataclass(frozen=True)
class EffectPicture:
    """The picture of an effect."""

    tiles: tuple[Tile, ...]
    # Before and after; None if there are too many nodes, or if the answer is from before levels were stored.
    map: NodeMap | None
    changed_count: int
    bands: tuple[Band, ...]
    bars: tuple[ZoneBar, ...]

    @property
    def height(self) -> int:
        return int(HEIGHT)

    @property
    def width(self) -> int:
        return int(WIDTH)


def build_picture(answer: Json) -> EffectPicture:
    """Return the picture of a stored or live ``answer``."""
    levels = answer.get("levels") or {"nodes": [], "zones": [], "current": [], "changed": []}
    pairs = zip(levels["current"], levels["changed"], strict=True)
    changed_count = sum(round(before) != round(after) for before, after in pairs)
    bands, bars = _draw_flows(levels, answer["changes"])
    effect_map = map_before_and_after(levels["nodes"], levels["zones"], levels["current"], levels["changed"])
    return EffectPicture(tuple(list_tiles(answer)), effect_map, changed_count, bands, bars)


def list_tiles(answer: Json) -> list[Tile]:
    """Return the four numbers that matter: pods with a node, nodes in use, evenness, and moves."""
    placed = answer["pending"] or answer["anew"]
    nodes = answer["nodes"]
    skew = _find_skew(answer["measures"])
    tiles = [
        _count_tile(
            (
                gettext("of %(pods)s get a node")
                % {"pods": format_count(placed["pods"], "pending pods" if answer["pending"] else "pods")}
            ),
            placed["placed"],
            "#pending" if answer["pending"] else "#anew",
            better_up=True,
        ),
        _count_tile(gettext("nodes in use"), nodes, "#cost", better_up=False),
    ]
    if skew is not None:
        arrow = "" if not skew["differs"] else "up" if (skew["changed"] or 0) > (skew["current"] or 0) else "down"
        tone = "better" if skew["better"] else "worse" if skew["worse"] else ""
        tiles.append(Tile(skew["label"], skew["before"], skew["after"], arrow, tone, "#use"))
    moved = answer["anew"]["moved"]
    all_pods = gettext("of %(pods)s pods move, if all were scheduled again") % {"pods": f"{answer['anew']['pods']:,}"}
    tiles.append(Tile(all_pods, "", f"{moved:,}", "", "", "#anew"))
    return tiles


def _find_skew(measures: Iterable[Json]) -> Json | None:
    """Return the skew of real use if it is known, else that of requests, as a row of a table."""
    listed = list(measures)
    real = [measure for measure in listed if family_of(measure["name"]) == USE and "skew" in measure["name"]]
    skews = real or [measure for measure in listed if measure["name"] in SKEWS]
    if not skews:
        return None
    return measure_row({**skews[0], "baseline": skews[0]["current"], "policy": skews[0]["changed"]})


def _count_tile(label: str, sides: Mapping[str, int], section: str, *, better_up: bool) -> Tile:
    before, after = sides["current"], sides["changed"]
    arrow = "" if before == after else "up" if after > before else "down"
    tone = "" if not arrow else "better" if (arrow == "up") is better_up else "worse"
    return Tile(label, f"{before:,}", f"{after:,}", arrow, tone, section)


def _draw_flows(levels: Json, changes: Sequence[Json]) -> tuple[tuple[Band, ...], tuple[ZoneBar, ...]]:
    """Return the bands from the zones that pods leave to those that they get, and the zones at both edges."""
    zone_by_node = dict(zip(levels["nodes"], levels["zones"], strict=True))
    flows: Counter[tuple[str, str]] = Counter()
    for change in changes:
        if change["of"] == ALL and change["what"] == MOVED:
            before, after = (zone_by_node.get(change[side]) or gettext("no zone") for side in ("current", "changed"))
            flows[before, after] += 1
    if not flows:
        return (), ()
    flows = _join_small_zones(flows)
    zones = sorted({zone for pair in flows for zone in pair})
    colours = {zone: place for place, zone in enumerate(zones)}
    total = sum(flows.values())
    unit = (HEIGHT - GAP * (len(zones) - 1)) / total
    tops = [_stack(zones, flows, place, unit) for place in (0, 1)]
    bars = [
        _build_bar(zone, pods, top, unit, edge, colours[zone])
        for edge, stacked in enumerate(tops)
        for zone, (top, pods) in stacked.items()
        if pods
    ]
    used = [dict.fromkeys(zones, 0.0), dict.fromkeys(zones, 0.0)]
    bands = []
    for (source, target), pods in sorted(flows.items()):
        left, right = tops[0][source][0] + used[0][source], tops[1][target][0] + used[1][target]
        used[0][source] += pods * unit
        used[1][target] += pods * unit
        bands.append(Band(source, target, pods, _band_path(left, right, pods * unit), colours[source]))
    return tuple(bands), tuple(bars)


def _join_small_zones(flows: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    totals: Counter[str] = Counter()
    for (source, target), pods in flows.items():
        totals[source] += pods
        totals[target] += pods
    if len(totals) <= MOST_ZONES:
        return flows
    large = {zone for zone, _ in totals.most_common(MOST_ZONES - 1)}
    other_zones = gettext("other zones")
    joined: Counter[tuple[str, str]] = Counter()
    for (source, target), pods in flows.items():
        joined[source if source in large else other_zones, target if target in large else other_zones] += pods
    return joined


def _stack(
    zones: Sequence[str], flows: Mapping[tuple[str, str], int], place: int, unit: float
) -> dict[str, tuple[float, int]]:
    """Return the top and the number of pods of each zone at one edge."""
    stacked: dict[str, tuple[float, int]] = {}
    top = 0.0
    for zone in zones:
        pods = sum(number for pair, number in flows.items() if pair[place] == zone)
        stacked[zone] = (top, pods)
        top += pods * unit + GAP
    return stacked


def _build_bar(zone: str, pods: int, top: float, unit: float, edge: int, colour: int) -> ZoneBar:
    x = COLUMN if edge == 0 else WIDTH - COLUMN - 8
    label_x, anchor = (x - 6, "end") if edge == 0 else (x + 14, "start")
    height = max(pods * unit, 1.0)
    return ZoneBar(
        zone,
        pods,
        f"{x:.1f}",
        f"{top:.1f}",
        f"{height:.1f}",
        f"{label_x:.1f}",
        f"{top + height / 2:.1f}",
        anchor,
        colour,
    )


def _band_path(left: float, right: float, thickness: float) -> str:
    start, end = COLUMN + 8, WIDTH - COLUMN - 8
    middle = (start + end) / 2
    return (
        f"M{start:.1f} {left:.1f}C{middle:.1f} {left:.1f} {middle:.1f} {right:.1f} {end:.1f} {right:.1f}"
        f"V{right + thickness:.1f}C{middle:.1f} {right + thickness:.1f} {middle:.1f} {left + thickness:.1f} "
        f"{start:.1f} {left + thickness:.1f}Z"
    )
