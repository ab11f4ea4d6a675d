"""The page on which a policy change is tried: what is changed and where, what it does, and what is done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from kschedweb.accounts.permissions import require_action, requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.playground.runs.selectors import revision_asked as scenario_asked
from kschedweb.playground.trying import answer_context, selectors, sentences, services
from kschedweb.playground.trying.changes import Content, PolicyEdit, apply_change, list_offers
from kschedweb.playground.trying.forms import (
    InsteadForm,
    SaveForm,
    ScenarioForm,
    ThresholdsForm,
    WeightsForm,
    WhereForm,
)
from kschedweb.playground.trying.targets import ChangeTarget
from kschedweb.policies.revisions.history import EditHistory
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.policies.views import editor_parts, read_posted_with_history
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_rows
from kschedweb.web.heavy import heavy
from kschedweb.web.messages import translate_words
from kschedweb.web.pages import add_errors, page_part

if TYPE_CHECKING:
    from django import forms
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.playground.trying.models import TriedChange
    from kschedweb.policies.dialect import EditorState
    from kschedweb.policies.models import Policy

    # The editor, and what can be undone in it.
    Edited = tuple[EditorState[Any, Any], EditHistory]

NO_EDITOR = "An editor may try a policy change."


@heavy
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_trying(request: PageRequest) -> HttpResponse:
    """Show the page; a POST tries a change, or redraws the editor after one of its buttons."""
    if request.method == "POST":
        require_action(request.user, Action.EDIT, refusal=NO_EDITOR)
    target = ChangeTarget.from_request(request)
    if target is None:
        return render(request, "dashboard/no_data.html", {"noun": "cluster"})
    if request.method != "POST":
        return _render_door(request, target)
    edited = read_posted_with_history(request, target.base) if "document" in request.POST else None
    change_forms = _change_forms(target, request.POST)
    try:
        content = _content_from_form(target, change_forms, edited[0] if edited else None, request)
        if content is None:
            # A button of the editor posts no "do" and only redraws the page.
            status = 422 if request.POST.get("do") else 200
            return _render_door(request, target, change_forms, edited, status=status)
        try_request = services.TryRequest(target.base, content, target.snapshot, target.scenario, target.pod)
        tried_change = services.change_try(user=request.user, request=try_request)
    except ApplicationError as error:
        form = change_forms.get(request.POST.get("do", ""))
        if form is not None:
            form.add_error("instead" if isinstance(form, InsteadForm) else None, _error_text(error))
        return _render_door(
            request, target, change_forms, edited, status=error.status, refused=None if form is not None else error
        )
    return redirect("tried", tried_change.pk)


@heavy
@require_http_methods(["GET", "HEAD"])
@requires(Action.VIEW)
def show_weights(request: PageRequest, name: str) -> HttpResponse:
    """Show the weights of a policy with their effect on the chosen cluster, as the first page of the policy."""
    policy_get(name)
    target = ChangeTarget.from_request(request)
    if target is None or not target.base.policy.dialect.decides:
        return redirect("policy", name)
    return _render_door(request, target, of_policy=True)


@heavy
@require_POST
@requires(Action.VIEW)
@page_part
def show_effect(request: PageRequest) -> HttpResponse:
    """Show the effect of the posted weights, while sliders move. Nothing is stored."""
    target = ChangeTarget.from_request(request)
    if target is None:
        return render(request, "playground/trying/no_effect.html", {"reason": "cluster"})
    form = WeightsForm(list_offers(target.base, target.version), request.POST)
    context: dict[str, object] = {"target": target, "base": target.base, "form": form}
    if not form.is_valid():
        return render(request, "playground/trying/no_effect.html", context | {"reason": "form"})
    try:
        content = apply_change(target.base, form.change)
        answer = services.change_preview(
            request=services.TryRequest(target.base, content, target.snapshot, target.scenario, target.pod)
        )
    except DeadlineExceeded:
        return render(request, "playground/trying/no_effect.html", context | {"reason": "large"})
    except ApplicationError as error:
        return render(request, "playground/trying/no_effect.html", context | {"refused": _error_text(error)})
    context |= answer_context.build_effect(answer)
    context["live"] = form.change.values or form.change.release
    return render(request, "playground/trying/effect.html", context)


@require_POST
@requires(Action.EDIT)
@page_part
def preview_change(request: PageRequest, name: str) -> HttpResponse:
    """Render the form of the editor after a change of form or YAML, for htmx."""
    policy = policy_get(name)
    context = _editor_context(request, policy, *read_posted_with_history(request, revision_get(policy)))
    return render(request, "playground/trying/preview.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_tried(request: PageRequest, tried_id: UUID) -> HttpResponseBase:
    """Show what a change does, or how far its job is; a POST saves it, has it judged, or runs it over time."""
    if request.method == "POST":
        # Policies belong to the whole site, so a right on one cluster is not enough.
        saves = request.POST.get("do") == "save"
        require_action(request.user, Action.EDIT, site=saves, refusal=NO_EDITOR)
    tried_change = selectors.tried_get(request.user, tried_id)
    answer = selectors.answer_of(tried_change)
    if answer is None:
        return _render_progress(request, tried_change)
    if request.method == "POST":
        return _handle_next(request, tried_change, answer)
    if request.htmx:
        return load_again()
    if (file := request.GET.get("format")) in FORMATS:
        listed = selectors.list_changes(answer, outcome=request.GET.get("what", ""))
        return export_rows(
            file,
            f"change-{tried_change.pk}",
            answer_context.HEAD,
            (answer_context.export_row(change) for change in listed),
        )
    return _render_answer(request, tried_change, answer, _next_forms(request, tried_change))


def _content_from_form(
    target: ChangeTarget,
    change_forms: dict[str, forms.Form],
    editor: EditorState[Any, Any] | None,
    request: PageRequest,
) -> Content | None:
    """Return what the pressed button makes of the policy; ``None`` if there is nothing to try, or a form has errors."""
    do, key = request.POST.get("do", ""), request.POST.get("change", "")
    if key:
        return apply_change(target.base, PolicyEdit.from_key(key))
    form = change_forms.get(do)
    if isinstance(form, InsteadForm) and form.is_valid():
        return apply_change(
            target.base, PolicyEdit(Content.from_revision(revision_named(form.cleaned_data["instead"], "policy")))
        )
    if isinstance(form, WeightsForm) and form.is_valid():
        return apply_change(target.base, form.change)
    if do == "document" and editor is not None and editor.checked.valid:
        return Content(editor.document, dict(editor.process))
    return None


def _change_forms(target: ChangeTarget, data: Any = None) -> dict[str, forms.Form]:
    """Return the forms of single changes by the button that sends each; ``data`` is for that of the pressed one."""
    offered, do = list_offers(target.base, target.version), (data or {}).get("do", "")
    return {
        "weights": WeightsForm(offered, data if do == "weights" else None),
        "instead": InsteadForm(target.base, data if do == "instead" else None),
    }


def _error_text(error: ApplicationError) -> str:
    return "; ".join(problem["message"] for problem in error.errors) or error.detail


def _render_door(
    request: PageRequest,
    target: ChangeTarget,
    change_forms: dict[str, forms.Form] | None = None,
    edited: Edited | None = None,
    *,
    status: int = 200,
    refused: ApplicationError | None = None,
    of_policy: bool = False,
) -> HttpResponse:
    """Render the page on which a change is chosen; ``of_policy`` as a page of its policy."""
    scope = scope_of(request)
    chosen = {
        "policy": target.base.policy.name,
        "cluster": scope.cluster.name if scope.cluster else "",
        "scenario": str(target.scenario.scenario_id) if target.scenario else "",
    }
    context = _door_context(request, target, change_forms or _change_forms(target), edited)
    context["place_form"] = WhereForm(request.user, chosen, policies=scope.policies, clusters=scope.clusters)
    context |= {"refused": refused, "open_editor": edited is not None, "of_policy": of_policy}
    return render(request, "playground/trying/change_form_page.html", context, status=status)


def _door_context(
    request: PageRequest, target: ChangeTarget, change_forms: dict[str, forms.Form], edited: Edited | None = None
) -> dict[str, object]:
    """Return the context of the parts of the page that change the policy."""
    base = target.base
    edited = edited or _open_editor(request, target, base.document, base.process)
    return {
        "target": target,
        "base": base,
        "offers": list_offers(base, target.version),
        "forms": change_forms,
        **_editor_context(request, base.policy, *edited),
    }


def _editor_context(
    request: PageRequest, policy: Policy, editor: EditorState[Any, Any], history: EditHistory
) -> dict[str, object]:
    """Return the context of the editor's parts."""
    fields = f"{policy.dialect.templates}/_fields.html"
    return {**editor_parts(request, policy, editor, history), "fields_template": fields}


