"""What the search finds of the frame's own pages, and of the nodes and pods of the chosen cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from kschedweb.accounts.roles import may
from kschedweb.clusters.selectors import node_rows, pod_rows
from kschedweb.policies.scope import scope_of
from kschedweb.web import navigation
from kschedweb.web.searching import PER_GROUP, SearchHit, link

if TYPE_CHECKING:
    from django.http import HttpRequest


def pages(request: HttpRequest, words: str) -> Iterator[SearchHit]:
    role, query = getattr(request.user, "role", ""), scope_of(request).query
    for section in (navigation.MAIN, navigation.ACCOUNT):
        for page in navigation.entries(section, partial(may, role), "", query):
            if words.lower() in page["label"].lower():
                yield SearchHit(page["label"], page["address"], page["icon"])


def pods(request: HttpRequest, words: str) -> Iterator[SearchHit]:
    """``words`` may be a part of the name or "namespace/part"."""
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None or not words:
        return
    namespace, _, name = words.rpartition("/")
    found = pod_rows(scope.snapshot).filter(name__icontains=name, namespace__startswith=namespace)
    for space, pod, pending in found.values_list("namespace", "name", "pending")[:PER_GROUP]:
        note = "pending" if pending else ""
        yield link(f"{space}/{pod}", "package", "decision", scope.cluster.name, space, pod, note=note)


def nodes(request: HttpRequest, words: str) -> Iterator[SearchHit]:
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None or not words:
        return
    found = node_rows(scope.snapshot).filter(name__icontains=words).values_list("name", flat=True)[:PER_GROUP]
    for name in found:
        query = urlencode({"cluster": scope.cluster.name, "search": name})
        yield SearchHit(name, f"{reverse('nodes')}?{query}", "server")
