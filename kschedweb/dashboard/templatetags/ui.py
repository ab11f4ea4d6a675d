"""Small parts of pages: icons, amounts with their units, ages, bars."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import mark_safe

from kschedweb.web import units

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from django.forms import BoundField
    from django.template import Context
    from django.utils.safestring import SafeString

register = template.Library()
register.filter("cpu", units.cpu)
register.filter("counted", units.counted)
register.filter("amount", units.amount)
register.filter("memory", units.memory)
register.filter("left", units.left)


@register.simple_tag
@lru_cache(maxsize=1000)
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite; decorative unless ``label`` names it."""
    address = f"{static('icons.svg')}#{name}"
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, address)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', address)


@register.filter
def age(moment: datetime | None) -> SafeString | str:
    """ "3 min ago" with the absolute time in UTC on focus and hover; it goes on to age on the page (ages.ts)."""
    if moment is None:
        return "never"
    seconds = int((timezone.now() - moment).total_seconds())
    return format_html(
        '<time datetime="{}" title="{}" data-age="{}">{}</time>',
        moment.isoformat(),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        seconds,
        units.ago(seconds),
    )


@register.filter
def silence(passed: timedelta) -> SafeString:
    """ "3 s ago" of a heartbeat, which the database's clock measured; it goes on to age on the page."""
    seconds = max(0, int(passed.total_seconds()))
    return format_html('<span data-age="{}" data-exact>{}</span>', seconds, units.ago(seconds, exact=True))


@register.filter
def stale(moment: datetime | None) -> bool:
    """Whether what was read at ``moment`` is older than an hour."""
    return moment is not None and (timezone.now() - moment).total_seconds() > 3600


@register.simple_tag
def meter(share: int | None, label: str = "") -> SafeString:
    """A bar of ``share`` thousandths; amber from 90 %, red over 100 %."""
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
    """A name in CamelCase that may break before its capitals, for narrow heads of columns."""
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in re.split(r"(?<=[a-z])(?=[A-Z])", name)))


@register.filter
def coded(text: str) -> SafeString:
    """Text whose parts between backquotes are code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if at % 2 else part,) for at, part in parts)
    )


@register.inclusion_tag("parts/sort.html", takes_context=True)
def sort_head(context: Context, key: str, label: str, css: str = "", by: str = "ordering") -> dict[str, str]:
    """The head of a column that a table can be sorted by; ``by`` is the parameter of the address that says so."""
    asked = context["request"].GET.copy()
    current = asked.get(by, "")
    asked[by] = f"-{key}" if current == key else key
    asked.pop("page", None)
    way = {key: "ascending", f"-{key}": "descending"}.get(current, "none")
    return {"address": f"?{asked.urlencode()}", "label": label, "css": css, "way": way}


@register.simple_block_tag
def nothing(content: SafeString, title: str, **links: str) -> str:
    """What stands where rows would be; ``links``: link and action, link2 and action2. See parts/empty.html."""
    return render_to_string("parts/empty.html", {"title": title, "text": content, **links})


@register.simple_tag
def numbers(row: Sequence[object]) -> SafeString:
    """The cells of a table's row after its head, without a loop of the template: large tables have thousands."""
    cells = (value if isinstance(value, (int, float)) else _shown(value) for value in row[1:])
    return mark_safe("".join(f'<td class="number">{cell}</td>' for cell in cells))  # noqa: S308 - all is escaped


def _shown(value: object) -> str:
    return "–" if value is None else conditional_escape(value if isinstance(value, str) else str(value))


@register.filter
def percent(share: int | None) -> str:
    """Thousandths as whole percents."""
    return f"{(share or 0) / 10:.0f} %"


@register.filter
def is_checkbox(field: BoundField) -> bool:
    return getattr(field.field.widget, "input_type", "") == "checkbox"


@register.filter
def described(field: BoundField) -> SafeString:
    """The bound field with its help and error ids named for assistive technology."""
    ids = [f"{field.auto_id}-help"] if field.help_text else []
    attributes: dict[str, str | bool] = {}
    if field.errors:
        ids.append(f"{field.auto_id}-error")
        attributes["aria-invalid"] = "true"
    if ids:
        attributes["aria-describedby"] = " ".join(ids)
    return field.as_widget(attrs=attributes)
