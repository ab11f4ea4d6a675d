"""Who is asked before a held pod is bound. The app approvals fills this in when it is ready; nothing here knows it.

A plugin of ``holds`` lets a pod wait at Permit. The live run then has the gate store the request, and binds the pod
only after the gate has allowed it and ``may_bind`` has said yes for this leader.
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
    until: float  # seconds of the epoch
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

    def held(
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
        """What has not ended: what waits, is approved or being bound, and what was denied and the pod not told yet."""

    def decided(self, scheduler: LiveScheduler) -> Sequence[Decided]:
        """What was decided and has not ended; asked four times a second. Those whose time is over are decided here.

        It is listed until ``ended`` says that it was carried out: also a request that an earlier leader was binding.
        """

    def may_bind(self, *, request_id: str, epoch: int) -> bool:
        """Whether the leader of ``epoch`` may bind the pod now: the request turns from approved to being bound.

        Also from being bound by an earlier epoch, which then may not any more.
        """

    def ended(self, *, scheduler: LiveScheduler, uid: str, state: Ended, reason: str, epoch: int) -> None:
        """The open request for the pod came to this end."""


class NobodyToAsk(Exception):
    """No gate is registered, so that nobody could ever answer."""


class ClosedGate:
    """Stands where no app answers: nothing that must be approved is bound."""

    def held(self, **_: Any) -> None:
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


def register(gate: ApprovalGate) -> None:
    """Make ``gate`` the one that is asked; the app calls this when it is ready."""
    _gate[:] = [gate]


def gate() -> ApprovalGate:
    """The gate that is asked."""
    return _gate[0] if _gate else ClosedGate()
