"""The pages of live decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.reach import can_see_namespace
from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import cluster_get
from kschedweb.decisions.kept.insight import KeptMatrix
from kschedweb.decisions.page_context import matrix_context
from kschedweb.live.schedulers import charts, selectors
from kschedweb.live.schedulers.decisions import summaries
from kschedweb.web.pagination import page_shown

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse

# Other tries of the same pod that are listed.
MAX_OTHER_TRIES = 20
# Nodes that the search box suggests.
MOST_NAMES = 1000


@require_safe
@requires(Action.VIEW, in_part=True)
@vary_on_headers("HX-Request")
def show_decision(request: HttpRequest, live_id: UUID, decision_id: UUID) -> HttpResponse:
    """Show one try to place a pod, as it was judged then."""
    live = selectors.live_get(live_id)
    row = selectors.decision_get(live, decision_id)
    other_tries = selectors.decision_list(live).filter(uid=row.uid).exclude(pk=row.pk)[:MAX_OTHER_TRIES]
    context: dict[str, object] = {
        "live": live,
        "row": row,
        "tone": summaries.TONES[row.result],  # type: ignore[index]
        "other_tries": other_tries,
        "durations": charts.durations_chart(row.durations),
    }
    explanation = selectors.read_explanation(row) if row.has_columns else None
    if explanation is None:
        plugins, best = summaries.rank_nodes(row)
        context |= {
            "title": summaries.describe_decision(row),
            "plugins": plugins,
            "best": best,
            "same_result": selectors.same_result(row),
        }
    else:
        matrix = KeptMatrix(*explanation)
        if getattr(request, "htmx", False) and request.htmx.target == "cell":  # type: ignore[attr-defined]
            return render(request, "decisions/arithmetic.html", _cell_context(request, matrix))
        context |= {"title": summaries.describe_decision(row, matrix.ceiling), **_columns_context(request, matrix)}
    return render(request, "live/schedulers/decision.html", context)


def _columns_context(request: HttpRequest, matrix: KeptMatrix) -> dict[str, object]:
    """Return funnel, figure and matrix, and every verdict on the node that the address names."""
    query = {name: value for name, value in request.GET.items() if value and name not in ("node", "cell")}
    return {
        **matrix_context(request, matrix, "The cluster then had no node"),
        "only_stored": True,
        "nodes_with_arithmetic": matrix.insight.worked,
        "insight": matrix.insight,
        "base_query": f"{urlencode(query)}&" if query else "",
        "hidden_fields": query,
        "names": matrix.explanation.nodes[:MOST_NAMES],
        **_cell_context(request, matrix),
    }


def _cell_context(request: HttpRequest, matrix: KeptMatrix) -> dict[str, object]:
    """Return the arithmetic of the cell that the address names, if it was stored."""
    arithmetic = matrix.find_arithmetic(request.GET.get("node", "").strip(), request.GET.get("cell", ""))
    return {"arithmetic": arithmetic, "then": True} if arithmetic else {}


@require_safe
@requires(Action.VIEW, in_part=True)
def show_pod(request: HttpRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """Show the decisions of the live schedulers of a cluster about one pod."""
    cluster_row = cluster_get(cluster)
    if not can_see_namespace(cluster_row.pk, namespace):
        raise Http404(f"There is no namespace {namespace} that you see.")
    rows = selectors.decisions_of_pod(cluster_row, namespace.replace("\0", ""), pod.replace("\0", ""))
    page = page_shown(request, rows)
    context = {"cluster": cluster_row, "namespace_name": namespace, "pod_name": pod, "page": page}
    return render(request, "live/schedulers/pod_decisions.html", context)
