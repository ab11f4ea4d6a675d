"""The search for policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.policies.scope import scope_of
from kschedweb.web.searching import SearchHit, fitting_hits, page_hit

if TYPE_CHECKING:
    from django.http import HttpRequest


def search_policies(request: HttpRequest, words: str) -> list[SearchHit]:
    policies = scope_of(request).policies
    return fitting_hits(words, (page_hit(item.name, "sliders-horizontal", "policy", item.name) for item in policies))
