"""The scenario pages: list, new, import, editor, files, revisions, diff, export, copy, share, delete."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.engine.studies.document.schema import json_schema
from kschedweb.playground.scenarios import editor, selectors, services, transfer, uploads
from kschedweb.playground.scenarios.download import export_response
from kschedweb.playground.scenarios.editor import Choices
from kschedweb.playground.scenarios.effect import describe_effect, describe_real_use
from kschedweb.playground.scenarios.filters import ScenarioFilter
from kschedweb.playground.scenarios.forms import ImportForm, ScenarioCreateForm, UploadForm
from kschedweb.playground.scenarios.models import NAME_LIMIT, UNNAMED, Scenario, ScenarioRevision
from kschedweb.playground.scenarios.ready import ready_of
from kschedweb.policies.revisions.views import (
    NO_ATTEMPT,
    SaveAttempt,
    compare_revisions,
    handle_save,
    line_diff,
    number_of,
    restore_revision,
    schema_response,
)
from kschedweb.web.counting import format_count
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.pages import add_errors, page_part

if TYPE_CHECKING:
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.playground.scenarios.editor import Editor

PAGE_SIZE = 50


@require_safe
@requires(Action.VIEW)
def list_scenarios(request: PageRequest) -> HttpResponse:
    """Show the list: people's scenarios in a table, ready ones above as cards. A search covers both."""
    listed = selectors.scenario_list(request.user)
    searched = bool(request.GET.get("search"))
    filters = ScenarioFilter(request.GET, queryset=listed if searched else listed.filter(built_in=False))
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    ready = selectors.ready_list() if not searched and page.number == 1 else []
    return render(request, "playground/scenarios/list.html", {"page": page, "filters": filters, "ready": ready})


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT)
def scenario_new(request: PageRequest) -> HttpResponse:
    """Show the form of a new scenario; a POST creates it."""
    if request.method != "POST":
        form = ScenarioCreateForm(initial=_draft_fields(request), user=request.user)
        return render(request, "playground/scenarios/new.html", {"form": form})
    form = ScenarioCreateForm(request.POST, user=request.user)
    if not form.is_valid():
        return render(request, "playground/scenarios/new.html", {"form": form}, status=422)
    try:
        if form.copied_id:
            revision = selectors.revision_get(selectors.scenario_get(request.user, form.copied_id))
            fields = {key: form.cleaned_data[key] for key in ("name", "description")}
            scenario = services.scenario_copy(revision=revision, author=request.user, **fields)
        else:
            scenario = services.scenario_create(text=form.text, author=request.user)
    except ApplicationError as error:
        add_errors(form, error)
        return render(request, "playground/scenarios/new.html", {"form": form}, status=error.status)
    messages.success(
        request,
        gettext("Scenario %(name)s created. Add changes to the cluster, or pods that arrive.")
        % {"name": scenario.name},
    )
    return redirect("scenario", scenario.pk)


def _draft_fields(request: PageRequest) -> dict[str, str | None]:
    """Return the initial fields of a new scenario from the address: the snapshot to start from, and nodes to cordon."""
    cordon = request.GET.getlist("nodes") if "cordon" in request.GET else []
    if not cordon:
        return {"start": request.GET.get("snapshot")}
    more = f" and {len(cordon) - 1} more" if len(cordon) > 1 else ""
    name = f"{cordon[0]}{more} cordoned"[:NAME_LIMIT]
    return {"start": request.GET.get("snapshot"), "cordon": " ".join(cordon), "name": name}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT)
