"""Search for groups among those that pods of the chosen cluster name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import pod_rows
from kschedweb.policies.scope import scope_of
from kschedweb.web.searching import SearchHit, page_hit, rows_fitting

if TYPE_CHECKING:
    from django.http import HttpRequest


def search_groups(request: HttpRequest, words: str) -> Sequence[SearchHit]:
    """Search by ``words``, a part of the name or "namespace/part"."""
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None or not words or not scope.snapshot.counts.get("PodGroup"):
        return []
    cluster = scope.cluster.name
    namespace, _, name = words.rpartition("/")
    rows = pod_rows(scope.snapshot).filter(namespace__startswith=namespace).exclude(pod_group="")
    group_names = rows.order_by("namespace", "pod_group").values_list("namespace", "pod_group").distinct()

    def make_hit(row: tuple[str, str]) -> SearchHit:
        space, group = row
        return page_hit(f"{space}/{group}", "boxes", "pod-group", cluster, space, group)

    return rows_fitting(group_names, "pod_group", name, make_hit)
