"""The one door to a policy change: what is changed and where, what it does, and what is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from kschedweb.accounts.permissions import demand, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.selectors import revision_named
from kschedweb.jobs.models import ENDED
from kschedweb.playground.runs.selectors import revision_asked as scenario_asked
from kschedweb.playground.trying import selectors, services, shown, words
from kschedweb.playground.trying.asked import Asked
from kschedweb.playground.trying.changes import Change, Content, changed, offers
from kschedweb.playground.trying.forms import (
    InsteadForm,
    ReleaseForm,
    SaveForm,
    ScenarioForm,
    ThresholdsForm,
    WeightForm,
    WhereForm,
)
from kschedweb.policies.revisions.history import History
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.policies.views import editor_parts, worked_on
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import add_errors, part

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.dialect import EditorState
    from kschedweb.policies.models import Policy

    Edited = tuple[EditorState[Any, Any], History]  # the editor, and what can be undone in it

NO_EDITOR = "An editor may try a policy change."


@heavy
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def trying(request: PageRequest) -> HttpResponse:
    """The door: a POST tries a change, or redraws the editor after one of its buttons."""
    if request.method == "POST":
        demand(request.user, Action.EDIT, refusal=NO_EDITOR)
    asked = Asked.of(request)
    if asked is None:
        return render(request, "dashboard/nothing.html", {"noun": "cluster"})
    if request.method != "POST":
        return _door(request, asked)
    edited = worked_on(request, asked.base) if "document" in request.POST else None
    told = _forms(asked, request.POST)
    try:
        content = _content(asked, told, edited[0] if edited else None, request)
        if content is None:
            status = 422 if request.POST.get("do") else 200
            return _door(request, asked, told, edited, status=status)
        wanted = services.TryRequest(asked.base, content, asked.snapshot, asked.scenario, asked.pod)
        made = services.change_try(user=request.user, asked=wanted)
    except ApplicationError as error:
        form = told.get(request.POST.get("do", ""))
        if form is not None:
            form.add_error(list(form.fields)[-1], _said(error))
        return _door(request, asked, told, edited, status=error.status, refused=None if form is not None else error)
    return redirect("tried", made.pk)


@require_POST
@requires(Action.EDIT)
@part
def preview(request: PageRequest, name: str) -> HttpResponse:
    """The form of the editor after a change of form or YAML, for htmx."""
    found = policy_get(name)
    context = _editor(request, found, *worked_on(request, revision_get(found)))
    return render(request, "playground/trying/preview.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def tried(request: PageRequest, tried_id: UUID) -> HttpResponseBase:
    """What a change does, or how far its job is; a POST saves it, has it judged, or runs it over time."""
    if request.method == "POST":
        saves = request.POST.get("do") == "save"  # in the policies of the whole site
        demand(request.user, Action.EDIT, site=saves, refusal=NO_EDITOR)
    found = selectors.tried_get(request.user, tried_id)
    answer = selectors.answer_of(found)
    if answer is None:
        return _waits(request, found)
    if request.method == "POST":
        return _done(request, found, answer)
    if (file := request.GET.get("format")) in FORMATS:
        listed = selectors.changes(answer, what=request.GET.get("what", ""))
        return export(file, f"change-{found.pk}", shown.HEAD, (shown.cells(one) for one in listed))
    return _answer(request, found, answer, _next_forms(request, found))


def _content(
    asked: Asked, told: dict[str, forms.Form], editor: EditorState[Any, Any] | None, request: PageRequest
) -> Content | None:
    """What the pressed button makes of the policy; ``None`` where there is nothing to try, or a form has errors."""
    do, key = request.POST.get("do", ""), request.POST.get("change", "")
    if key:
        return changed(asked.base, Change.named(key))
    form = told.get(do)
    if isinstance(form, InsteadForm) and form.is_valid():
        return changed(asked.base, Change(Content.of(revision_named(form.cleaned_data["instead"], "policy"))))
    if isinstance(form, WeightForm | ReleaseForm) and form.is_valid():
        return changed(asked.base, form.change)
    if do == "document" and editor is not None and editor.checked.valid:
        return Content(editor.document, dict(editor.process))
    return None


def _forms(asked: Asked, data: Any = None) -> dict[str, forms.Form]:
    """The forms of single changes by the button that sends each; ``data`` is for that of the pressed one."""
    offered, do = offers(asked.base, asked.version), (data or {}).get("do", "")
    return {
        "weight": WeightForm(offered, data if do == "weight" else None),
        "release": ReleaseForm(offered, data if do == "release" else None),
        "instead": InsteadForm(asked.base, data if do == "instead" else None),
    }


def _said(error: ApplicationError) -> str:
    return "; ".join(one["message"] for one in error.errors) or error.detail


def _door(
    request: PageRequest,
    asked: Asked,
    told: dict[str, forms.Form] | None = None,
    edited: Edited | None = None,
    *,
    status: int = 200,
    refused: ApplicationError | None = None,
) -> HttpResponse:
    scope = scope_of(request)
    chosen = {
        "policy": asked.base.policy.name,
        "cluster": scope.cluster.name if scope.cluster else "",
        "scenario": str(asked.scenario.scenario_id) if asked.scenario else "",
    }
    context = _about(request, asked, told or _forms(asked), edited)
    context["where"] = WhereForm(request.user, chosen, policies=scope.policies, clusters=scope.clusters)
    context |= {"refused": refused, "open_editor": edited is not None}
    return render(request, "playground/trying/door.html", context, status=status)


def _about(
    request: PageRequest, asked: Asked, told: dict[str, forms.Form], edited: Edited | None = None
) -> dict[str, Any]:
    """What the parts of the page need that change the policy."""
    base = asked.base
    edited = edited or _opened(request, asked, base.document, base.process)
    return {
        "asked": asked,
        "base": base,
        "offers": offers(base, asked.version),
        "forms": told,
        **_editor(request, base.policy, *edited),
    }


def _editor(request: PageRequest, policy: Policy, editor: EditorState[Any, Any], history: History) -> dict[str, Any]:
    """The context of the editor's parts."""
    fields = f"{policy.dialect.templates}/_fields.html"
    return {**editor_parts(request, policy, editor, history), "fields_template": fields}


