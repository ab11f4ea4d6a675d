"""The page on which NodePools are changed and compared over a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, role_allows
from kschedweb.advice.autoscaling import day_comparisons
from kschedweb.advice.autoscaling.forms import DayForm
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.karpenter.selectors import revision_named
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.revisions.history import EditHistory
from kschedweb.policies.selectors import changes_since
from kschedweb.policies.views import read_posted_with_history
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors, page_part

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.dialect import EditorState

    Edited = tuple[EditorState[Any, Any], EditHistory]  # the editor, and what can be undone in it

NO_EDITOR = "Only editors can compare changed NodePools over a day."


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def change_nodepools(request: PageRequest) -> HttpResponse:
    """Show NodePools in an editor. A POST plays the day under the old and the changed ones, or redraws the editor.

    NodePools that another page's editor posts, with "do" as "show", are taken over.
    """
    base = _get_base_revision(request)
    if request.method != "POST":
        return _render_page(
            request, base, _open_editor(request, base), DayForm(request.user, initial=_initial_values(request, base))
        )
    if not role_allows(request.user.role, Action.EDIT):
        raise PermissionDenied(NO_EDITOR)
    edited = read_posted_with_history(request, base or _ready_revision())
    if request.POST.get("do") != "compare":
        posted = request.POST if "day" in request.POST else None
        return _render_page(
            request, base, edited, DayForm(request.user, posted, initial=_initial_values(request, base))
        )
    form = DayForm(request.user, request.POST)
    if not form.is_valid():
        return _render_page(request, base, edited, form, status=400)
    try:
        comparison = day_comparisons.change_compare(
            user=request.user,
            base=base,
            document=edited[0].document,
            day=form.chosen_day,
            policy=form.cleaned_data["scheduler"],
        )
    except ApplicationError as error:
        field_errors = {problem["path"] for problem in error.errors} & form.fields.keys()
        if field_errors:
            add_errors(form, error)
        return _render_page(request, base, edited, form, status=error.status, refused=None if field_errors else error)
    return redirect("comparison", comparison.pk)


@require_POST
@requires(Action.EDIT)
@page_part
def preview_nodepools(request: PageRequest) -> HttpResponse:
    """Render the form of the editor after a change of form or YAML, for htmx."""
    base = _get_base_revision(request)
    return render(
        request,
        "policies/karpenter/_preview.html",
        _editor_context(request, base, read_posted_with_history(request, base or _ready_revision())),
    )


def _get_base_revision(request: PageRequest) -> Revision | None:
    """Return the NodePools that the address names, None for the ready ones. Raise Http404 and Unprocessable."""
    reference = request.GET.get("nodepools", "")
    return revision_named(reference, "nodepools") if reference else None


def _ready_revision() -> Revision:
    """Return the ready NodePool as if it were saved."""
    return Revision(
        policy=Policy(name=day_comparisons.READY, kind=PolicyKind.KARPENTER),
        document=day_comparisons.document_of(None),
        process={},
    )


def _open_editor(request: PageRequest, base: Revision | None) -> Edited:
    editor = (base or _ready_revision()).policy.dialect.open_editor(
        day_comparisons.document_of(base), {}, request.GET.dict()
    )
    return editor, EditHistory(editor.process_fields)


def _initial_values(request: PageRequest, base: Revision | None) -> dict[str, str]:
    scenario_id = request.GET.get("day", "")
    day = day_comparisons.Day(day_comparisons.SCENARIO, scenario_id[:40]).value if scenario_id else ""
    return {
        "day": day,
        "pool": request.GET.get("pool", "") or day_comparisons.first_pool(day_comparisons.document_of(base)),
    }


def _editor_context(request: PageRequest, base: Revision | None, edited: Edited) -> dict[str, object]:
    editor, history = edited
    undone = {"undo": gettext("Undone."), "redo": gettext("Redone.")}
    return {
        "base": base,
        "policy": (base or _ready_revision()).policy,
        "may_change": role_allows(request.user.role, Action.EDIT),
        "editor": editor,
        "history": history,
        "status_message": next((message for name, message in undone.items() if name in request.POST), ""),
        "changes": changes_since(base or _ready_revision(), editor.checked),
    }


def _render_page(
    request: PageRequest,
    base: Revision | None,
    edited: Edited,
    form: DayForm,
    *,
    status: int = 200,
    refused: ApplicationError | None = None,
) -> HttpResponse:
    context = {
        **_editor_context(request, base, edited),
        "form": form,
        "refused": refused,
        "named": request.GET.get("nodepools", ""),
    }
    return render(request, "advice/autoscaling/change.html", context, status=status)
