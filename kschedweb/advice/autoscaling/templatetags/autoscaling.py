"""Template filters for amounts on the page about autoscaling."""

from __future__ import annotations

from django import template

from kschedweb.web.units import format_amount

register = template.Library()


@register.filter
def amounts(requests: dict[str, str]) -> str:
    """Return requests in one line, such as "3500m cpu, 5 pods"."""
    return ", ".join(f"{amount} {name}" for name, amount in sorted(requests.items()))


@register.filter
def share(part: float) -> str:
    """Return a share of 1 in percent, such as "12.5 %"."""
    return f"{100 * part:.1f} %"


@register.filter
def share_of(pair: list[int], resource: str) -> str:
    """Return the requested amount and the whole, such as "500m / 4 = 12.5 %"."""
    requested, has = pair
    text = f"{format_amount(requested, resource)} / {format_amount(has, resource)}"
    return f"{text} = {share(requested / has)}" if has else text


@register.filter
def flattened(lists: list[list[str]]) -> list[str]:
    return [item for group in lists for item in group]
