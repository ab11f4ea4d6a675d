"""The scenario pages: list, new, import, editor, files, revisions, diff, export, copy, share, delete."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

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
from kschedweb.playground.scenarios.effect import effect, used
from kschedweb.playground.scenarios.filters import ScenarioFilter
from kschedweb.playground.scenarios.forms import ImportForm, ScenarioCreateForm, UploadForm
from kschedweb.playground.scenarios.models import NAME_LIMIT, UNNAMED, Scenario, ScenarioRevision
from kschedweb.playground.scenarios.ready import ready_of
from kschedweb.policies.revisions.views import (
    UNTRIED,
    Attempt,
    compared,
    line_diff,
    number_of,
    restored,
    schema_response,
    tried,
)
from kschedweb.web.counting import counted
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable
from kschedweb.web.pages import add_errors, part

if TYPE_CHECKING:
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.playground.scenarios.editor import Editor

PAGE_SIZE = 50


@require_safe
@requires(Action.VIEW)
def scenarios(request: PageRequest) -> HttpResponse:
    """The list: people's scenarios in a table, ready ones above as cards. A search covers both."""
    listed = selectors.scenario_list(request.user)
    searched = bool(request.GET.get("search"))
    filters = ScenarioFilter(request.GET, queryset=listed if searched else listed.filter(built_in=False))
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    ready = selectors.ready_list() if not searched and page.number == 1 else []
    return render(request, "playground/scenarios/list.html", {"page": page, "filters": filters, "ready": ready})


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT)
def scenario_new(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        form = ScenarioCreateForm(initial=_draft(request), user=request.user)
        return render(request, "playground/scenarios/new.html", {"form": form})
    form = ScenarioCreateForm(request.POST, user=request.user)
    if not form.is_valid():
        return render(request, "playground/scenarios/new.html", {"form": form}, status=422)
    try:
        if form.copied:
            revision = selectors.revision_get(selectors.scenario_get(request.user, form.copied))
            about = {key: form.cleaned_data[key] for key in ("name", "description")}
            made = services.scenario_copy(revision=revision, author=request.user, **about)
        else:
            made = services.scenario_create(text=form.text, author=request.user)
    except ApplicationError as error:
        add_errors(form, error)
        return render(request, "playground/scenarios/new.html", {"form": form}, status=error.status)
    messages.success(
        request,
        gettext("Scenario %(name)s created. Add changes to the cluster, or pods that arrive.") % {"name": made.name},
    )
    return redirect("scenario", made.pk)


def _draft(request: PageRequest) -> dict[str, str | None]:
    """What an address says of a new scenario: the snapshot that it starts from, and nodes to cordon."""
    cordon = request.GET.getlist("nodes") if "cordon" in request.GET else []
    if not cordon:
        return {"start": request.GET.get("snapshot")}
    more = f" and {len(cordon) - 1} more" if len(cordon) > 1 else ""
    name = f"{cordon[0]}{more} cordoned"[:NAME_LIMIT]
    return {"start": request.GET.get("snapshot"), "cordon": " ".join(cordon), "name": name}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT)
