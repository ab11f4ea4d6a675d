"""Template filters for the pages about quota queues."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext

from kschedweb.web.units import format_amount

register = template.Library()


@register.filter
def quota(amount: int | None, resource: str) -> str:
    """Return an amount of quota for a column: "4", "8Gi"; "no limit" for none."""
    if amount is None:
        return gettext("no limit")
    return format_amount(amount, resource).removesuffix(" CPU")


@register.filter
def split_key(key: str) -> tuple[str, str]:
    """Return namespace and name of "namespace/name"."""
    namespace, _, name = key.partition("/")
    return namespace, name


@register.filter
def attempt_rows(pod_sets: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Return each pod set with each of its attempts, and with None if it has none."""
    return [(pod_set, attempt) for pod_set in pod_sets for attempt in pod_set["attempts"] or [None]]


@register.filter
def last_of(rows: list[Any], count: int) -> list[Any]:
    return rows[-count:]
