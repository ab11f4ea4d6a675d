"""Virtual time in templates."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.urls import reverse

from kschedweb.playground.runs import clock
from kschedweb.playground.runs.models import Run

register = template.Library()
register.filter("span", clock.span)


@register.filter
def unlocalised(value: float) -> str:
    """A number as an input of HTML takes it."""
    return repr(float(value))


@register.filter
def policy_address(run: Run | None) -> str:
    """Where the revision of the policy is that was run; "" where it is not saved, or not any more."""
    if run is None or run.policy_id is None:
        return ""
    name, _, number = run.label.rpartition("@")
    return f"{reverse('policy', args=[name])}?revision={number}"


@register.filter
def at(values: Sequence[object], place: int) -> object:
    """The entry at ``place``."""
    return values[place]
