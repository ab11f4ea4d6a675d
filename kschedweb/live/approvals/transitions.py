"""The states of a request. Each change is one conditional UPDATE: of several tries exactly one succeeds.

waiting -> approved | denied | expired; approved -> binding -> bound | failed; any open request -> superseded.
A denied or expired request stays open until the pod's event was written. A leader of an earlier epoch changes nothing.
A denied one opens again each time that the scheduler asks about the same, until somebody lifts the denial.
A verdict of a page waits until ``undo_until``: up to then its author can turn the request into a waiting one again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F, Q

from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState

# States whose pod goes back to the queue, and states that a new decision supersedes.
REJECTED = (ApprovalState.DENIED, ApprovalState.EXPIRED)
LIVE = (ApprovalState.WAITING, ApprovalState.APPROVED, ApprovalState.BINDING)


def decide_request(
    request_id: Any, state: str, *, now: datetime, by: str, reason: str, undo_until: datetime | None = None
) -> bool:
    """Turn a waiting request into an approved or denied one, unless its time is over."""
    return _update_state(
        Q(pk=request_id, open=True, state=ApprovalState.WAITING, expires_at__gt=now),
        state=state,
        decided_at=now,
        decided_by=by,
        reason=reason,
        undo_until=undo_until,
    )


def undo_decision(request_id: Any, *, now: datetime, by: str) -> bool:
    """Turn a request that ``by`` decided a moment ago into a waiting one, unless it is being carried out."""
    decided = Q(state__in=(ApprovalState.APPROVED, ApprovalState.DENIED), decided_by=by, undo_until__gt=now)
    values = {"state": ApprovalState.WAITING, "decided_at": None, "decided_by": "", "reason": "", "undo_until": None}
    return _update_state(Q(pk=request_id, open=True) & decided, **values)


def expire_request(request_id: Any, state: str, *, now: datetime, reason: str) -> bool:
    """Turn a waiting request whose time is over into an expired one, or an approved one if its rule says so."""
    due = Q(pk=request_id, open=True, state=ApprovalState.WAITING, expires_at__lte=now)
    return _update_state(due, state=state, decided_at=now, decided_by="", reason=reason)


def begin_binding(request_id: Any, *, now: datetime, epoch: int) -> bool:
    """Turn an approved request into one being bound by the leader of ``epoch``, also after an earlier leader.

    Not while the approval can still be undone.
    """
    ready = Q(state__in=(ApprovalState.APPROVED, ApprovalState.BINDING), epoch__lte=epoch)
    settled = Q(undo_until=None) | Q(undo_until__lte=now)
    return _update_state(Q(pk=request_id, open=True) & ready & settled, state=ApprovalState.BINDING, epoch=epoch)


def end_request(
    request_id: Any, state: str, *, before: tuple[str, ...], now: datetime, reason: str, epoch: int
) -> bool:
    """End a request in one of the states ``before``, unless a later leader has taken it over."""
    values: dict[str, object] = {"state": state, "open": False, "ended_at": now}
    if reason:
        values["reason"] = reason
    return _update_state(Q(pk=request_id, open=True, state__in=before, epoch__lte=epoch), **values)


def close_request(request_id: Any, *, now: datetime) -> bool:
    """End a denied or expired request: its pod's event was written, or the pod is gone."""
    return _update_state(Q(pk=request_id, open=True, state__in=REJECTED), open=False, ended_at=now)


def ask_again(request_id: Any, *, decision_id: str, now: datetime, epoch: int) -> bool:
    """Open a denied request again for the present decision, until the pod's event is written once more."""
    denied = Q(pk=request_id, open=False, state=ApprovalState.DENIED, reopened_at=None)
    values = {"asked_again": F("asked_again") + 1, "asked_again_at": now, "decision_id": decision_id}
    return _update_state(denied, open=True, ended_at=None, epoch=epoch, **values)


def lift_denial(request_id: Any, *, now: datetime, by: str) -> bool:
    """Lift the denial, so that it answers no further requests."""
    denied = Q(pk=request_id, state=ApprovalState.DENIED, reopened_at=None) & ~Q(subject="")
    return _update_state(denied, reopened_at=now, reopened_by=by)


def _update_state(condition: Q, **values: Any) -> bool:
    return ApprovalRequest.objects.filter(condition).update(**values) == 1
