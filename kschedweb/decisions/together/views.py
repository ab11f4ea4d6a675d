"""The page of several pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions import services
from kschedweb.decisions.node_map import map_placements
from kschedweb.decisions.together.selectors import KIND_LABELS, MAX_PODS, explain_together
from kschedweb.decisions.views import snapshot_and_revision
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy
from kschedweb.web.nodemap.nodemap import MapChoice

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

SECONDS = 10.0


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
def show_together(request: HttpRequest, cluster: str) -> HttpResponse:
    """Show the verdicts about the pods that the address names, else the pending ones, grouped by reason."""
    snapshot, revision = snapshot_and_revision(request, cluster)
    keys = request.GET.getlist("pod")
    context: dict[str, object] = {
        "snapshot": snapshot,
        "revision": revision,
        "cluster_name": cluster,
        "max_pods": MAX_PODS,
        "decision_query": services.page_address("", snapshot, revision),
    }
    try:
        groups = explain_together(snapshot, revision, keys, SECONDS)
    except ApplicationError as error:
        return render(request, "decisions/together/page.html", context | {"error": error.detail}, status=400)
    verdicts = [verdict for group in groups for verdict in group.pods]
    nodes = (verdict.outcome.node for verdict in verdicts if verdict.outcome is not None)
    context |= {
        "groups": groups,
        "count": len(verdicts),
        "kinds": [(kind, label) for kind, label in KIND_LABELS.items() if any(group.kind == kind for group in groups)],
        "map": map_placements(snapshot, nodes, MapChoice.from_address(request.GET)),
    }
    return render(request, "decisions/together/page.html", context)
