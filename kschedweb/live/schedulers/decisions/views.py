"""The pages of live decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.reach import sees
from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import cluster_get
from kschedweb.decisions.kept.insight import KeptMatrix
from kschedweb.decisions.shown import columns
from kschedweb.live.schedulers import charts, selectors
from kschedweb.live.schedulers.decisions import judged
from kschedweb.web.pagination import page_shown

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse

OTHERS = 20  # other tries of the same pod that are listed
MOST_NAMES = 1000  # of the nodes that the box suggests


@require_safe
@requires(Action.VIEW, in_part=True)
@vary_on_headers("HX-Request")
def decision(request: HttpRequest, live_id: UUID, decision_id: UUID) -> HttpResponse:
    """One try to place a pod, as it was judged then."""
    live = selectors.live_get(live_id)
    row = selectors.decision_get(live, decision_id)
    others = selectors.decision_list(live).filter(uid=row.uid).exclude(pk=row.pk)[:OTHERS]
    context: dict[str, Any] = {
        "live": live,
        "row": row,
        "tone": judged.TONES[row.result],  # type: ignore[index]
        "others": others,
        "durations": charts.durations(row.durations),
    }
    kept = selectors.explanation(row) if row.has_columns else None
    if kept is None:
        plugins, best = judged.ranked(row)
        context |= {
            "title": judged.title(row),
            "plugins": plugins,
            "best": best,
            "same_result": selectors.same_result(row),
        }
    else:
        found = KeptMatrix(*kept)
        if getattr(request, "htmx", False) and request.htmx.target == "cell":  # type: ignore[attr-defined]
            return render(request, "decisions/arithmetic.html", _cell(request, found))
        context |= {"title": judged.title(row, found.ceiling), **_columns(request, found)}
    return render(request, "live/schedulers/decision.html", context)


def _columns(request: HttpRequest, found: KeptMatrix) -> dict[str, Any]:
    """Funnel, figure and matrix, and every verdict on the node of the address."""
    asked = {name: value for name, value in request.GET.items() if value and name not in ("node", "cell")}
    return {
        **columns(request, found, "The cluster then had no node"),
        "only_stored": True,
        "worked": found.insight.worked,
        "insight": found.insight,
        "base_query": f"{urlencode(asked)}&" if asked else "",
        "kept": asked,
        "names": found.explanation.nodes[:MOST_NAMES],
        **_cell(request, found),
    }


def _cell(request: HttpRequest, found: KeptMatrix) -> dict[str, Any]:
    """The arithmetic of the cell that the address names, where it was kept."""
    worked = found.arithmetic(request.GET.get("node", "").strip(), request.GET.get("cell", ""))
    return {"arithmetic": worked, "then": True} if worked else {}


@require_safe
@requires(Action.VIEW, in_part=True)
def pod(request: HttpRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """What the live schedulers of a cluster decided about one pod."""
    found = cluster_get(cluster)
    if not sees(found.pk, namespace):
        raise Http404(f"There is no namespace {namespace} that you see.")
    rows = selectors.decisions_of_pod(found, namespace.replace("\0", ""), pod.replace("\0", ""))
    page = page_shown(request, rows)
    context = {"cluster": found, "namespace_name": namespace, "pod_name": pod, "page": page}
    return render(request, "live/schedulers/pod.html", context)
