"""Template tags of decision pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from kschedweb.engine.releases.classic.describing import described

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from kschedweb.decisions.parts import NodeRow
    from kschedweb.engine.releases.classic import Algorithm

register = template.Library()


@register.simple_tag
def explained(name: str, algorithm: Algorithm | str | None) -> str:
    """``name``, as a link to its page if it is a predicate or priority of ``algorithm``."""
    known = () if not algorithm or isinstance(algorithm, str) else algorithm.plugins
    plugin = next((one for one in known if one.name == name), None)
    if plugin is None:
        return name
    return format_html('<a href="{}">{}</a>', reverse("classic-entry", args=[described(plugin).name]), name)


@register.simple_tag
def placed(row: NodeRow, query: str, linked: bool, compared: bool) -> SafeString:
    """The table cells of a feasible node; scores link to their arithmetic if ``linked``.

    A page has a thousand such rows, and a loop in the template takes many times as long.
    """
    margin = f"−{row.behind}" if row.margin else "0"
    cells = [_number(row.rank), _number(f"<strong>{row.total}</strong>"), _number(margin)]
    if compared:
        cells += [_number("✕" if row.other is None else row.other), _number(_difference(row.difference))]
    address = escape(f"?{query}node={row.link}&cell=")
    for cell in row.cells:
        parts = f'{cell.weighted}<span class="parts">{cell.raw} → {cell.normalized} × {cell.weight}</span>'
        if linked:
            shown = f'<a class="t{cell.tint}" href="{address}{escape(cell.plugin)}#cell">{parts}</a>'
        else:
            shown = f'<span class="t{cell.tint}">{parts}</span>'
        cells.append(f'<td class="score">{shown}</td>')
    return mark_safe("".join(cells))  # noqa: S308 - numbers, and what was escaped


def _number(shown: object) -> str:
    return f'<td class="number">{shown}</td>'


def _difference(places: int | None) -> str:
    if places is None:
        return "–"
    if places > 0:
        return f'<span class="delta-up">▲ +{places}</span>'
    return f'<span class="delta-down">▼ {places}</span>' if places else "0"
