"""Charts as plain Plotly dicts, and the node heatmap as one; charts.ts gives them the theme's colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

if TYPE_CHECKING:
    from collections.abc import Sequence

MEASURES = {"cpu": "CPU requested", "memory": "memory requested", "pods": "pods bound"}
# Longer zones wrap, so that a cell stays wide enough to point at.
WIDEST = 60


@dataclass(frozen=True)
class Chart:
    """A figure, one sentence that says what it shows, and the same numbers as a table."""

    figure: dict[str, Any]
    summary: str
    head: list[str]
    rows: list[list[object]]


def node_heatmap(cluster: str, nodes: Sequence[tuple[str, str, int, int, int, int]], measure: str) -> dict[str, Any]:
    """Nodes by zone, coloured by how much of them is requested.

    ``nodes`` holds (name, zone, cpu share, memory share, pods bound, pods allocatable), shares in thousandths.
    """
    lines: list[tuple[str, list[tuple[str, float]]]] = []
    by_zone: dict[str, list[tuple[str, float]]] = {}
    for name, zone, cpu, memory, bound, allocatable in nodes:
        by_zone.setdefault(zone or "no zone", []).append((name, _share(measure, cpu, memory, bound, allocatable)))
    for zone, cells in sorted(by_zone.items()):
        cells.sort(key=lambda cell: -cell[1])
        for start in range(0, len(cells), WIDEST):
            label = zone if start == 0 else f"{zone} ({start + 1}–)"
            lines.append((label, cells[start : start + WIDEST]))
    width = max((len(cells) for _, cells in lines), default=0)
    address = reverse("nodes")
    gap = [None, None]
    return {
        "data": [
            {
                "type": "heatmap",
                "y": [label for label, _ in lines],
                "x": list(range(1, width + 1)),
                "z": [[share for _, share in cells] + [None] * (width - len(cells)) for _, cells in lines],
                "customdata": [
                    [[name, f"{address}?{urlencode({'cluster': cluster, 'search': name})}"] for name, _ in cells]
                    + [gap] * (width - len(cells))
                    for _, cells in lines
                ],
                "hovertemplate": f"%{{customdata[0]}}<br>{MEASURES[measure]}: %{{z}} %<extra></extra>",
                "hoverongaps": False,
                "colorscale": "Cividis",
                "zmin": 0,
                "zmax": 100,
                "colorbar": {"title": {"text": "%"}, "thickness": 12},
                "xgap": 1,
                "ygap": 2,
            }
        ],
        "layout": {
            "height": 110 + 26 * len(lines),
            "xaxis": {"title": {"text": "nodes, fullest first"}, "showgrid": False, "zeroline": False},
            "yaxis": {"autorange": "reversed", "automargin": True, "type": "category"},
        },
    }


def _share(measure: str, cpu: int, memory: int, bound: int, allocatable: int) -> float:
    if measure == "cpu":
        return cpu / 10
    if measure == "memory":
        return memory / 10
    return round(100 * bound / allocatable, 1) if allocatable else 0.0
