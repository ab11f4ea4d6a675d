"""Search the clusters that are not the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from kschedweb.fleet import selectors
from kschedweb.policies.scope import scope_of
from kschedweb.web.searching import SearchHit, SearchRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest

    from kschedweb.clusters.models import NodeRow, PodRow

# Letters that a word needs at least: it is sought in every cluster.
FEWEST_LETTERS = 3


def search_elsewhere(request: HttpRequest, words: str) -> Sequence[SearchHit]:
    """Search pods of other clusters than the chosen one by name or "namespace/name"."""
    if len(words) < FEWEST_LETTERS:
        return []
    return SearchRows(selectors.pods_everywhere(words).exclude(snapshot__cluster=scope_of(request).cluster), pod_hit)


def pod_hit(row: PodRow) -> SearchHit:
    cluster = row.snapshot.cluster.name
    address = reverse("decision", args=[cluster, row.namespace, row.name])
    return SearchHit(f"{row.namespace}/{row.name}", address, "package", note=cluster)


def node_hit(row: NodeRow) -> SearchHit:
    cluster = row.snapshot.cluster.name
    return SearchHit(
        row.name, f"{reverse('nodes')}?{urlencode({'cluster': cluster, 'search': row.name})}", "server", note=cluster
    )
