"""The page Plan moves: an objective, and its plan to read, to export and to try in a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.advice.plans import answers, objectives, scenario_trials, selectors, services, tables, words
from kschedweb.advice.plans.forms import PlanForm, initial_of
from kschedweb.advice.plans.models import Question
from kschedweb.advice.plans.offers import offer_later
from kschedweb.engine.json_types import Json
from kschedweb.jobs.inquiries import find_unanswered
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.watermarks.node_maps import PodMove, map_moves, map_snapshot
from kschedweb.web import messages
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.exports import export_table
from kschedweb.web.nodemap.nodemap import MapChoice, NodeMap
from kschedweb.web.pages import run_and_notify

if TYPE_CHECKING:
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

PAGE = "advice/plans/plans.html"
# Moves.
PAGE_SIZE = 100


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def plan_moves(request: PageRequest) -> HttpResponseBase:
    """Show the form. A POST leads to the plan, or to its progress."""
    scope = scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "plans of moves"})
    revision = profiles_only(scope.revision_asked())
    context: dict[str, object] = {"scope_query": scope.question_query(snapshot)}
    context["policy"] = messages.translate_words(f"{revision.policy.name}, revision {revision.number}")
    context["map"] = map_snapshot(snapshot, MapChoice.from_address(request.GET))
    if request.method != "POST":
        initial = {name: request.GET[name] for name in PlanForm.base_fields if request.GET.get(name)}
        opening = {} if initial else _open_plan(request, snapshot, revision)
        return render(request, PAGE, {**context, "form": PlanForm(initial=initial), **opening})
    form = context["form"] = PlanForm(request.POST)
    if not form.is_valid():
        return render(request, PAGE, context, status=400)
    try:
        question = services.question_ask(
            user=request.user, snapshot=snapshot, revision=revision, objective=form.objective_document
        )
    except ApplicationError as error:
        form.add_objective_errors(error)
        context["running"] = find_unanswered(Question, request.user) if isinstance(error, Conflict) else None
        return render(request, PAGE, context, status=error.status)
    return redirect("plans-answer", question.pk)


@require_safe
@requires(Action.VIEW)
def show_plan(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """Show a plan, one of its files (?format=), or its progress."""
    question = selectors.question_get(question_id)
    answer = question.read_answer()
    if answer is None:
        return _render_progress(request, question)
    if request.htmx:
        return load_again()
    name = question.snapshot.cluster.name if question.snapshot else "cluster"
    if file := request.GET.get("format", ""):
        return _render_file(file, name, answer)
    return render(request, "advice/plans/plan.html", _plan_context(request, question, answer))


def _open_plan(request: PageRequest, snapshot: Snapshot, revision: Revision) -> dict[str, object]:
    """Return the context of the plan that the site made of ``snapshot`` by itself; empty without one.

    Where there is none yet, a job begins to look for it.
    """
    question = selectors.offer_of(snapshot)
    if question is None:
        offer_later(snapshot=snapshot)
        return {}
    answer = question.read_answer()
    if answer is None or question.revision_id != revision.pk:
        return {}
    return _plan_context(request, question, answer)


def _plan_context(request: PageRequest, question: Question, answer: Json) -> dict[str, object]:
    """Return what a page says about the plan of ``question``."""
    return {
        "question": question,
        "answer": answer,
        "sentence": words.render_sentence(answer),
        "bound": words.describe_bound(answer),
        "map": _map_plan(request, question, answer),
        "gains": words.list_gains(answer),
        "objective": objectives.describe_objective(question.asked),
        "moves_table": tables.MOVES,
        "page": Paginator(list(answers.move_rows(answer)), PAGE_SIZE).get_page(request.GET.get("page")),
        "trials": selectors.list_trials(request.user, question, answer),
        "form_address": _form_url(question),
        "may_try": bool(answer["moves"]) and question.snapshot is not None and question.revision is not None,
    }


def _map_plan(request: PageRequest, question: Question, answer: Json) -> NodeMap | None:
    """Return the nodes before and after the plan."""
    if question.snapshot is None:
        return None
    moves = [PodMove(move["pod"], move["from"], move["to"]) for wave in answer["waves"] for move in wave]
    cordoned = frozenset(answer["cordons"]) - frozenset(answer["uncordons"])
    return map_moves(question.snapshot, moves, MapChoice.from_address(request.GET), cordoned=cordoned)


@require_POST
@requires(Action.EDIT)
def try_plan(request: PageRequest, question_id: UUID) -> HttpResponse:
    """Make a scenario of the plan, and run it."""
    question = selectors.question_get(question_id)
    run_and_notify(
        request,
        lambda: scenario_trials.plan_try(question=question, user=request.user),
        gettext("A scenario of the plan was made, and it runs under the plan's policy."),
    )
    return redirect(f"{reverse('plans-answer', args=[question.pk])}#tried")


def _form_url(question: Question) -> str:
    """Return the address of the form with this objective."""
    name = {"cluster": question.snapshot.cluster.name} if question.snapshot else {}
    return f"{reverse('plans')}?{urlencode({**name, **initial_of(question.asked)})}"


def _render_progress(request: PageRequest, question: Question) -> HttpResponse:
    return render_waiting(
        request,
        question,
        gettext("Plan of moves"),
        address=reverse("plans-answer", args=[question.pk]),
        form_address=_form_url(question),
        more={"detail": objectives.describe_objective(question.asked), "unit": gettext("tries")},
    )


def _render_file(form: str, name: str, answer: Json) -> HttpResponseBase:
    if form == "csv":
        return export_table(form, f"{name}-plan", tables.MOVES, answers.move_rows(answer))
    if form == "kubectl":
        response = HttpResponse(answers.render_script(answer), content_type="text/x-shellscript; charset=utf-8")
        file = f"{name}-plan.sh"
    elif form == "evictions":
        response, file = JsonResponse(answer["evictions"], safe=False), f"{name}-evictions.json"
    elif form == "json":
        response, file = JsonResponse(answer), f"{name}-plan.json"
    else:
        raise Http404("There is no file of this kind: json, evictions, csv or kubectl.")
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response
