"""The gate that allows held pods to be bound. The app ``approvals`` registers one when it is ready.

A plugin listed in ``holds`` lets a pod wait at Permit. The live run then asks the gate to store a request. It binds
the pod only after the gate has allowed it and ``may_bind`` has agreed for this leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.engine.live import Decision, PodRef
    from kschedweb.live.schedulers.models import LiveScheduler

# "rejected": the denial (or the expiry) has taken effect and stands in the pod's event.
Ended = Literal["bound", "failed", "superseded", "rejected"]


@dataclass(frozen=True)
class HeldRequest:
    """A stored request for a pod that is not bound yet. A run restores its reservation after a start."""

    request_id: str
    uid: str
    namespace: str
    name: str
    node: str
    plugin: str
    # Seconds of the epoch.
    asked_at: float
    # Seconds of the epoch.
    expires_at: float
    decision_id: str


@dataclass(frozen=True)
class Decided:
    """The decision of people, or an expiry, about a stored request."""

    request_id: str
    uid: str
    plugin: str
    verdict: Literal["allow", "reject"]
    # In the words of the pod's event.
    reason: str
    # True if nobody decided in time.
    expired: bool = False


class ApprovalGate(Protocol):
    """The interface to the approvals. Every method may be called again with the same arguments after a crash."""

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
        """Store a request made under this revision of the policy. It is durable when this returns.

        If people have denied the same before, ``list_decided`` has it at once.
        """

    def list_open(self, scheduler: LiveScheduler) -> Sequence[HeldRequest]:
        """Return the open requests: waiting, approved, being bound, or denied before the pod's event was written."""

    def list_decided(self, scheduler: LiveScheduler) -> Sequence[Decided]:
        """Return the requests that were decided and are still open. Called twice a second; it also expires requests.

        A request is listed until ``record_end`` reports its outcome, even one that an earlier leader was binding.
        """

    def may_bind(self, *, request_id: str, epoch: int) -> bool:
        """Return whether the leader of ``epoch`` may bind the pod now; the request turns from approved to being bound.

        It may also be taken over from the leader of an earlier epoch, which then may not bind it any more.
        """

    def record_end(self, *, scheduler: LiveScheduler, uid: str, state: Ended, reason: str, epoch: int) -> None:
        """Record how the open request for the pod ended."""


class NobodyToAsk(Exception):
    """No gate is registered, so nobody could ever answer."""


class ClosedGate:
    """The gate of an installation without approvals: no pod that needs approval is bound."""

    def store_request(self, **_: Any) -> None:
        raise NobodyToAsk("this installation has no approvals")

    def list_open(self, scheduler: LiveScheduler) -> Sequence[HeldRequest]:
        return ()

    def list_decided(self, scheduler: LiveScheduler) -> Sequence[Decided]:
        return ()

    def may_bind(self, *, request_id: str, epoch: int) -> bool:
        return False

    def record_end(self, **_: Any) -> None:
        """Do nothing: no request was made, so none ends."""


_gate: list[ApprovalGate] = []


def register_gate(gate: ApprovalGate) -> None:
    """Register ``gate``; the app calls this when it is ready."""
    _gate[:] = [gate]


def get_gate() -> ApprovalGate:
    """Return the registered gate."""
    return _gate[0] if _gate else ClosedGate()
