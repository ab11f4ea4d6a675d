"""The search for clusters, nodes and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.web.searching import SearchHit, fitting, link

if TYPE_CHECKING:
    from django.http import HttpRequest


def clusters(request: HttpRequest, words: str) -> list[SearchHit]:
    every = cluster_scope_of(request).clusters
    return fitting(words, (link(item.name, "boxes", "cluster", item.name) for item in every))
