"""The page Moves: a dry run of the descheduler in a sentence, a table, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, role_allows
from kschedweb.advice.moves import answers, scenario_trials, selectors, services, tables, words
from kschedweb.advice.moves.forms import MovesForm
from kschedweb.advice.moves.models import Question
from kschedweb.advice.moves.requests import DryRunRequest, starting_request
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.jobs.inquiries import find_unanswered, may_open_answered
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.watermarks.node_maps import PodMove, map_moves, map_snapshot
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.exports import export_table
from kschedweb.web.messages import translate_words
from kschedweb.web.nodemap.nodemap import MapChoice, NodeMap

if TYPE_CHECKING:
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.models import User
    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

PAGE = "advice/moves/moves.html"
PAGE_SIZE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_moves(request: PageRequest) -> HttpResponseBase:
    """Show what a cycle would evict. A GET answers quick questions, a POST starts a job for others."""
    scope = scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "moves"})
    revision, query = profiles_only(scope.revision_asked()), scope.question_query(snapshot)
    context: dict[str, object] = {
        "scope_query": query,
        "policy": translate_words(f"{revision.policy.name}, revision {revision.number}"),
    }
    form = MovesForm(request.POST if request.method == "POST" else request.GET)
    if not form.is_submitted:
        opening = _open_answer(request.user, snapshot, revision)
        return _render_answer(request, opening, snapshot, {**context, "form": MovesForm()})
    context["form"] = form
    if not form.is_valid():
        return render(request, PAGE, context, status=400)
    try:
        dry_run_request = form.build_request()
        context["descheduler"] = dry_run_request.label
        answer = _find_answer(request.user, snapshot, revision, dry_run_request)
        if request.method == "POST":
            if answer is None:
                question = services.question_ask(
                    user=request.user, snapshot=snapshot, revision=revision, dry_run_request=dry_run_request
                )
                address = reverse("descheduling-answer", args=[question.pk])
            else:
                parameters = {name: form.data[name] for name in form.fields if form.data.get(name)}
                address = f"{request.path}?{query}&{urlencode(parameters)}"
            return redirect(address)
    except ApplicationError as error:
        form.add_error(None, error.detail)
        context["running"] = find_unanswered(Question, request.user) if isinstance(error, Conflict) else None
        return render(request, PAGE, context, status=error.status)
    return _render_answer(request, answer, snapshot, {**context, "later": answer is None})


@require_POST
@requires(Action.EDIT)
def try_moves(request: PageRequest) -> HttpResponse:
    """Make a scenario of the snapshot with the descheduler that the form names, and run it."""
    scope = scope_of(request)
    snapshot, form = scope.snapshot_asked(), MovesForm(request.POST)
    if snapshot is None or scope.revision is None:
        raise Http404("There is no such cluster, policy or revision.")
    if not form.is_valid():
        raise ApplicationError("; ".join(str(message) for errors in form.errors.values() for message in errors))
    return _start_run(request, snapshot, profiles_only(scope.revision), form.build_request())


@require_POST
@requires(Action.EDIT)
def try_answered_moves(request: PageRequest, question_id: UUID) -> HttpResponse:
    """Do the same with the request that a job answered."""
    question = selectors.question_get(question_id)
    if question.snapshot is None or question.revision is None:
        raise Conflict("The snapshot or the policy was deleted in the meantime.")
    return _start_run(request, question.snapshot, question.revision, DryRunRequest(**question.asked))


def _start_run(
    request: PageRequest, snapshot: Snapshot, revision: Revision, dry_run_request: DryRunRequest
) -> HttpResponse:
    run = scenario_trials.moves_try(
        user=request.user, snapshot=snapshot, revision=revision, dry_run_request=dry_run_request
    )
    message = gettext("The scenario “%(name)s” was made, and this is its run.")
    messages.success(request, message % {"name": run.revision.scenario.name})
    return redirect("run", run.pk)


def _open_answer(user: User, snapshot: Snapshot, revision: Revision) -> Json | None:
    """Return what the starting policy would do, if that is known or quick to find; else None."""
    if not may_open_answered(snapshot.counts.get("Node", 0)):
        return None
    dry_run_request = starting_request()
    try:
        return selectors.stored_answer(snapshot, revision, dry_run_request) or _find_answer(
            user, snapshot, revision, dry_run_request
        )
    # Nobody asked, so nobody is told why there is no answer.
    except ApplicationError:
        return None


def _find_answer(user: User, snapshot: Snapshot, revision: Revision, dry_run_request: DryRunRequest) -> Json | None:
    """Return the answer, None if a job is needed."""
    try:
        return services.answer_at_once(user=user, snapshot=snapshot, revision=revision, dry_run_request=dry_run_request)
    except DeadlineExceeded:
        return None


@require_safe
@requires(Action.VIEW)
def show_answer(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """Show the answer of a job, or its progress."""
    question = selectors.question_get(question_id)
    request_fields = question.asked
    context: dict[str, object] = {
        "question": question,
        "descheduler": request_fields["label"],
        "policy": question.policy,
    }
    snapshot = question.snapshot
    context["scope_query"] = urlencode({"cluster": snapshot.cluster.name} if snapshot else {})
    answer = question.read_answer()
    if answer is not None:
        return load_again() if request.htmx else _render_answer(request, answer, snapshot, context)
    detail = gettext("%(descheduler)s of the descheduler") % {"descheduler": translate_words(request_fields["label"])}
    return render_waiting(
        request,
        question,
        gettext("Moves"),
        address=reverse("descheduling-answer", args=[question.pk]),
        form_address=reverse("descheduling"),
        more={"detail": detail},
    )


def _render_answer(
    request: PageRequest, answer: Json | None, snapshot: Snapshot | None, context: dict[str, object]
) -> HttpResponseBase:
    """Render the page with its answer, or the answer as a file (?format=); only the form if there is no answer."""
    context["map"] = _map_landings(request, snapshot, answer) if snapshot else None
    if answer is None:
        return render(request, PAGE, context)
    file, name = request.GET.get("format", ""), snapshot.cluster.name if snapshot else "cluster"
    if file == "csv":
        return export_table(file, f"{name}-moves", tables.LANDINGS, answer["landings"])
    if file == "json":
        response: HttpResponse = JsonResponse(answer)
        response["Content-Disposition"] = f'attachment; filename="{name}-moves.json"'
        return response
    if file == "kubectl":
        response = HttpResponse(
            "".join(answers.kubectl_lines(answer)), content_type="text/x-shellscript; charset=utf-8"
        )
        response["Content-Disposition"] = f'attachment; filename="{name}-evictions.sh"'
        return response
    plugin = request.GET.get("plugin", "")
    landings = [landing for landing in answer["landings"] if plugin in ("", landing["plugin"])]
    plugins = words.group_by_plugin(answer)
    order = {group.plugin: place for place, group in enumerate(plugins)}
    landings.sort(key=lambda landing: (order[landing["plugin"]], landing["node"]))
    context |= {
        "answer": answer,
        "sentence": words.render_sentence(answer),
        "gains": words.list_gains(answer),
        "plugins": plugins,
        "cycles": [{"number": number, **cycle} for number, cycle in enumerate(answer["rounds"], 1)],
        "tables": tables,
        "plugin": plugin,
        "may_try": role_allows(request.user.role, Action.EDIT),
        "form_values": {name: request.GET[name] for name in MovesForm.base_fields if request.GET.get(name)},
        "page": Paginator(landings, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, PAGE, context)


def _map_landings(request: PageRequest, snapshot: Snapshot, answer: Json | None) -> NodeMap | None:
    """Return the nodes before and after the cycle; without an answer as they are."""
    choice = MapChoice.from_address(request.GET)
    if answer is None:
        return map_snapshot(snapshot, choice)
    moves = [PodMove(landing["pod"], landing["node"], landing["target"]) for landing in answer["landings"]]
    return map_moves(snapshot, moves, choice)
