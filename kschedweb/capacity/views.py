"""The pages of capacity: how many fit, how many nodes, drain rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.capacity import charts, selectors, services, words
from kschedweb.capacity.forms import DrainForm, FitForm, NodesForm
from kschedweb.dashboard.exports import FORMATS, export
from kschedweb.dashboard.figures import Chart
from kschedweb.dashboard.scope import scope_of
from kschedweb.errors import ApplicationError
from kschedweb.policies.selectors import profiles_only

if TYPE_CHECKING:
    from django import forms
    from django.http.response import HttpResponseBase

    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

PAGE_SIZE = 50
SECONDS = 12.0  # that a person waits for a page


@dataclass(frozen=True)
class _Page:
    """A question's page: its rows by ``head``, its sentence and its figure."""

    name: str
    head: Sequence[str]
    rows: Callable[[Any], list[list[object]]]
    answer: Callable[[Any], str]
    chart: Callable[[Any], Chart | None]


FIT = _Page("fit", charts.FIT_HEAD, charts.fit_rows, words.fit_answer, charts.fit_chart)
NODES = _Page("nodes", charts.NODES_HEAD, charts.nodes_rows, words.nodes_answer, charts.nodes_chart)
DRAIN = _Page("drain", charts.DRAIN_HEAD, charts.drain_rows, words.drain_answer, charts.drain_chart)
View = Callable[[HttpRequest, "Snapshot", "Revision"], "HttpResponseBase"]


def _about_a_cluster(view: View) -> Callable[[HttpRequest], HttpResponseBase]:
    """Decorate a page: it is given the snapshot and the policy that the question is about."""

    @require_safe
    @requires(Action.VIEW)
    @wraps(view)
    def asked(request: HttpRequest) -> HttpResponseBase:
        scope = scope_of(request)
        if scope.snapshot is None:
            return render(request, "dashboard/nothing.html", {"noun": "capacity"})
        if scope.revision is None:
            raise Http404("There is no such policy or revision.")
        return view(request, scope.snapshot, profiles_only(scope.revision))

    return asked


@_about_a_cluster
def fit(request: HttpRequest, snapshot: Snapshot, revision: Revision) -> HttpResponseBase:
    """How many more pods of a shape fit, on which nodes, and why not more."""
    form = FitForm(request.GET)
    found = None
    context: dict[str, Any] = {"workloads": selectors.workloads(snapshot)}
    if form.asks and form.is_valid():
        found = _tried(form, lambda: services.fit(snapshot, revision, form.question, seconds=SECONDS))
    if found is not None:
        reasons = [(reason, [found.names[node] for node in reason.nodes[:5].tolist()]) for reason in found.reasons]
        context["reasons"] = reasons
    return _shown(request, FIT, form, snapshot, found, context)


@_about_a_cluster
def nodes(request: HttpRequest, snapshot: Snapshot, revision: Revision) -> HttpResponseBase:
    """How many nodes of a type must be added so that pods fit."""
    form = NodesForm(request.GET)
    if not form.asks:
        form = NodesForm()
    context = {"workloads": selectors.workloads(snapshot), "node_names": selectors.node_names(snapshot)}
    found = None
    if form.is_valid():
        found = _tried(form, lambda: services.nodes(snapshot, revision, form.question, seconds=SECONDS))
    return _shown(request, NODES, form, snapshot, found, context)


@_about_a_cluster
def drain(request: HttpRequest, snapshot: Snapshot, revision: Revision) -> HttpResponseBase:
    """Whether nodes can be emptied, in what order, blocked by what."""
    form = DrainForm(request.GET)
    found = None
    if form.asks and form.is_valid():
        in_zone = selectors.nodes_in(snapshot, form.cleaned_data["zone"])
        if form.cleaned_data["zone"] and not in_zone:
            form.add_error("zone", f"No node is in zone {form.cleaned_data['zone']}.")
        else:
            question = form.question(in_zone)
            found = _tried(form, lambda: services.rehearse(snapshot, revision, question, seconds=SECONDS))
    return _shown(request, DRAIN, form, snapshot, found, {"zones": selectors.zones(snapshot)})


def _tried(form: forms.Form, ask: Callable[[], Any]) -> Any:
    """The answer; ``None`` where there is none, and the form says why."""
    try:
        return ask()
    except ApplicationError as error:
        for problem in error.errors or [{"path": "", "message": error.detail}]:
            field = problem["path"].partition(".")[0]
            field = {"requests": "cpu", "allocatable": "node_cpu"}.get(field, field)
            form.add_error(field if field in form.fields else None, problem["message"])
        return None


def _shown(
    request: HttpRequest, page: _Page, form: forms.Form, snapshot: Snapshot, found: Any, context: dict[str, Any]
) -> HttpResponseBase:
    """The page with its answer, or that as a file (?format=); the question alone where nothing is ``found``."""
    context |= {"form": form, "kept": _kept(request)}
    template = f"capacity/{page.name}.html"
    if found is None:
        status = 400 if form.errors and getattr(form, "asks", False) else 200
        return render(request, template, context | {"snapshot": snapshot}, status=status)
    rows = page.rows(found)
    if (file := request.GET.get("format")) in FORMATS:
        return export(file, f"{snapshot.cluster.name}-{page.name}", page.head, rows)
    if page is FIT:
        rows = sorted(rows, key=lambda row: -_number(row[1]))
    context |= {
        "found": found,
        "answer": page.answer(found),
        "chart": page.chart(found),
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, template, context)


def _kept(request: HttpRequest) -> str:
    """What one question takes over from another: the cluster and the policy."""
    scope = scope_of(request)
    asked = {name: request.GET.get(name, "") for name in ("policy", "revision")}
    about = {"cluster": scope.cluster.name if scope.cluster else "", **asked}
    return urlencode({name: value for name, value in about.items() if value})


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
