"""The page of a pod's history: why it was pending, and which changes let it run."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.flight.rebuilding import moment_read
from kschedweb.clusters.selectors import cluster_get
from kschedweb.decisions.selectors import revision_asked
from kschedweb.live.history import builder
from kschedweb.policies.scope import scope_of
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest


@heavy
@require_safe
@requires(Action.VIEW)
def show_history(request: PageRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """Show the pod's tries until it ran, under ?policy= and ?revision=, for the pod that existed by ?at=."""
    cluster_row, scope = cluster_get(cluster), scope_of(request)
    policy = request.GET.get("policy") or (scope.policy.name if scope.policy else "default")
    revision = revision_asked(policy, request.GET.get("revision", ""))
    at_text = request.GET.get("at", "").strip()
    at = moment_read(at_text) if at_text else None
    history = builder.build_history(cluster_row, f"{namespace}/{pod}", revision, at)
    revision = history.revision
    context = {
        "cluster": cluster_row,
        "namespace_name": namespace,
        "pod_name": pod,
        "history": history,
        "revision": revision,
    }
    query = {"policy": revision.policy.name, "revision": revision.number} | ({"at": at_text} if at_text else {})
    context |= {"entries": history.entries, "at": at_text, "json_query": urlencode(query)}
    return render(request, "live/history.html", context)
