"""Amounts on the page about autoscaling."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def amounts(requests: dict[str, str]) -> str:
    """Requests in one line, such as "3500m cpu, 5 pods"."""
    return ", ".join(f"{amount} {name}" for name, amount in sorted(requests.items()))
