"""Template tags for small parts of pages: icons, amounts with units, ages, bars."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext

from kschedweb.decisions.words import join_with_and
from kschedweb.policies.editing.help_translation import translate_help
from kschedweb.web import messages, moments, navigation, units
from kschedweb.web.counting import translate_noun
from kschedweb.web.durations import (
    format_ago,
    format_duration,
    format_milliseconds,
    format_rough_duration,
    format_time_left,
)
from kschedweb.web.reason_translation import translate_reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from django.forms import BoundField
    from django.template import Context
    from django.utils.safestring import SafeString

# Parameters of an address that say where a page looks and how, not what it filters by.
UNFILTERED = frozenset(
    {"cluster", "policy", "revision", "snapshot", "at", "ordering", "page", "cursor", "show", "by", "format", "range"}
)

register = template.Library()
register.filter("cpu", units.format_cpu)
register.filter("counted", units.format_count)
register.filter("translated", messages.translate_words)
register.filter("translated_help", translate_help)
register.filter("noun", translate_noun)
register.filter("reading", translate_reason)
register.filter("amount", units.format_amount)
register.filter("memory", units.format_memory)
register.filter("in_bytes", units.in_bytes)
register.filter("time_left", format_time_left)
register.filter("duration", format_duration)
register.filter("milliseconds", format_milliseconds)
register.filter("listed", join_with_and)
register.filter("cores", units.format_cores)
register.filter("gib", units.format_gibibytes)
register.filter("in_column", units.in_column)
register.filter("column_unit", units.column_unit)
register.filter("price", units.format_price)
register.filter("price_in_column", units.price_in_column)


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Render an icon of the sprite; it is decorative unless ``label`` names it."""
    return _render_icon(name, str(label))


@lru_cache(maxsize=1000)
def _render_icon(name: str, label: str) -> SafeString:
    address = f"{static('icons.svg')}#{name}"
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, address)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', address)


@register.simple_tag(takes_context=True)
def active_filters(context: Context) -> int:
    """Return how many filters the page's address has."""
    fields = context["request"].GET
    return sum(1 for name in fields if name not in UNFILTERED and fields.get(name))


@register.filter
def age(moment: datetime | None) -> SafeString | str:
    """Render "3 min ago", with the moment in both zones on focus and hover; ages.ts keeps it up to date."""
    if moment is None:
        return gettext("never")
    seconds = int((timezone.now() - moment).total_seconds())
    return format_html(
        '<time datetime="{}" title="{}" data-age="{}">{}</time>',
        moment.isoformat(),
        moments.format_moment(moment),
        seconds,
        format_ago(seconds),
    )


@register.filter
def rough_duration(seconds: float | str | None) -> str:
    """Return "4 min" for 240 seconds. Decisions stored before ages were numbers have words already."""
    return seconds or "–" if isinstance(seconds, str | None) else format_rough_duration(seconds)


@register.filter
def moment(value: datetime | None, precision: str = "second") -> SafeString | str:
    """Render a moment in the person's zone with UTC beside it, to the second or to the "minute"."""
    if value is None:
        return "–"
    return format_html(
        '<time datetime="{}">{}</time>', value.isoformat(), moments.format_moment(value, seconds=precision == "second")
    )


@register.filter
def sentence(text: str) -> str:
    """Return "Raise maxSkew." for "raise maxSkew". Only English gets a capital: elsewhere a name may come first."""
    begins = capfirst(text) if get_language() == "en" else text
    return f"{begins}{gettext('.')}"


@register.filter
def clock(text: str) -> str:
    """Return a chart's moment, "2026-11-20 09:00" in UTC, in the person's zone with UTC beside it."""
    parsed = moments.read_moment(text)
    return moments.format_moment(parsed, seconds=False) if isinstance(parsed, datetime) else text


@register.filter
def heartbeat_age(passed: timedelta) -> SafeString:
    """Render "3 s ago" for a heartbeat, measured by the database's clock; the page keeps it up to date."""
    seconds = max(0, int(passed.total_seconds()))
    return format_html('<span data-age="{}" data-exact>{}</span>', seconds, format_ago(seconds, exact=True))


@register.filter
def stale(moment: datetime | None) -> bool:
    """Return whether ``moment`` is more than an hour ago."""
    return moment is not None and (timezone.now() - moment).total_seconds() > 3600


@register.simple_tag
def trying_address(**query: object) -> str:
    """Return the page that tries a change of a policy; empty values are left out of its address."""
    return reverse("trying", query={name: value for name, value in query.items() if value})


