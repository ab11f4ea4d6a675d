"""The page on which NodePools are changed and compared over a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may
from kschedweb.advice.autoscaling import days
from kschedweb.advice.autoscaling.forms import DayForm
from kschedweb.policies.dialect import Kind
from kschedweb.policies.karpenter.selectors import revision_named
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.revisions.history import History
from kschedweb.policies.selectors import changes_since
from kschedweb.policies.views import worked_on
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors, part

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.policies.dialect import EditorState

    Edited = tuple[EditorState[Any, Any], History]  # the editor, and what can be undone in it

NO_EDITOR = "An editor may compare changed NodePools over a day."


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def change(request: PageRequest) -> HttpResponse:
    """NodePools in an editor; a POST plays the day under them as they were and as they are now, or redraws the editor.

    What another page's editor posts, "do" being "show", is taken over.
    """
    base = _base(request)
    if request.method != "POST":
        return _page(request, base, _opened(request, base), DayForm(request.user, initial=_initial(request, base)))
    if not may(request.user.role, Action.EDIT):
        raise PermissionDenied(NO_EDITOR)
    edited = worked_on(request, base or _ready())
    if request.POST.get("do") != "compare":
        known = request.POST if "day" in request.POST else None
        return _page(request, base, edited, DayForm(request.user, known, initial=_initial(request, base)))
    form = DayForm(request.user, request.POST)
    if not form.is_valid():
        return _page(request, base, edited, form, status=400)
    try:
        made = days.change_compare(
            user=request.user,
            base=base,
            document=edited[0].document,
            day=form.chosen,
            policy=form.cleaned_data["scheduler"],
        )
    except ApplicationError as error:
        beside = {one["path"] for one in error.errors} & form.fields.keys()
        if beside:
            add_errors(form, error)
        return _page(request, base, edited, form, status=error.status, refused=None if beside else error)
    return redirect("comparison", made.pk)


@require_POST
@requires(Action.EDIT)
@part
def preview(request: PageRequest) -> HttpResponse:
    """The form of the editor after a change of form or YAML, for htmx."""
    base = _base(request)
    return render(
        request, "policies/karpenter/_preview.html", _parts(request, base, worked_on(request, base or _ready()))
    )


def _base(request: PageRequest) -> Revision | None:
    """The NodePools that the address names; ``None`` for the ready ones. Raises Http404 and Unprocessable."""
    named = request.GET.get("nodepools", "")
    return revision_named(named, "nodepools") if named else None


def _ready() -> Revision:
    """The ready NodePool as if it were saved."""
    return Revision(policy=Policy(name=days.READY, kind=Kind.KARPENTER), document=days.document_of(None), process={})


def _opened(request: PageRequest, base: Revision | None) -> Edited:
    editor = (base or _ready()).policy.dialect.opened(days.document_of(base), {}, request.GET.dict())
    return editor, History(editor.process_fields)


def _initial(request: PageRequest, base: Revision | None) -> dict[str, str]:
    asked = request.GET.get("day", "")
    found = days.Day(days.SCENARIO, asked[:40]).value if asked else ""
    return {"day": found, "pool": request.GET.get("pool", "") or days.first_pool(days.document_of(base))}


def _parts(request: PageRequest, base: Revision | None, edited: Edited) -> dict[str, Any]:
    editor, history = edited
    undone = {"undo": gettext("Undone."), "redo": gettext("Redone.")}
    return {
        "base": base,
        "policy": (base or _ready()).policy,
        "may_change": may(request.user.role, Action.EDIT),
        "editor": editor,
        "history": history,
        "said": next((said for name, said in undone.items() if name in request.POST), ""),
        "changes": changes_since(base or _ready(), editor.checked),
    }


def _page(
    request: PageRequest,
    base: Revision | None,
    edited: Edited,
    form: DayForm,
    *,
    status: int = 200,
    refused: ApplicationError | None = None,
) -> HttpResponse:
    context = {
        **_parts(request, base, edited),
        "form": form,
        "refused": refused,
        "named": request.GET.get("nodepools", ""),
    }
    return render(request, "advice/autoscaling/change.html", context, status=status)
