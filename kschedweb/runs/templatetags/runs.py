"""Virtual time in templates."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from kschedweb.runs import clock

register = template.Library()
register.filter("span", clock.span)


@register.filter
def unlocalised(value: float) -> str:
    """A number as an input of HTML takes it."""
    return repr(float(value))


@register.filter
def at(values: Sequence[object], place: int) -> object:
    """The entry at ``place``."""
    return values[place]
