"""The capacity pages: how many pods and gangs fit, how many nodes are needed, drain rehearsal, and answers of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.engine.patience import NotNow
from kschedweb.engine.studies.capacity.capacity import Fit
from kschedweb.jobs.models import ENDED
from kschedweb.playground.capacity import charts, money, selectors, services, words
from kschedweb.playground.capacity.forms import BufferForm, DrainForm, FitForm, GangsForm, NodesForm, fields_of
from kschedweb.playground.capacity.models import Kind
from kschedweb.playground.capacity.questions import asked_of
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.web import told
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.figures import Chart

if TYPE_CHECKING:
    from uuid import UUID

    from django import forms
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import Found
    from kschedweb.playground.capacity.models import Question
    from kschedweb.policies.models import Revision

PAGE_SIZE = 50
FIELDS = {"requests": "cpu", "allocatable": "node_cpu", "min_count": "least", "topology_key": "topology"}  # by REST's
LONGEST_ADDRESS = 8_000  # characters that servers and proxies accept


@dataclass(frozen=True)
class _Page:
    """The page of a kind of question: its form, its table with columns ``head``, its chart, and the form's choices."""

    kind: Kind
    form: type[FitForm | NodesForm | DrainForm | GangsForm | BufferForm]
    head: Sequence[str]
    rows: Callable[[Any], list[list[object]]]
    chart: Callable[[Any], Chart | None]
    offers: Mapping[str, Callable[[Snapshot], list[str]]]


_WORKLOADS = {"workloads": selectors.workloads}
_NODES = {"node_names": selectors.node_names}
PAGES = {
    page.kind: page
    for page in (
        _Page(Kind.FIT, FitForm, charts.FIT_HEAD, charts.fit_rows, charts.fit_chart, _WORKLOADS),
        _Page(Kind.NODES, NodesForm, charts.NODES_HEAD, charts.nodes_rows, charts.nodes_chart, _WORKLOADS | _NODES),
        _Page(Kind.GANGS, GangsForm, charts.GANGS_HEAD, charts.gangs_rows, charts.fit_chart, _WORKLOADS),
        _Page(Kind.BUFFER, BufferForm, charts.BUFFER_HEAD, charts.buffer_rows, charts.buffer_chart, {}),
        _Page(
            Kind.DRAIN, DrainForm, charts.DRAIN_HEAD, charts.drain_rows, charts.drain_chart, {"zones": selectors.zones}
        ),
    )
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW, in_part=True)
def fit(request: PageRequest) -> HttpResponseBase:
    """How many more pods of a shape fit, on which nodes, and why not more."""
    return _asked(request, PAGES[Kind.FIT])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def nodes(request: PageRequest) -> HttpResponseBase:
    """How many nodes of a type must be added so that pods fit."""
    return _asked(request, PAGES[Kind.NODES])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def drain(request: PageRequest) -> HttpResponseBase:
    """Whether nodes can be emptied, in what order, blocked by what."""
    return _asked(request, PAGES[Kind.DRAIN])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW, in_part=True)
def gangs(request: PageRequest) -> HttpResponseBase:
    """How many more gangs of pods fit, where, and why not more."""
    return _asked(request, PAGES[Kind.GANGS])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def buffer(request: PageRequest) -> HttpResponseBase:
    """Whether the cluster survives the loss of a zone, or of its largest nodes."""
    return _asked(request, PAGES[Kind.BUFFER])


