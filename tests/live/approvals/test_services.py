"""Requests: asked, decided by people or by time, carried out; and every bit of it audited."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry
from kschedweb.engine.json_types import Json
from kschedweb.live.approvals import services
from kschedweb.live.approvals.gate import ApprovalGate
from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState
from kschedweb.live.schedulers.running.gates import get_gate
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.models import LiveScheduler

HoldPod = Callable[..., ApprovalRequest]


def audited() -> list[str]:
    return list(AuditEntry.objects.order_by("id").values_list("verb", flat=True))


def late(row: ApprovalRequest) -> None:
    """Its time is over."""
    now = timezone.now()
    ApprovalRequest.objects.filter(pk=row.pk).update(asked_at=now - timedelta(hours=2), expires_at=now)


def decide(user: User, row: ApprovalRequest, verdict: str = "approve", reason: str = "") -> ApprovalRequest:
    return services.request_decide(user=user, request_id=row.pk, verdict=verdict, reason=reason)


def test_the_app_is_the_gate_that_the_scheduler_asks() -> None:
    assert isinstance(get_gate(), ApprovalGate)


def test_an_approval_is_reported_and_the_pod_bound_once(hold_pod: HoldPod, live: LiveScheduler, approver: User) -> None:
    row = hold_pod()
    assert get_gate().list_decided(live) == []
    assert decide(approver, row).state == ApprovalState.APPROVED
    (decision,) = get_gate().list_decided(live)
    assert (decision.uid, decision.verdict, decision.request_id) == (row.uid, "allow", str(row.pk))
    assert get_gate().may_bind(request_id=str(row.pk), epoch=1)
    get_gate().record_end(scheduler=live, uid=row.uid, state="bound", reason="", epoch=1)
    assert [*get_gate().list_decided(live), *get_gate().list_open(live)] == []
    assert not get_gate().may_bind(request_id=str(row.pk), epoch=2)
    row.refresh_from_db()
    assert (row.state, row.open) == (ApprovalState.BOUND, False)
    assert audited() == ["approval.asked", "approval.approved", "approval.bound"]


def test_a_denial_is_kept_until_the_pod_was_told(hold_pod: HoldPod, live: LiveScheduler, approver: User) -> None:
    row = hold_pod()
    decide(approver, row, "deny", " too close to the edge ")
    (decision,) = get_gate().list_decided(live)
    assert (decision.verdict, decision.reason) == ("reject", "denied by approver: too close to the edge")
    assert [request.uid for request in get_gate().list_open(live)] == [
        row.uid
    ]  # a scheduler that starts now can still tell it
    assert not get_gate().may_bind(request_id=str(row.pk), epoch=9)
    get_gate().record_end(scheduler=live, uid=row.uid, state="rejected", reason="", epoch=1)
    assert [*get_gate().list_decided(live), *get_gate().list_open(live)] == []
    row.refresh_from_db()
    assert row.state == ApprovalState.DENIED


def test_several_approvals_are_waited_for_and_each_person_speaks_once(
    hold_pod: HoldPod, approver: User, second: User, admin: User
) -> None:
    row = hold_pod(approvals=[{"role": "approver", "count": 1}, {"role": "admin", "count": 1}])
    assert decide(approver, row).state == ApprovalState.WAITING
    with pytest.raises(ApplicationError, match="You have approved default/web-1 already"):
        decide(approver, row)
    with pytest.raises(ApplicationError, match="No further approver is needed for default/web-1: it waits for one adm"):
        decide(second, row)
    assert decide(admin, row).state == ApprovalState.APPROVED
    assert list(row.votes.values_list("username", flat=True)) == ["approver", "admin"]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_nobody_decides_what_their_role_does_not_allow(
    hold_pod: HoldPod, verdict: str, viewer: User, editor: User, approver: User
) -> None:
    row = hold_pod(approvals=[{"role": "admin", "count": 1}])
    for user in (viewer, editor, approver):
        with pytest.raises(ApplicationError, match="Your role does not allow you") as caught:
            decide(user, row, verdict, "no")
        assert caught.value.status == 403
    assert not row.votes.exists()


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_ones_own_pod_is_for_others_to_decide_about(
    hold_pod: HoldPod, verdict: str, second: User, approver: User
) -> None:
    row = hold_pod(ownPods="Forbid", createdBy="second@example.com")
    with pytest.raises(ApplicationError, match="a pod of your own"):
        decide(second, row, verdict, "mine")
    assert decide(approver, row).state == ApprovalState.APPROVED


def test_a_denial_without_a_reason_is_refused_beside_the_field(hold_pod: HoldPod, approver: User) -> None:
    with pytest.raises(ApplicationError) as caught:
        decide(approver, hold_pod(), "deny", "  ")
    assert [error["path"] for error in caught.value.errors] == ["reason"]


@pytest.mark.parametrize(
    ("default", "state", "verdict"),
    [("Deny", ApprovalState.EXPIRED, "reject"), ("Allow", ApprovalState.APPROVED, "allow")],
)
def test_time_decides_by_the_rule_whoever_looks_first_and_only_once(
    hold_pod: HoldPod, live: LiveScheduler, approver: User, default: str, state: str, verdict: str
) -> None:
    row = hold_pod(onTimeout=default)
    late(row)
    assert [decision.verdict for decision in get_gate().list_decided(live)] == [verdict]
    assert services.requests_expire() == 0
    row.refresh_from_db()
    assert row.state == state
    with pytest.raises(ApplicationError, match="Too late: ") as caught:
        decide(approver, row)
    assert caught.value.status == 409
    assert audited() == ["approval.asked", "approval.expired"]
    if default == "Deny":
        assert row.reason == "rejected due to timeout after waiting 2h0m0s at plugin HumanApproval"


def test_who_decides_too_late_finds_it_expired(hold_pod: HoldPod, approver: User) -> None:
    row = hold_pod()
    late(row)
    with pytest.raises(ApplicationError, match="Too late: nobody decided"):
        decide(approver, row)
    row.refresh_from_db()
    assert row.state == ApprovalState.EXPIRED


def test_an_approval_given_while_no_scheduler_ran_counts_even_after_its_time(
    hold_pod: HoldPod, live: LiveScheduler, approver: User
) -> None:
    row = hold_pod()
    decide(approver, row)
    late(row)
    assert services.requests_expire() == 0
    assert [decision.verdict for decision in get_gate().list_decided(live)] == ["allow"]
    assert get_gate().may_bind(request_id=str(row.pk), epoch=7)


def test_the_same_decision_is_stored_once_and_another_one_supersedes_it(hold_pod: HoldPod, live: LiveScheduler) -> None:
    first = hold_pod()
    assert hold_pod().pk == first.pk
    other = hold_pod(decision_id="another", node="node-2")
    first.refresh_from_db()
    assert (first.state, first.reason) == (ApprovalState.SUPERSEDED, "the pod was decided on anew")
    assert [request.node for request in get_gate().list_open(live)] == ["node-2"]
    assert other.pk != first.pk


def test_a_leader_that_was_followed_by_another_changes_nothing(
    hold_pod: HoldPod, live: LiveScheduler, approver: User
) -> None:
    row = hold_pod(epoch=2)
    stale: dict[str, Any] = {"namespace": "default", "name": "web-1", "uid": row.uid, "plugin": "HumanApproval"}
    stale |= {"decision_id": "old", "decision": {}, "ask": {}, "seconds": 9.0, "node": "elsewhere", "epoch": 1}
    assert services.request_open(scheduler=live, **stale) is None
    decide(approver, row)
    assert not get_gate().may_bind(request_id=str(row.pk), epoch=1)
    get_gate().record_end(scheduler=live, uid=row.uid, state="superseded", reason="", epoch=1)
    assert get_gate().may_bind(request_id=str(row.pk), epoch=3)
    assert not get_gate().may_bind(request_id=str(row.pk), epoch=2)


def test_a_new_leader_takes_over_a_binding_that_was_begun(
    hold_pod: HoldPod, live: LiveScheduler, approver: User
) -> None:
    row = hold_pod()
    decide(approver, row)
    assert get_gate().may_bind(request_id=str(row.pk), epoch=1)
    assert [decision.verdict for decision in get_gate().list_decided(live)] == ["allow"]
    assert get_gate().may_bind(request_id=str(row.pk), epoch=2)
    get_gate().record_end(scheduler=live, uid=row.uid, state="failed", reason="by the old leader", epoch=1)
    assert [request.uid for request in get_gate().list_open(live)] == [row.uid]


def test_an_unapproved_request_cannot_end_as_bound(hold_pod: HoldPod, live: LiveScheduler) -> None:
    row = hold_pod()
    get_gate().record_end(scheduler=live, uid=row.uid, state="bound", reason="", epoch=5)
    row.refresh_from_db()
    assert row.state == ApprovalState.WAITING


def test_many_are_decided_each_for_itself(hold_pod: HoldPod, approver: User) -> None:
    fine, hard = hold_pod("a"), hold_pod("b", approvals=[{"role": "admin", "count": 1}])
    ids = [fine.pk, hard.pk, "6f9f3a1c-0000-4000-8000-000000000000", fine.pk]
    outcomes = services.requests_decide(user=approver, request_ids=ids, verdict="deny", reason="no room")
    assert [(outcome.pod, outcome.state) for outcome in outcomes] == [
        ("default/a", "denied"),
        ("default/b", "waiting"),
        ("", ""),
    ]
    assert [bool(outcome.problem) for outcome in outcomes] == [False, True, True]
    with pytest.raises(ApplicationError, match="A reason is required"):
        services.requests_decide(user=approver, request_ids=ids, verdict="deny")
    with pytest.raises(ApplicationError, match="Choose at least one"):
        services.requests_decide(user=approver, request_ids=[], verdict="approve")


def test_a_verdict_of_a_page_is_undone_within_its_time_and_carried_out_after_it(
    hold_pod: HoldPod, live: LiveScheduler, approver: User, second: User
) -> None:
    row = hold_pod()
    vote: Json = {"user": approver, "request_id": row.pk, "undo": services.UNDO}
    assert services.request_decide(**vote, verdict="approve").state == ApprovalState.APPROVED
    assert get_gate().list_decided(live) == []
    assert not get_gate().may_bind(request_id=str(row.pk), epoch=1)
    with pytest.raises(ApplicationError, match="Too late to undo: approver approved default/web-1"):
        services.request_undo(user=second, request_id=row.pk)
    assert services.request_undo(user=approver, request_id=row.pk).state == ApprovalState.WAITING
    assert not row.votes.exists()
    services.request_decide(**vote, verdict="deny", reason="not tonight")
    ApprovalRequest.objects.filter(pk=row.pk).update(undo_until=timezone.now())
    (decision,) = get_gate().list_decided(live)
    assert decision.verdict == "reject"
    with pytest.raises(ApplicationError, match="Too late to undo: approver denied default/web-1"):
        services.request_undo(user=approver, request_id=row.pk)
    assert audited() == ["approval.asked", "approval.approved", "approval.undone", "approval.denied"]


def test_one_of_two_approvals_is_undone_before_it_decides_anything(
    hold_pod: HoldPod, approver: User, admin: User
) -> None:
    row = hold_pod(approvals=[{"role": "approver", "count": 1}, {"role": "admin", "count": 1}])
    services.request_decide(user=approver, request_id=row.pk, verdict="approve", undo=services.UNDO)
    services.request_undo(user=approver, request_id=row.pk)
    assert decide(admin, row).state == ApprovalState.WAITING


def test_who_was_slower_learns_who_decided_and_where_the_pod_runs(
    hold_pod: HoldPod, live: LiveScheduler, approver: User, second: User
) -> None:
    row = hold_pod()
    decide(approver, row)
    assert get_gate().may_bind(request_id=str(row.pk), epoch=1)
    get_gate().record_end(scheduler=live, uid=row.uid, state="bound", reason="", epoch=1)
    words = r"Too late: approver approved default/web-1 \d+ s ago; it runs on node-1. Your denial had no effect."
    with pytest.raises(ApplicationError, match=words):
        decide(second, row, "deny", "no")
