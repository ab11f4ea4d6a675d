"""The policy pages: list, editor, revisions, diff, effective configuration, download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may
from kschedweb.dashboard.scope import scope_of
from kschedweb.engine import config
from kschedweb.errors import ApplicationError, PreconditionFailed
from kschedweb.policies import curves, diff, editor, selectors, services
from kschedweb.policies.document import as_yaml
from kschedweb.policies.download import document_response
from kschedweb.policies.effect import POD_LIMIT, effect
from kschedweb.policies.filters import PolicyFilter
from kschedweb.policies.forms import DiffForm, PolicyCreateForm, SaveForm
from kschedweb.policies.validation import check

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.editor import Editor
    from kschedweb.policies.models import Policy, Revision

PAGE_SIZE = 50


@requires(Action.VIEW)
@require_safe
def policies(request: PageRequest) -> HttpResponse:
    filters = PolicyFilter(request.GET, queryset=selectors.policy_list())
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "policies/list.html", {"page": page, "filters": filters, "may_edit": _may_edit(request)})


@requires(Action.EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def policy_new(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        form = PolicyCreateForm(initial={"copy_of": request.GET.get("copy") or selectors.DEFAULT_POLICY})
        return render(request, "policies/new.html", {"form": form})
    form = PolicyCreateForm(request.POST, request.FILES)
    problems: list[dict[str, Any]] = []
    status = 422
    if form.is_valid():
        data = form.cleaned_data
        try:
            policy = services.policy_create(
                name=data["name"],
                description=data["description"],
                document=data["text"],
                comment=data["comment"],
                author=request.user,
            )
        except services.InvalidDocument as error:
            problems = [dict(item) for item in error.errors]
            form.add_error("file" if request.FILES else "document", error.detail)
        except ApplicationError as error:
            status = error.status
            for item in error.errors:
                form.add_error(item["path"] if item["path"] in form.fields else None, item["message"])
        else:
            messages.success(request, f"Policy {policy.name} is made.")
            return redirect("policy", policy.name)
    return render(request, "policies/new.html", {"form": form, "problems": problems}, status=status)


@requires(Action.VIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: PageRequest, name: str) -> HttpResponseBase:
    """The editor; a POST is any of its buttons, without JavaScript as well."""
    if request.method == "POST":
        return _edited(request, name)
    found = selectors.policy_get(name)
    revision = selectors.revision_get(found, _number(request, "revision"))
    shown = editor.opened(revision.document, _number(request, "profile") or 0)
    return _editor_page(request, found, revision, shown)


@requires(Action.EDIT)
def _edited(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    newest = selectors.revision_get(found)
    shown = editor.posted(request.POST.dict())
    save = SaveForm(request.POST)
    if "save" not in request.POST:
        return _editor_page(request, found, newest, shown, save=save)
    if not save.is_valid() or not shown.checked.valid:
        return _editor_page(request, found, newest, shown, save=save, status=422)
    try:
        saved = services.revision_save(
            policy=found,
            document=shown.document,
            comment=save.cleaned_data["comment"],
            expected=save.cleaned_data["expected"],
            author=request.user,
        )
    except PreconditionFailed as error:
        return _editor_page(request, found, newest, shown, save=save, conflict=error, status=412)
    except services.InvalidDocument as error:
        return _editor_page(request, found, newest, shown, save=save, refused=error, status=422)
    if saved.number == newest.number:
        messages.info(request, f"Nothing differs from revision {newest.number}: no revision was made.")
    else:
        messages.success(request, f"Saved as revision {saved.number}.")
    return redirect(_editor_address(request, found, shown))


@requires(Action.EDIT)
@require_POST
def policy_preview(request: PageRequest, name: str) -> HttpResponse:
    """Parts of the editor after a change on either side, for HTMX."""
    found = selectors.policy_get(name)
    shown = editor.posted(request.POST.dict())
    return render(request, "policies/_preview.html", _editor_context(request, found, shown))


@requires(Action.VIEW)
@require_POST
def policy_curves(request: PageRequest, name: str) -> HttpResponse:
    """The score curves of one load-aware plugin while a person moves its weights, for HTMX."""
    found = selectors.policy_get(name)
    shown = editor.posted(request.POST.dict())
    panel = curves.panels(shown, selectors.revision_get(found), request.POST.dict()).get(request.GET.get("plugin", ""))
    return render(request, "policies/_curve.html", {"panel": panel, "editor": shown})


@requires(Action.VIEW)
@require_POST
def policy_effect(request: PageRequest, name: str) -> HttpResponse:
    """How many pending pods of the chosen cluster would change node, for HTMX."""
    found = selectors.policy_get(name)
    scope = scope_of(request)
    saved = selectors.revision_get(found)
    loaded = check(editor.posted(request.POST.dict()).document).loaded
    context: dict[str, Any] = {"policy": found, "cluster": scope.cluster, "limit": POD_LIMIT, "saved": saved}
    if scope.snapshot and loaded and loaded.configuration:
        context["effect"] = effect(scope.snapshot, selectors.configuration(saved), loaded.configuration)
        context["snapshot"] = scope.snapshot
    return render(request, "policies/_effect.html", context)


@requires(Action.VIEW)
@require_safe
def policy_revisions(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    page = Paginator(selectors.revision_list(found).defer("document"), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"policy": found, "page": page, "newest": found.newest, "may_edit": _may_edit(request)}
    return render(request, "policies/revisions.html", context)


@requires(Action.EDIT)
@require_POST
def policy_restore(request: PageRequest, name: str, number: int) -> HttpResponse:
    found = selectors.policy_get(name)
    save = SaveForm(request.POST)
    if not save.is_valid():
        raise ApplicationError("The form does not say which revision was the newest. Reload the page and try again.")
    restored = services.revision_restore(
        policy=found, number=number, expected=save.cleaned_data["expected"], author=request.user
    )
    if restored.comment:
        messages.success(request, f"Revision {number} is restored: the newest is revision {restored.number}.")
    return redirect("policy-revisions", found.name)


@requires(Action.VIEW)
@require_safe
def policy_diff(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    asked = DiffForm(request.GET)
    if not asked.is_valid():
        raise Http404("A revision is a whole number.")
    new = selectors.revision_get(found, asked.cleaned_data["to"])
    old = selectors.revision_get(found, asked.cleaned_data["from"] or max(new.number - 1, 1))
    view = asked.cleaned_data["view"] or "split"
    context = {
        "policy": found,
        "old": old,
        "new": new,
        "view": view,
        "old_title": f"Revision {old.number}",
        "new_title": f"Revision {new.number}",
        "numbers": range(found.newest, 0, -1),
        "changes": diff.changes(check(old.document).loaded, check(new.document).loaded),
        **_line_diff(old.document, new.document, f"{found.name} revision {old.number}", f"revision {new.number}"),
    }
    return render(request, "policies/diff.html", context)


@requires(Action.VIEW)
@require_safe
def policy_effective(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    revision = selectors.revision_get(found, _number(request, "revision"))
    shown = editor.opened(revision.document, _number(request, "profile") or 0)
    context = {
        "policy": found,
        "revision": revision,
        "editor": shown,
        "points": editor.effective_points(shown),
        "arguments": editor.effective_arguments(shown),
        "defaulted": as_yaml(shown.configuration.document) if shown.configuration else "",
    }
    return render(request, "policies/effective.html", context)


@requires(Action.VIEW)
@require_safe
def policy_download(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    return document_response(selectors.revision_get(found, _number(request, "revision")))


@requires(Action.EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def policy_delete(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    if request.method != "POST":
        return render(request, "policies/delete.html", {"policy": found})
    services.policy_delete(policy=found, author=request.user)
    messages.success(request, f"Policy {name} is deleted.")
    return redirect("policies")


@requires(Action.VIEW)
@require_GET
def policy_schema(request: PageRequest) -> HttpResponse:
    """The JSON Schema of a document, for completion in the editor."""
    response = JsonResponse(config.json_schema())
    response["Cache-Control"] = "private, max-age=3600"
    return response


def _editor_page(
    request: PageRequest,
    policy: Policy,
    revision: Revision,
    shown: Editor,
    *,
    save: SaveForm | None = None,
    conflict: PreconditionFailed | None = None,
    refused: ApplicationError | None = None,
    status: int = 200,
) -> HttpResponse:
    context = _editor_context(request, policy, shown)
    context |= {"revision": revision, "save": save or SaveForm(), "expected": policy.newest, "refused": refused}
    context["deviations"] = diff.changes(check(services.DEFAULT_DOCUMENT).loaded, check(revision.document).loaded)
    if save is not None and save.data.get("expected") and conflict is None:
        # A button that saves nothing keeps what the person started from.
        context["expected"] = save.data["expected"]
    if conflict is not None:
        newest = selectors.revision_get(policy)
        context |= {"conflict": conflict, "expected": newest.number, "newest": newest}
        context |= _line_diff(newest.document, shown.document, f"revision {newest.number}", "yours")
    return render(request, "policies/edit.html", context, status=status)


def _editor_context(request: PageRequest, policy: Policy, shown: Editor) -> dict[str, Any]:
    saved = selectors.revision_get(policy)
    loaded = shown.checked.loaded
    panels = curves.panels(shown, saved, request.POST.dict())
    for row in shown.form.plugins:
        row.panel = panels.get(row.name)
    return {
        "policy": policy,
        "editor": shown,
        "points": editor.effective_points(shown),
        "arguments": editor.effective_arguments(shown),
        "has_panels": bool(panels),
        "is_changed": shown.document != saved.document,
        "changes": diff.changes(check(saved.document).loaded, loaded) if loaded and loaded.valid else [],
        "may_edit": _may_edit(request),
    }


def _editor_address(request: PageRequest, policy: Policy, shown: Editor) -> str:
    query = {key: value for key, value in request.GET.items() if key in ("cluster", "namespace")}
    if shown.form.index:
        query["profile"] = str(shown.form.index)
    return reverse("policy", args=[policy.name]) + (f"?{urlencode(query)}" if query else "")


def _line_diff(old: str, new: str, old_name: str, new_name: str) -> dict[str, Any]:
    return {
        "rows": diff.folded(diff.lines(old, new)),
        "patch": diff.unified(old, new, old_name, new_name).splitlines(),
        "differs": old != new,
    }


def _may_edit(request: PageRequest) -> bool:
    return may(request.user.role, Action.EDIT)


def _number(request: PageRequest, key: str) -> int | None:
    """A number of the query; ``Http404`` where it is something else."""
    text = request.GET.get(key, "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise Http404(f"There is no {key} {text}.")
    return int(text)
