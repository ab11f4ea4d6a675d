"""The search for clusters, nodes and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.web.searching import SearchHit, fitting_hits, page_hit

if TYPE_CHECKING:
    from django.http import HttpRequest


def find_clusters(request: HttpRequest, words: str) -> list[SearchHit]:
    visible_clusters = cluster_scope_of(request).clusters
    return fitting_hits(words, (page_hit(item.name, "boxes", "cluster", item.name) for item in visible_clusters))
