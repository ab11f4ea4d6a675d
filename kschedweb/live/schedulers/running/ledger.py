"""The records of a live run: each decision with its result, the latencies of pods, and the metrics."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.dateparse import parse_datetime

from kschedweb.decisions.kept import explanation_bytes
from kschedweb.engine.framework.status import Code
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.decisions import insight
from kschedweb.live.schedulers.decisions.log import DecisionColumns, DecisionLog, DecisionResult, TakenOver
from kschedweb.live.schedulers.decisions.rows import decision_id, decision_row, to_datetime
from kschedweb.live.schedulers.models import Result
from kschedweb.live.schedulers.running.figures import RunFigures

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.engine.live import BindPod, Decision, HoldPod, JudgedPod, ReportPod, WaitAtPermit
    from kschedweb.live.schedulers.metrics import Instruments

# Explaining takes longer than deciding. Beyond idle time, and beyond decisions that are explained in any case, it may
# take this share of all time; up to so many seconds can be saved up.
SHARE, SAVED = 0.05, 0.05


@dataclass
class LedgerContext:
    """The scheduler, revision and term to which the decisions of a ledger belong."""

    scheduler: UUID
    scheduler_name: str
    revision: int
    # How many explanations of pods are stored; 0 for none.
    keep_columns: int
    # The engine that decides, as ``Release.engine`` names it.
    engine: str
    epoch: int = 0


class Ledger:
    """The ledger of one run, used by the run's own thread only."""

    def __init__(self, books: LedgerContext, log: DecisionLog, figures: RunFigures, instruments: Instruments) -> None:
        self.books, self.figures, self.instruments = books, figures, instruments
        self._log = log
        # All of these are by the pod's uid.
        # When the unbound pod was created, or first seen.
        self._seen: dict[str, float] = {}
        # The row of a decision that has not ended.
        self._open: dict[str, UUID] = {}
        # Since when it waits at Permit.
        self._waits: dict[str, float] = {}
        # Since when people are asked about it.
        self._asked: dict[str, float] = {}
        # Seconds that people took to answer.
        self._answered: dict[str, float] = {}
        # The row of the last decision with which it began to wait.
        self._begun: dict[str, UUID] = {}
        # Seconds that explaining may still take.
        self._budget, self._budget_at = SAVED, 0.0
        # The message that was explained last, and its number.
        self._said: dict[str, tuple[str, int]] = {}
        # Counts explained decisions that put no pod on a node.
        self._explained = 0

    # Pods come and go.

    def note_listed(self, raw: Json, now: float) -> None:
        """Note an unbound pod that existed before the run. Only its creation time is known, to the second."""
        created = parse_datetime(str((raw.get("metadata") or {}).get("creationTimestamp") or ""))
        self._remember_pod(raw, created.timestamp() if isinstance(created, datetime) else now)

    def note_created(self, raw: Json, now: float) -> None:
        """Note a pod that was created or changed just now."""
        self._remember_pod(raw, now)

    def _remember_pod(self, raw: Json, time: float) -> None:
        spec = raw.get("spec") or {}
        # As in kube-scheduler, whose time begins with the first attempt.
        if spec.get("schedulingGates"):
            return
        if spec.get("schedulerName") == self.books.scheduler_name and not spec.get("nodeName"):
            self._seen.setdefault(str((raw.get("metadata") or {}).get("uid") or ""), time)

    def forget_pod(self, raw: Json) -> None:
        uid = str((raw.get("metadata") or {}).get("uid") or "")
        self._seen.pop(uid, None)
        self._begun.pop(uid, None)
        self._said.pop(uid, None)
        self._asked.pop(uid, None)
        self._answered.pop(uid, None)

    # Decisions.

    def note_held(self, intent: HoldPod) -> None:
        self._begin_decision(intent.decision, Result.ON_HOLD)
        self._asked.setdefault(intent.decision.uid, intent.decision.time)

    def note_waiting(self, intent: WaitAtPermit) -> None:
        self._begin_decision(intent.decision, Result.WAITING)

    def note_restored(self, uid: str, decision: UUID, asked_at: float) -> None:
        """Note that a pod held before a restart is held again, with its old decision."""
        self._open[uid] = decision
        self._asked[uid] = asked_at

    def note_allowed(self, uid: str, now: float) -> None:
        """Note that people allowed the pod. The time they took does not count as the scheduler's."""
        since = self._asked.pop(uid, None)
        if since is not None:
            self._answered[uid] = self._answered.get(uid, 0.0) + max(0.0, now - since)

    def took_over(self, continued: Collection[UUID], now: float) -> None:
        """Close the decisions that earlier leaders left open, except for ``continued``."""
        self._log.add(TakenOver(self.books.epoch, frozenset(continued), to_datetime(now)))

    def _begin_decision(self, decision: Decision, result: Result) -> None:
        if self._open.get(decision.uid) != decision_id(self.books.scheduler, decision):
            self.instruments.count_decision(decision)
            self._open[decision.uid] = self._begun[decision.uid] = self._add_row(decision, result)
            self._waits[decision.uid] = decision.time

    def note_bound(self, intent: BindPod, now: float) -> None:
        created, waited = self._seen.pop(intent.pod.uid, None), self._answered.pop(intent.pod.uid, None)
        latency = None if created is None else max(0.0, now - created - (waited or 0.0))
        self.figures.pod_bound(latency, now, waited)
        if latency is not None:
            self.instruments.pod_bound(latency, intent.decision.attempt)
        self._note_attempt("scheduled", intent.decision, now)
        if intent.pod.uid in self._open:
            self.note_ended(intent.pod.uid, Result.BOUND, "", now, latency)
        else:
            self._add_row(intent.decision, Result.BOUND, ended=now, latency=latency)

    def bind_failed(self, intent: BindPod, message: str, now: float) -> None:
        if intent.pod.uid in self._open:
            self.note_ended(intent.pod.uid, Result.FAILED, message, now)
        else:  # The report that follows counts the attempt.
            self._add_row(intent.decision, Result.FAILED, ended=now, message=message)

    def note_reported(self, intent: ReportPod, now: float) -> None:
        """Note a failed try."""
        result = Result.UNSCHEDULABLE if intent.reason == "Unschedulable" else Result.ERROR
        told_of = intent.decision is not None and self._note_attempt(str(result), intent.decision, now)
        if intent.pod.uid in self._open:
            self.note_ended(intent.pod.uid, result, intent.message, now)
        elif intent.decision is not None and not told_of:
            self._add_row(intent.decision, result, ended=now, message=intent.message)

    def note_ended(self, uid: str, result: Result, message: str, now: float, latency: float | None = None) -> None:
        """Note the result of an open decision. Only the first one counts."""
        row, since = self._open.pop(uid, None), self._waits.pop(uid, None)
        self._asked.pop(uid, None)
        if since is not None:
            code = Code.SUCCESS if result in (Result.BOUND, Result.FAILED) else Code.UNSCHEDULABLE
            self.instruments.permit_waited(now - since, code)
        if row is not None:
            self._log.add(DecisionResult(row, result, to_datetime(now), message, latency))

    def forget_all(self) -> None:
        """Forget all open decisions: another process leads now, and closes them."""
        self._open.clear()
        self._waits.clear()
        self._asked.clear()
        self._answered.clear()
        self._begun.clear()

    def _add_row(
        self,
        decision: Decision,
        result: Result,
        *,
        ended: float | None = None,
        message: str = "",
        latency: float | None = None,
    ) -> UUID:
        books = self.books
        row = decision_row(
            books.scheduler, decision, result, epoch=books.epoch, revision=books.revision, engine=books.engine
        )
        if ended is not None:
            row.ended_at = to_datetime(ended)
        row.message, row.latency = message or row.message, latency
        self._log.add(row)
        return row.id

    def _note_attempt(self, result: str, decision: Decision, now: float) -> bool:
        """Count a try that ended. Return whether it had waited at Permit, and so has a row already."""
        waited = self._begun.pop(decision.uid, None) == decision_id(self.books.scheduler, decision)
        # A restored decision has no durations: another process made it and counted it.
        if not waited and decision.durations:
            self.instruments.count_decision(decision)
        self.instruments.count_attempt(result, max(now - decision.time, sum(decision.durations.values())))
        return waited

    # Full columns.

    def explain_decision(
        self,
        decision: Decision,
        explain: Callable[[], JudgedPod],
        now: float,
        clock: Callable[[], float],
        *,
        idle: bool,
        is_held: bool,
    ) -> None:
        """Store every verdict and score of ``decision``.

        It is always stored if it ``is_held``, since people are asked about it, and if it says something new about why
        the pod fits nowhere. Other decisions are stored while the run is ``idle``, or in a small share of time.
        """
        if not (is_held or self.books.keep_columns):
            return
        self._budget = min(SAVED, self._budget + SHARE * (now - self._budget_at))
        self._budget_at = now
        if not (is_held or idle or self._budget > 0 or self._is_news(decision)):
            return
        begun = clock()
        try:
            judged = explain()
            pod_insight = insight.insight_of(judged, decision.node)
        except KeyError:  # The pod is gone.
            return
        finally:
            if not idle:
                self._budget -= clock() - begun
        row = decision_id(self.books.scheduler, decision)
        self._log.add(DecisionColumns(row, lambda: explanation_bytes.pack_explanation(judged.explanation, pod_insight)))
        if not decision.node:
            self._explained += 1
            self._said[decision.uid] = decision.message, self._explained

    def _is_news(self, decision: Decision) -> bool:
        """Return whether no stored explanation says why the pod fits nowhere, or the stored one is soon deleted."""
        if decision.node:
            return False
        # Half of the limit, so that a pod that keeps failing is explained anew before its explanation is trimmed.
        message, number = self._said.get(decision.uid, ("", 0))
        return message != decision.message or self._explained - number >= self.books.keep_columns // 2
