"""A denial stands: further requests about the same fold into it, until something changes or somebody reopens it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.accounts.models import AuditEntry
from kschedweb.engine.live import Decision, PodRef
from kschedweb.engine.objects import Pod
from kschedweb.engine.plugins.humanapproval import pod_digest
from kschedweb.live.approvals import rules, services
from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState, Delivery, Endpoint, Vote
from kschedweb.live.schedulers.running.gates import get_gate
from kschedweb.web.errors import ApplicationError
from tests.conftest import person
from tests.live.approvals.conftest import asking
from tests.support import seed
from tests.support.html import elements, html_of

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler

pytestmark = pytest.mark.django_db
POD = PodRef("default", "web-1", "uid-web-1")


def try_pod(
    live: LiveScheduler, number: int = 1, *, node: str = "node-1", revision: int = 1, pod: str = "as made"
) -> None:
    """The scheduler tries the pod for the ``number``-th time, and the gate holds it."""
    decision = Decision(
        pod="default/web-1", uid=POD.uid, time=float(number), profile="kschedweb", node=node, attempt=number
    )
    get_gate().store_request(
        scheduler=live,
        decision=decision,
        decision_id=f"decision-{number}",
        ask=asking(podDigest=pod),
        pod=POD,
        node=node,
        plugin="HumanApproval",
        seconds=3600.0,
        epoch=1,
        revision=revision,
    )


def report_decisions(live: LiveScheduler) -> list[str]:
    """The pod is told what was decided: what the answer was, by request."""
    answers = get_gate().list_decided(live)
    for answer in answers:
        get_gate().record_end(scheduler=live, uid=answer.uid, state="rejected", reason=answer.reason, epoch=1)
    return [f"{answer.verdict}: {answer.reason}" for answer in answers]


def denied(live: LiveScheduler) -> ApprovalRequest:
    """A request that an approver denied, and the pod was told."""
    try_pod(live)
    row = ApprovalRequest.objects.get(open=True)
    services.request_decide(user=person("approver"), request_id=row.pk, verdict="deny", reason="not today")
    assert report_decisions(live)
    return row


def test_further_tries_fold_into_the_denied_request(live: LiveScheduler) -> None:
    Endpoint.objects.create(name="chat", url="https://chat.example.com/")
    row = denied(live)
    audited, deliveries = AuditEntry.objects.count(), Delivery.objects.count()
    for number in (2, 3, 4):
        try_pod(live, number)
        try_pod(live, number)  # as after a crash
        assert report_decisions(live) == [f"reject: {ApprovalRequest.objects.get().reason}"]
    row.refresh_from_db()
    assert (row.state, row.open, row.asked_again, row.decision_id) == (ApprovalState.DENIED, False, 3, "decision-4")
    assert row.asked_again_at is not None
    assert row.reason.endswith("not today")
    assert Vote.objects.get().request == row
    assert (AuditEntry.objects.count(), Delivery.objects.count()) == (audited, deliveries)


def test_a_restart_restores_what_is_about_to_be_told(live: LiveScheduler) -> None:
    row = denied(live)
    try_pod(live, 2)
    assert [(request.request_id, request.decision_id) for request in get_gate().list_open(live)] == [
        (str(row.pk), "decision-2")
    ]
    assert not get_gate().may_bind(request_id=str(row.pk), epoch=1)


@pytest.mark.parametrize("change", [{"node": "node-2"}, {"revision": 2}, {"pod": "changed"}])
def test_people_are_asked_anew_when_the_node_the_revision_or_the_pod_changes(
    live: LiveScheduler, change: dict[str, Any]
) -> None:
    before = denied(live)
    try_pod(live, 2, **change)
    anew = ApprovalRequest.objects.get(open=True)
    assert anew.pk != before.pk
    assert anew.state == ApprovalState.WAITING
    services.request_decide(user=person("admin"), request_id=anew.pk, verdict="deny", reason="nor there")
    report_decisions(live)
    try_pod(live, 3)  # as at first: what was denied then still is
    assert ApprovalRequest.objects.get(open=True).pk == before.pk
    assert ApprovalRequest.objects.count() == 2


def test_what_expired_is_asked_anew_for_nobody_decided(live: LiveScheduler) -> None:
    try_pod(live)
    ApprovalRequest.objects.update(expires_at="2020-01-01T00:00Z")
    report_decisions(live)
    try_pod(live, 2)
    assert [row.state for row in ApprovalRequest.objects.order_by("asked_at")] == [
        ApprovalState.EXPIRED,
        ApprovalState.WAITING,
    ]


def test_a_person_who_is_asked_reopens_it(live: LiveScheduler) -> None:
    row = denied(live)
    with pytest.raises(ApplicationError, match="Your role does not allow"):
        services.request_reopen(user=person("viewer"), request_id=row.pk)
    services.request_reopen(user=person("admin"), request_id=row.pk)
    assert AuditEntry.objects.filter(verb="approval.reopened", object_id=str(row.pk)).count() == 1
    with pytest.raises(ApplicationError, match="No denial of default/web-1 is in force"):
        services.request_reopen(user=person("admin"), request_id=row.pk)
    try_pod(live, 2)
    anew = ApprovalRequest.objects.get(open=True)
    assert anew.pk != row.pk
    services.request_decide(user=person("approver"), request_id=anew.pk, verdict="approve")
    assert get_gate().may_bind(request_id=str(anew.pk), epoch=1)
    assert row.votes.count() == 1  # what was said then is not unsaid


def test_page_and_rest_show_how_often_and_reopen(
    live: LiveScheduler, client_as: Callable[[str], Any], api_as: Callable[[str], Any]
) -> None:
    row = denied(live)
    try_pod(live, 2)
    report_decisions(live)
    client = client_as("approver")
    page, anew = client.get(f"/approvals/{row.pk}/"), f"form[action=/approvals/{row.pk}/reopen/]"
    assert page.context["item"].stands
    assert "The scheduler asked again 1 time" in html_of(page)
    assert elements(page, anew)
    assert "1× again" in client.get("/approvals/history/").content.decode()
    assert not elements(client_as("viewer").get(f"/approvals/{row.pk}/"), anew)
    assert client_as("viewer").post(f"/approvals/{row.pk}/reopen/").status_code == 403
    assert client.post(f"/approvals/{row.pk}/reopen/").status_code == 302
    reopened_page = client.get(f"/approvals/{row.pk}/")
    assert reopened_page.context["item"].row.reopened_by == "approver"
    assert not reopened_page.context["item"].stands
    assert not elements(reopened_page, anew)
    assert api_as("approver").post(f"/api/v1/approvals/{row.pk}/reopen/").status_code == 409
    answer = api_as("viewer").get(f"/api/v1/approvals/{row.pk}/").json()
    assert (answer["asked_again"], answer["reopened_by"]) == (1, person("approver").username)


def test_the_digest_changes_with_what_people_decide_about() -> None:
    def digest_of(**changes: Any) -> str:
        raw = seed.pod("web")
        raw["metadata"]["resourceVersion"] = changes.pop("version", "1")
        raw["status"] = changes.pop("status", {})
        raw["metadata"]["labels"] = {"tier": "front"} | changes.pop("labels", {})
        raw["spec"] |= changes
        return pod_digest(Pod.from_json(raw))

    assert digest_of() == digest_of(version="2", status={"conditions": [{"type": "PodScheduled", "status": "False"}]})
    assert (
        len(
            {
                digest_of(),
                digest_of(labels={"tier": "back"}),
                digest_of(priority=7),
                digest_of(nodeSelector={"zone": "a"}),
            }
        )
        == 4
    )
    assert rules.digest_subject({}, plugin="HumanApproval", node="n", revision=1) == ""
