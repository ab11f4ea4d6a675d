"""Template filters for runs, such as virtual time."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.urls import reverse

from kschedweb.playground.runs.models import Run

register = template.Library()


@register.filter
def unlocalised(value: float) -> str:
    """Return a number in the format of an HTML input, whatever the language of the page."""
    return repr(float(value))


@register.filter
def policy_address(run: Run | None) -> str:
    """Return the address of the run's policy revision; "" if it is not saved, or deleted."""
    if run is None or run.policy_id is None:
        return ""
    # The label begins with the policy for scheduling.
    name, _, number = run.label.partition("+")[0].rpartition("@")
    return f"{reverse('policy', args=[name])}?revision={number}"


@register.filter
def item_at(values: Sequence[object], place: int) -> object:
    """Return the entry at ``place``."""
    return values[place]
