"""Plain words for verdicts: readings and shortages, and lists in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext

from kschedweb.web.translating import fix_spacing


@dataclass(frozen=True)
class VerdictReading:
    """A plain sentence about a verdict on a node."""

    text: str
    # What would change the verdict, "" if there is no short answer.
    remedy: str = ""


class RejectionReason(NamedTuple):
    """A reason for which nodes were rejected."""

    plugin: str
    # The scheduler's message.
    text: str
    # The plugin's fact, such as the resource that is short.
    fact: Any = None


def resource_suffix(resource: str) -> str:
    """Return the words for a resource after its amount, "" for CPU, which is named by its unit."""
    return "" if resource == "cpu" else f" {resource}"


def join_with_and(items: list[str]) -> str:
    items = list(dict.fromkeys(items))
    if len(items) < 2:
        return items[0] if items else gettext("something")
    return fix_spacing(gettext("%(items)s and %(last)s") % {"items": ", ".join(items[:-1]), "last": items[-1]})