def _open_editor(request: PageRequest, target: ChangeTarget, document: str, process: Json) -> Edited:
    """Return the editor for a document that nobody edits yet."""
    editor = target.base.policy.dialect.open_editor(document, process, request.GET.dict())
    return editor, EditHistory(editor.process_fields)


def _render_progress(request: PageRequest, tried_change: TriedChange) -> HttpResponse:
    job, target = tried_change.job, ChangeTarget.from_tried_change(tried_change)
    scope_of(request).show(tried_change.snapshot, tried_change.base)
    steps = services.list_steps(tried_change)
    place = steps.index(job.step) if job is not None and job.step in steps else -1
    shown_steps = [
        (translate_words(step).rstrip(":："), "done" if at < place else "now" if at == place else "next")
        for at, step in enumerate(steps)
    ]
    return render_waiting(
        request,
        tried_change,
        template="playground/trying/waiting.html",
        address=reverse("tried", args=[tried_change.pk]),
        form_address=target.address if target else reverse("trying"),
        more={"tried_change": tried_change, "unit": "pods", "steps": shown_steps},
    )


def _next_forms(request: PageRequest, tried_change: TriedChange, data: Any = None) -> dict[str, forms.Form]:
    """Return the forms of what can be done with a tried change, by the button that sends each."""
    do = (data or {}).get("do", "")
    number = tried_change.base.number if tried_change.base else 0
    default_label = (
        gettext("A scenario of this snapshot")
        if tried_change.snapshot_id
        else gettext("The scenario on which it was tried")
    )
    of_policy = tried_change.base.policy.name if tried_change.base else tried_change.policy.partition("@")[0]
    return {
        "save": SaveForm(of_policy, number, data if do == "save" else None, only_draft=tried_change.base is None),
        "judge": ThresholdsForm(request.user, data if do == "judge" else {}),
        "compare": ScenarioForm(request.user, default_label, data if do == "compare" else None),
    }


