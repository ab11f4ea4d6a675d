"""Pages of the frame. Each reads through selectors and hands plain rows to its template."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.filters import NodeFilter, PodFilter
from kschedweb.clusters.models import NodeRow
from kschedweb.clusters.selectors import node_rows, pod_rows
from kschedweb.dashboard import inventory, selectors
from kschedweb.dashboard.context import THEMES
from kschedweb.policies.scope import scope_of
from kschedweb.watermarks.usage.selectors import present
from kschedweb.web import searching
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.nodemap.nodemap import MOST_NODES, MapSide, NodeMap, Now
from kschedweb.web.pages import part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import PodRow
    from kschedweb.policies.scope import Scope
    from kschedweb.watermarks.usage.selectors import Present


PAGE_SIZE = 50
NODE_HEAD = (
    "name", "zone", "region", "instance_type", "ready", "unschedulable", "taints", "cpu_allocatable", "cpu_requested",
    "memory_allocatable", "memory_requested", "pods_allocatable", "pods_bound",
)  # fmt: skip
POD_HEAD = (
    "namespace", "name", "node", "pending", "gated", "phase", "scheduler_name", "priority", "owner", "pod_group",
    "cpu_request", "memory_request", "created_at", "message",
)  # fmt: skip
# How long the engine may work for one list; what is left is asked for by the page afterwards.
LIST_SECONDS, EXPORT_SECONDS = 0.12, 20.0
NODE_FILTERS = ("search", "zone", "instance_type", "ready", "unschedulable", "tainted")


@require_safe
@requires(Action.VIEW)
def overview(request: PageRequest) -> HttpResponse:
    """The state of the chosen cluster in one page."""
    scope = scope_of(request)
    if scope.snapshot is None:
        return render(request, "dashboard/overview.html", {})
    use = present(scope.snapshot.cluster, timezone.now())
    reasons, asked = selectors.pending_reasons(scope, scope.snapshot, LIST_SECONDS)
    context = {
        "counts": selectors.counts(scope.snapshot),
        "zones": selectors.headroom(scope.snapshot, use),
        "use": use,
        "reasons": reasons,
        "asked": asked,
        "jobs": selectors.recent_jobs(request.user),
        "changes": selectors.recent_changes(),
    }
    return render(request, "dashboard/overview.html", context)


@require_safe
@requires(Action.VIEW)
def nodes(request: HttpRequest) -> HttpResponseBase:
    """Nodes with what is requested of them; the heatmap and the exports hold the whole filter, the table a page."""
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None:
        return render(request, "dashboard/nothing.html", {"noun": "nodes"})
    found = NodeFilter(request.GET, queryset=node_rows(scope.snapshot))
    if (form := request.GET.get("format")) in FORMATS:
        return export(form, f"{scope.cluster.name}-nodes", NODE_HEAD, found.qs.values_list(*NODE_HEAD))
    use = present(scope.cluster, timezone.now())
    page = Paginator(found.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "filter": found,
        "page": page,
        "use": use,
        "rows": [(node, *(use.of(node.name) if use else (None, None))) for node in page],
        "map": _node_map(request, scope.cluster.name, found.qs, use),
        "zones": NodeRow.objects.filter(snapshot=scope.snapshot)
        .order_by("zone")
        .values_list("zone", flat=True)
        .distinct(),
    }
    return render(request, "dashboard/nodes.html", context)


def _node_map(request: HttpRequest, cluster: str, found: QuerySet[NodeRow], use: Present | None) -> NodeMap | None:
    """The map of the nodes of the filter; ``None`` where there are none, or more than a map draws."""
    if not 0 < found.count() <= MOST_NODES:
        return None
    listed = inventory.rows(found)
    shows = inventory.shows(listed, use)
    show = shows.get(request.GET.get("show", "cpu"), shows["cpu"])
    filtered = {name: value for name in NODE_FILTERS if (value := request.GET.get(name, ""))}
    query = f"?{urlencode(filtered)}" if filtered else ""
    now = Now(
        [node["name"] for node in listed],
        inventory.groupings(listed),
        show,
        inventory.values(listed, show.key, use),
        inventory.pods(listed),
    )
    side = MapSide(
        label="",
        now=now,
        columns=f"{reverse('api:cluster-map', args=[cluster])}{query}",
        frames=f"{reverse('api:cluster-map-frames', args=[cluster])}{query}",
        pods=reverse("api:cluster-map-pods", args=[cluster]),
        decisions=reverse("decision", args=[cluster, "-", "-"]).removesuffix("-/-/"),
        nodes=f"{reverse('pods')}?{urlencode({'cluster': cluster})}&node=",
    )
    asked = request.GET
    return NodeMap(
        [side],
        list(shows.values()),
        by=asked.get("by", ""),
        group=asked.get("group", ""),
        focus=asked.get("focus", ""),
        find=asked.get("find", ""),
        fields={"cluster": cluster, **filtered},
    )


@require_safe
@requires(Action.VIEW)
def pods(request: HttpRequest) -> HttpResponseBase:
    """Pods, pending ones first, each pending one with what the scheduler says under the chosen policy."""
    scope = scope_of(request)
    if scope.snapshot is None or scope.cluster is None:
        return render(request, "dashboard/nothing.html", {"noun": "pods"})
    found = PodFilter(request.GET, queryset=pod_rows(scope.snapshot))
    if (form := request.GET.get("format")) in FORMATS:
        return export(form, f"{scope.cluster.name}-pods", (*POD_HEAD, "decision"), _pod_lines(scope, found.qs))
    page = Paginator(found.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "decision_query": scope.decision_query,
        "filter": found,
        "page": page,
        "rows": selectors.with_outcomes(scope, page.object_list, LIST_SECONDS),
    }
    return render(request, "dashboard/pods.html", context)


@require_safe
@requires(Action.VIEW)
@part
def pod_message(request: HttpRequest, namespace: str, pod: str) -> HttpResponse:
    """The message cell of one pending pod, for those that the list had no time for."""
    scope = scope_of(request)
    if scope.snapshot is None or "\0" in namespace + pod:
        raise Http404("There is no such pod.")
    row = get_object_or_404(pod_rows(scope.snapshot), namespace=namespace, name=pod)
    listed = selectors.with_outcomes(scope, [row], EXPORT_SECONDS)
    return render(request, "dashboard/pod_message.html", {"item": listed[0]})


def _pod_lines(scope: Scope, rows: QuerySet[PodRow]) -> Iterator[tuple[object, ...]]:
    listed = list(rows)
    for item in selectors.with_outcomes(scope, listed, EXPORT_SECONDS):
        decided = item.outcome.message or f"fits {item.outcome.node}" if item.outcome else ""
        yield (*(getattr(item.row, name) for name in POD_HEAD), decided)


@require_safe
@requires(Action.VIEW)
@part
def search(request: HttpRequest) -> HttpResponse:
    """Everything whose name holds the words: the palette asks for the fragment, a person for the page."""
    words = request.GET.get("q", "").replace("\0", "").strip()[:100]
    found = searching.search(request, words)
    template = "dashboard/results.html" if getattr(request, "htmx", False) else "dashboard/search.html"
    return render(request, template, {"words": words, "groups": found, "total": sum(len(items) for _, items in found)})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in a cookie; the server renders the next page with it, so nothing flashes."""
    chosen = request.POST.get("theme", "")
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = "/"
    response = HttpResponseRedirect(target)
    if chosen in THEMES:
        # The theme switch of the page writes it too, so it cannot be HttpOnly; it is no secret.
        response.set_cookie("theme", chosen, max_age=365 * 24 * 3600, secure=request.is_secure(), samesite="Lax")
    return response
