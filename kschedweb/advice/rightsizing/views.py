"""The pages of Right-size: the list, a workload, and what applying recommendations would do."""

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
from kschedweb.advice.rightsizing import charts, exporting, scenarios, selectors, sizing, words
from kschedweb.advice.rightsizing.forms import ExportForm, SizesForm, read
from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.clusters.seen import in_part
from kschedweb.clusters.selectors import in_whole, snapshot_current
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.pages import part

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.advice.rightsizing.sizing import Size
    from kschedweb.clusters.models import Cluster

PAGE_SIZE = 50
MOST_PAST = 100  # containers whose past a page shows
MEDIA = {exporting.KUBECTL: ("text/x-shellscript", "sh")}
HEAD = (
    "namespace", "workload", "container", "pods", "cpu_requested", "cpu_target", "cpu_lower", "cpu_upper", "cpu_saved",
    "memory_requested", "memory_target", "memory_lower", "memory_upper", "memory_saved", "hour", "days", "samples",
)  # fmt: skip


def _explained(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let a page say why it is empty where nothing was collected of the cluster's containers."""

    @wraps(view)
    def explaining(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except selectors.Unknown as error:
            return render(request, "advice/rightsizing/nothing.html", {"why": error.detail})

    return explaining


@require_safe
@requires(Action.VIEW, in_part=True)
@_explained
def sizes(request: HttpRequest) -> HttpResponseBase:
    """What each container requests and should request."""
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        return render(request, "dashboard/nothing.html", {"noun": "right-sizing"})
    form = SizesForm(request.GET)
    if not form.is_valid():
        form = SizesForm({})
        form.is_valid()
    known, rates, listed = selectors.sizes_of(cluster, form.method_asked)
    found = form.narrowed(listed, request.GET.get("ordering", ""))
    if (wanted := request.GET.get("format")) in FORMATS:
        return export(wanted, f"{cluster.name}-right-sizing", list(HEAD), (_row(one) for one in found))
    whole = sizing.totals(listed)
    shared = {"cluster": cluster.name, "method": form.method_asked}
    context = {
        "form": form,
        "title": words.heading(whole, cluster.name, rates.unit),
        "totals": whole,
        "savings": words.savings(whole, rates.unit, sizing.MONTH),
        "rates": rates,
        "money": words.money(rates),
        "updated": datetime.fromtimestamp(known.updated, UTC),
        "page": Paginator(found, PAGE_SIZE).get_page(request.GET.get("page")),
        "shared": urlencode(shared),
        "hidden": shared,
    }
    return render(request, "advice/rightsizing/sizes.html", context)


def _row(one: Size) -> list[object]:
    hour = round(one.hour, 6) if one.known and one.hour == one.hour else None
    amounts = [
        value if one.known or name == "requested" else None
        for amount in (one.cpu, one.memory)
        for name, value in (
            ("requested", amount.requested),
            ("target", amount.target),
            ("lower", amount.lower),
            ("upper", amount.upper),
            ("saved", amount.saved),
        )
    ]
    names = [one.namespace, one.workload.split("/", 1)[1], one.container]
    return [*names, one.pods, *amounts, hour, round(one.days, 3), one.samples]


@require_safe
@requires(Action.VIEW, in_part=True)
@_explained
def workload(request: HttpRequest) -> HttpResponseBase:
    """The containers of a workload: what they used, and how each target came about."""
    cluster, form = _asked(request, SizesForm)
    name = request.GET.get("workload", "")
    known, rates, listed = selectors.sizes_of(cluster, form.method_asked)
    found = [one for one in listed if one.workload == name]
    if not found:
        raise Http404(f"Cluster {cluster.name} has no workload {name[:300]} with containers.")
    siblings = {one.name: one.siblings for one in known.requested}
    rows = {one: row for row, one in enumerate(known.book.names)}
    blocks = [
        {
            "size": one,
            "charts": _charts(cluster, one, known.updated, known.book, rows.get(one.name)),
            "reasons": words.reasons(one, known.book.settings, form.method_asked, siblings[one.name])
            if one.known
            else [],
        }
        for one in found
    ]
    shared = {"cluster": cluster.name, "method": form.method_asked}
    context = {
        "name": name,
        "blocks": blocks,
        "rates": rates,
        "money": words.money(rates),
        "method": words.NAMES[form.method_asked],
    }
    context |= {"shared": urlencode(shared), "chosen": urlencode({**shared, "workload": name})}
    return render(request, "advice/rightsizing/workload.html", context)


def _charts(cluster: Cluster, one: Size, end: int, book: Any, row: int | None) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for resource, amount, used in (("cpu", one.cpu, book.usage.cpu), ("memory", one.memory, book.usage.memory)):
        times, values, _ = selectors.peaks_of(cluster, [one.name], resource, end, 7 * 86_400)
        found.append((f"{resource}-time", charts.over_time(resource, times, values[:, 0], amount)))
        if row is not None:
            found.append((f"{resource}-shares", charts.shares(resource, used, row)))
    return [(f"{one.container}-{key}", chart) for key, chart in found if chart is not None]


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW, in_part=True)
@_explained
def apply(request: PageRequest) -> HttpResponseBase:
    """What would become of the chosen workloads, or all: what it saves, and what would have been too little."""
    cluster, form = _asked(request, SizesForm)
    known, rates, listed = selectors.sizes_of(cluster, form.method_asked)
    workloads = request.GET.getlist("workload")
    found = [one for one in form.narrowed(listed, workloads=workloads) if one.changes]
    error = None
    if request.method == "POST":
        try:
            return _made(request, cluster, found)
        except ApplicationError as refused:
            error = refused
    pasts = selectors.past_of(cluster, found, known.updated)
    short = sorted((one for one in pasts if one.above_request or one.harmed or one.memory_above_request), key=_harm)
    context = {
        "error": error,
        "found": found,
        "savings": words.savings(sizing.totals(found), rates.unit, 1),
        "money": words.money(rates),
        "method": words.NAMES[form.method_asked],
        "short": short[:MOST_PAST],
        "left": len(short[MOST_PAST:]),
        "throttled": sum(one.throttled for one in pasts),
        "kills": sum(one.kills for one in pasts),
        "may_make": request.user.may(Action.EDIT) and not in_part(cluster.pk),
        "modes": exporting.MODES,
        "shared": urlencode({"cluster": cluster.name, "method": form.method_asked}),
        "query": request.GET.urlencode(),
        "given": [(name, value) for name, values in request.GET.lists() for value in values],
    }
    return render(request, "advice/rightsizing/apply.html", context, status=error.status if error else 200)


def _harm(one: Any) -> tuple[float, ...]:
    return -one.kills, -one.throttled, -one.above_request, -one.memory_above_request


@requires(Action.EDIT)
def _made(request: PageRequest, cluster: Cluster, found: list[Size]) -> HttpResponse:
    in_whole(cluster.name)
    snapshot = snapshot_current(cluster)
    if snapshot is None:
        raise NotFound(f"Cluster {cluster.name} has not been read yet: refresh it first.")
    revision = scenarios.scenario_make(user=request.user, snapshot=snapshot, listed=found)
    if "run" in request.POST:
        return redirect(reverse("run-new", query={"scenario": revision.scenario_id, "revision": revision.number}))
    return redirect("scenario", revision.scenario_id)


@require_safe
@requires(Action.VIEW, in_part=True)
@part
def export_file(request: HttpRequest) -> HttpResponse:
    """The recommendations as a file."""
    cluster, form = _asked(request, ExportForm)
    _, _, listed = selectors.sizes_of(cluster, form.method_asked)
    found = form.narrowed(listed, workloads=request.GET.getlist("workload"))
    kind, mode = form.file
    media, ending = MEDIA.get(kind, ("application/yaml", "yaml"))
    answer = HttpResponse(exporting.text_of(found, kind, mode), content_type=f"{media}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{cluster.name}-{kind}.{ending}"'
    return answer


def _asked(request: HttpRequest, form: type[SizesForm]) -> tuple[Cluster, Any]:
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        raise Http404("There is no such cluster.")
    return cluster, read(form, request.GET)
