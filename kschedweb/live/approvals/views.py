"""The inbox of pods that wait for approval, the page of one request, and the history."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.live.approvals import selectors, services
from kschedweb.live.approvals.filters import RequestFilter
from kschedweb.live.approvals.models import ApprovalState, VoteVerdict
from kschedweb.live.approvals.tables import HISTORY
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_rows
from kschedweb.web.news import growing_page, with_news
from kschedweb.web.pages import page_part, run_and_notify
from kschedweb.web.pagination import in_pieces

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.live.approvals.models import ApprovalRequest

# Key of the session: a form that was refused, shown once.
REFUSED = "approvals_refused"
# Key of the session: the ids of the requests that were decided last, which the inbox offers to undo.
UNDO = "approvals_undo"
MAX_SHOWN = 100
MOST_EXPORTED = 100_000
TONES = {
    ApprovalState.WAITING: ("amber", "clock"),
    ApprovalState.APPROVED: ("blue", "check"),
    ApprovalState.BINDING: ("blue", "check"),
    ApprovalState.BOUND: ("green", "circle-check"),
    ApprovalState.DENIED: ("red", "circle-x"),
    ApprovalState.EXPIRED: ("grey", "clock"),
    ApprovalState.FAILED: ("red", "circle-x"),
    ApprovalState.SUPERSEDED: ("grey", "rotate-ccw"),
}


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
def show_inbox(request: PageRequest) -> HttpResponse:
    """Show the waiting requests, the nearest deadline first, and beside them the chosen one."""
    chosen = _parse_uuid(request.GET.get("request", ""))
    refused = request.session.pop(REFUSED, {})
    now = timezone.now()
    services.requests_expire()
    rows = list(selectors.waiting_list()[: MAX_SHOWN + 1])
    items = selectors.make_items(rows[:MAX_SHOWN], request.user)
    open_row = next((item.row for item in items if item.row.pk == chosen), items[0].row if items else None)
    context: dict[str, object] = {
        "items": items,
        "more": len(rows) > MAX_SHOWN,
        "since": now.isoformat(),
        "refused": refused,
        "may_approve": request.user.may(Action.APPROVE),
        "undo": _find_undoable(request),
    }
    context |= _pane_context(request, open_row) if open_row else {}
    return render(request, "live/approvals/inbox.html", context)


def _find_undoable(request: PageRequest) -> list[selectors.InboxItem]:
    """Return the requests that this person decided last and can still undo."""
    decided = request.session.get(UNDO, [])
    rows = list(selectors.request_list().filter(pk__in=decided)) if decided else []
    items = [item for item in selectors.make_items(rows, request.user) if item.undo_seconds]
    if decided and not items:
        del request.session[UNDO]
    return items


def _pane_context(request: PageRequest, row: ApprovalRequest) -> dict[str, object]:
    tone, icon = TONES[ApprovalState(row.state)]
    return {
        "item": selectors.make_item(row, request.user),
        "node": selectors.node_state(row),
        "stored": selectors.decision_of(row),
        "tone": tone,
        "icon": icon,
    }


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
def show_approval(request: PageRequest, request_id: UUID) -> HttpResponse:
    """Show one request as a page, or to HTMX as the pane of the inbox."""
    services.requests_expire(request_id=request_id)
    row = selectors.request_get(request_id)
    context = _pane_context(request, row) | {"may_approve": request.user.may(Action.APPROVE)}
    if not request.htmx:
        context["refused"] = request.session.pop(REFUSED, {})
    return render(request, "live/approvals/pane.html" if request.htmx else "live/approvals/detail.html", context)


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_news(request: PageRequest) -> HttpResponse:
    """Show what happened since the inbox was rendered, so that nothing in its list moves by itself."""
    # A plus sign that was not escaped in the query arrives as a space.
    since = parse_datetime(request.GET.get("since", "").replace(" ", "+"))
    if since is None or since.tzinfo is None:
        raise Http404("Say since when, as the inbox does.")
    return render(
        request, "live/approvals/news.html", {"news": selectors.count_news(since), "since": since.isoformat()}
    )


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_badge(request: PageRequest) -> HttpResponse:
    """Show the number of waiting requests, for the navigation."""
    return render(request, "live/approvals/badge.html", {"waiting_approvals": selectors.waiting_count()})


@require_POST
@requires(Action.APPROVE, in_part=True)
def decide_requests(request: PageRequest) -> HttpResponse:
    """Approve or deny the ticked requests, or the one in the pane (``open``)."""
    ticked = tuple(value for value in request.POST.getlist("requests") if _parse_uuid(value))
    reason, verdict = request.POST.get("reason", ""), request.POST.get("verdict", "")
    if verdict not in VoteVerdict.values:
        return _redirect_refused(request, gettext("Choose to approve or to deny."), ticked)
    try:
        outcomes = services.requests_decide(
            user=request.user, request_ids=ticked, verdict=verdict, reason=reason, undo=services.UNDO
        )
    except ApplicationError as error:
        return _redirect_refused(request, error.detail, ticked)
    decided = [outcome for outcome in outcomes if not outcome.problem]
    request.session[UNDO] = [outcome.request_id for outcome in decided]
    _announce_decided(request, decided, verdict)
    for outcome in outcomes:
        if outcome.problem:
            messages.error(request, outcome.problem)
    if request.POST.get("open") and not decided and ticked:
        # The pane says who was faster, and keeps the reason that was typed.
        request.session[REFUSED] = {"error": "", "reason": reason, "ticked": [], "open": True}
        return redirect("approval", ticked[0])
    return redirect("approvals")


@require_POST
@requires(Action.APPROVE, in_part=True)
def undo_decisions(request: PageRequest) -> HttpResponse:
    """Take back the verdicts of a moment ago on the posted requests."""
    undone = []
    for request_id in filter(_parse_uuid, request.POST.getlist("requests")[: services.MOST_TOGETHER]):
        try:
            undone.append(services.request_undo(user=request.user, request_id=request_id))
        except ApplicationError as error:
            messages.error(request, error.detail)
    request.session.pop(UNDO, None)
    if undone:
        pods = ", ".join(row.pod for row in undone)
        messages.success(request, gettext("Undone, waiting again: %(pods)s.") % {"pods": pods})
    return redirect(reverse("approvals", query={"request": undone[0].pk}) if len(undone) == 1 else "approvals")


def _redirect_refused(request: PageRequest, error: str, ticked: tuple[str, ...]) -> HttpResponse:
    """Redirect to the inbox, which shows ``error`` once at the form that was sent, with all that was entered."""
    opened = bool(request.POST.get("open"))
    request.session[REFUSED] = {
        "error": error,
        "reason": request.POST.get("reason", ""),
        "ticked": [] if opened else ticked,
        "open": opened,
    }
    return redirect(f"{reverse('approvals')}?request={ticked[0]}" if ticked else "approvals")


def _announce_decided(request: PageRequest, decided: list[services.VoteResult], verdict: str) -> None:
    if not decided:
        return
    pods = [outcome.pod for outcome in decided]
    message = gettext("Approved: %(names)s.") if verdict == VoteVerdict.APPROVE else gettext("Denied: %(names)s.")
    names = (
        ", ".join(pods)
        if len(pods) <= 3
        else gettext("%(listed)s and %(value)s more") % {"listed": ", ".join(pods[:3]), "value": len(pods) - 3}
    )
    text = message % {"names": names}
    if len(decided) == 1:
        address = selectors.pod_address(selectors.request_get(decided[0].request_id))
        text = format_html('{} <a href="{}">{}</a>', text, address, gettext("See the pod"))
    messages.success(request, text)


@require_POST
@requires(Action.APPROVE, in_part=True)
def reopen_request(request: PageRequest, request_id: UUID) -> HttpResponse:
    """Lift a denial, so that people are asked again."""
    selectors.request_get(request_id)
    run_and_notify(
        request,
        lambda: services.request_reopen(user=request.user, request_id=request_id),
        gettext("People are asked again when the scheduler tries the pod next, within five minutes."),
    )
    return redirect("approval", request_id)


@require_safe
@requires(Action.VIEW, in_part=True)
@with_news
def show_history(request: PageRequest) -> HttpResponseBase:
    """Show every request, newest first."""
    filtered = RequestFilter(request.GET, queryset=selectors.request_list())
    if (form := request.GET.get("format")) in FORMATS:
        rows = in_pieces(filtered.qs, HISTORY.fields, MOST_EXPORTED, indexed_rows=filtered.indexed_rows)
        return export_rows(form, "approvals", HISTORY.head, rows)
    page = growing_page(request, filtered.qs, indexed_rows=filtered.indexed_rows)
    toned_rows = [(row, *TONES[ApprovalState(row.state)]) for row in page.rows]
    query = [name for name in request.GET if name not in ("cursor",)]
    context = {"filter": filtered, "page": page, "rows": toned_rows, "filtered": bool(query)}
    return render(request, "live/approvals/history.html", context)


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
