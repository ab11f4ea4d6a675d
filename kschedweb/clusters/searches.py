"""The search for clusters, nodes and pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.web.searching import SearchHit, link

if TYPE_CHECKING:
    from django.http import HttpRequest


def clusters(request: HttpRequest, words: str) -> Iterator[SearchHit]:
    for item in cluster_scope_of(request).clusters:
        if words.lower() in item.name:
            yield link(item.name, "boxes", "cluster", item.name)
