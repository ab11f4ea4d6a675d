"""Requests for approval in every state, and an endpoint with deliveries."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.live.approvals.models import ApprovalRequest
    from kschedweb.live.schedulers.models import LiveScheduler

ASK: dict[str, Any] = {
    "rules": ["production"],
    "approvals": [{"role": "approver", "count": 1}],
    "seconds": 3600.0,
    "onTimeout": "Deny",
    "ownPods": "Forbid",
    "createdBy": "deployer@example.com",
    "reason": "Production pods are looked at before they start.",
    "why": ["it is in namespace default", "its node is only 4 points ahead, fewer than 10"],
    "margin": 4,
    "priority": 1000,
    "usage": {"15m": {"cpu": 61.5, "memory": 48.2}},
    "node": {"cpu": [1500, 4000], "memory": [2 << 30, 8 << 30], "pods": [3, 110]},
}


def request(live: LiveScheduler, name: str = "web-0", seconds: float = 3600.0, **ask: Any) -> ApprovalRequest:
    """A pod that ``live`` holds for ``seconds``."""
    from kschedweb.live.approvals import services
    from tests.support import seed_live

    stored = seed_live.decision(live, name, "held")
    decision = {
        "pod": f"default/{name}",
        "node": stored.node,
        "evaluated": 30,
        "feasible": 28,
        "margin": 4,
        "top": stored.top,
    }
    approval_request = services.request_open(
        scheduler=live,
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        node=stored.node,
        plugin="HumanApproval",
        decision_id=str(stored.pk),
        decision=decision,
        ask=ASK | {"seconds": seconds} | ask,
        seconds=seconds,
        epoch=1,
    )
    assert approval_request is not None
    return approval_request


def everything(rows: int, live: LiveScheduler, user: User) -> tuple[str, str]:
    """``rows`` requests that wait and as many that ended, with deliveries; ids of a request and an endpoint."""
    from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState, Delivery, Endpoint, Vote

    now = timezone.now()
    endpoint = Endpoint.objects.create(name="chat", url="https://192.0.2.9/hooks/approvals", created_by=user)
    requests = []
    for number in range(rows):
        requests.append(request(live, f"held-{number}", seconds=600.0 * (number + 1)))
        ended = request(live, f"ended-{number}")
        state = (ApprovalState.BOUND, ApprovalState.DENIED, ApprovalState.EXPIRED)[number % 3]
        ApprovalRequest.objects.filter(pk=ended.pk).update(
            state=state,
            open=False,
            decided_at=now,
            ended_at=now,
            decided_by="approver",
            reason="denied by approver: no",
        )
        Vote.objects.create(request=ended, user=user, username=user.username, role=user.role, verdict="approve", at=now)
    Delivery.objects.filter(endpoint=endpoint).update(next_at=now + timedelta(hours=1), error="It cannot be reached.")
    return str(requests[0].pk), str(endpoint.pk)