def scenario_import(request: PageRequest) -> HttpResponse:
    """Show the form of an import; a POST imports a file or a pasted document."""
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, object] = {"form": form, "limit": settings.UPLOAD_LIMIT // 1024 // 1024}
    if request.method != "POST":
        return render(request, "playground/scenarios/import.html", context)
    form = context["form"] = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, "playground/scenarios/import.html", context, status=422)
    upload = form.cleaned_data["file"]
    name, source = (upload.name, upload) if upload else ("The text", BytesIO(form.cleaned_data["text"].encode()))
    try:
        with uploads.receive_file(source, settings.UPLOAD_LIMIT) as content:
            imported = transfer.read_export(name, content, limit=settings.UPLOAD_LIMIT)
            scenario = services.scenario_import(imported=imported, author=request.user)
    except services.InvalidScenario as error:
        context["problems"] = error.errors
        form.add_error("file" if upload else "text", error.detail)
        # A pasted document can be corrected on the page; an export with files cannot.
        if not imported.files:
            form.show_pasted(imported.text)
        return render(request, "playground/scenarios/import.html", context, status=error.status)
    except ApplicationError as error:
        form.add_error("file" if upload else "text", error.detail)
        return render(request, "playground/scenarios/import.html", context, status=error.status)
    messages.success(request, gettext("Scenario %(name)s imported.") % {"name": scenario.name})
    if remarks := imported.all_remarks:
        messages.warning(
            request,
            gettext("%(count)s remarks on its objects. The first: %(first)s.")
            % {"count": len(remarks), "first": remarks[0]},
        )
    return redirect("scenario", scenario.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_scenario(request: PageRequest, scenario_id: UUID) -> HttpResponseBase:
    """Show the editor. Each of its buttons is a POST, so it works without JavaScript."""
    if request.method == "POST":
        return _save_edited(request, scenario_id)
    scenario = selectors.scenario_get(request.user, scenario_id)
    revision = selectors.revision_get(scenario, number_of(request, "revision"))
    return _editor_page(request, scenario, revision, editor.open_editor(revision.text, _form_choices(scenario)))


@requires(Action.EDIT)
def _save_edited(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Save the edited document, or show the editor again with what is wrong."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    newest = selectors.revision_get(scenario)
    edited = editor.open_posted(request.POST.dict(), _form_choices(scenario))

    def store_text(text: str, comment: str, expected: int) -> int:
        try:
            saved = services.scenario_save(
                scenario=scenario, text=text, comment=comment, expected=expected, author=request.user
            )
        except services.InvalidScenario as error:
            edited.add_problems(error.problems)
            raise
        return saved.number

    attempt = handle_save(request, edited, newest.number, store_text)
    if attempt is not None:
        return _editor_page(request, scenario, newest, edited, attempt)
    return redirect("scenario", scenario.pk)


@require_POST
@requires(Action.EDIT)
def scenario_preview(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Render the parts of the editor that follow from form and YAML, for htmx."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    edited = editor.open_posted(request.POST.dict(), _form_choices(scenario))
    return render(request, "playground/scenarios/_preview.html", _editor_context(request, scenario, edited))


@require_POST
@requires(Action.VIEW)
def scenario_effect(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Render the effect of the document on the cluster, for htmx."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    edited = editor.open_posted(request.POST.dict(), _form_choices(scenario))
    return render(request, "playground/scenarios/_effect.html", _effect_context(scenario, edited))


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def scenario_files(request: PageRequest, scenario_id: UUID) -> HttpResponseBase:
    if request.method == "POST":
        return _file_added(request, scenario_id)
    return _files_page(request, selectors.scenario_get(request.user, scenario_id), UploadForm())


@requires(Action.EDIT)
def _file_added(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Add an uploaded file, or show the form again with what is wrong."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _files_page(request, scenario, form, status=422)
    file = form.cleaned_data["file"]
    try:
        with uploads.receive_file(file, settings.UPLOAD_LIMIT) as content:
            upload = uploads.read_upload(form.cleaned_data["name"] or file.name, content, limit=settings.UPLOAD_LIMIT)
            row = services.file_add(scenario=scenario, upload=upload, author=request.user)
    except ApplicationError as error:
        add_errors(form, error)
        return _files_page(request, scenario, form, status=error.status)
    message = gettext("%(file)s uploaded: %(lines)s, %(kind)s.") % {
        "file": row.name,
        "lines": format_count(row.lines, "lines"),
        "kind": row.get_kind_display(),
    }
    if row.problems:
        messages.warning(
            request,
            gettext("%(said)s Lines that cannot be used or are read differently are listed with it.")
            % {"said": message},
        )
    else:
        messages.success(request, message)
    return redirect("scenario-files", scenario.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@page_part
def scenario_file(request: PageRequest, scenario_id: UUID, name: str) -> HttpResponseBase:
    """Return a file as text; a POST deletes it."""
    if request.method == "POST":
        return _file_deleted(request, scenario_id, name)
    row = selectors.file_get(selectors.scenario_get(request.user, scenario_id), name)
    response = HttpResponse(uploads.read_text(row), content_type="text/plain; charset=utf-8")
    # Always a download: a browser must not show text that a person uploaded as a page of this site.
    response["Content-Disposition"] = f'attachment; filename="{row.name}"'
    return response


@requires(Action.EDIT)
def _file_deleted(request: PageRequest, scenario_id: UUID, name: str) -> HttpResponse:
    scenario = selectors.scenario_get(request.user, scenario_id)
    services.file_delete(scenario=scenario, name=name, author=request.user)
    messages.success(request, gettext("%(name)s deleted.") % {"name": name})
    return redirect("scenario-files", scenario.pk)


@require_safe
@requires(Action.VIEW)
def scenario_revisions(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    scenario = selectors.scenario_get(request.user, scenario_id)
    page = Paginator(selectors.revision_list(scenario).defer("text"), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(
        request, "playground/scenarios/revisions.html", {**_scenario_context(request, scenario), "page": page}
    )


@require_POST
@requires(Action.EDIT)
def scenario_restore(request: PageRequest, scenario_id: UUID, number: int) -> HttpResponse:
    scenario = selectors.scenario_get(request.user, scenario_id)

    def store_restored(expected: int) -> int:
        revision = services.scenario_restore(scenario=scenario, number=number, expected=expected, author=request.user)
        return revision.number

    restore_revision(request, number, store_restored)
    return redirect("scenario-revisions", scenario.pk)


@require_safe
@requires(Action.VIEW)
def scenario_diff(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    scenario = selectors.scenario_get(request.user, scenario_id)
    old, new, context = compare_revisions(request, partial(selectors.revision_get, scenario), scenario.newest)
    context |= _scenario_context(request, scenario)
    context |= line_diff(old.text, new.text, f"revision {old.number}", f"revision {new.number}")
    return render(request, "playground/scenarios/diff.html", context)


@require_safe
@requires(Action.VIEW)
@page_part
def scenario_export(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Export a revision."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    return export_response(selectors.revision_get(scenario, number_of(request, "revision")))


@require_POST
@requires(Action.EDIT)
def scenario_copy(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    scenario = selectors.scenario_get(request.user, scenario_id)
    copy = services.scenario_copy(revision=selectors.revision_get(scenario), author=request.user)
    messages.success(
        request, gettext("%(copy)s is your own copy of %(name)s.") % {"copy": copy.name, "name": scenario.name}
    )
    return redirect("scenario", copy.pk)


@require_POST
@requires(Action.EDIT)
def scenario_share(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Share a scenario with everyone who is signed in, or unshare it."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    shared = request.POST.get("shared") == "1"
    try:
        services.scenario_share(scenario=scenario, shared=shared, author=request.user)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect("scenario", scenario.pk)
    message = gettext("Only you and admins can read it.")
    if shared:
        message = gettext("Everyone who is signed in can read it under this address.")
    messages.success(request, message)
    return redirect("scenario", scenario.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT)
def scenario_delete(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Ask before a scenario is deleted; a POST deletes it."""
    scenario = selectors.scenario_get(request.user, scenario_id)
    if request.method != "POST":
        return render(request, "playground/scenarios/delete.html", _scenario_context(request, scenario))
    try:
        services.scenario_delete(scenario=scenario, author=request.user)
    except ApplicationError as error:
        context = {**_scenario_context(request, scenario), "refused": error}
        return render(request, "playground/scenarios/delete.html", context, status=error.status)
    messages.success(request, gettext("Scenario %(name)s deleted.") % {"name": scenario.name})
    return redirect("scenarios")


@require_GET
@requires(Action.VIEW)
@page_part
def scenario_schema(request: PageRequest) -> HttpResponse:
    return schema_response(json_schema())


def _editor_page(
    request: PageRequest,
    scenario: Scenario,
    revision: ScenarioRevision,
    edited: Editor,
    attempt: SaveAttempt = NO_ATTEMPT,
) -> HttpResponse:
    """Render the editor, with the result of an attempt to save."""
    context = _editor_context(request, scenario, edited) | attempt.to_context(scenario.newest) | {"revision": revision}
    context["real_use"] = describe_real_use(revision.document) if revision.document.get("use") else ""
    # Somebody saved meanwhile: the page shows the difference, and saving again replaces that revision knowingly.
    if attempt.conflict is not None:
        newest = selectors.revision_get(scenario)
        context |= {"newest": newest, "expected": newest.number}
        context |= line_diff(newest.text, edited.document, f"revision {newest.number}", "yours")
    return render(request, "playground/scenarios/edit.html", context, status=attempt.status)


def _editor_context(request: PageRequest, scenario: Scenario, edited: Editor) -> dict[str, object]:
    return {**_scenario_context(request, scenario), "editor": edited}


def _effect_context(scenario: Scenario, edited: Editor) -> dict[str, object]:
    if not edited.checked.valid:
        return {}
    try:
        start = selectors.start_of(scenario, edited.checked)
        prepared = selectors.prepare_preview(edited.document, start, scenario)
    except Unprocessable as error:
        return {"refused": error}
    return {"effect": describe_effect(start.objects, prepared, edited.checked.document), "start": start}


def _scenario_context(request: PageRequest, scenario: Scenario) -> dict[str, object]:
    """Return the context that all pages of a scenario share."""
    return {
        "scenario": scenario,
        "owner": scenario,
        "kind": "scenario",
        "key": scenario.pk,
        "may_copy": request.user.may(Action.EDIT),
        "may_change": may_change(request.user, scenario) and not scenario.built_in,
        "explained": ready_of(scenario.pk) is not None,
    }


def _files_page(request: PageRequest, scenario: Scenario, form: UploadForm, status: int = 200) -> HttpResponse:
    context = {**_scenario_context(request, scenario), "form": form, "files": selectors.file_list(scenario)}
    return render(request, "playground/scenarios/files.html", context, status=status)


def _form_choices(scenario: Scenario) -> Choices:
    files = selectors.file_list(scenario).exclude(kind__in=UNNAMED).values_list("name", flat=True)
    return Choices(selectors.snapshot_choices(), tuple(files))
