"""The capacity pages: how many pods and gangs fit, how many nodes are needed, drain rehearsal, and answers of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.engine.studies.capacity.capacity import CapacityFit
from kschedweb.jobs.inquiries import find_unanswered
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.playground.capacity import charts, costs, node_maps, openings, selectors, sentences, services, tables
from kschedweb.playground.capacity.forms import (
    BufferForm,
    ChangeForm,
    DrainForm,
    FitForm,
    GangsForm,
    NodesForm,
    QuestionForm,
    fields_of,
)
from kschedweb.playground.capacity.models import CapacityKind, Question
from kschedweb.playground.capacity.queries import query_from_json
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.web import messages
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.exports import FORMATS, export_table
from kschedweb.web.figures import Chart
from kschedweb.web.nodemap.nodemap import MapChoice
from kschedweb.web.pages import LONGEST_ADDRESS, add_errors, filled_fields, page_part
from kschedweb.web.tables import RowTable

if TYPE_CHECKING:
    from uuid import UUID

    from django import forms
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.models import User
    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import CapacityAnswer
    from kschedweb.playground.capacity.queries import CapacityQuery
    from kschedweb.policies.models import Revision

PAGE_SIZE = 50
# Names of the forms' fields by REST's, in which the services report problems.
FIELDS = {
    "requests": "cpu",
    "allocatable": "node_cpu",
    "min_count": "least",
    "topology_key": "topology",
    "lost": "nodes",
}


@dataclass(frozen=True)
class _Page:
    """The page of a kind of question."""

    kind: CapacityKind
    form: type[QuestionForm]
    table: RowTable
    # Makes the table's rows from an answer.
    rows: Callable[[Any], list[Json]]
    # Draws an answer; it may return None.
    chart: Callable[[Any], Chart | None]
    # Choices of the form's datalists, by name in the template.
    offers: Mapping[str, Callable[[Snapshot], list[str]]]


# What a field's names are searched among, by the part of the address.
NAMES = {"workloads": ("workload", selectors.find_workloads), "nodes": ("like", selectors.find_nodes)}
_WORKLOADS = {"workloads": selectors.list_workloads}
_NODES = {"node_names": selectors.node_names}
PAGES = {
    page.kind: page
    for page in (
        _Page(CapacityKind.FIT, FitForm, tables.FIT, tables.fit_rows, charts.fit_chart, _WORKLOADS),
        _Page(CapacityKind.NODES, NodesForm, tables.NODES, tables.nodes_rows, charts.nodes_chart, _WORKLOADS | _NODES),
        _Page(CapacityKind.GANGS, GangsForm, tables.GANGS, tables.gangs_rows, charts.fit_chart, _WORKLOADS),
        _Page(CapacityKind.BUFFER, BufferForm, tables.BUFFER, tables.buffer_rows, charts.buffer_chart, {}),
        _Page(
            CapacityKind.DRAIN,
            DrainForm,
            tables.DRAIN,
            tables.drain_rows,
            charts.drain_chart,
            {"zones": selectors.list_zones},
        ),
        _Page(
            CapacityKind.CHANGE,
            ChangeForm,
            tables.CHANGE,
            tables.change_rows,
            # The map before and after is the picture.
            lambda _answer: None,
            _NODES | {"zones": selectors.list_zones},
        ),
    )
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW, in_part=True)
def show_fit(request: PageRequest) -> HttpResponseBase:
    """Show how many more pods of a shape fit, on which nodes, and why not more."""
    return _handle_question(request, PAGES[CapacityKind.FIT])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_nodes(request: PageRequest) -> HttpResponseBase:
    """Show how many nodes of a type must be added so that pods fit."""
    return _handle_question(request, PAGES[CapacityKind.NODES])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_drain(request: PageRequest) -> HttpResponseBase:
    """Show whether nodes can be drained, in what order, and what blocks them."""
    return _handle_question(request, PAGES[CapacityKind.DRAIN])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW, in_part=True)
def show_gangs(request: PageRequest) -> HttpResponseBase:
    """Show how many more gangs of pods fit, where, and why not more."""
    return _handle_question(request, PAGES[CapacityKind.GANGS])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_buffer(request: PageRequest) -> HttpResponseBase:
    """Show whether the cluster survives the loss of a zone, or of its largest nodes."""
    return _handle_question(request, PAGES[CapacityKind.BUFFER])


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_change(request: PageRequest) -> HttpResponseBase:
    """Show where pods go if nodes are lost or added."""
    return _handle_question(request, PAGES[CapacityKind.CHANGE])


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def suggest_names(request: PageRequest, kind: str) -> HttpResponseBase:
    """List the first names of workloads and pods, or of nodes, that match what is typed, as options."""
    snapshot = scope_of(request).snapshot_asked()
    if snapshot is None or kind not in NAMES:
        raise Http404("There are no such names.")
    field, find = NAMES[kind]
    typed = request.GET.get(field, "").replace("\0", "")[:300]
    return render(request, "dashboard/namespaces.html", {"names": find(snapshot, typed)})


@require_safe
@requires(Action.VIEW, in_part=True)
def show_answer(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """Show the answer of a job, or its progress."""
    question = selectors.question_get(question_id)
    snapshot, revision, page = question.snapshot, question.revision, PAGES[CapacityKind(question.kind)]
    scope_of(request).show(snapshot, revision)
    scope_params = {"cluster": snapshot.cluster.name, "snapshot": str(snapshot.pk)} if snapshot else {}
    if revision is not None:
        scope_params |= {"policy": revision.policy.name, "revision": str(revision.number)}
    context: dict[str, object] = {
        "scope_query": urlencode(scope_params),
        "question": question,
        "engine": question.engine,
        **_page_context(page),
    }
    answer = selectors.answer_of(question)
    if answer is None:
        return render_waiting(
            request,
            question,
            CapacityKind(question.kind).label,
            address=reverse("capacity-answer", args=[question.pk]),
            form_address=f"{context['asks_at']}?{context['scope_query']}",
            more=context,
        )
    if request.htmx:
        return load_again()
    query = query_from_json(question.kind, question.asked)
    context["cost"] = costs.describe_cost_change(snapshot, query, answer)
    form = page.form(initial=fields_of(query))
    return _render_page(request, page, form, snapshot, revision, answer, context)


def _handle_question(request: PageRequest, page: _Page) -> HttpResponseBase:
    """Return the page of a question: a GET answers quick ones, a POST starts a job for the others."""
    scope = scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "capacity"})
    revision = scope.revision_asked()
    revision = profiles_only(revision) if page is PAGES[CapacityKind.GANGS] else revision
    context: dict[str, object] = {"scope_query": scope.question_query(snapshot)}
    form = page.form(request.POST if request.method == "POST" else request.GET)
    answer, status = None, 200
    if not form.is_submitted:
        form, answer = _open_page(request.user, page, snapshot, revision, context)
    elif not form.is_valid():
        status = 400
    else:
        try:
            if "workload" in form.cleaned_data:
                form.cleaned_data["workload"] = selectors.workload_meant(
                    snapshot, form.cleaned_data["workload"].strip()
                )
            query = form.to_query(snapshot)
            answer = _try_answer(request.user, snapshot, revision, query)
            context |= _answer_context(snapshot, revision, query, answer)
            if request.method == "POST":
                address = f"{request.path}?{context['scope_query']}&{urlencode(filled_fields(form))}"
                # A quick answer gets an address that can be shared and loaded again.
                if answer is None or len(address) > LONGEST_ADDRESS:
                    question = services.question_ask(
                        user=request.user, snapshot=snapshot, revision=revision, query=query
                    )
                    return redirect("capacity-answer", question.pk)
                return redirect(address)
            context["later"] = answer is None
        except ApplicationError as error:
            add_errors(form, error, FIELDS)
            status = error.status
            context["running"] = find_unanswered(Question, request.user) if isinstance(error, Conflict) else None
    return _render_page(request, page, form, snapshot, revision, answer, context, status)


def _open_page(
    user: User, page: _Page, snapshot: Snapshot, revision: Revision, context: dict[str, object]
) -> tuple[QuestionForm, CapacityAnswer | None]:
    """Return the form with the question that the page opens with and its answer; the empty form without an answer."""
    query = openings.make_opening_query(page.kind, snapshot)
    if query is None:
        return page.form(), None
    try:
        answer = selectors.stored_answer(snapshot, revision, page.kind, query)
        answer = answer or _try_answer(user, snapshot, revision, query)
        if answer is not None:
            context |= _answer_context(snapshot, revision, query, answer)
            return page.form(initial=fields_of(query)), answer
    # Nobody asked, so nobody is told why there is no answer.
    except ApplicationError:
        pass
    return page.form(), None


def _answer_context(
    snapshot: Snapshot, revision: Revision, query: CapacityQuery, answer: CapacityAnswer | None
) -> dict[str, object]:
    """Return what the page says beside ``answer``: its cost, and the engine that answers."""
    return {
        "cost": costs.describe_cost_change(snapshot, query, answer),
        "engine": services.rules_of(snapshot, revision, query)[0].release.engine,
    }


def _try_answer(user: User, snapshot: Snapshot, revision: Revision, query: CapacityQuery) -> CapacityAnswer | None:
    """Return the answer; ``None`` if a job is needed."""
    try:
        return services.answer_at_once(user=user, snapshot=snapshot, revision=revision, query=query)
    except DeadlineExceeded:
        return None


def _search_names(form: forms.Form, snapshot: Snapshot) -> None:
    """Let the fields of names ask the server for those that match while a name is typed."""
    for kind, (name, _) in NAMES.items():
        if name in form.fields:
            attributes = form.fields[name].widget.attrs
            attributes |= {
                "hx-get": f"{reverse('capacity-names', args=[kind])}?cluster={snapshot.cluster.name}",
                "hx-trigger": "input changed delay:200ms",
                "hx-target": f"#{attributes['list']}",
                "hx-swap": "innerHTML",
                "hx-sync": "this:replace",
            }


def _render_page(
    request: PageRequest,
    page: _Page,
    form: forms.Form,
    snapshot: Snapshot | None,
    revision: Revision | None,
    answer: CapacityAnswer | None,
    context: dict[str, object],
    status: int = 200,
) -> HttpResponseBase:
    """Render the page with its answer, or the answer as a file (?format=); only the form if ``answer`` is ``None``."""
    offers = {name: offer(snapshot) if snapshot else [] for name, offer in page.offers.items()}
    if snapshot is not None:
        _search_names(form, snapshot)
    context |= {
        "form": form,
        "policy": messages.translate_words(sentences.revision_label(revision)) if revision else "",
        "map": node_maps.map_answer(snapshot, answer, MapChoice.from_address(request.GET)) if snapshot else None,
        **_page_context(page),
        **offers,
    }
    template = f"playground/capacity/{page.kind}.html"
    if answer is None:
        return render(request, template, context, status=status)
    rows = page.rows(answer)
    if (file := request.GET.get("format")) in FORMATS:
        name, engine = f"{snapshot.cluster.name if snapshot else 'capacity'}-{page.kind}", context["engine"]
        return export_table(file, name, page.table.with_constant("engine", engine), rows)
    if isinstance(answer, CapacityFit):
        # The page has the fullest nodes first; a file keeps the order of the snapshot.
        rows = sorted(rows, key=lambda row: -int(row["pods"]))
        context["reasons"] = [
            (reason, [answer.names[node] for node in reason.nodes[:5].tolist()]) for reason in answer.reasons
        ]
    if page.kind is CapacityKind.BUFFER:
        rows = [row for row in rows if row["pod"]]
    context |= {
        "answer": answer,
        "sentence": sentences.answer_sentence(answer),
        "chart": page.chart(answer),
        "table": page.table,
        "reasons_table": tables.REASONS,
        "losses_table": tables.LOSSES,
        "page": Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, template, context)


def _page_context(page: _Page) -> dict[str, str]:
    """Return the kind of the page, and the address of its form."""
    return {"kind": page.kind.value, "asks_at": reverse(f"capacity-{page.kind}")}
