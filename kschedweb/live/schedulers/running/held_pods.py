"""Held pods: the stored request of each, and the effect of its answer. Used by the run's own thread only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from kschedweb.engine.live import BindPod, Superseded
from kschedweb.live.schedulers.models import Result

if TYPE_CHECKING:
    from kschedweb.engine.live import HoldPod, Intent, LiveLoop
    from kschedweb.live.schedulers.running.gate_client import (
        BindPermission,
        GateClient,
        RequestsDecided,
        RequestsListed,
        RequestStored,
    )
    from kschedweb.live.schedulers.running.gates import Decided, HeldRequest
    from kschedweb.live.schedulers.running.ledger import Ledger

logger = structlog.get_logger(__name__)

ELSEWHERE = "the pod was bound to {} by another scheduler"
NOT_IN_FORCE = "the approval is not in force any more"
# Seconds between two reads of the stored requests, if an answer names an unknown one.
ASK_AGAIN = 1.0


@dataclass
class Requests:
    """The held pods of one term."""

    loop: LiveLoop
    asker: GateClient
    ledger: Ledger
    term: int = 0
    epoch: int = 0
    # True once all pods held before this term are held again: other pods may be tried only then.
    restored: bool = False
    _held_uids: set[str] = field(default_factory=set)
    # By uid: bindings that wait for the gate's permission.
    _binding: dict[str, BindPod] = field(default_factory=dict)
    # By uid: requests that people allowed while the pod still waits at Permit for other plugins.
    _allowed: dict[str, str] = field(default_factory=dict)
    # When the open requests were last read.
    _asked_at: float = 0.0

    def begin_term(self, term: int, epoch: int, now: float) -> None:
        """Begin a term. No pod is tried before the open requests are known."""
        self.term, self.epoch, self.restored, self._asked_at = term, epoch, False, now
        self._held_uids.clear()
        self._binding.clear()
        self._allowed.clear()
        self.asker.term = term
        self.asker.open(term)

    def end_term(self) -> None:
        """End the term. The stored requests stay open for the next leader."""
        self.asker.term, self.restored = 0, False
        self._held_uids.clear()
        self._binding.clear()
        self._allowed.clear()

    def hold_pod(self, intent: HoldPod) -> None:
        """Have the request of a pod stored that the loop holds."""
        self._held_uids.add(intent.pod.uid)
        self.asker.hold(intent, term=self.term, epoch=self.epoch)

    def handle_stored(self, news: RequestStored, now: float) -> list[Intent]:
        """Reject the pod if its request could not be stored, since nobody could answer it."""
        if not news.problem or news.uid not in self._held_uids:
            return []
        self._held_uids.discard(news.uid)
        return self.loop.reject_pod(news.uid, news.plugin, news.problem, now)

    def handle_opened(self, news: RequestsListed, now: float) -> list[Intent]:
        """Hold the pods of all open requests again."""
        intents: list[Intent] = []
        for request in news.requests:
            if request.uid not in self._held_uids:
                intents += self._restore_request(request, now)
        if not self.restored:
            self.restored = True
            self.ledger.took_over([UUID(request.decision_id) for request in news.requests], now)
        return intents

    def _restore_request(self, request: HeldRequest, now: float) -> list[Intent]:
        self.ledger.note_restored(request.uid, UUID(request.decision_id), request.asked_at)
        pod = self.loop.find_pod(request.uid)
        if pod is not None and pod.node_name:
            self._bound_before(request, pod.node_name, now)
            return []
        intents = self.loop.restore_reservation(request.uid, request.node, request.plugin, request.expires_at, now)
        if not any(isinstance(intent, Superseded) for intent in intents):
            self._held_uids.add(request.uid)
        return intents

    def _bound_before(self, request: HeldRequest, node: str, now: float) -> None:
        """End the request of a pod that an earlier leader bound without noting it, or that another scheduler bound."""
        if node == request.node:
            self.ledger.note_ended(request.uid, Result.BOUND, "", now)
            self.asker.note_ended(request.uid, "bound", "", self.epoch)
        else:
            why = ELSEWHERE.format(node)
            self.ledger.note_ended(request.uid, Result.SUPERSEDED, why, now)
            self.asker.note_ended(request.uid, "superseded", why, self.epoch)

    def handle_answered(self, news: RequestsDecided, now: float) -> list[Intent]:
        """Carry out the decisions of people."""
        intents: list[Intent] = []
        for answer in news.answers:
            if answer.uid in self._binding:
                continue
            if answer.uid not in self._held_uids:
                self._look_again(now)
            elif answer.verdict == "allow":
                intents += self._allow_pod(answer, now)
            else:
                intents += self._reject_pod(answer, now)
        return intents

    def _look_again(self, now: float) -> None:
        """Read the open requests again: an earlier leader stored this one after the present term had begun."""
        if now - self._asked_at >= ASK_AGAIN:
            self._asked_at = now
            self.asker.open(self.term)

    def _allow_pod(self, answer: Decided, now: float) -> list[Intent]:
        self._allowed[answer.uid] = answer.request_id
        self.ledger.note_allowed(answer.uid, now)
        intents = self.loop.allow_pod(answer.uid, answer.plugin, now)
        return [intent for intent in intents if not (isinstance(intent, BindPod) and self.binds_later(intent))]

    def binds_later(self, intent: BindPod) -> bool:
        """Return whether people allowed the pod. If so, ask the gate; the pod is bound after its permission."""
        request = self._allowed.pop(intent.pod.uid, "")
        if request:
            self._binding[intent.pod.uid] = intent
            self.asker.may_bind(intent.pod.uid, request, term=self.term, epoch=self.epoch)
        return bool(request)

    def _reject_pod(self, answer: Decided, now: float) -> list[Intent]:
        self._drop_pod(answer.uid)
        result = Result.EXPIRED if answer.expired else Result.DENIED
        self.ledger.note_ended(answer.uid, result, answer.reason, now)
        intents = self.loop.reject_pod(answer.uid, answer.plugin, answer.reason, now)
        self.asker.note_ended(answer.uid, "rejected", answer.reason, self.epoch)
        return intents

    def handle_permission(self, news: BindPermission, now: float) -> tuple[BindPod | None, list[Intent]]:
        """Return the binding that may be written now, or the intents that follow from a refusal."""
        bind = self._binding.get(news.uid)
        if bind is None:
            return None, []
        if news.granted:
            return bind, []
        self._drop_pod(news.uid)
        self.ledger.note_ended(news.uid, Result.SUPERSEDED, NOT_IN_FORCE, now)
        return None, self.loop.bind_failed(news.uid, NOT_IN_FORCE, now)

    def note_bound(self, uid: str) -> None:
        if self._drop_pod(uid):
            self.asker.note_ended(uid, "bound", "", self.epoch)

    def bind_failed(self, uid: str, message: str) -> None:
        if self._drop_pod(uid):
            self.asker.note_ended(uid, "failed", message, self.epoch)

    def handle_superseded(self, intent: Superseded, now: float) -> None:
        """End the request of a pod that the loop no longer holds."""
        self._drop_pod(intent.pod.uid)
        pod = self.loop.find_pod(intent.pod.uid)
        if pod is not None and pod.node_name:
            logger.info("held_pod_bound_elsewhere", pod=intent.pod.key, node=pod.node_name)
        self.ledger.note_ended(intent.pod.uid, Result.SUPERSEDED, intent.why, now)
        self.asker.note_ended(intent.pod.uid, "superseded", intent.why, self.epoch)

    def _drop_pod(self, uid: str) -> bool:
        was_held = uid in self._held_uids
        self._held_uids.discard(uid)
        self._binding.pop(uid, None)
        self._allowed.pop(uid, None)
        return was_held
