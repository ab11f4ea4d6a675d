"""The report of a collection in words, for the test, the last run, and REST."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.watermarks.figures import BY_NAME, NODE, NOW, Figure
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import in_bytes

ORIGINS = {"demo": _("the demo's recording"), "prometheus": "Prometheus"}


def origin_words(origin: str) -> str:
    """Return the origin of figures in words; ``origin`` is as stored with them."""
    return str(ORIGINS.get(origin, origin))


def figure_named(name: str) -> Figure:
    """Return the figure ``kind/resource/statistic``, even if it has no query."""
    return BY_NAME.get(name) or Figure(*name.split("/", 2))


def value_text(figure: Figure, value: float) -> str:
    """Return a value with its unit: "41.2 %", "0.25 cores", "1.5 GiB"."""
    if figure.kind == NODE:
        return f"{value:.1f} %"
    return f"{value:.3g} cores" if figure.resource == "cpu" else in_bytes(round(value))


def describe_result(name: str, query: Mapping[str, Any]) -> str:
    """Return one line: the number of series, those of the cluster, and the first values."""
    figure = figure_named(name)
    node = figure.kind == NODE
    series, matched = query["series"], query["matched"]
    line = f"{series:,} {'value' if figure.statistic == NOW else 'series'}{_plural_suffix(series, figure)}, "
    line += f"{matched:,} about {'nodes' if node else 'pods'} of this cluster"
    if query["unit"]:
        line += f", looking like {query['unit']}"
    if node and query["missing"]:
        line += f"; {query['missing']:,} node{'' if query['missing'] == 1 else 's'} without a value"
    if query["unmatched"]:
        line += f"; not known here: {', '.join(query['unmatched'])}"
    examples = ", ".join(f"{owner} {value_text(figure, value)}" for owner, value in query["examples"])
    return f"{line}. {f'As stored: {examples}.' if examples else ''}".strip()


def _plural_suffix(count: int, figure: Figure) -> str:
    return "s" if figure.statistic == NOW and count != 1 else ""


def report_rows(report: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return a row for each figure: query, result and error."""
    return [
        {
            "figure": name,
            "label": figure_named(name).label,
            "found": "" if query["error"] else describe_result(name, query),
            "error": query["error"],
            "warnings": query["warnings"],
        }
        for name, query in report.get("queries", {}).items()
    ]