def _opened(request: PageRequest, asked: Asked, document: str, process: dict[str, Any]) -> Edited:
    """The editor for a document that nobody edits yet."""
    editor = asked.base.policy.dialect.opened(document, process, request.GET.dict())
    return editor, History(editor.process_fields)


def _waits(request: PageRequest, found: TriedChange) -> HttpResponse:
    job, asked = found.job, Asked.again(found)
    _scoped(request, found)
    ended = job is None or job.state in ENDED
    context = {"tried": found, "job": job, "ended": ended, "address": reverse("tried", args=[found.pk])}
    context |= {"again": asked.address if asked else reverse("trying"), "unit": "pods"}
    context["may_cancel"] = job is not None and may_change(request.user, job)
    part_only = request.htmx and not ended
    return render(request, "parts/waits.html" if part_only else "playground/trying/waiting.html", context)


def _next_forms(request: PageRequest, found: TriedChange, data: Any = None) -> dict[str, forms.Form]:
    """What can be done with a tried change, by the button that sends each form."""
    do = (data or {}).get("do", "")
    number = found.base.number if found.base else 0
    own = gettext("A scenario of this snapshot") if found.snapshot_id else gettext("The scenario on which it was tried")
    of_policy = found.base.policy.name if found.base else found.policy.partition("@")[0]
    return {
        "save": SaveForm(of_policy, number, data if do == "save" else None, only_draft=found.base is None),
        "judge": ThresholdsForm(request.user, data if do == "judge" else {}),
        "compare": ScenarioForm(request.user, own, data if do == "compare" else None),
    }


def _done(request: PageRequest, found: TriedChange, answer: dict[str, Any]) -> HttpResponseBase:
    """Save the change, have it judged, or run it over time; the page again where its form has errors."""
    do, told = request.POST.get("do", ""), _next_forms(request, found, request.POST)
    form, status = told.get(do), 422
    if form is not None and form.is_valid():
        try:
            return _do(request, found, form)
        except ApplicationError as error:
            add_errors(form, error)
            status = error.status
    return _answer(request, found, answer, told, status=status)


def _do(request: PageRequest, found: TriedChange, form: forms.Form) -> HttpResponseBase:
    user = request.user
    if isinstance(form, SaveForm):
        comment = form.cleaned_data["comment"]
        saved = services.change_save(user=user, tried=found, name=form.draft, comment=comment)
        messages.success(
            request,
            gettext("Saved as revision %(revision)s of %(policy)s.")
            % {"revision": saved.number, "policy": saved.policy.name},
        )
        return redirect("policy", saved.policy.name)
    if isinstance(form, ThresholdsForm):
        judged = services.change_judge(user=user, tried=found, thresholds=form.thresholds)
        return redirect("gate-verdict", judged.pk)
    named = form.cleaned_data["scenario"]
    scenario = scenario_asked(user, named) if named else None
    return redirect("comparison", services.change_compare(user=user, tried=found, scenario=scenario).pk)


def _answer(
    request: PageRequest, found: TriedChange, answer: dict[str, Any], told: dict[str, forms.Form], status: int = 200
) -> HttpResponse:
    _scoped(request, found)
    context = {"tried": found, "answer": answer, **shown.context(request.GET, found, answer), "next": told}
    asked = Asked.again(found)
    if asked is not None:
        dialect = asked.base.policy.dialect
        checked = dialect.check(found.document, found.process)
        same = bool(checked.valid)
        edited = _opened(request, asked, found.document, found.process) if same else None
        context |= _about(request, asked, _forms(asked), edited)
        context["changes"] = words.changes(dialect, found) if same else []
    response = render(request, "playground/trying/answer.html", context, status=status)
    if request.htmx:
        response["HX-Refresh"] = "true"
    return response


def _scoped(request: PageRequest, found: TriedChange) -> None:
    """Set the frame of the page to what the change was tried on."""
    scope = scope_of(request)
    scope.cluster, scope.snapshot = found.snapshot.cluster if found.snapshot else None, found.snapshot
    scope.policy, scope.revision = found.base.policy if found.base else None, found.base
