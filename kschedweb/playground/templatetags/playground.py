"""Links from decisions to what explains them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.urls import reverse
from django.utils.html import format_html

from kschedweb.engine.classic.describing import described

if TYPE_CHECKING:
    from kschedweb.engine.classic import Algorithm

register = template.Library()


@register.simple_tag
def explained(name: str, algorithm: Algorithm | str | None) -> str:
    """``name``, as a link to its page where it is a predicate or priority of ``algorithm``."""
    known = [] if not algorithm or isinstance(algorithm, str) else [*algorithm.predicates, *algorithm.priorities]
    plugin = next((one for one in known if one.name == name), None)
    if plugin is None:
        return name
    return format_html('<a href="{}">{}</a>', reverse("classic-entry", args=[described(plugin).name]), name)
