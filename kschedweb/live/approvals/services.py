"""Every change of a request: opened, decided by people or by time, bound, ended. All changes are audited."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from kschedweb.accounts import audit
from kschedweb.engine.cycle.binding import format_duration
from kschedweb.engine.json_types import Json
from kschedweb.live.approvals import rules, transitions
from kschedweb.live.approvals.models import (
    ApprovalRequest,
    ApprovalState,
    Delivered,
    Vote,
    VoteVerdict,
    WebhookEvent,
)
from kschedweb.live.approvals.selectors import decide_refusal, describe_outcome, not_asked
from kschedweb.live.approvals.webhooks.services import queue_event
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem, NotFound
from kschedweb.web.outages import find_outage

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.models import LiveScheduler

logger = structlog.get_logger(__name__)

# Characters.
LONGEST_REASON = 1000
# Requests that one form may decide.
MOST_TOGETHER = 200
# How long a verdict of a page can be undone.
UNDO = timedelta(seconds=10)
# Requests about one pod that may come in between before this gives up.
MOST_RIVALS = 20


@transaction.atomic
def request_open(
    *,
    scheduler: LiveScheduler,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    plugin: str,
    decision_id: str,
    decision: Json,
    ask: Json,
    seconds: float,
    epoch: int,
    subject: str = "",
) -> ApprovalRequest | None:
    """Store that a pod waits. The same decision again changes nothing; another one supersedes the open request.

    Returns None if a later leader has asked about this pod already. If people have denied the same ``subject``, that
    request counts how often it was asked again: the denial holds, and nobody is notified anew.
    """
    now = timezone.now()
    fields = {
        "namespace": namespace,
        "name": name,
        "node": node,
        "plugin": plugin,
        "decision_id": decision_id,
        "decision": decision,
        "ask": ask,
        "created_by": str(ask.get("createdBy") or "")[:253],
        "asked_at": now,
        "expires_at": now + timedelta(seconds=seconds),
        "epoch": epoch,
        "subject": subject,
    }
    row: ApprovalRequest | None = None
    for _ in range(MOST_RIVALS):
        open_request = _lock_open_request(scheduler, uid)
        if open_request is not None and open_request.decision_id == decision_id:
            return open_request
        if open_request is not None and open_request.epoch > epoch:
            return None
        if open_request is not None:
            _supersede_request(open_request, "the pod was decided on anew", now, epoch)
        # Another leader's request may come in between; in the end the newest leader's must be the open one.
        with suppress(IntegrityError), transaction.atomic():
            if denied := _find_denied(scheduler, uid, subject):
                if transitions.ask_again(denied.pk, decision_id=decision_id, now=now, epoch=epoch):
                    return denied
                continue
            row = ApprovalRequest.objects.create(scheduler=scheduler, uid=uid, **fields)
            break
    if row is None:
        raise Conflict(
            gettext("Others keep asking about %(namespace)s/%(name)s.") % {"namespace": namespace, "name": name}
        )
    audit.record(None, "approval.asked", row, row.pod, node=node, rules=ask.get("rules", []))
    queue_event(WebhookEvent.OPENED, row)
    return row


@transaction.atomic
def request_reopen(*, user: User, request_id: Any) -> ApprovalRequest:
    """Lift a denial: the scheduler asks again when it next tries the pod. Votes are kept.

    Raises ``ApplicationError``: 403 for people without a say, 404, 409 if no denial is in force.
    """
    row = ApprovalRequest.objects.select_for_update().filter(pk=request_id).first()
    if row is None:
        raise NotFound("There is no such request.")
    if refusal := not_asked(user, row):
        raise refusal
    if not transitions.lift_denial(row.pk, now=timezone.now(), by=user.get_username()):
        raise Conflict(
            gettext("No denial of %(pod)s is in force: the request is %(lower)s.")
            % {"pod": row.pod, "lower": row.get_state_display().lower()}
        )
    audit.record(user, "approval.reopened", row, row.pod, node=row.node, uid=row.uid)
    row.refresh_from_db()
    return row


def request_decide(
    *, user: User, request_id: Any, verdict: str, reason: str = "", undo: timedelta | None = None
) -> ApprovalRequest:
    """Record one person's vote. The request is decided once enough people have approved or one has denied.

    With ``undo`` the decision is carried out only after that time; until then its author can take it back.

    Raises ``ApplicationError``: 403 for people without a say, 404, 409 if it is over or repeated, 400 without a reason.
    """
    # A request whose time is over must not be decided by a vote, even if no scheduler has noticed yet.
    requests_expire(request_id=request_id)
    with transaction.atomic():
        row = ApprovalRequest.objects.select_for_update().filter(pk=request_id).first()
        if row is None:
            raise NotFound("There is no such request.")
        reason = _check_vote(user, row, verdict, reason.strip())
        now = timezone.now()
        Vote.objects.create(
            request=row,
            user=user,
            username=user.get_username(),
            role=user.role_in(row.scheduler.cluster_id, row.namespace),
            verdict=verdict,
            reason=reason,
            at=now,
        )
        _count_vote(user, row, verdict, reason, now, undo)
    row.refresh_from_db()
    return row


def _check_vote(user: User, row: ApprovalRequest, verdict: str, reason: str) -> str:
    """Return the reason to store. Raise if this person may not cast this vote now."""
    if refusal := decide_refusal(user, row):
        if row.state != ApprovalState.WAITING and refusal.status == Conflict.status:
            no_effect = (
                gettext("Your denial had no effect.")
                if verdict == VoteVerdict.DENY
                else gettext("Your approval had no effect.")
            )
            raise Conflict(f"{refusal.detail} {no_effect}")
        raise refusal
    if verdict == VoteVerdict.DENY and not reason:
        raise _field_error("reason", gettext("Say why it is denied: the pod's event quotes it."))
    if len(reason) > LONGEST_REASON or "\0" in reason:
        raise _field_error(
            "reason",
            gettext("A reason has at most %(longest_reason)s characters.") % {"longest_reason": LONGEST_REASON},
        )
    approvals = [vote for vote in row.votes.all() if vote.verdict == VoteVerdict.APPROVE]
    if any(vote.user_id == user.pk for vote in approvals):
        raise Conflict(gettext("You have approved %(pod)s already.") % {"pod": row.pod})
    role = user.role_in(row.scheduler.cluster_id, row.namespace)
    if verdict == VoteVerdict.APPROVE and not rules.counts_towards(row.ask, [vote.role for vote in approvals], role):
        missing = rules.describe_people(rules.missing_approvals(row.ask, [vote.role for vote in approvals]))
        raise Conflict(
            gettext("No further %(role)s is needed for %(pod)s: it waits for %(left)s.")
            % {"role": role, "pod": row.pod, "left": missing}
        )
    return reason


def _count_vote(
    user: User, row: ApprovalRequest, verdict: str, reason: str, now: datetime, undo: timedelta | None
) -> None:
    """Audit the vote, and decide the request if the vote makes the difference."""
    name, delay = user.get_username(), undo or timedelta()
    values: dict[str, Any] = {"now": now, "by": name, "undo_until": now + undo if undo else None}
    details = {"node": row.node, "reason": reason, "uid": row.uid}
    if verdict == VoteVerdict.DENY:
        message = f"denied by {name}: {reason}"
        if not transitions.decide_request(row.pk, ApprovalState.DENIED, reason=message, **values):
            raise Conflict(f"{row.pod} was decided, or ran out of time, a moment ago.")
        audit.record(user, "approval.denied", row, row.pod, **details)
        queue_event(WebhookEvent.DECIDED, row, delay)
        return
    roles = row.votes.filter(verdict=VoteVerdict.APPROVE).values_list("role", flat=True)
    missing = rules.missing_approvals(row.ask, roles)
    audit.record(user, "approval.approved", row, row.pod, missing=missing, **details)
    if missing:
        return
    if not transitions.decide_request(row.pk, ApprovalState.APPROVED, reason=reason, **values):
        raise Conflict(f"{row.pod} was decided, or ran out of time, a moment ago.")
    queue_event(WebhookEvent.DECIDED, row, delay)


@transaction.atomic
def request_undo(*, user: User, request_id: Any) -> ApprovalRequest:
    """Take back this person's verdict of a moment ago, so that the request waits again.

    Raises ``ApplicationError``: 404, 409 if the verdict is carried out, too old, or somebody else's.
    """
    row = ApprovalRequest.objects.select_for_update().filter(pk=request_id).first()
    if row is None:
        raise NotFound("There is no such request.")
    now, name = timezone.now(), user.get_username()
    vote = row.votes.filter(user=user).first()
    # Where more people have to approve, the vote has decided nothing yet.
    undone = row.state == ApprovalState.WAITING and vote is not None and vote.at > now - UNDO
    if vote is None or not (undone or transitions.undo_decision(row.pk, now=now, by=name)):
        raise Conflict(gettext("Too late to undo: %(outcome)s") % {"outcome": describe_outcome(row, now)})
    vote.delete()
    row.deliveries.filter(event=WebhookEvent.DECIDED, state=Delivered.PENDING).delete()
    audit.record(user, "approval.undone", row, row.pod, node=row.node, uid=row.uid, verdict=vote.verdict)
    row.refresh_from_db()
    return row


@dataclass(frozen=True)
class VoteResult:
    """The result of a vote on one of several requests."""

    request_id: str
    pod: str
    state: str
    # Why it failed, "" if it worked.
    problem: str = ""


def requests_decide(
    *, user: User, request_ids: Iterable[Any], verdict: str, reason: str = "", undo: timedelta | None = None
) -> list[VoteResult]:
    """Cast the same vote on several requests, each on its own. Raise ``ApplicationError`` if all must fail.

    A problem that concerns all of them (no reason, too many) is reported once.
    """
    keys = list(dict.fromkeys(str(key) for key in request_ids))
    if not keys:
        raise _field_error("requests", gettext("Choose at least one request."))
    if len(keys) > MOST_TOGETHER:
        raise _field_error(
            "requests", gettext("At most %(most_together)s requests at a time.") % {"most_together": MOST_TOGETHER}
        )
    if verdict == VoteVerdict.DENY and not reason.strip():
        raise _field_error("reason", gettext("A reason is required; it appears in the pod's events."))
    results = []
    for request_id in keys:
        try:
            row = request_decide(user=user, request_id=request_id, verdict=verdict, reason=reason, undo=undo)
            results.append(VoteResult(request_id, row.pod, row.state))
        except ApplicationError as error:
            stored_request = ApprovalRequest.objects.filter(pk=request_id).first()
            pod, state = (stored_request.pod, stored_request.state) if stored_request else ("", "")
            results.append(VoteResult(request_id, pod, state, error.detail))
    return results


def requests_expire(*, scheduler: LiveScheduler | None = None, request_id: Any = None) -> int:
    """Decide expired requests by the default of their rules, and return how many. Any process may do this."""
    now = timezone.now()
    due = ApprovalRequest.objects.filter(open=True, state=ApprovalState.WAITING, expires_at__lte=now)
    if scheduler is not None:
        due = due.filter(scheduler=scheduler)
    if request_id is not None:
        due = due.filter(pk=request_id)
    return sum(_try_to_expire(row, now) for row in due[:1000])


def _try_to_expire(row: ApprovalRequest, now: datetime) -> bool:
    """Call ``_expire_request``, so that one request that fails does not keep the others waiting."""
    try:
        return _expire_request(row, now)
    except Exception as error:
        if find_outage(error):
            raise
        logger.exception("approval_not_expired", request=str(row.pk), pod=row.pod)
        return False


@transaction.atomic
def _expire_request(row: ApprovalRequest, now: datetime) -> bool:
    allow = row.ask.get("onTimeout") == "Allow"
    waited = format_duration(round((row.expires_at - row.asked_at).total_seconds(), 3))
    reason = f"rejected due to timeout after waiting {waited} at plugin {row.plugin}"
    if allow:
        reason = f"nobody decided within {waited}, and the rule then allows"
    if not transitions.expire_request(
        row.pk, ApprovalState.APPROVED if allow else ApprovalState.EXPIRED, now=now, reason=reason
    ):
        return False
    audit.record(None, "approval.expired", row, row.pod, node=row.node, uid=row.uid, allowed=allow)
    queue_event(WebhookEvent.EXPIRED, row)
    return True


@transaction.atomic
def binding_begin(*, request_id: Any, epoch: int) -> bool:
    """Return whether the leader of ``epoch`` may bind the approved pod now."""
    return transitions.begin_binding(request_id, now=timezone.now(), epoch=epoch)


@transaction.atomic
def request_end(*, scheduler: LiveScheduler, uid: str, state: str, reason: str, epoch: int) -> bool:
    """Record how the open request ended: bound, failed, superseded, or ``rejected`` (the event was written)."""
    row = _lock_open_request(scheduler, uid)
    if row is None or row.epoch > epoch:
        return False
    now = timezone.now()
    if state in (ApprovalState.BOUND, ApprovalState.FAILED):
        before = (ApprovalState.APPROVED, ApprovalState.BINDING)
        if not transitions.end_request(row.pk, state, before=before, now=now, reason=reason, epoch=epoch):
            return False
        audit.record(None, f"approval.{state}", row, row.pod, node=row.node, uid=uid, reason=reason)
        return True
    if transitions.close_request(row.pk, now=now):
        return True
    return state == ApprovalState.SUPERSEDED and _supersede_request(row, reason, now, epoch)


def _supersede_request(row: ApprovalRequest, reason: str, now: datetime, epoch: int) -> bool:
    if transitions.close_request(row.pk, now=now):
        return True
    before = transitions.LIVE
    if not transitions.end_request(
        row.pk, ApprovalState.SUPERSEDED, before=before, now=now, reason=reason, epoch=epoch
    ):
        return False
    audit.record(None, "approval.superseded", row, row.pod, node=row.node, uid=row.uid, reason=reason)
    return True


def _find_denied(scheduler: LiveScheduler, uid: str, subject: str) -> ApprovalRequest | None:
    """Return the request in which people denied the same subject, None if there is none or it was reopened."""
    rows = ApprovalRequest.objects.filter(scheduler=scheduler, uid=uid, state=ApprovalState.DENIED, open=False)
    return rows.filter(subject=subject, reopened_at=None).order_by("-asked_at").first() if subject else None


def _lock_open_request(scheduler: LiveScheduler, uid: str) -> ApprovalRequest | None:
    return ApprovalRequest.objects.select_for_update().filter(scheduler=scheduler, uid=uid, open=True).first()


def _field_error(path: str, message: str) -> ApplicationError:
    return ApplicationError(message, errors=[FieldProblem(path=path, message=message)])
