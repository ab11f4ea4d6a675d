"""The pages of Right-size: the list, one workload, and a preview of recommended requests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.advice.rightsizing import charts, exports, scenarios, selectors, sizing, tables, words
from kschedweb.advice.rightsizing.forms import ExportForm, SizesForm, read_form
from kschedweb.clusters.redaction import in_part
from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.clusters.selectors import in_whole, snapshot_current
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.exports import FORMATS, export_table
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.advice.rightsizing.sizing import ContainerSize
    from kschedweb.clusters.models import Cluster

PAGE_SIZE = 50
# Containers whose past a page shows.
MOST_PAST = 100
MEDIA = {exports.KUBECTL: ("text/x-shellscript", "sh")}


def _explain_missing_usage(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let a page explain why it is empty if no usage of the cluster's containers was collected."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except selectors.NoUsageCollected as error:
            return render(request, "advice/rightsizing/no_usage.html", {"why": error.detail})

    return wrapper


@require_safe
@requires(Action.VIEW, in_part=True)
@_explain_missing_usage
def list_sizes(request: HttpRequest) -> HttpResponseBase:
    """Show what each container requests and should request."""
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "right-sizing"})
    form = SizesForm(request.GET)
    if not form.is_valid():
        form = SizesForm({})
        form.is_valid()
    usage, rates, listed = selectors.sizes_of(cluster, form.method_asked)
    sizes = form.filter_sizes(listed, request.GET.get("ordering", ""))
    if (file_format := request.GET.get("format")) in FORMATS:
        return export_table(file_format, f"{cluster.name}-right-sizing", tables.SIZES, sizes)
    whole = sizing.sum_sizes(listed)
    shared = {"cluster": cluster.name, "method": form.method_asked}
    context = {
        "form": form,
        "title": words.render_heading(whole, cluster.name, rates.unit),
        "totals": whole,
        "savings": words.list_savings(whole, rates.unit, sizing.MONTH),
        "chart": charts.compare_requests(sizes),
        "rates": rates,
        "money": words.describe_money(rates),
        "updated": datetime.fromtimestamp(usage.updated, UTC),
        "page": Paginator(sizes, PAGE_SIZE).get_page(request.GET.get("page")),
        "shared": urlencode(shared),
        "hidden": shared,
    }
    return render(request, "advice/rightsizing/sizes.html", context)


@require_safe
@requires(Action.VIEW, in_part=True)
@_explain_missing_usage
def show_workload(request: HttpRequest) -> HttpResponseBase:
    """Show the containers of a workload: what they used, and how each target was computed."""
    cluster, form = _parse_request(request, SizesForm)
    name = request.GET.get("workload", "")
    usage, rates, listed = selectors.sizes_of(cluster, form.method_asked)
    sizes = [size for size in listed if size.workload == name]
    if not sizes:
        raise Http404(f"Cluster {cluster.name} has no workload {name[:300]} with containers.")
    siblings = {container.name: container.siblings for container in usage.requested}
    rows = {container_name: row for row, container_name in enumerate(usage.book.names)}
    blocks = [
        {
            "size": size,
            "amounts": [("cpu", size.cpu), ("memory", size.memory)],
            "charts": _build_charts(cluster, size, usage.updated, usage.book, rows.get(size.name)),
            "reasons": words.explain_target(size, usage.book.settings, form.method_asked, siblings[size.name])
            if size.has_history
            else [],
        }
        for size in sizes
    ]
    shared = {"cluster": cluster.name, "method": form.method_asked}
    context = {
        "name": name,
        "blocks": blocks,
        "amounts_table": tables.AMOUNTS,
        "rates": rates,
        "money": words.describe_money(rates),
        "method": words.NAMES[form.method_asked],
    }
    context |= {"shared": urlencode(shared), "chosen": urlencode({**shared, "workload": name})}
    return render(request, "advice/rightsizing/workload.html", context)


def _build_charts(cluster: Cluster, size: ContainerSize, end: int, book: Any, row: int | None) -> list[tuple[str, Any]]:
    keyed_charts: list[tuple[str, Any]] = []
    for resource, amount, used in (("cpu", size.cpu, book.usage.cpu), ("memory", size.memory, book.usage.memory)):
        times, values, _ = selectors.peaks_of(cluster, [size.name], resource, end, 7 * 86_400)
        keyed_charts.append((f"{resource}-time", charts.over_time(resource, times, values[:, 0], amount)))
        if row is not None:
            keyed_charts.append((f"{resource}-shares", charts.build_histogram(resource, used, row)))
    return [(f"{size.container}-{key}", chart) for key, chart in keyed_charts if chart is not None]


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW, in_part=True)
@_explain_missing_usage
def preview_changes(request: PageRequest) -> HttpResponseBase:
    """Show what the recommendations of the chosen workloads, or all, would save, and where they are too low."""
    cluster, form = _parse_request(request, SizesForm)
    usage, rates, listed = selectors.sizes_of(cluster, form.method_asked)
    workloads = request.GET.getlist("workload")
    sizes = [size for size in form.filter_sizes(listed, workloads=workloads) if size.changes]
    error = None
    if request.method == "POST":
        try:
            return _create_scenario(request, cluster, sizes)
        except ApplicationError as refused:
            error = refused
    pasts = selectors.past_of(cluster, sizes, usage.updated)
    short = sorted(
        (past for past in pasts if past.above_request or past.is_harmed or past.memory_above_request), key=_harm_order
    )
    context = {
        "error": error,
        "sizes": sizes,
        "chart": charts.compare_requests(sizes),
        "savings": words.list_savings(sizing.sum_sizes(sizes), rates.unit, 1),
        "money": words.describe_money(rates),
        "method": words.NAMES[form.method_asked],
        "short": short[:MOST_PAST],
        "past_table": tables.PAST,
        "unlisted_count": len(short[MOST_PAST:]),
        "throttled": sum(past.throttled for past in pasts),
        "kills": sum(past.kills for past in pasts),
        "may_make": request.user.may(Action.EDIT) and not in_part(cluster.pk),
        "modes": exports.MODES,
        "shared": urlencode({"cluster": cluster.name, "method": form.method_asked}),
        "query": request.GET.urlencode(),
        "given": [(name, value) for name, values in request.GET.lists() for value in values],
    }
    return render(request, "advice/rightsizing/apply.html", context, status=error.status if error else 200)


def _harm_order(past: Any) -> tuple[float, ...]:
    return -past.kills, -past.throttled, -past.above_request, -past.memory_above_request


@requires(Action.EDIT)
def _create_scenario(request: PageRequest, cluster: Cluster, sizes: list[ContainerSize]) -> HttpResponse:
    in_whole(cluster.name)
    snapshot = snapshot_current(cluster)
    if snapshot is None:
        raise NotFound(f"Cluster {cluster.name} has not been read yet: refresh it first.")
    revision = scenarios.scenario_make(user=request.user, snapshot=snapshot, listed=sizes)
    if "run" in request.POST:
        return redirect(reverse("run-new", query={"scenario": revision.scenario_id, "revision": revision.number}))
    return redirect("scenario", revision.scenario_id)


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def export_file(request: HttpRequest) -> HttpResponse:
    """Return the recommendations as a file."""
    cluster, form = _parse_request(request, ExportForm)
    _, _, listed = selectors.sizes_of(cluster, form.method_asked)
    sizes = form.filter_sizes(listed, workloads=request.GET.getlist("workload"))
    kind, mode = form.file
    media, ending = MEDIA.get(kind, ("application/yaml", "yaml"))
    answer = HttpResponse(exports.text_of(sizes, kind, mode), content_type=f"{media}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{cluster.name}-{kind}.{ending}"'
    return answer


def _parse_request(request: HttpRequest, form: type[SizesForm]) -> tuple[Cluster, Any]:
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        raise Http404("There is no such cluster.")
    return cluster, read_form(form, request.GET)
