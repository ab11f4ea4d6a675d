"""The search for policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.policies.scope import scope_of
from kschedweb.web.searching import SearchHit, fitting, link

if TYPE_CHECKING:
    from django.http import HttpRequest


def policies(request: HttpRequest, words: str) -> list[SearchHit]:
    every = scope_of(request).policies
    return fitting(words, (link(item.name, "sliders-horizontal", "policy", item.name) for item in every))
