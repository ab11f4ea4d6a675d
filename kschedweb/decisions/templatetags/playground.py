"""Template tags of decision pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext

from kschedweb.accounts.reach import can_see_namespace
from kschedweb.engine.releases.classic.descriptions import describe_rule

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.page_parts import NodeRow
    from kschedweb.engine.releases.classic import Algorithm

register = template.Library()

# The colours of scores by ``Cell.step``.
STEPS = {-3: "below-3", -2: "below-2", -1: "below-1", 0: "median", 1: "above-1", 2: "above-2", 3: "above-3"}


@register.filter
def visible_in(namespace: str, snapshot: Snapshot) -> bool:
    """Return whether the user may view ``namespace`` of the cluster of ``snapshot``."""
    return can_see_namespace(snapshot.cluster_id, namespace)


@register.filter
def as_sentence_start(text: str, node: str) -> str:
    """Capitalize the beginning of a sentence, unless it is the name of ``node``."""
    return text if node and text.startswith(node) else capfirst(text)


@register.simple_tag
def rule_link(name: str, algorithm: Algorithm | str | None) -> str:
    """Return ``name``, as a link to its page if it is a predicate or priority of ``algorithm``."""
    address = _rule_address(name, algorithm)
    return format_html('<a href="{}">{}</a>', address, name) if address else name


@register.simple_tag
def about_link(name: str, algorithm: Algorithm) -> str:
    """Return a link to the page of the priority ``name`` of ``algorithm``, "" if it has none."""
    address = _rule_address(name, algorithm)
    if not address:
        return ""
    label = gettext("About %(name)s") % {"name": name}
    return format_html('<a href="{}" aria-label="{}">{}</a>', address, label, gettext("about"))


@register.simple_tag
def feasible_node_cells(row: NodeRow, query: str, linked: bool, compared: str) -> SafeString:
    """Return the table cells of a feasible node; scores link to their arithmetic if ``linked``.

    ``compared`` names the other policy, "" if there is none.

    A page has a thousand such rows, and a loop in the template would take many times as long.
    """
    place = row.place
    assert place is not None
    margin = f"−{row.behind:,}" if row.margin else "0"
    cells = [_number_cell(place.rank), _number_cell(f"<strong>{place.total:,}</strong>"), _number_cell(margin)]
    if compared:
        cells += [_number_cell(place.percent), other_policy_cells(row)]
    address = escape(f"?{query}node={row.link}&cell=")
    for cell in row.cells:
        parts = f'{cell.weighted}<span class="parts">{cell.raw} → {cell.normalized} × {cell.weight}</span>'
        colour = STEPS[cell.step]
        if linked:
            content = f'<a class="{colour}" href="{address}{escape(cell.plugin)}#cell">{parts}</a>'
        else:
            content = f'<span class="{colour}">{parts}</span>'
        cells.append(f'<td class="score">{content}</td>')
    return mark_safe("".join(cells))  # noqa: S308 - numbers, and what was escaped


@register.simple_tag
def other_policy_cells(row: NodeRow) -> SafeString:
    """Return the cells of a node under the other policy: its rank, and its share of the maximum."""
    if row.other is None:
        cells = _number_cell('<span class="soft">rejected</span>') + _number_cell("–")
    else:
        cells = _number_cell(row.other.rank) + _number_cell(row.other.percent)
    return mark_safe(cells)  # noqa: S308 - numbers


def _number_cell(content: object) -> str:
    return f'<td class="number">{content}</td>'


def _rule_address(name: str, algorithm: Algorithm | str | None) -> str:
    rules = () if not algorithm or isinstance(algorithm, str) else algorithm.plugins
    plugin = next((rule for rule in rules if rule.name == name), None)
    return "" if plugin is None else reverse("classic-entry", args=[describe_rule(plugin).name])
