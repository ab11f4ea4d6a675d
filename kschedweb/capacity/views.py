"""The pages of capacity: how many fit, how many nodes, drain rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.capacity import charts, selectors, services, words
from kschedweb.capacity.forms import DrainForm, FitForm, NodesForm
from kschedweb.dashboard.exports import FORMATS, export
from kschedweb.dashboard.scope import scope_of
from kschedweb.errors import ApplicationError

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

PAGE_SIZE = 50
SECONDS = 12.0  # that a person waits for a page


@require_safe
@requires(Action.VIEW)
def fit(request: HttpRequest) -> HttpResponseBase:
    """How many more pods of a shape fit, on which nodes, and why not more."""
    asked = _asked(request)
    if asked is None:
        return render(request, "dashboard/nothing.html", {"noun": "capacity"})
    snapshot, revision = asked
    form = FitForm(request.GET)
    found = None
    if form.asks and form.is_valid():
        found = _tried(form, lambda: services.fit(snapshot, revision, form.question, seconds=SECONDS))
    if found is None:
        return _unanswered(request, "capacity/fit.html", form, snapshot, {"workloads": selectors.workloads(snapshot)})
    if (file := request.GET.get("format")) in FORMATS:
        return export(file, f"{snapshot.cluster.name}-fit", charts.FIT_HEAD, charts.fit_rows(found))
    ordered = sorted(charts.fit_rows(found), key=lambda row: -_number(row[1]))
    context = {
        "found": found,
        "answer": words.fit_answer(found),
        "chart": charts.fit_chart(found),
        "reasons": [(reason, [found.names[node] for node in reason.nodes[:5].tolist()]) for reason in found.reasons],
        "workloads": selectors.workloads(snapshot),
    }
    return _page(request, "capacity/fit.html", form, context, ordered)


@require_safe
@requires(Action.VIEW)
def nodes(request: HttpRequest) -> HttpResponseBase:
    """How many nodes of a type must be added so that pods fit."""
    asked = _asked(request)
    if asked is None:
        return render(request, "dashboard/nothing.html", {"noun": "capacity"})
    snapshot, revision = asked
    form = NodesForm(request.GET)
    if not form.asks:
        form = NodesForm()
    choices = {"workloads": selectors.workloads(snapshot), "node_names": selectors.node_names(snapshot)}
    found = None
    if form.is_valid():
        found = _tried(form, lambda: services.nodes(snapshot, revision, form.question, seconds=SECONDS))
    if found is None:
        return _unanswered(request, "capacity/nodes.html", form, snapshot, choices)
    if (file := request.GET.get("format")) in FORMATS:
        return export(file, f"{snapshot.cluster.name}-nodes", charts.NODES_HEAD, charts.nodes_rows(found))
    context = {"found": found, "answer": words.nodes_answer(found), "chart": charts.nodes_chart(found), **choices}
    return _page(request, "capacity/nodes.html", form, context, charts.nodes_rows(found))


@require_safe
@requires(Action.VIEW)
def drain(request: HttpRequest) -> HttpResponseBase:
    """Whether nodes can be emptied, in what order, blocked by what."""
    asked = _asked(request)
    if asked is None:
        return render(request, "dashboard/nothing.html", {"noun": "capacity"})
    snapshot, revision = asked
    form = DrainForm(request.GET)
    choices = {"zones": selectors.zones(snapshot)}
    found = None
    if form.asks and form.is_valid():
        in_zone = selectors.nodes_in(snapshot, form.cleaned_data["zone"])
        if form.cleaned_data["zone"] and not in_zone:
            form.add_error("zone", f"No node is in zone {form.cleaned_data['zone']}.")
        else:
            question = form.question(in_zone)
            found = _tried(form, lambda: services.rehearse(snapshot, revision, question, seconds=SECONDS))
    if found is None:
        return _unanswered(request, "capacity/drain.html", form, snapshot, choices)
    if (file := request.GET.get("format")) in FORMATS:
        return export(file, f"{snapshot.cluster.name}-drain", charts.DRAIN_HEAD, charts.drain_rows(found))
    context = {"found": found, "answer": words.drain_answer(found), "chart": charts.drain_chart(found), **choices}
    return _page(request, "capacity/drain.html", form, context, charts.drain_rows(found))


def _asked(request: HttpRequest) -> tuple[Snapshot, Revision] | None:
    """What the question is about; ``None`` where no cluster has a snapshot yet."""
    scope = scope_of(request)
    if scope.snapshot is None:
        return None
    if scope.revision is None:
        raise Http404("There is no such policy or revision.")
    return scope.snapshot, scope.revision


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


def _unanswered(
    request: HttpRequest, template: str, form: forms.Form, snapshot: Snapshot, context: dict[str, Any]
) -> HttpResponse:
    status = 400 if form.errors and getattr(form, "asks", False) else 200
    about = {"form": form, "snapshot": snapshot, "kept": _kept(request)}
    return render(request, template, about | context, status=status)


def _page(
    request: HttpRequest, template: str, form: forms.Form, context: dict[str, Any], rows: Iterable[Sequence[object]]
) -> HttpResponse:
    page = Paginator(list(rows), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, template, {"form": form, "page": page, "kept": _kept(request), **context})


def _kept(request: HttpRequest) -> str:
    """What one question takes over from another: the cluster and the policy."""
    scope = scope_of(request)
    asked = {name: request.GET.get(name, "") for name in ("policy", "revision")}
    about = {"cluster": scope.cluster.name if scope.cluster else "", **asked}
    return urlencode({name: value for name, value in about.items() if value})


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
