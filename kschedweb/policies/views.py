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
from kschedweb.engine.documents.marked import normalised
from kschedweb.engine.releases import ReleaseError, minor, upgrade
from kschedweb.policies import selectors, services
from kschedweb.policies.download import document_response
from kschedweb.policies.editing import editor, panels
from kschedweb.policies.files import pinned, with_files
from kschedweb.policies.filters import PolicyFilter
from kschedweb.policies.forms import PolicyCreateForm
from kschedweb.policies.kinds import DIALECTS, PROFILES
from kschedweb.policies.revisions.history import History, State
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
from kschedweb.policies.scope import scope_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors, part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.dialect import EditorState
    from kschedweb.policies.models import Policy, Revision

PAGE_SIZE = 50


@require_safe
@requires(Action.VIEW)
def policies(request: PageRequest) -> HttpResponse:
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
            converted = policy.revisions.count() > 1
            said = (
                gettext(" Revision 1 is the document as you gave it, revision 2 is what it becomes in v1.")
                if converted
                else ""
            )
            messages.success(
                request, gettext("Policy %(policy)s created.%(said)s") % {"policy": policy.name, "said": said}
            )
            return redirect("policy", policy.name)
    form.keep_file()
    return render(request, "policies/new.html", {"form": form, "problems": problems}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def policy(request: PageRequest, name: str) -> HttpResponseBase:
    """The editor. Each of its buttons is a POST, so it works without JavaScript."""
    if request.method == "POST":
        return _edited(request, name)
    found = selectors.policy_get(name)
    revision = selectors.revision_get(found, number_of(request, "revision"))
    shown = _opened(request, revision)
    return _editor_page(request, found, revision, shown, History(shown.process_fields))


@requires(Action.EDIT, site=True)
def _edited(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    newest = selectors.revision_get(found)
    shown, history = worked_on(request, newest)

    def store(document: str, comment: str, expected: int) -> int:
        return services.revision_save(
            policy=found,
            document=document,
            process=shown.process,
            comment=comment,
            expected=expected,
            author=request.user,
            accepted_warnings=request.POST.getlist("accepted_warnings"),
        ).number

    attempt = tried(request, shown, newest.number, store)
    if attempt is not None:
        return _editor_page(request, found, newest, shown, history, attempt)
    return redirect(_editor_address(request, found, shown))


@require_POST
@requires(Action.EDIT, site=True)
def policy_preview(request: PageRequest, name: str) -> HttpResponse:
    """Parts of the editor after a change of form or YAML, for htmx."""
    found = selectors.policy_get(name)
    saved = selectors.revision_get(found)
    context = _editor_context(request, found, saved, *worked_on(request, saved))
    return render(request, f"{found.dialect.templates}/_preview.html", context)


@require_POST
@requires(Action.VIEW)
def policy_curves(request: PageRequest, name: str) -> HttpResponse:
    """The score curves of one load-aware plugin while a person moves its weights, for htmx."""
    found = selectors.policy_get(name)
    shown = editor.posted(request.POST.dict())
    found_panels = panels.panels(shown, selectors.revision_get(found), request.POST.dict())
    panel = found_panels.get(request.GET.get("plugin", ""))
    return render(request, "policies/_curve.html", {"panel": panel, "editor": shown})


@require_safe
@requires(Action.VIEW)
def policy_revisions(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    page = Paginator(selectors.revision_list(found).defer("document"), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "policies/revisions.html", {**_about(request, found), "page": page})


@require_POST
@requires(Action.EDIT, site=True)
def policy_restore(request: PageRequest, name: str, number: int) -> HttpResponse:
    found = selectors.policy_get(name)

    def store(expected: int) -> int:
        made = services.revision_restore(policy=found, number=number, expected=expected, author=request.user)
        return made.number

    restored(request, number, store)
    return redirect("policy-revisions", found.name)


@require_safe
@requires(Action.VIEW)
def policy_diff(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    old, new, context = compared(request, partial(selectors.revision_get, found), found.newest)
    context |= _about(request, found)
    context |= line_diff(
        old.document,
        new.document,
        gettext("%(found)s revision %(old)s") % {"found": found.name, "old": old.number},
        gettext("revision %(new)s") % {"new": new.number},
    )
    context["differs"] |= old.process != new.process
    context["changes"] = selectors.revision_changes(old, new)
    return render(request, "policies/diff.html", context)


@require_safe
@requires(Action.VIEW)
def policy_effective(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    revision = selectors.revision_get(found, number_of(request, "revision"))
    shown = _opened(request, revision)
    context = {**_about(request, found), "revision": revision, "editor": shown, **shown.explained()}
    context["kept_for_beside"] = {name: value for name, value in request.GET.items() if name != "beside"}
    return render(request, f"{found.dialect.templates}/effective.html", context)


@require_safe
@requires(Action.VIEW)
@part
def policy_download(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    return document_response(selectors.revision_get(found, number_of(request, "revision")))


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.EDIT, site=True)
def policy_delete(request: PageRequest, name: str) -> HttpResponse:
    found = selectors.policy_get(name)
    if request.method != "POST":
        return render(request, "policies/delete.html", _about(request, found))
    services.policy_delete(policy=found, author=request.user)
    messages.success(request, gettext("Policy %(name)s deleted.") % {"name": name})
    return redirect("policies")


@require_GET
@requires(Action.VIEW)
@part
def policy_schema(request: PageRequest) -> HttpResponse:
    dialect, release = DIALECTS.get(request.GET.get("kind", ""), PROFILES), request.GET.get("release", "")
    try:
        return schema_response(dialect.schema({"release": release} if release else {}))
    except ReleaseError as error:
        raise Http404(str(error)) from None


def _opened(request: PageRequest, revision: Revision) -> EditorState[Any, Any]:
    number_of(request, "profile")
    return revision.policy.dialect.opened(revision.document, revision.process, request.GET.dict())


def posted(request: PageRequest, saved: Revision) -> EditorState[Any, Any]:
    """The editor for posted fields, with the newest of the files that its document points at."""
    return _of_fields(request.POST.dict(), saved)


def _of_fields(fields: Mapping[str, str], saved: Revision) -> EditorState[Any, Any]:
    shown = saved.policy.dialect.posted(fields, saved.process)
    process = with_files(shown.document, shown.process)
    return shown if process == shown.process else shown.taking(process)


def worked_on(request: PageRequest, saved: Revision) -> tuple[EditorState[Any, Any], History]:
    """The editor for posted fields, after undo or redo where that was pressed, and what can be undone now."""
    shown, fields = posted(request, saved), request.POST.dict()
    now, is_readable = State(shown.document, shown.process_fields), shown.checked.document is not None
    history = History.read(fields.get("history", ""), now.process)
    goes_back = bool({"undo", "redo"} & fields.keys())
    if is_readable or goes_back:  # until it can be read, a text is what becomes of the form's base
        history = history.then(normalised(fields.get("base", now.document)), now)
    if not goes_back:
        return shown, history
    wanted, history = history.undone(now) if "undo" in fields else history.redone(now)
    kept = {name: value for name, value in fields.items() if name.partition(".")[0] not in ("base", "process")}
    if not is_readable:
        kept["base"] = wanted.document  # the fields hold what could not be written into the text
    shown = _of_fields({**kept, **wanted.process, "document": wanted.document}, saved)
    return shown, history.then(wanted.document, State(shown.document, shown.process_fields))


def _editor_page(
    request: PageRequest,
    policy: Policy,
    revision: Revision,
    shown: EditorState[Any, Any],
    history: History,
    attempt: Attempt = UNTRIED,
) -> HttpResponse:
    newest = selectors.revision_get(policy)
    context = (
        _editor_context(request, policy, newest, shown, history)
        | attempt.context(policy.newest)
        | {"revision": revision}
    )
    context["deviations"] = policy.dialect.deviations(revision.checked())
    context |= _upgrade(request, revision) if policy.dialect.has_profiles else {}
    if attempt.conflict is not None:
        context |= {"newest": newest, "expected": newest.number}
        context |= line_diff(
            newest.document, shown.document, gettext("revision %(newest)s") % {"newest": newest.number}, "yours"
        )
    return render(request, f"{policy.dialect.templates}/edit.html", context, status=attempt.status)


def _editor_context(
    request: PageRequest, policy: Policy, saved: Revision, shown: EditorState[Any, Any], history: History
) -> dict[str, Any]:
    return {
        **editor_parts(request, policy, shown, history),
        **shown.previewed(),
        "has_panels": shown.draw(partial(panels.panels, saved=saved, posted=request.POST.dict())),
        "is_changed": (shown.document, shown.process) != (saved.document, saved.process),
        "changes": selectors.changes_since(saved, shown.checked),
    }


def editor_parts(
    request: PageRequest, policy: Policy, shown: EditorState[Any, Any], history: History
) -> dict[str, Any]:
    """The context of the form and the text of a document."""
    return {
        **_about(request, policy),
        "editor": shown,
        "history": history,
        "said": gettext("Undone.") if "undo" in request.POST else gettext("Redone.") if "redo" in request.POST else "",
        "files": pinned(shown.process),
    }


def _upgrade(request: PageRequest, revision: Revision) -> dict[str, Any]:
    """The question for the gate: what the newest kube-scheduler does otherwise with this policy; {} if it runs it.

    ``assumed`` has both releases where neither the policy nor the cluster names one.
    """
    cluster = scope_of(request).cluster
    said = revision.process.get("release") or (cluster.server_version if cluster else "")
    before, after = upgrade(said)
    if before == after:
        return {}
    named = f"{revision.policy.name}@{revision.number}"
    asked = {"policy": named, "release": after, "baseline": named, "baseline_release": before}
    on = {"on": f"cluster:{cluster.name}"} if cluster else {}
    return {"upgrade": urlencode(asked | on), "assumed": None if minor(said) else (before, after)}


def _editor_address(request: PageRequest, policy: Policy, shown: EditorState[Any, Any]) -> str:
    query = {key: value for key, value in request.GET.items() if key in ("cluster", "namespace")}
    query |= {key: value for key, value in shown.query.items() if value}
    return reverse("policy", args=[policy.name]) + (f"?{urlencode(query)}" if query else "")


def _about(request: PageRequest, policy: Policy) -> dict[str, Any]:
    """The common context of all pages of a policy."""
    may_change = request.user.everywhere(Action.EDIT) and policy.written_here
    return {"policy": policy, "kept": policy, "kind": "policy", "key": policy.name, "may_change": may_change}
