"""The decision page and the node names that it suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions import selectors, services, utilisation
from kschedweb.decisions.groups.words import by_itself
from kschedweb.decisions.kinds import decider
from kschedweb.decisions.shown import cell, decided
from kschedweb.decisions.snapshots import engine_snapshot
from kschedweb.policies.scope import scope_of
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import part

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.policies.models import Revision

SUGGESTIONS = 20


@heavy
@require_safe
@requires(Action.VIEW)
@vary_on_headers("HX-Request")
def decision(request: HttpRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """The decision page: headline, funnel, matrix, chart, one node, one cell.

    For a click on a cell, htmx requests the same address and gets the cell's arithmetic alone.
    """
    snapshot, revision = asked(request, cluster)
    key, decides = f"{namespace}/{pod}", decider(revision)
    context = {
        "snapshot": snapshot,
        "revision": revision,
        "cluster_name": cluster,
        "namespace_name": namespace,
        "pod_name": pod,
        "revisions": revision.policy.revisions.defer("document")[:8],
    }
    try:
        case = services.case(snapshot, key, revision)
    except ApplicationError as error:
        if error.status == 404:
            raise
        return render(request, "decisions/failed.html", {**context, "error": error}, status=200)
    if getattr(request, "htmx", False) and request.htmx.target == "cell":  # type: ignore[attr-defined]
        return render(request, "decisions/arithmetic.html", cell(request, decides.present(case)))
    against, other, why = _against(request, snapshot, key)
    found = decides.present(case, other)
    context |= {
        "decision": found,
        "room": services.with_room(snapshot, key, revision),
        "classic": found.algorithm,
        "by_itself": by_itself(case),
        "group": "" if found.algorithm else case.pod.scheduling_group.partition("/")[2],
        "against": against,
        "against_fails": why,
        "other": decider(against).present(other).answer() if against and other else None,
        "same": other is not None and case.explanation.node == other.explanation.node,
        "choices": selectors.revisions_to_compare(),
        "in_force": utilisation.known(case.snapshot, snapshot),
        "neighbours": selectors.neighbours(snapshot, namespace, pod),
        **_links(request),
    }
    with services.alone(snapshot):
        context |= decided(request, found, "The snapshot has no node")
    return render(request, "decisions/decision.html", context)


@require_safe
@requires(Action.VIEW)
@part
def node_names(request: HttpRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """Names of nodes that contain ?node=, for the field "why not here"."""
    snapshot, _ = asked(request, cluster)
    part = request.GET.get("node", "").strip().lower()
    names = [name for name in engine_snapshot(snapshot).names if part in name.lower()]
    names.sort(key=lambda name: (not name.startswith(part), name))
    return render(request, "decisions/node_names.html", {"names": names[:SUGGESTIONS]})


def asked(request: HttpRequest, cluster: str) -> tuple[Snapshot, Revision]:
    """The snapshot and the revision that a page's address or the frame around it names. Raises Http404 or NotFound."""
    scope, named = scope_of(request), request.GET.get("snapshot", "")
    # The frame around the page has read the cluster's newest snapshot already.
    snapshot = (None if named else scope.snapshot) or selectors.snapshot_asked(cluster, named)
    if not request.GET.get("policy") and not request.GET.get("revision") and scope.revision is not None:
        return snapshot, scope.revision
    policy = request.GET.get("policy") or (scope.policy.name if scope.policy else "default")
    return snapshot, selectors.revision_asked(policy, request.GET.get("revision", ""))


def _against(request: HttpRequest, snapshot: Snapshot, key: str) -> tuple[Revision | None, AnyCase | None, str]:
    """The revision to compare with, and the same pod under it, or the error of its cycle."""
    named = request.GET.get("against", "")
    if not named:
        return None, None, ""
    revision = selectors.revision_named(named)
    try:
        return revision, services.case(snapshot, key, revision), ""
    except Unprocessable as error:
        return revision, None, error.detail


def _links(request: HttpRequest) -> dict[str, object]:
    """The parameters of the address that the page's links and forms keep."""
    asked = {name: value for name, value in request.GET.items() if value}
    cells = {name: value for name, value in asked.items() if name not in ("node", "cell")}
    return {
        "base_query": f"{urlencode(cells)}&" if cells else "",
        "kept": cells,
        "kept_for_compare": {name: value for name, value in asked.items() if name not in ("against", "page")},
    }
