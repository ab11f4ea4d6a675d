"""The inbox of pods that wait for people, one of them, and those that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.live.approvals import selectors, services
from kschedweb.live.approvals.filters import RequestFilter
from kschedweb.live.approvals.models import State, VoteVerdict
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.news import announced, growing_page
from kschedweb.web.pages import done, part
from kschedweb.web.pagination import in_pieces

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.live.approvals.models import ApprovalRequest

REFUSED = "approvals_refused"  # of the session: a decision that was not taken
SHOWN = 100
MOST_EXPORTED = 100_000
HEAD = (
    "asked_at", "scheduler__cluster__name", "namespace", "name", "uid", "node", "state", "decided_by", "decided_at",
    "ended_at", "reason", "created_by",
)  # fmt: skip
TONES = {
    State.WAITING: ("amber", "clock"),
    State.APPROVED: ("blue", "check"),
    State.BINDING: ("blue", "check"),
    State.BOUND: ("green", "circle-check"),
    State.DENIED: ("red", "circle-x"),
    State.EXPIRED: ("grey", "clock"),
    State.FAILED: ("red", "circle-x"),
    State.SUPERSEDED: ("grey", "rotate-ccw"),
}


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
def inbox(request: PageRequest) -> HttpResponse:
    """Who waits, the nearest deadline first, and beside it the one that was chosen."""
    chosen = _uuid(request.GET.get("request", ""))
    refused = request.session.pop(REFUSED, {})
    now = timezone.now()
    services.requests_expire()
    rows = list(selectors.waiting_list()[: SHOWN + 1])
    found = selectors.items(rows[:SHOWN], request.user)
    open_row = next((item.row for item in found if item.row.pk == chosen), found[0].row if found else None)
    context: dict[str, Any] = {
        "items": found,
        "more": len(rows) > SHOWN,
        "since": now.isoformat(),
        "refused": refused,
        "may_approve": request.user.may(Action.APPROVE),
    }
    context |= _pane(request, open_row) if open_row else {}
    return render(request, "live/approvals/inbox.html", context)


def _pane(request: PageRequest, row: ApprovalRequest) -> dict[str, Any]:
    tone, icon = TONES[State(row.state)]
    return {
        "item": selectors.item(row, request.user),
        "node": selectors.node_state(row),
        "stored": selectors.decision_of(row),
        "tone": tone,
        "icon": icon,
    }


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
def approval(request: PageRequest, request_id: UUID) -> HttpResponse:
    """One request as a page; to HTMX the pane of the inbox."""
    services.requests_expire(request_id=request_id)
    row = selectors.request_get(request_id)
    context = _pane(request, row) | {"may_approve": request.user.may(Action.APPROVE)}
    return render(request, "live/approvals/pane.html" if request.htmx else "live/approvals/detail.html", context)


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
@part
def news(request: PageRequest) -> HttpResponse:
    """What happened since the inbox was shown: it announces itself, and nothing in the list moves."""
    since = parse_datetime(request.GET.get("since", "").replace(" ", "+"))
    if since is None or since.tzinfo is None:
        raise Http404("Say since when, as the inbox does.")
    return render(request, "live/approvals/news.html", {"news": selectors.news(since), "since": since.isoformat()})


@never_cache
@require_safe
@requires(Action.VIEW, in_part=True)
@part
def badge(request: PageRequest) -> HttpResponse:
    """How many wait, for the navigation."""
    return render(request, "live/approvals/badge.html", {"waiting_approvals": selectors.waiting_count()})


@require_POST
@requires(Action.APPROVE, in_part=True)
def decide(request: PageRequest) -> HttpResponse:
    """Approve or deny what was ticked, or the one that is open (``open``)."""
    ticked = tuple(value for value in request.POST.getlist("requests") if _uuid(value))
    reason, verdict = request.POST.get("reason", ""), request.POST.get("verdict", "")
    if verdict not in VoteVerdict.values:
        return _refused(request, gettext("Choose to approve or to deny."), ticked)
    try:
        outcomes = services.requests_decide(user=request.user, request_ids=ticked, verdict=verdict, reason=reason)
    except ApplicationError as error:
        return _refused(request, error.detail, ticked)
    _say(request, [one.pod for one in outcomes if not one.problem], verdict)
    for one in outcomes:
        if one.problem:
            messages.error(request, one.problem)
    return redirect("approvals")


def _refused(request: PageRequest, error: str, ticked: tuple[str, ...]) -> HttpResponse:
    """Lead back to the inbox, which shows ``error`` once at the form that was sent, with all that was entered."""
    opened = bool(request.POST.get("open"))
    request.session[REFUSED] = {
        "error": error,
        "reason": request.POST.get("reason", ""),
        "ticked": [] if opened else ticked,
        "open": opened,
    }
    return redirect(f"{reverse('approvals')}?request={ticked[0]}" if ticked else "approvals")


def _say(request: PageRequest, pods: list[str], verdict: str) -> None:
    if pods:
        said = gettext("Approved: %(names)s.") if verdict == VoteVerdict.APPROVE else gettext("Denied: %(names)s.")
        names = (
            ", ".join(pods)
            if len(pods) <= 3
            else gettext("%(listed)s and %(value)s more") % {"listed": ", ".join(pods[:3]), "value": len(pods) - 3}
        )
        messages.success(request, said % {"names": names})


@require_POST
@requires(Action.APPROVE, in_part=True)
def reopen(request: PageRequest, request_id: UUID) -> HttpResponse:
    """Have people asked anew about what was denied."""
    selectors.request_get(request_id)
    done(
        request,
        lambda: services.request_reopen(user=request.user, request_id=request_id),
        gettext("People are asked again when the scheduler tries the pod next, within five minutes."),
    )
    return redirect("approval", request_id)


@require_safe
@requires(Action.VIEW, in_part=True)
@announced
def history(request: PageRequest) -> HttpResponseBase:
    """Every request there was, newest first."""
    filtered = RequestFilter(request.GET, queryset=selectors.request_list())
    if (form := request.GET.get("format")) in FORMATS:
        rows = in_pieces(filtered.qs, HEAD, MOST_EXPORTED, within=filtered.within)
        head = [name.replace("scheduler__cluster__name", "cluster") for name in HEAD]
        return export(form, "approvals", head, rows)
    page = growing_page(request, filtered.qs, within=filtered.within)
    shown = [(row, *TONES[State(row.state)]) for row in page.rows]
    query = [name for name in request.GET if name not in ("cursor",)]
    context = {"filter": filtered, "page": page, "rows": shown, "filtered": bool(query)}
    return render(request, "live/approvals/history.html", context)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
