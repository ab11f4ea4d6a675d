"""Template filters for examples."""

from __future__ import annotations

from django import template

from kschedweb.jobs.examples import is_example, translate_title

register = template.Library()

register.filter("is_example", is_example)


@register.filter
def example_title(title: str, id: object) -> str:
    """Return the title of the row with this id; of an example, in the language of the reader."""
    return translate_title(id, title)