def _handle_next(request: PageRequest, tried_change: TriedChange, answer: Json) -> HttpResponseBase:
    """Save the change, have it judged, or run it over time; return the page again if its form has errors."""
    do, next_forms = request.POST.get("do", ""), _next_forms(request, tried_change, request.POST)
    form, status = next_forms.get(do), 422
    if form is not None and form.is_valid():
        try:
            return _do_next(request, tried_change, form)
        except ApplicationError as error:
            add_errors(form, error)
            status = error.status
    return _render_answer(request, tried_change, answer, next_forms, status=status)


def _do_next(request: PageRequest, tried_change: TriedChange, form: forms.Form) -> HttpResponseBase:
    """Do what a valid form asks for, and redirect to its result."""
    user = request.user
    if isinstance(form, SaveForm):
        comment = form.cleaned_data["comment"]
        saved = services.change_save(user=user, tried_change=tried_change, name=form.draft, comment=comment)
        messages.success(
            request,
            gettext("Saved as revision %(revision)s of %(policy)s.")
            % {"revision": saved.number, "policy": saved.policy.name},
        )
        return redirect("policy-weights", saved.policy.name)
    if isinstance(form, ThresholdsForm):
        judged = services.change_judge(user=user, tried_change=tried_change, thresholds=form.thresholds)
        return redirect("gate-verdict", judged.pk)
    scenario_id = form.cleaned_data["scenario"]
    scenario = scenario_asked(user, scenario_id) if scenario_id else None
    return redirect("comparison", services.change_compare(user=user, tried_change=tried_change, scenario=scenario).pk)


def _render_answer(
    request: PageRequest,
    tried_change: TriedChange,
    answer: Json,
    next_forms: dict[str, forms.Form],
    status: int = 200,
) -> HttpResponse:
    """Render the answer of a tried change, with the forms for what can be done next."""
    scope_of(request).show(tried_change.snapshot, tried_change.base)
    context = {
        "tried_change": tried_change,
        "answer": answer,
        **answer_context.build_context(request.GET, tried_change, answer),
        "next": next_forms,
    }
    target = ChangeTarget.from_tried_change(tried_change)
    if target is not None:
        dialect = target.base.policy.dialect
        checked = dialect.check(tried_change.document, tried_change.process)
        same = bool(checked.valid)
        edited = _open_editor(request, target, tried_change.document, tried_change.process) if same else None
        change_forms = _change_forms(target)
        if same:
            # The sliders show what was tried.
            runs = dialect.load(tried_change.document, tried_change.started)
            shown = list_offers(target.base, target.version, runs)
            change_forms["weights"] = WeightsForm(list_offers(target.base, target.version), shown=shown)
        context |= _door_context(request, target, change_forms, edited)
        context["changes"] = sentences.list_changes(dialect, tried_change) if same else []
    return render(request, "playground/trying/answer.html", context, status=status)
