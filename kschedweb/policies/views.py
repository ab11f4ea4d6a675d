"""The policy pages: list, editor, revisions, diff, effective configuration, download."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.documents.marked_documents import normalise_text
from kschedweb.engine.releases import ReleaseError, find_upgrade_range, parse_minor
from kschedweb.policies import selectors, services
from kschedweb.policies.dialects import DIALECTS, PROFILES
from kschedweb.policies.download import document_response
from kschedweb.policies.editing import editor, panels
from kschedweb.policies.files import list_pinned_files, with_files
from kschedweb.policies.filters import PolicyFilter
from kschedweb.policies.forms import PolicyCreateForm
from kschedweb.policies.revisions.history import DocumentState, EditHistory
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
from kschedweb.policies.scope import scope_of
from kschedweb.web.errors import ApplicationError, FieldProblem
from kschedweb.web.pages import add_errors, page_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.dialect import EditorState
    from kschedweb.policies.models import Policy, Revision

PAGE_SIZE = 50


@require_safe
@requires(Action.VIEW)
def policy_list(request: PageRequest) -> HttpResponse:
    filters = PolicyFilter(request.GET, queryset=selectors.policy_list())
    page = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "policies/list.html", {"page": page, "filters": filters})


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT, site=True)
def policy_new(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        form = PolicyCreateForm(initial={"copy_of": request.GET.get("copy") or selectors.DEFAULT_POLICY})
        return render(request, "policies/new.html", {"form": form})
    form = PolicyCreateForm(request.POST, request.FILES)
    problems: list[FieldProblem] = []
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
        except services.InvalidPolicyDocument as error:
            problems = list(error.errors)
            place = "source_name" if data.get("source") else "file" if request.FILES else "document"
            form.add_error(place, error.detail)
        except ApplicationError as error:
            status = error.status
            add_errors(form, error)
        else:
            converted = policy.revisions.count() > 1
            note = (
                gettext(" Revision 1 is the document as you gave it, revision 2 is what it becomes in v1.")
                if converted
                else ""
            )
            messages.success(
                request, gettext("Policy %(policy)s created.%(said)s") % {"policy": policy.name, "said": note}
            )
            return redirect("policy", policy.name)
    form.keep_file()
    return render(request, "policies/new.html", {"form": form, "problems": problems}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def policy_edit(request: PageRequest, name: str) -> HttpResponseBase:
    """Show the editor. Each of its buttons is a POST, so it works without JavaScript."""
    if request.method == "POST":
        return _save_edit(request, name)
    policy = selectors.policy_get(name)
    revision = selectors.revision_get(policy, number_of(request, "revision"))
    editor_state = _open_editor(request, revision)
    return _editor_page(request, policy, revision, editor_state, EditHistory(editor_state.process_fields))


@requires(Action.EDIT, site=True)
def _save_edit(request: PageRequest, name: str) -> HttpResponse:
    policy = selectors.policy_get(name)
    newest = selectors.revision_get(policy)
    editor_state, history = read_posted_with_history(request, newest)

    def save_revision(document: str, comment: str, expected: int) -> int:
        return services.revision_save(
            policy=policy,
            document=document,
            process=editor_state.process,
            comment=comment,
            expected=expected,
            author=request.user,
            accepted_warnings=request.POST.getlist("accepted_warnings"),
        ).number

    attempt = handle_save(request, editor_state, newest.number, save_revision)
    if attempt is not None:
        return _editor_page(request, policy, newest, editor_state, history, attempt)
    return redirect(_editor_address(request, policy, editor_state))


@require_POST
@requires(Action.EDIT, site=True)
def policy_preview(request: PageRequest, name: str) -> HttpResponse:
    """Show parts of the editor after a change of form or YAML, for htmx."""
    policy = selectors.policy_get(name)
    saved = selectors.revision_get(policy)
    context = _editor_context(request, policy, saved, *read_posted_with_history(request, saved))
    return render(request, f"{policy.dialect.templates}/_preview.html", context)


@require_POST
@requires(Action.VIEW)
def policy_curves(request: PageRequest, name: str) -> HttpResponse:
    """Show the score curves of one load-aware plugin while a person moves its weights, for htmx."""
    policy = selectors.policy_get(name)
    profile_editor = editor.read_posted(request.POST.dict())
    drawn_panels = panels.draw_panels(profile_editor, selectors.revision_get(policy), request.POST.dict())
    panel = drawn_panels.get(request.GET.get("plugin", ""))
    return render(request, "policies/_curve.html", {"panel": panel, "editor": profile_editor})


@require_safe
@requires(Action.VIEW)
def policy_revisions(request: PageRequest, name: str) -> HttpResponse:
    policy = selectors.policy_get(name)
    page = Paginator(selectors.revision_list(policy).defer("document"), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "policies/revisions.html", {**_policy_context(request, policy), "page": page})


@require_POST
@requires(Action.EDIT, site=True)
def policy_restore(request: PageRequest, name: str, number: int) -> HttpResponse:
    policy = selectors.policy_get(name)

    def restore_document(expected: int) -> int:
        restored_revision = services.revision_restore(
            policy=policy, number=number, expected=expected, author=request.user
        )
        return restored_revision.number

    restore_revision(request, number, restore_document)
    return redirect("policy-revisions", policy.name)


@require_safe
@requires(Action.VIEW)
def policy_diff(request: PageRequest, name: str) -> HttpResponse:
    policy = selectors.policy_get(name)
    old, new, context = compare_revisions(request, partial(selectors.revision_get, policy), policy.newest)
    context |= _policy_context(request, policy)
    context |= line_diff(
        old.document,
        new.document,
        gettext("%(found)s revision %(old)s") % {"found": policy.name, "old": old.number},
        gettext("revision %(new)s") % {"new": new.number},
    )
    context["differs"] |= old.process != new.process
    context["changes"] = selectors.revision_changes(old, new)
    return render(request, "policies/diff.html", context)


@require_safe
@requires(Action.VIEW)
def policy_effective(request: PageRequest, name: str) -> HttpResponse:
    policy = selectors.policy_get(name)
    revision = selectors.revision_get(policy, number_of(request, "revision"))
    editor_state = _open_editor(request, revision)
    context = {
        **_policy_context(request, policy),
        "revision": revision,
        "editor": editor_state,
        **editor_state.effective_context(),
    }
    context["comparison_fields"] = {name: value for name, value in request.GET.items() if name != "beside"}
    return render(request, f"{policy.dialect.templates}/effective.html", context)


@require_safe
@requires(Action.VIEW)
@page_part
def policy_download(request: PageRequest, name: str) -> HttpResponse:
    policy = selectors.policy_get(name)
    return document_response(selectors.revision_get(policy, number_of(request, "revision")))


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT, site=True)
def policy_delete(request: PageRequest, name: str) -> HttpResponse:
    policy = selectors.policy_get(name)
    if request.method != "POST":
        return render(request, "policies/delete.html", _policy_context(request, policy))
    services.policy_delete(policy=policy, author=request.user)
    messages.success(request, gettext("Policy %(name)s deleted.") % {"name": name})
    return redirect("policies")


@require_GET
@requires(Action.VIEW)
@page_part
def policy_schema(request: PageRequest) -> HttpResponse:
    dialect, release = DIALECTS.get(request.GET.get("kind", ""), PROFILES), request.GET.get("release", "")
    try:
        return schema_response(dialect.schema({"release": release} if release else {}))
    except ReleaseError as error:
        raise Http404(str(error)) from None


def _open_editor(request: PageRequest, revision: Revision) -> EditorState[Any, Any]:
    number_of(request, "profile")
    return revision.policy.dialect.open_editor(revision.document, revision.process, request.GET.dict())


def read_posted(request: PageRequest, saved: Revision) -> EditorState[Any, Any]:
    """Return the editor for posted fields, with the newest versions of the files that its document points at."""
    return _of_fields(request.POST.dict(), saved)


def _of_fields(fields: Mapping[str, str], saved: Revision) -> EditorState[Any, Any]:
    editor_state = saved.policy.dialect.read_posted(fields, saved.process)
    process = with_files(editor_state.document, editor_state.process)
    return editor_state if process == editor_state.process else editor_state.with_process(process)


def read_posted_with_history(request: PageRequest, saved: Revision) -> tuple[EditorState[Any, Any], EditHistory]:
    """Return the editor for posted fields, after undo or redo if it was pressed, and the history."""
    editor_state, fields = read_posted(request, saved), request.POST.dict()
    now, is_readable = (
        DocumentState(editor_state.document, editor_state.process_fields),
        editor_state.checked.document is not None,
    )
    history = EditHistory.from_json(fields.get("history", ""), now.process)
    goes_back = bool({"undo", "redo"} & fields.keys())
    # An unreadable text makes no step of its own: the form's base stays until it can be read.
    if is_readable or goes_back:
        history = history.after_change(normalise_text(fields.get("base", now.document)), now)
    if not goes_back:
        return editor_state, history
    target, history = history.undo_step(now) if "undo" in fields else history.redo_step(now)
    remaining_fields = {
        name: value for name, value in fields.items() if name.partition(".")[0] not in ("base", "process")
    }
    if not is_readable:
        # The fields hold changes that could not be written into the unreadable text.
        remaining_fields["base"] = target.document
    editor_state = _of_fields({**remaining_fields, **target.process, "document": target.document}, saved)
    return editor_state, history.after_change(
        target.document, DocumentState(editor_state.document, editor_state.process_fields)
    )


def _editor_page(
    request: PageRequest,
    policy: Policy,
    revision: Revision,
    editor_state: EditorState[Any, Any],
    history: EditHistory,
    attempt: SaveAttempt = NO_ATTEMPT,
) -> HttpResponse:
    newest = selectors.revision_get(policy)
    context = (
        _editor_context(request, policy, newest, editor_state, history)
        | attempt.to_context(policy.newest)
        | {"revision": revision}
    )
    context["deviations"] = policy.dialect.list_deviations(revision.checked())
    context |= _upgrade_context(request, revision) if policy.dialect.has_profiles else {}
    if attempt.conflict is not None:
        context |= {"newest": newest, "expected": newest.number}
        context |= line_diff(
            newest.document, editor_state.document, gettext("revision %(newest)s") % {"newest": newest.number}, "yours"
        )
    return render(request, f"{policy.dialect.templates}/edit.html", context, status=attempt.status)


def _editor_context(
    request: PageRequest, policy: Policy, saved: Revision, editor_state: EditorState[Any, Any], history: EditHistory
) -> dict[str, object]:
    return {
        **editor_parts(request, policy, editor_state, history),
        **editor_state.preview_context(),
        "has_panels": editor_state.draw_panels(partial(panels.draw_panels, saved=saved, posted=request.POST.dict())),
        "is_changed": (editor_state.document, editor_state.process) != (saved.document, saved.process),
        "changes": selectors.changes_since(saved, editor_state.checked),
    }


def editor_parts(
    request: PageRequest, policy: Policy, editor_state: EditorState[Any, Any], history: EditHistory
) -> dict[str, object]:
    """Return the context of the form and the text of a document."""
    return {
        **_policy_context(request, policy),
        "editor": editor_state,
        "history": history,
        "status_message": gettext("Undone.")
        if "undo" in request.POST
        else gettext("Redone.")
        if "redo" in request.POST
        else "",
        "files": list_pinned_files(editor_state.process),
    }


def _upgrade_context(request: PageRequest, revision: Revision) -> dict[str, object]:
    """Return the question for the gate: what differs in the newest kube-scheduler; {} if the policy runs on it.

    ``assumed`` has both releases if neither the policy nor the cluster names one.
    """
    cluster = scope_of(request).cluster
    release = revision.process.get("release") or (cluster.server_version if cluster else "")
    before, after = find_upgrade_range(release)
    if before == after:
        return {}
    revision_name = f"{revision.policy.name}@{revision.number}"
    parameters = {"policy": revision_name, "release": after, "baseline": revision_name, "baseline_release": before}
    on = {"on": f"cluster:{cluster.name}"} if cluster else {}
    return {"upgrade": urlencode(parameters | on), "assumed": None if parse_minor(release) else (before, after)}


def _editor_address(request: PageRequest, policy: Policy, editor_state: EditorState[Any, Any]) -> str:
    query = {key: value for key, value in request.GET.items() if key in ("cluster", "namespace")}
    query |= {key: value for key, value in editor_state.query.items() if value}
    return reverse("policy", args=[policy.name]) + (f"?{urlencode(query)}" if query else "")


def _policy_context(request: PageRequest, policy: Policy) -> dict[str, object]:
    """Return the common context of all pages of a policy."""
    may_change = request.user.everywhere(Action.EDIT) and policy.written_here
    return {"policy": policy, "owner": policy, "kind": "policy", "key": policy.name, "may_change": may_change}