@register.simple_tag
def meter(share: int | None, label: str = "") -> SafeString:
    """Render a bar of ``share`` thousandths; amber from 90 %, red over 100 %."""
    share = share or 0
    level = "over" if share > 1000 else "high" if share >= 900 else ""
    width = f"{min(max(share, 0), 1000) / 10:.1f}%"
    return format_html(
        '<svg class="meter {}" role="img" aria-label="{}"><rect width="{}" height="100%"/></svg>',
        level,
        label or f"{share / 10:.0f} %",
        width,
    )


@register.filter
def breakable(name: str) -> SafeString:
    """Render a name that may break before capitals and after separators, for narrow columns."""
    parts = re.split(r"(?<=[a-z])(?=[A-Z])|(?<=[/_=:])|(?<=\.)(?=[a-z])", name)
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in parts))


@register.filter
def with_code(text: str) -> SafeString:
    """Render text whose parts between backquotes are code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if at % 2 else part,) for at, part in parts)
    )


@register.inclusion_tag("parts/sort.html", takes_context=True)
def sort_head(
    context: Context, key: str, label: str, css: str = "", by: str = "ordering", unit: str = ""
) -> dict[str, str]:
    """Render the head of a sortable column; ``by`` is the parameter of the address that sorts."""
    query = context["request"].GET.copy()
    current = query.get(by, "")
    query[by] = f"-{key}" if current == key else key
    query.pop("page", None)
    way = {key: "ascending", f"-{key}": "descending"}.get(current, "none")
    heading = f"{label} ({unit})" if unit else label
    return {"address": f"?{query.urlencode()}", "label": heading, "css": css, "way": way}


@register.inclusion_tag("parts/tabs.html", takes_context=True)
def tabs(context: Context) -> dict[str, object]:
    """Render the tabs of the page's entry, and below them the views of its tab.

    ``shared`` in the context is a query string with the filters that the views have in common.
    """
    visit, scope = context["visit"], context["scope"]
    if "snapshot" in scope.pin and visit.query:
        # Tabs go on showing an older snapshot; the rail leads to the newest.
        visit = visit.with_query(visit.query + scope.as_of)
    shared = context.get("shared")
    views = navigation.list_views(visit.with_query(f"?{shared}") if shared else visit)
    entry = navigation.open_entry(visit.page)
    return {"entry": entry, "tabs": navigation.list_tabs(visit), "views": views}


@register.simple_tag(takes_context=True)
def page_title(context: Context) -> str:
    """Return the title of a page that has none of its own: "Drain · Capacity · demo"."""
    # A tab may have the word of its entry.
    labels = [label for label, _ in groupby(reversed(navigation.page_labels(context["visit"])))]
    return " · ".join(filter(None, [*labels, context["scope"].cluster_shown]))


@register.simple_block_tag
def empty_state(content: SafeString, title: str, **links: str) -> str:
    """Render a message in place of rows; ``links``: link and action, link2 and action2. See parts/empty.html."""
    return render_to_string("parts/empty.html", {"title": title, "text": content, **links})


@register.simple_tag
def number_cells(row: Sequence[object]) -> SafeString:
    """Render the cells of a row after its head. A template's loop would be slow: large tables have thousands."""
    cells = (f"{value:,}" if isinstance(value, (int, float)) else _cell_text(value) for value in row[1:])
    return mark_safe("".join(f'<td class="number">{cell}</td>' for cell in cells))  # noqa: S308 - all is escaped


def _cell_text(value: object) -> str:
    return "–" if value is None else conditional_escape(value if isinstance(value, str) else str(value))


@register.filter
def detail(value: object) -> object:
    """Return a mapping as "Node 1,200, Pod 14,400", a list as "web, shop"; any other value unchanged."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {localize(amount)}" for name, amount in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value


@register.filter
def grouped(number: int) -> str:
    """Return a number as "1,240"."""
    return f"{number:,}"


@register.filter
def percent(share: int | None) -> str:
    """Return thousandths as whole percents."""
    return f"{(share or 0) / 10:.0f} %"


@register.filter
def is_checkbox(field: BoundField) -> bool:
    return getattr(field.field.widget, "input_type", "") == "checkbox"


@register.filter
def with_aria(field: BoundField) -> SafeString:
    """Render the field with the ids of its help and error for assistive technology."""
    ids = [f"{field.auto_id}-help"] if field.help_text else []
    attributes: dict[str, str | bool] = {}
    if field.errors:
        ids.append(f"{field.auto_id}-error")
        attributes["aria-invalid"] = "true"
    if ids:
        attributes["aria-describedby"] = " ".join(ids)
    return field.as_widget(attrs=attributes)
