"""The states of a request. Each change is one conditional UPDATE: of several tries exactly one succeeds.

waiting -> approved | denied | expired; approved -> binding -> bound | failed; all that is open -> superseded.
A denied or expired request stays open until the pod was told. A leader of an earlier epoch changes nothing.
A denied one opens again each time that the scheduler asks about the same, until somebody lifts the denial.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F, Q

from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState

REJECTED = (ApprovalState.DENIED, ApprovalState.EXPIRED)
LIVE = (ApprovalState.WAITING, ApprovalState.APPROVED, ApprovalState.BINDING)


def decide(request_id: Any, state: str, *, now: datetime, by: str, reason: str) -> bool:
    """From waiting to approved or denied, while there is time."""
    return _update_state(
        Q(pk=request_id, open=True, state=ApprovalState.WAITING, expires_at__gt=now),
        state=state,
        decided_at=now,
        decided_by=by,
        reason=reason,
    )


def expire(request_id: Any, state: str, *, now: datetime, reason: str) -> bool:
    """From waiting to what its rule says when nobody decided in time: expired, or approved."""
    due = Q(pk=request_id, open=True, state=ApprovalState.WAITING, expires_at__lte=now)
    return _update_state(due, state=state, decided_at=now, decided_by="", reason=reason)


def begin_binding(request_id: Any, *, epoch: int) -> bool:
    """From approved to being bound by the leader of ``epoch``, which may take over from an earlier one."""
    ready = Q(state__in=(ApprovalState.APPROVED, ApprovalState.BINDING), epoch__lte=epoch)
    return _update_state(Q(pk=request_id, open=True) & ready, state=ApprovalState.BINDING, epoch=epoch)


def end(request_id: Any, state: str, *, before: tuple[str, ...], now: datetime, reason: str, epoch: int) -> bool:
    """From one of ``before`` to an end; nothing if a later leader has taken over."""
    values: dict[str, Any] = {"state": state, "open": False, "ended_at": now}
    if reason:
        values["reason"] = reason
    return _update_state(Q(pk=request_id, open=True, state__in=before, epoch__lte=epoch), **values)


def tell(request_id: Any, *, now: datetime) -> bool:
    """The pod was told that it is denied, or is gone: the request ends in its state."""
    return _update_state(Q(pk=request_id, open=True, state__in=REJECTED), open=False, ended_at=now)


def ask_again(request_id: Any, *, decision_id: str, now: datetime, epoch: int) -> bool:
    """A denied request is open again, for the decision of now, until the pod is told once more."""
    denied = Q(pk=request_id, open=False, state=ApprovalState.DENIED, reopened_at=None)
    values = {"asked_again": F("asked_again") + 1, "asked_again_at": now, "decision_id": decision_id}
    return _update_state(denied, open=True, ended_at=None, epoch=epoch, **values)


def reopen(request_id: Any, *, now: datetime, by: str) -> bool:
    """Lift the denial."""
    denied = Q(pk=request_id, state=ApprovalState.DENIED, reopened_at=None) & ~Q(subject="")
    return _update_state(denied, reopened_at=now, reopened_by=by)


def _update_state(condition: Q, **values: Any) -> bool:
    return ApprovalRequest.objects.filter(condition).update(**values) == 1