@require_safe
@requires(Action.VIEW, in_part=True)
def answer(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """The answer of a job, or its progress."""
    question = selectors.question_get(question_id)
    snapshot, revision, page = question.snapshot, question.revision, PAGES[Kind(question.kind)]
    _scope_to(request, snapshot, revision)
    kept = {"cluster": snapshot.cluster.name, "snapshot": str(snapshot.pk)} if snapshot else {}
    if revision is not None:
        kept |= {"policy": revision.policy.name, "revision": str(revision.number)}
    context: dict[str, Any] = {"kept": urlencode(kept), "question": question, "engine": question.engine, **_about(page)}
    found = selectors.answer_of(question)
    if found is None:
        return _waits(request, question, context)
    asked = asked_of(question.kind, question.asked)
    context["cost"] = money.told(snapshot, asked, found)
    form = page.form(initial=fields_of(asked))
    response = _shown(request, page, form, snapshot, revision, found, context)
    if request.htmx:
        response["HX-Refresh"] = "true"
    return response


def _scope_to(request: PageRequest, snapshot: Snapshot | None, revision: Revision | None) -> None:
    """Set the frame of the page to ``snapshot`` and ``revision``."""
    scope = scope_of(request)
    scope.cluster, scope.snapshot = snapshot.cluster if snapshot else None, snapshot
    scope.policy, scope.revision = revision.policy if revision else None, revision


def _asked(request: PageRequest, page: _Page) -> HttpResponseBase:
    """The page of a question: a GET answers quick ones, a POST starts a job for the others."""
    scope = scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/nothing.html", {"noun": "capacity"})
    if scope.revision is None:
        raise Http404("There is no such policy or revision.")
    revision = profiles_only(scope.revision) if page is PAGES[Kind.GANGS] else scope.revision
    kept = {name: request.GET[name] for name in ("policy", "revision", "snapshot") if request.GET.get(name)}
    context: dict[str, Any] = {"kept": urlencode({"cluster": snapshot.cluster.name, **kept})}
    form = page.form(request.POST if request.method == "POST" else request.GET)
    found, status = None, 200
    if not form.asks:
        form = page.form()
    elif not form.is_valid():
        status = 400
    else:
        try:
            about: dict[str, Any] = {"user": request.user, "snapshot": snapshot, "revision": revision}
            about["asked"] = form.asked(snapshot)
            found = _sought(about)
            context["cost"] = money.told(snapshot, about["asked"], found)
            context["engine"] = services.rules_of(snapshot, revision, about["asked"])[0].release.engine
            if request.method == "POST":
                address = f"{request.path}?{context['kept']}&{urlencode(_said(form))}"
                if found is None or len(address) > LONGEST_ADDRESS:
                    return redirect("capacity-answer", services.question_ask(**about).pk)
                return redirect(address)
            context["later"] = found is None
        except ApplicationError as error:
            _add_errors(form, error)
            status = error.status
            context["running"] = selectors.unanswered(request.user) if isinstance(error, Conflict) else None
    return _shown(request, page, form, snapshot, revision, found, context, status)


def _sought(about: dict[str, Any]) -> Found | None:
    """The answer; ``None`` if a job is needed."""
    try:
        return services.answer_at_once(**about)
    except NotNow:
        return None


def _said(form: forms.Form) -> dict[str, str]:
    """The filled fields of the form."""
    return {name: form.data[name] for name in form.fields if form.data.get(name)}


def _add_errors(form: forms.Form, error: ApplicationError) -> None:
    for problem in error.errors or [{"path": "", "message": error.detail}]:
        field = problem["path"].partition(".")[0]
        field = FIELDS.get(field, field)
        form.add_error(field if field in form.fields else None, problem["message"])


def _shown(
    request: PageRequest,
    page: _Page,
    form: forms.Form,
    snapshot: Snapshot | None,
    revision: Revision | None,
    found: Found | None,
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponseBase:
    """The page with its answer, or the answer as a file (?format=); only the form if ``found`` is ``None``."""
    offers = {name: offer(snapshot) if snapshot else [] for name, offer in page.offers.items()}
    context |= {"form": form, "policy": told.words(words.label(revision)) if revision else "", **_about(page), **offers}
    template = f"playground/capacity/{page.kind}.html"
    if found is None:
        return render(request, template, context, status=status)
    rows = page.rows(found)
    if (file := request.GET.get("format")) in FORMATS:
        name, engine = f"{snapshot.cluster.name if snapshot else 'capacity'}-{page.kind}", context["engine"]
        return export(file, name, (*page.head, "engine"), ((*row, engine) for row in rows))
    if isinstance(found, Fit):
        rows = sorted(rows, key=lambda row: -_number(row[1]))
        context["reasons"] = [(one, [found.names[node] for node in one.nodes[:5].tolist()]) for one in found.reasons]
    context |= {
        "found": found,
        "answer": words.sentence(found),
        "chart": page.chart(found),
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, template, context)


def _about(page: _Page) -> dict[str, str]:
    """The kind of the page, and the address of its form."""
    return {"kind": page.kind.value, "asks_at": reverse(f"capacity-{page.kind}")}


def _waits(request: PageRequest, question: Question, context: dict[str, Any]) -> HttpResponse:
    """The progress of the job; for htmx only the part that changes."""
    job = question.job
    context |= {"question": question, "job": job, "ended": job is None or job.state in ENDED}
    context |= {
        "address": reverse("capacity-answer", args=[question.pk]),
        "again": f"{context['asks_at']}?{context['kept']}",
    }
    context["may_cancel"] = job is not None and may_change(request.user, job)
    part = request.htmx and not context["ended"]
    return render(request, "parts/waits.html" if part else "playground/capacity/waiting.html", context)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
