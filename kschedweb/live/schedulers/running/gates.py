"""The gate that allows held pods to be bound. The app approvals registers one when it is ready.

A plugin of ``holds`` lets a pod wait at Permit. The live run then has the gate store a request. It binds the pod only
after the gate has allowed it and ``may_bind`` has said yes for this leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from kschedweb.engine.live import Decision, PodRef
    from kschedweb.live.schedulers.models import LiveScheduler

# "rejected": the denial (or the expiry) has taken effect, and is in the pod's event.
Ended = Literal["bound", "failed", "superseded", "rejected"]


@dataclass(frozen=True)
class HeldRequest:
    """A stored request for a pod that is not bound yet: its reservation is to be restored after a start."""

    request_id: str
    uid: str
    namespace: str
    name: str
    node: str
    plugin: str
    asked_at: float  # seconds of the epoch
    expires_at: float  # seconds of the epoch
    decision_id: str


@dataclass(frozen=True)
class Decided:
    """What people (or the time) decided about a stored request."""

    request_id: str
    uid: str
    plugin: str
    verdict: Literal["allow", "reject"]
    reason: str  # as the pod's event says it
    expired: bool = False  # nobody decided in time


class ApprovalGate(Protocol):
    """Every method may be called again with the same arguments, by another process after a crash."""

    def store_request(
        self,
        *,
        scheduler: LiveScheduler,
        decision: Decision,
        decision_id: str,
        ask: dict[str, Any],
        pod: PodRef,
        node: str,
        plugin: str,
        seconds: float,
        epoch: int,
        revision: int,
    ) -> None:
        """Store the request, made under this revision of the policy; it is durable when this returns.

        Where people have denied the same before, it is ``decided`` at once.
        """

    def open(self, scheduler: LiveScheduler) -> Sequence[HeldRequest]:
        """The requests that have not ended: waiting, approved, being bound, or denied before the pod was told."""

    def decided(self, scheduler: LiveScheduler) -> Sequence[Decided]:
        """The requests that were decided and have not ended; called four times a second. Expired ones are decided here.

        A request is listed until ``ended`` says that it was carried out, also one that an earlier leader was binding.
        """

    def may_bind(self, *, request_id: str, epoch: int) -> bool:
        """Whether the leader of ``epoch`` may bind the pod now: the request turns from approved to being bound.

        It may also be taken over from the leader of an earlier epoch, which then may not bind any more.
        """

    def ended(self, *, scheduler: LiveScheduler, uid: str, state: Ended, reason: str, epoch: int) -> None:
        """Note how the open request for the pod ended."""


class NobodyToAsk(Exception):
    """No gate is registered, so nobody could ever answer."""


class ClosedGate:
    """The gate if no app registers one: no pod that needs approval is bound."""

    def store_request(self, **_: Any) -> None:
        raise NobodyToAsk("this installation has no approvals")

    def open(self, scheduler: LiveScheduler) -> Sequence[HeldRequest]:
        return ()

    def decided(self, scheduler: LiveScheduler) -> Sequence[Decided]:
        return ()

    def may_bind(self, *, request_id: str, epoch: int) -> bool:
        return False

    def ended(self, **_: Any) -> None:
        """Nothing was asked, so nothing ends."""


_gate: list[ApprovalGate] = []


def register_gate(gate: ApprovalGate) -> None:
    """Register ``gate``; the app calls this when it is ready."""
    _gate[:] = [gate]


def get_gate() -> ApprovalGate:
    """The registered gate."""
    return _gate[0] if _gate else ClosedGate()
