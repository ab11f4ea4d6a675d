"""The approval gate of live schedulers; schedulers/running/gates.py says when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from kschedweb.engine.json_types import Json
from kschedweb.live.approvals import rules, services
from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState
from kschedweb.live.approvals.transitions import REJECTED
from kschedweb.live.schedulers.running.gates import Decided, Ended, HeldRequest

if TYPE_CHECKING:
    from kschedweb.engine.live import Decision, PodRef
    from kschedweb.live.schedulers.models import LiveScheduler


class ApprovalGate:
    """An ApprovalGate that stores requests as rows, so that they survive restarts."""

    def store_request(
        self,
        *,
        scheduler: LiveScheduler,
        decision: Decision,
        decision_id: str,
        ask: Json,
        pod: PodRef,
        node: str,
        plugin: str,
        seconds: float,
        epoch: int,
        revision: int,
    ) -> None:
        """Store the request; it is durable when this returns. A denial that is still in force answers it."""
        services.request_open(
            scheduler=scheduler,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            node=node,
            plugin=plugin,
            decision_id=decision_id,
            decision=decision.to_dict(),
            ask=ask,
            seconds=seconds,
            epoch=epoch,
            subject=rules.digest_subject(ask, plugin=plugin, node=node, revision=revision),
        )

    def list_open(self, scheduler: LiveScheduler) -> Sequence[HeldRequest]:
        """Return the open requests, including those of denied pods whose event was not written yet."""
        return [
            HeldRequest(
                request_id=str(row.pk),
                uid=row.uid,
                namespace=row.namespace,
                name=row.name,
                node=row.node,
                plugin=row.plugin,
                asked_at=row.asked_at.timestamp(),
                expires_at=row.expires_at.timestamp(),
                decision_id=row.decision_id,
            )
            for row in ApprovalRequest.objects.filter(scheduler=scheduler, open=True)
        ]

    def list_decided(self, scheduler: LiveScheduler) -> Sequence[Decided]:
        """Return the requests that people or the time have decided, and that were not carried out yet.

        A verdict that can still be undone is not among them.
        """
        due = Q(state=ApprovalState.WAITING, expires_at__lte=timezone.now())
        rows = ApprovalRequest.objects.filter(scheduler=scheduler, open=True)
        rows = rows.filter(Q(undo_until=None) | Q(undo_until__lte=timezone.now()))
        requests = list(rows.filter(due | ~Q(state=ApprovalState.WAITING)))
        # Only expired requests can still be in this state: the second query then reads what became of them.
        if any(row.state == ApprovalState.WAITING for row in requests):
            services.requests_expire(scheduler=scheduler)
            requests = list(rows.exclude(state=ApprovalState.WAITING))
        return [_to_decided(row) for row in requests]

    def may_bind(self, *, request_id: str, epoch: int) -> bool:
        """Return whether the leader of ``epoch`` may bind the pod now."""
        return services.binding_begin(request_id=request_id, epoch=epoch)

    def record_end(self, *, scheduler: LiveScheduler, uid: str, state: Ended, reason: str, epoch: int) -> None:
        """Record how the open request for the pod ended."""
        services.request_end(scheduler=scheduler, uid=uid, state=state, reason=reason, epoch=epoch)


def _to_decided(row: ApprovalRequest) -> Decided:
    return Decided(
        request_id=str(row.pk),
        uid=row.uid,
        plugin=row.plugin,
        verdict="reject" if row.state in REJECTED else "allow",
        reason=row.reason,
        expired=row.state == ApprovalState.EXPIRED,
    )
