"""The policy pages: list, editor, revisions, diff, effective configuration, download."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may
from kschedweb.engine import config
from kschedweb.policies import selectors, services
from kschedweb.policies.classic import editor as classic_editor
from kschedweb.policies.classic.editor import ClassicEditor
from kschedweb.policies.classic.schema import classic_schema
from kschedweb.policies.download import document_response
from kschedweb.policies.editing import editor, panels
from kschedweb.policies.editing.document import as_yaml
from kschedweb.policies.editing.editor import Editor
from kschedweb.policies.filters import PolicyFilter
from kschedweb.policies.forms import PolicyCreateForm
from kschedweb.policies.kinds import changes_since, deviations, revision_changes
from kschedweb.policies.models import Kind
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
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.models import Policy, Revision

PAGE_SIZE = 50


@requires(Action.VIEW)
@require_safe
def policies(request: PageRequest) -> HttpResponse:
    filters = PolicyFilter(request.GET, queryset=selectors.policy_list())
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "policies/list.html", {"page": page, "filters": filters})


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
                process=form.process,
                source=data.get("source", ""),
                comment=data["comment"],
                author=request.user,
            )
        except services.InvalidDocument as error:
            problems = [dict(item) for item in error.errors]
            place = "source_name" if data.get("source") else "file" if request.FILES else "document"
            form.add_error(place, error.detail)
        except ApplicationError as error:
            status = error.status
            add_errors(form, error)
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
    revision = selectors.revision_get(found, number_of(request, "revision"))
    return _editor_page(request, found, revision, _opened(request, revision))


@requires(Action.EDIT)
def _edited(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    newest = selectors.revision_get(found)
    shown = posted(request, newest)
    process = shown.process if isinstance(shown, ClassicEditor) else {}

    def store(document: str, comment: str, expected: int) -> int:
        return services.revision_save(
            policy=found, document=document, process=process, comment=comment, expected=expected, author=request.user
        ).number

    attempt = tried(request, shown, newest.number, store)
    if attempt is not None:
        return _editor_page(request, found, newest, shown, attempt)
    return redirect(_editor_address(request, found, shown))


@requires(Action.EDIT)
@require_POST
def policy_preview(request: PageRequest, name: str) -> HttpResponse:
    """Parts of the editor after a change on either side, for HTMX."""
    found = selectors.policy_get(name)
    saved = selectors.revision_get(found)
    context = _editor_context(request, found, saved, posted(request, saved))
    return render(request, f"{_folder(found)}/_preview.html", context)


@requires(Action.VIEW)
@require_POST
def policy_curves(request: PageRequest, name: str) -> HttpResponse:
    """The score curves of one load-aware plugin while a person moves its weights, for HTMX."""
    found = selectors.policy_get(name)
    shown = editor.posted(request.POST.dict())
    found_panels = panels.panels(shown, selectors.revision_get(found), request.POST.dict())
    panel = found_panels.get(request.GET.get("plugin", ""))
    return render(request, "policies/_curve.html", {"panel": panel, "editor": shown})


@requires(Action.VIEW)
@require_safe
def policy_revisions(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    page = Paginator(selectors.revision_list(found).defer("document"), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "policies/revisions.html", {**_about(request, found), "page": page})


@requires(Action.EDIT)
@require_POST
def policy_restore(request: PageRequest, name: str, number: int) -> HttpResponse:
    found = selectors.policy_get(name)

    def store(expected: int) -> int:
        made = services.revision_restore(policy=found, number=number, expected=expected, author=request.user)
        return made.number

    restored(request, number, store)
    return redirect("policy-revisions", found.name)


@requires(Action.VIEW)
@require_safe
def policy_diff(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    old, new, context = compared(request, partial(selectors.revision_get, found), found.newest)
    context |= _about(request, found)
    context |= line_diff(old.document, new.document, f"{found.name} revision {old.number}", f"revision {new.number}")
    context["differs"] |= old.process != new.process
    context["changes"] = revision_changes(old, new)
    return render(request, "policies/diff.html", context)


@requires(Action.VIEW)
@require_safe
def policy_effective(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    revision = selectors.revision_get(found, number_of(request, "revision"))
    shown = _opened(request, revision)
    context = {**_about(request, found), "revision": revision, "editor": shown}
    if isinstance(shown, Editor):
        context |= {
            "points": editor.effective_points(shown),
            "arguments": editor.effective_arguments(shown),
            "defaulted": as_yaml(shown.configuration.document) if shown.configuration else "",
        }
    return render(request, f"{_folder(found)}/effective.html", context)


@requires(Action.VIEW)
@require_safe
def policy_download(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    return document_response(selectors.revision_get(found, number_of(request, "revision")))


@requires(Action.EDIT)
@require_http_methods(["GET", "HEAD", "POST"])
def policy_delete(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    if request.method != "POST":
        return render(request, "policies/delete.html", _about(request, found))
    services.policy_delete(policy=found, author=request.user)
    messages.success(request, f"Policy {name} is deleted.")
    return redirect("policies")


@requires(Action.VIEW)
@require_GET
def policy_schema(request: PageRequest) -> HttpResponse:
    is_classic = request.GET.get("kind") == Kind.CLASSIC
    return schema_response(classic_schema() if is_classic else config.json_schema())


def _folder(policy: Policy) -> str:
    """Where the templates are that know what policies of this kind say."""
    return "policies/classic" if policy.kind == Kind.CLASSIC else "policies"


def _opened(request: PageRequest, revision: Revision) -> Editor | ClassicEditor:
    if revision.policy.kind == Kind.CLASSIC:
        return classic_editor.opened(revision.document, revision.process)
    return editor.opened(revision.document, number_of(request, "profile") or 0)


def posted(request: PageRequest, saved: Revision) -> Editor | ClassicEditor:
    fields = request.POST.dict()
    is_classic = saved.policy.kind == Kind.CLASSIC
    return classic_editor.posted(fields, saved.process) if is_classic else editor.posted(fields)


def _editor_page(
    request: PageRequest,
    policy: Policy,
    revision: Revision,
    shown: Editor | ClassicEditor,
    attempt: Attempt = UNTRIED,
) -> HttpResponse:
    newest = selectors.revision_get(policy)
    context = _editor_context(request, policy, newest, shown) | attempt.context(policy.newest) | {"revision": revision}
    context["deviations"] = deviations(revision)
    if attempt.conflict is not None:
        context |= {"newest": newest, "expected": newest.number}
        context |= line_diff(newest.document, shown.document, f"revision {newest.number}", "yours")
    return render(request, f"{_folder(policy)}/edit.html", context, status=attempt.status)


def _editor_context(
    request: PageRequest, policy: Policy, saved: Revision, shown: Editor | ClassicEditor
) -> dict[str, Any]:
    context = {**_about(request, policy), "editor": shown}
    if isinstance(shown, ClassicEditor):
        is_changed = (shown.document, shown.process) != (saved.document, saved.process)
        return context | {"is_changed": is_changed, "changes": changes_since(saved, shown.checked)}
    drawn = panels.panels(shown, saved, request.POST.dict())
    for row in shown.form.plugins:
        row.panel = drawn.get(row.name)
    return context | {
        "points": editor.effective_points(shown),
        "arguments": editor.effective_arguments(shown),
        "has_panels": bool(drawn),
        "is_changed": shown.document != saved.document,
        "changes": changes_since(saved, shown.checked),
    }


def _editor_address(request: PageRequest, policy: Policy, shown: Editor | ClassicEditor) -> str:
    query = {key: value for key, value in request.GET.items() if key in ("cluster", "namespace")}
    if isinstance(shown, Editor) and shown.form.index:
        query["profile"] = str(shown.form.index)
    return reverse("policy", args=[policy.name]) + (f"?{urlencode(query)}" if query else "")


def _about(request: PageRequest, policy: Policy) -> dict[str, Any]:
    """What every page of a policy shows of it."""
    may_change = may(request.user.role, Action.EDIT)
    return {"policy": policy, "kept": policy, "kind": "policy", "key": policy.name, "may_change": may_change}
