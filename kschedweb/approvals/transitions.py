"""The states of a request, each change one conditional UPDATE, so that of several who try exactly one succeeds.

waiting -> approved | denied | expired; approved -> binding -> bound | failed; all that is open -> superseded.
A denied or expired request stays open until the pod was told. A leader of an earlier epoch changes nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from kschedweb.approvals.models import ApprovalRequest, State

REJECTED = (State.DENIED, State.EXPIRED)
LIVE = (State.WAITING, State.APPROVED, State.BINDING)


def decide(request_id: Any, state: str, *, now: datetime, by: str, reason: str) -> bool:
    """From waiting to approved or denied, while there is time."""
    return _move(
        Q(pk=request_id, open=True, state=State.WAITING, expires_at__gt=now),
        state=state,
        decided_at=now,
        decided_by=by,
        reason=reason,
    )


def expire(request_id: Any, state: str, *, now: datetime, reason: str) -> bool:
    """From waiting to what its rule says when nobody decided in time: expired, or approved."""
    due = Q(pk=request_id, open=True, state=State.WAITING, expires_at__lte=now)
    return _move(due, state=state, decided_at=now, decided_by="", reason=reason)


def begin_binding(request_id: Any, *, epoch: int) -> bool:
    """From approved to being bound by the leader of ``epoch``, which may take over from an earlier one."""
    ready = Q(state__in=(State.APPROVED, State.BINDING), epoch__lte=epoch)
    return _move(Q(pk=request_id, open=True) & ready, state=State.BINDING, epoch=epoch)


def end(request_id: Any, state: str, *, before: tuple[str, ...], now: datetime, reason: str, epoch: int) -> bool:
    """From one of ``before`` to an end; nothing where a later leader has taken over."""
    values: dict[str, Any] = {"state": state, "open": False, "ended_at": now}
    if reason:
        values["reason"] = reason
    return _move(Q(pk=request_id, open=True, state__in=before, epoch__lte=epoch), **values)


def tell(request_id: Any, *, now: datetime) -> bool:
    """The pod was told that it is denied, or is gone: the request ends as what it is."""
    return _move(Q(pk=request_id, open=True, state__in=REJECTED), open=False, ended_at=now)


def _move(where: Q, **values: Any) -> bool:
    return ApprovalRequest.objects.filter(where).update(**values) == 1
