"""The page about what Karpenter would do now, and the answers of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.advice.autoscaling import groups_views, node_maps, services, words
from kschedweb.advice.autoscaling.forms import AskForm, NodesForm
from kschedweb.advice.autoscaling.models import Question
from kschedweb.advice.autoscaling.requests import KarpenterRequest
from kschedweb.advice.autoscaling.tables import NODES
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.jobs.inquiries import question_seen
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.scope import scope_of
from kschedweb.watermarks.node_maps import map_snapshot
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_table
from kschedweb.web.heavy import heavy
from kschedweb.web.nodemap.nodemap import MapChoice
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot

PAGE_SIZE, MOST_LISTED = 50, 100
PRESERVED_PARAMETERS = ("snapshot", "nodepools", "pool")


@heavy
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_autoscaling(request: PageRequest) -> HttpResponseBase:
    """Show what Karpenter would do with a cluster. A GET answers quick questions, a POST starts a job for others."""
    snapshot = scope_of(request).snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "autoscaling"})
    form = AskForm(request.POST if request.method == "POST" else request.GET)
    preserved = _preserved_query(request, snapshot)
    context: dict[str, object] = {"form": form, "asks_at": request.path, "scope_fields": preserved}
    if not form.is_valid():
        return render(request, "advice/autoscaling/page.html", context, status=400)
    try:
        karpenter_request = _build_request(snapshot, form.cleaned_data)
        context["pools"] = [pool.name for pool in karpenters.karpenter_of(karpenter_request.revision).pools]
        if request.method == "POST":
            return redirect(
                "autoscaling-answer", services.question_ask(user=request.user, autoscaling_request=karpenter_request).pk
            )
        answer = services.answer_at_once(autoscaling_request=karpenter_request)
    except DeadlineExceeded:
        plain_map = map_snapshot(snapshot, MapChoice.from_address(request.GET))
        return render(request, "advice/autoscaling/page.html", context | {"later": True, "map": plain_map})
    except ApplicationError as error:
        add_errors(form, error)
        return render(request, "advice/autoscaling/page.html", context, status=error.status)
    context["policy"] = words.label_policy(karpenter_request.revision)
    return _render_answer(request, snapshot, answer, preserved + _list_parameters(form), context)


@require_safe
@requires(Action.VIEW)
def show_answer(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """Show the answer of a job, or its progress."""
    question = question_seen(Question, question_id)
    scope = scope_of(request)
    scope.snapshot = snapshot = question.snapshot
    scope.cluster = snapshot.cluster if snapshot else None
    answer = question.read_answer()
    if answer is None:
        return _render_progress(request, question)
    if request.htmx:
        return load_again()
    return _render_question(request, question, answer)


def _render_question(request: PageRequest, question: Question, answer: Json) -> HttpResponseBase:
    snapshot = question.snapshot
    if question.groups:
        asks_at = f"{reverse('autoscaling-groups')}?{urlencode(_snapshot_query(snapshot))}"
        return groups_views.render_answer(request, question.groups, answer, question=question, asks_at=asks_at)
    reference = f"{question.revision.policy.name}@{question.revision.number}" if question.revision else ""
    form, snapshot_query = AskForm({"nodepools": reference, "pool": question.pool}), _snapshot_query(snapshot)
    context: dict[str, object] = {
        "question": question,
        "policy": question.policy,
        "asks_at": reverse("autoscaling"),
        "form": form,
        "scope_fields": snapshot_query,
    }
    return _render_answer(request, snapshot, answer, snapshot_query + _list_parameters(form), context)


def _list_parameters(form: AskForm) -> list[tuple[str, str]]:
    """Return the fields of the form that are filled in."""
    return [(key, value) for key in ("nodepools", "pool") if (value := form.data.get(key))]


def _build_request(snapshot: Snapshot, data: Mapping[str, Any]) -> KarpenterRequest:
    reference = data["nodepools"]
    try:
        revision = karpenters.revision_named(reference, "nodepools") if reference else None
    except Http404:
        raise ApplicationError.at("nodepools", f"There is no policy {reference[:80]}.") from None
    return KarpenterRequest(snapshot, revision, data["pool"])


def _snapshot_query(snapshot: Snapshot | None) -> list[tuple[str, str]]:
    return [("cluster", snapshot.cluster.name), ("snapshot", str(snapshot.pk))] if snapshot else []


def _preserved_query(request: PageRequest, snapshot: Snapshot) -> list[tuple[str, str]]:
    pinned = [("snapshot", request.GET["snapshot"])] if request.GET.get("snapshot") else []
    return [("cluster", snapshot.cluster.name), *pinned]


def _render_answer(
    request: PageRequest,
    snapshot: Snapshot | None,
    answer: Json,
    parameters: list[tuple[str, str]],
    context: dict[str, object],
) -> HttpResponseBase:
    """Render the page with its answer, or its nodes as a file (?format=). ``parameters`` ask the question again."""
    name = snapshot.cluster.name if snapshot else "autoscaling"
    filters = NodesForm(request.GET)
    nodes = filters.filter_nodes(answer["nodes"])
    if (file := request.GET.get("format")) in FORMATS:
        return export_table(file, f"{name}-autoscaling", NODES, nodes)
    context |= {
        "answer": answer,
        "sentence": words.render_sentence(answer),
        "filters": filters,
        "query": urlencode(parameters),
        "question_fields": parameters,
        "reasons": words.count_reasons(answer["nodes"])[:MOST_LISTED],
        "unowned": sum(node["why"] == words.UNOWNED for node in answer["nodes"]),
        "helpless": list(answer["podErrors"].items())[:MOST_LISTED],
        "placed": sum(map(len, answer["existing"].values())),
        "new_nodes": Paginator(answer["newNodes"], PAGE_SIZE).get_page(request.GET.get("new")),
        "page": Paginator(nodes, PAGE_SIZE).get_page(request.GET.get("page")),
        "map": node_maps.map_verdicts(snapshot, answer, MapChoice.from_address(request.GET)) if snapshot else None,
    }
    return render(request, "advice/autoscaling/page.html", context)


def _render_progress(request: PageRequest, question: Question) -> HttpResponseBase:
    route = "autoscaling-groups" if question.groups else "autoscaling"
    return render_waiting(
        request,
        question,
        gettext("Autoscaling"),
        address=reverse("autoscaling-answer", args=[question.pk]),
        form_address=f"{reverse(route)}?{urlencode(_snapshot_query(question.snapshot))}",
        more={"unit": "nodes"},
    )