def scenario_import(request: PageRequest) -> HttpResponse:
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form, "limit": settings.UPLOAD_LIMIT // 1024 // 1024}
    if request.method != "POST":
        return render(request, "playground/scenarios/import.html", context)
    form = context["form"] = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, "playground/scenarios/import.html", context, status=422)
    upload = form.cleaned_data["file"]
    name, sent = (upload.name, upload) if upload else ("The text", BytesIO(form.cleaned_data["text"].encode()))
    try:
        with uploads.received(sent, settings.UPLOAD_LIMIT) as content:
            imported = transfer.read(name, content, limit=settings.UPLOAD_LIMIT)
            made = services.scenario_import(imported=imported, author=request.user)
    except services.InvalidDocument as error:
        context["problems"] = error.errors
        form.add_error("file" if upload else "text", error.detail)
        if not imported.files:
            form.keep(imported.text)
        return render(request, "playground/scenarios/import.html", context, status=error.status)
    except ApplicationError as error:
        form.add_error("file" if upload else "text", error.detail)
        return render(request, "playground/scenarios/import.html", context, status=error.status)
    messages.success(request, gettext("Scenario %(name)s imported.") % {"name": made.name})
    if said := imported.said:
        messages.warning(
            request,
            gettext("%(count)s remarks on its objects. The first: %(first)s.") % {"count": len(said), "first": said[0]},
        )
    return redirect("scenario", made.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def scenario(request: PageRequest, scenario_id: UUID) -> HttpResponseBase:
    """The editor. Each of its buttons is a POST, so it works without JavaScript."""
    if request.method == "POST":
        return _edited(request, scenario_id)
    found = selectors.scenario_get(request.user, scenario_id)
    revision = selectors.revision_get(found, number_of(request, "revision"))
    return _editor_page(request, found, revision, editor.opened(revision.text, _choices(found)))


@requires(Action.EDIT)
def _edited(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    newest = selectors.revision_get(found)
    shown = editor.posted(request.POST.dict(), _choices(found))

    def store(text: str, comment: str, expected: int) -> int:
        try:
            saved = services.scenario_save(
                scenario=found, text=text, comment=comment, expected=expected, author=request.user
            )
        except services.InvalidDocument as error:
            shown.refused(error.problems)
            raise
        return saved.number

    attempt = tried(request, shown, newest.number, store)
    if attempt is not None:
        return _editor_page(request, found, newest, shown, attempt)
    return redirect("scenario", found.pk)


@require_POST
@requires(Action.EDIT)
def scenario_preview(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Parts of the editor after a change of form or YAML, for htmx."""
    found = selectors.scenario_get(request.user, scenario_id)
    shown = editor.posted(request.POST.dict(), _choices(found))
    return render(request, "playground/scenarios/_preview.html", _editor_context(request, found, shown))


@require_POST
@requires(Action.VIEW)
def scenario_effect(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """The effect of the document on the cluster, for htmx."""
    found = selectors.scenario_get(request.user, scenario_id)
    shown = editor.posted(request.POST.dict(), _choices(found))
    return render(request, "playground/scenarios/_effect.html", _effect(found, shown))


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def scenario_files(request: PageRequest, scenario_id: UUID) -> HttpResponseBase:
    if request.method == "POST":
        return _file_added(request, scenario_id)
    return _files_page(request, selectors.scenario_get(request.user, scenario_id), UploadForm())


@requires(Action.EDIT)
def _file_added(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _files_page(request, found, form, status=422)
    file = form.cleaned_data["file"]
    try:
        with uploads.received(file, settings.UPLOAD_LIMIT) as content:
            upload = uploads.read(form.cleaned_data["name"] or file.name, content, limit=settings.UPLOAD_LIMIT)
            row = services.file_add(scenario=found, upload=upload, author=request.user)
    except ApplicationError as error:
        add_errors(form, error)
        return _files_page(request, found, form, status=error.status)
    said = gettext("%(file)s uploaded: %(lines)s, %(kind)s.") % {
        "file": row.name,
        "lines": counted(row.lines, "lines"),
        "kind": row.get_kind_display(),
    }
    if row.problems:
        messages.warning(
            request,
            gettext("%(said)s Lines that cannot be used or are read differently are listed beside it.")
            % {"said": said},
        )
    else:
        messages.success(request, said)
    return redirect("scenario-files", found.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@part
def scenario_file(request: PageRequest, scenario_id: UUID, name: str) -> HttpResponseBase:
    """A file; a POST deletes it."""
    if request.method == "POST":
        return _file_deleted(request, scenario_id, name)
    row = selectors.file_get(selectors.scenario_get(request.user, scenario_id), name)
    response = HttpResponse(uploads.plain(row), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{row.name}"'
    return response


@requires(Action.EDIT)
def _file_deleted(request: PageRequest, scenario_id: UUID, name: str) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    services.file_delete(scenario=found, name=name, author=request.user)
    messages.success(request, gettext("%(name)s deleted.") % {"name": name})
    return redirect("scenario-files", found.pk)


@require_safe
@requires(Action.VIEW)
def scenario_revisions(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    page = Paginator(selectors.revision_list(found).defer("text"), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "playground/scenarios/revisions.html", {**_about(request, found), "page": page})


@require_POST
@requires(Action.EDIT)
def scenario_restore(request: PageRequest, scenario_id: UUID, number: int) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)

    def store(expected: int) -> int:
        made = services.scenario_restore(scenario=found, number=number, expected=expected, author=request.user)
        return made.number

    restored(request, number, store)
    return redirect("scenario-revisions", found.pk)


@require_safe
@requires(Action.VIEW)
def scenario_diff(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    old, new, context = compared(request, partial(selectors.revision_get, found), found.newest)
    context |= _about(request, found)
    context |= line_diff(old.text, new.text, f"revision {old.number}", f"revision {new.number}")
    return render(request, "playground/scenarios/diff.html", context)


@require_safe
@requires(Action.VIEW)
@part
def scenario_export(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    """Export a revision."""
    found = selectors.scenario_get(request.user, scenario_id)
    return export_response(selectors.revision_get(found, number_of(request, "revision")))


@require_POST
@requires(Action.EDIT)
def scenario_copy(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    copy = services.scenario_copy(revision=selectors.revision_get(found), author=request.user)
    messages.success(
        request, gettext("%(copy)s is your own copy of %(name)s.") % {"copy": copy.name, "name": found.name}
    )
    return redirect("scenario", copy.pk)


@require_POST
@requires(Action.EDIT)
def scenario_share(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    shared = request.POST.get("shared") == "1"
    try:
        services.scenario_share(scenario=found, shared=shared, author=request.user)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect("scenario", found.pk)
    said = gettext("Only you and admins can read it.")
    if shared:
        said = gettext("Everyone who is signed in can read it under this address.")
    messages.success(request, said)
    return redirect("scenario", found.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT)
def scenario_delete(request: PageRequest, scenario_id: UUID) -> HttpResponse:
    found = selectors.scenario_get(request.user, scenario_id)
    if request.method != "POST":
        return render(request, "playground/scenarios/delete.html", _about(request, found))
    try:
        services.scenario_delete(scenario=found, author=request.user)
    except ApplicationError as error:
        context = {**_about(request, found), "refused": error}
        return render(request, "playground/scenarios/delete.html", context, status=error.status)
    messages.success(request, gettext("Scenario %(name)s deleted.") % {"name": found.name})
    return redirect("scenarios")


@require_GET
@requires(Action.VIEW)
@part
def scenario_schema(request: PageRequest) -> HttpResponse:
    return schema_response(json_schema())


def _editor_page(
    request: PageRequest,
    found: Scenario,
    revision: ScenarioRevision,
    shown: Editor,
    attempt: Attempt = UNTRIED,
) -> HttpResponse:
    context = _editor_context(request, found, shown) | attempt.context(found.newest) | {"revision": revision}
    context["real_use"] = used(revision.document) if revision.document.get("use") else ""
    if attempt.conflict is not None:
        newest = selectors.revision_get(found)
        context |= {"newest": newest, "expected": newest.number}
        context |= line_diff(newest.text, shown.document, f"revision {newest.number}", "yours")
    return render(request, "playground/scenarios/edit.html", context, status=attempt.status)


def _editor_context(request: PageRequest, found: Scenario, shown: Editor) -> dict[str, Any]:
    return {**_about(request, found), "editor": shown}


def _effect(found: Scenario, shown: Editor) -> dict[str, Any]:
    if not shown.checked.valid:
        return {}
    try:
        start = selectors.start_of(found, shown.checked)
        prepared = selectors.preview(shown.document, start, found)
    except Unprocessable as error:
        return {"refused": error}
    return {"effect": effect(start.objects, prepared, shown.checked.document), "start": start}


def _about(request: PageRequest, found: Scenario) -> dict[str, Any]:
    return {
        "scenario": found,
        "kept": found,
        "kind": "scenario",
        "key": found.pk,
        "may_copy": request.user.may(Action.EDIT),
        "may_change": may_change(request.user, found) and not found.built_in,
        "explained": ready_of(found.pk) is not None,
    }


def _files_page(request: PageRequest, found: Scenario, form: UploadForm, status: int = 200) -> HttpResponse:
    context = {**_about(request, found), "form": form, "files": selectors.file_list(found)}
    return render(request, "playground/scenarios/files.html", context, status=status)


def _choices(found: Scenario) -> Choices:
    files = selectors.file_list(found).exclude(kind__in=UNNAMED).values_list("name", flat=True)
    return Choices(selectors.snapshot_choices(), tuple(files))
