"""The page Moves: a dry run of the descheduler as an answer, a table, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may, may_change
from kschedweb.advice.moves import answers, selectors, services, trying, words
from kschedweb.advice.moves.forms import MovesForm
from kschedweb.advice.moves.questions import Asked
from kschedweb.engine.patience import NotNow
from kschedweb.jobs.models import ENDED
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.web import told
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.exports import export

if TYPE_CHECKING:
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

PAGE = "advice/moves/moves.html"
PAGE_SIZE = 50
Json = dict[str, Any]


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def moves(request: PageRequest) -> HttpResponseBase:
    """What a cycle would evict: a GET answers quick questions, a POST starts a job for the others."""
    scope = scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/nothing.html", {"noun": "moves"})
    if scope.revision is None:
        raise Http404("There is no such policy or revision.")
    revision = profiles_only(scope.revision)
    kept = {name: request.GET[name] for name in ("policy", "revision", "snapshot") if request.GET.get(name)}
    query = urlencode({"cluster": snapshot.cluster.name, **kept})
    context: Json = {"kept": query, "policy": told.words(f"{revision.policy.name}, revision {revision.number}")}
    form = MovesForm(request.POST if request.method == "POST" else request.GET)
    if not form.asks:
        return render(request, PAGE, {**context, "form": MovesForm()})
    context["form"] = form
    if not form.is_valid():
        return render(request, PAGE, context, status=400)
    try:
        asked = form.asked()
        context["descheduler"] = asked.label
        about: Json = {"user": request.user, "snapshot": snapshot, "revision": revision, "asked": asked}
        found = _sought(about)
        if request.method == "POST":
            return _answered(request, form, query, found, about)
    except ApplicationError as error:
        form.add_error(None, error.detail)
        context["running"] = selectors.unanswered(request.user) if isinstance(error, Conflict) else None
        return render(request, PAGE, context, status=error.status)
    return _shown(request, found, snapshot.cluster.name, {**context, "later": found is None})


@require_POST
@requires(Action.EDIT)
def tried(request: PageRequest) -> HttpResponse:
    """Make a scenario of the snapshot with the descheduler that the form names, and run it."""
    scope = scope_of(request)
    snapshot, form = scope.snapshot_asked(), MovesForm(request.POST)
    if snapshot is None or scope.revision is None:
        raise Http404("There is no such cluster, policy or revision.")
    if not form.is_valid():
        raise ApplicationError("; ".join(str(said) for errors in form.errors.values() for said in errors))
    return _run(request, snapshot, profiles_only(scope.revision), form.asked())


@require_POST
@requires(Action.EDIT)
def answer_tried(request: PageRequest, question_id: UUID) -> HttpResponse:
    """The same with what a job was asked."""
    question = selectors.question_get(question_id)
    if question.snapshot is None or question.revision is None:
        raise Conflict("The snapshot or the policy was deleted in the meantime.")
    return _run(request, question.snapshot, question.revision, Asked(**question.asked))


def _run(request: PageRequest, snapshot: Snapshot, revision: Revision, asked: Asked) -> HttpResponse:
    made = trying.moves_try(user=request.user, snapshot=snapshot, revision=revision, asked=asked)
    said = gettext("The scenario “%(name)s” was made, and this is its run.")
    messages.success(request, said % {"name": made.revision.scenario.name})
    return redirect("run", made.pk)


def _sought(about: Json) -> Json | None:
    """The answer; ``None`` if a job is needed."""
    try:
        return services.answer_at_once(**about)
    except NotNow:
        return None


def _answered(request: PageRequest, form: MovesForm, query: str, found: Json | None, about: Json) -> HttpResponse:
    """The address of the answer: the page's own, or that of a question which a job answers."""
    if found is None:
        return redirect("descheduling-answer", services.question_ask(**about).pk)
    said = {name: form.data[name] for name in form.fields if form.data.get(name)}
    return redirect(f"{request.path}?{query}&{urlencode(said)}")


@require_safe
@requires(Action.VIEW)
def answer(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """The answer of a job, or its progress."""
    question = selectors.question_get(question_id)
    asked = question.asked
    context: Json = {"question": question, "descheduler": asked["label"], "policy": question.policy}
    name = question.snapshot.cluster.name if question.snapshot else ""
    context["kept"] = urlencode({"cluster": name} if name else {})
    found = selectors.answer_of(question)
    if found is not None:
        return _shown(request, found, name or "cluster", context)
    job = question.job
    context |= {"job": job, "ended": job is None or job.state in ENDED, "again": reverse("descheduling")}
    context |= {"address": reverse("descheduling-answer", args=[question.pk])}
    context["may_cancel"] = job is not None and may_change(request.user, job)
    part = request.htmx and not context["ended"]
    return render(request, "parts/waits.html" if part else "advice/moves/waiting.html", context)


def _shown(request: PageRequest, found: Json | None, name: str, context: Json) -> HttpResponseBase:
    """The page with its answer, or the answer as a file (?format=); only the form if there is no answer."""
    if found is None:
        return render(request, PAGE, context)
    file = request.GET.get("format", "")
    if file == "csv":
        return export(file, f"{name}-moves", answers.HEAD, answers.rows(found))
    if file == "json":
        response: HttpResponse = JsonResponse(found)
        response["Content-Disposition"] = f'attachment; filename="{name}-moves.json"'
        return response
    if file == "kubectl":
        response = HttpResponse("".join(answers.kubectl(found)), content_type="text/x-shellscript; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{name}-evictions.sh"'
        return response
    plugin = request.GET.get("plugin", "")
    landings = [one for one in found["landings"] if plugin in ("", one["plugin"])]
    order = {one["plugin"]: place for place, one in enumerate(words.by_plugin(found))}
    landings.sort(key=lambda one: (order[one["plugin"]], one["node"]))
    context |= {
        "found": found,
        "answer": words.sentence(found),
        "gains": words.gains(found),
        "plugins": words.by_plugin(found),
        "plugin": plugin,
        "may_try": may(request.user.role, Action.EDIT),
        "tried": {name: request.GET[name] for name in MovesForm.base_fields if request.GET.get(name)},
        "page": Paginator(landings, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    response = render(request, PAGE, context)
    if request.htmx:
        response["HX-Refresh"] = "true"
    return response
