"""The search for policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedweb.policies.scope import scope_of
from kschedweb.web.searching import SearchHit, link

if TYPE_CHECKING:
    from django.http import HttpRequest


def policies(request: HttpRequest, words: str) -> Iterator[SearchHit]:
    for item in scope_of(request).policies:
        if words.lower() in item.name:
            yield link(item.name, "sliders-horizontal", "policy", item.name)
