"""The search for groups of pods, among those that pods of the chosen cluster name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import pod_rows
from kschedweb.policies.scope import scope_of
from kschedweb.web.searching import PER_GROUP, SearchHit, link

if TYPE_CHECKING:
    from django.http import HttpRequest


def groups(request: HttpRequest, words: str) -> Iterator[SearchHit]:
    """``words`` may be a part of the name or "namespace/part"."""
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None or not words or not scope.snapshot.counts.get("PodGroup"):
        return
    namespace, _, name = words.rpartition("/")
    found = pod_rows(scope.snapshot).filter(pod_group__icontains=name, namespace__startswith=namespace)
    named = found.exclude(pod_group="").order_by("namespace", "pod_group").values_list("namespace", "pod_group")
    for space, group in named.distinct()[:PER_GROUP]:
        yield link(f"{space}/{group}", "boxes", "pod-group", scope.cluster.name, space, group)
