"""Search the frame's own pages and actions, and the nodes and pods of the chosen cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.accounts.roles import role_allows
from kschedweb.clusters.selectors import node_rows, pod_rows
from kschedweb.dashboard.context import make_visit
from kschedweb.policies.scope import scope_of
from kschedweb.web import actions as registered
from kschedweb.web import navigation
from kschedweb.web.searching import SearchHit, fitting_hits, page_hit, rows_fitting

if TYPE_CHECKING:
    from django.http import HttpRequest

# "explain pod web", "why web"
EXPLAIN = re.compile(r"(?:explain|why)\s+(?:pod\s+)?(?P<pod>\S+)", re.IGNORECASE)


def search_actions(request: HttpRequest, words: str) -> list[SearchHit]:
    allowed = partial(role_allows, getattr(request.user, "role", ""))
    return fitting_hits(words, registered.find_actions(allowed, scope_of(request).query))


def search_pages(request: HttpRequest, words: str) -> list[SearchHit]:
    visit = make_visit(scope_of(request), partial(role_allows, getattr(request.user, "role", "")))
    hits = []
    for path, link in navigation.list_pages(visit):
        labels_above = [str(entry.label) for entry in path[:-1]]
        note, keywords = " › ".join(labels_above), " ".join(labels_above)
        hits.append(SearchHit(link["label"], link["address"], path[0].icon, note, keywords))
    return fitting_hits(words, hits)


def search_explained(request: HttpRequest, words: str) -> Sequence[SearchHit]:
    """Search pods whose decision is wanted: "explain pod web"."""
    match = EXPLAIN.fullmatch(words)
    if match is None:
        return []
    return search_pods(request, match["pod"], gettext("Explain pod") + " ")


def search_pods(request: HttpRequest, words: str, before: str = "") -> Sequence[SearchHit]:
    """Search pods by ``words``, a part of the name or "namespace/part"; labels begin with ``before``."""
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None or not words:
        return []
    cluster = scope.cluster.name
    namespace, _, name = words.rpartition("/")
    rows = pod_rows(scope.snapshot).filter(namespace__startswith=namespace)

    def make_pod_hit(row: tuple[str, str, bool]) -> SearchHit:
        space, pod, pending = row
        note = gettext("pending") if pending else ""
        return page_hit(f"{before}{space}/{pod}", "package", "decision", cluster, space, pod, note=note)

    return rows_fitting(rows.values_list("namespace", "name", "pending"), "name", name, make_pod_hit)


def search_nodes(request: HttpRequest, words: str) -> Sequence[SearchHit]:
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None or not words:
        return []
    cluster = scope.cluster.name

    def make_node_hit(name: str) -> SearchHit:
        return SearchHit(name, reverse("node", args=[name], query={"cluster": cluster}), "server")

    return rows_fitting(node_rows(scope.snapshot).values_list("name", flat=True), "name", words, make_node_hit)
