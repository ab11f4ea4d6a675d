"""Numbers in templates: people read 5,000, programs read 5000.

Text of a page writes numbers with separators (``USE_THOUSAND_SEPARATOR``). In attributes, which programs read, they
would break addresses and values of fields, so the loader makes each variable there plain.
"""

from __future__ import annotations

import re

from django import template
from django.template.loaders.filesystem import Loader
from django.utils.formats import localize

register = template.Library()

# Attributes that people read or hear.
READ_ALOUD = ("title", "alt", "placeholder", "data-announce", "data-label")
_TOKENS = re.compile(r"({%.*?%}|{{.*?}}|{#.*?#})", re.DOTALL)
_EDGES = re.compile(r"""<(?=[a-zA-Z])|>|(?P<name>[\w:@.-]+)=(?P<opens>["'])|["']""")


@register.filter
def plain(value: object) -> object:
    """Return a number without separators, and anything else as it is."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return localize(value, use_l10n=False) if is_number else value


def with_plain_attributes(source: str) -> str:
    """Return ``source`` with the filter ``plain`` on each variable in an attribute that programs read."""
    parts, inside, name, quote, translated = _TOKENS.split(source), False, "", "", False
    for place, part in enumerate(parts):
        if place % 2:
            if part.startswith(("{% blocktranslate", "{% endblocktranslate")):
                # Variables of blocktranslate take no filters.
                translated = part.startswith("{% blocktranslate")
            elif part.startswith("{{") and quote and not translated and not _read_aloud(name):
                parts[place] = f"{part[:-2].rstrip()}|plain }}}}"
            continue
        for edge in _EDGES.finditer(part):
            if quote:
                quote = "" if edge[0][-1] == quote else quote
            elif edge[0] == "<":
                inside = True
            elif edge[0] == ">":
                inside = False
            elif inside and edge["opens"]:
                name, quote = edge["name"], edge["opens"]
    return "".join(parts)


def _read_aloud(name: str) -> bool:
    return name.startswith("aria-") or name in READ_ALOUD


class PlainAttributesLoader(Loader):
    """Templates of the site's own folders."""

    def get_contents(self, origin: template.base.Origin) -> str:
        return with_plain_attributes(super().get_contents(origin))
