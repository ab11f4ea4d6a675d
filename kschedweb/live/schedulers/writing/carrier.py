"""Carry out a live loop's intents: threads write to the API server, and answer with the results.

All writes about one pod, or one group, are made in order: a condition is never written after the binding that
overtook it. Nothing is written for a term that is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import structlog

from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.podgroup import CONDITIONS
from kschedweb.live.schedulers.writing.lanes import Lanes, Work
from kschedweb.live.schedulers.writing.preparer import Preparer
from kschedweb.live.schedulers.writing.writer import WITHHELD, WriteCode, Writer, WriteResult

if TYPE_CHECKING:
    from kschedweb.clusters.following.facts import NamedObject
    from kschedweb.engine.live import (
        BindPod,
        EvictPod,
        FreeDevices,
        GroupRef,
        NominateNode,
        PodRef,
        ReportGroup,
        ReportPod,
    )
    from kschedweb.live.schedulers.writing.recorder import EventRecorder

logger = structlog.get_logger(__name__)

# As many threads write in parallel; kube-scheduler binds each pod in a goroutine of its own.
LANES = 16
# Seconds between tries to bind the same pod; they double each time.
FIRST_REST, LONGEST_REST = 0.25, 5.0
# Seconds until a binding of unknown outcome is read again.
LOOK_AGAIN = 1.0


@dataclass(frozen=True)
class BindEnded:
    """The result of a binding."""

    term: int
    intent: BindPod
    # "refused": the binding certainly did not take place.
    outcome: Literal["bound", "refused"]
    message: str = ""


@dataclass(frozen=True)
class EvictFailed:
    """An eviction failed, so the preemptor must not wait for its victim."""

    term: int
    intent: EvictPod
    message: str


@dataclass(frozen=True)
class WriteFailed:
    """Another write failed."""

    # The write in a few words, and the reason.
    description: str


class Carrier:
    """The writing part of a run. ``leads(term)`` is called right before every request; answers go to ``sink``."""

    def __init__(
        self,
        writer: Callable[[Callable[[], bool]], Writer],
        recorder: EventRecorder,
        leads: Callable[[int], bool],
        sink: Callable[[object], None],
    ) -> None:
        # The term of the work that each thread does right now.
        self._terms = threading.local()
        self._writer = writer(lambda: leads(self._terms.now))
        self._recorder, self._leads, self._sink = recorder, leads, sink
        self._ended = threading.Event()
        self._lanes = Lanes(LANES, "live-write")

    def start(self) -> None:
        self._lanes.start()

    def stop(self, seconds: float) -> None:
        """Carry out the waiting intents for at most ``seconds``."""
        self._lanes.stop(seconds)
        self._ended.set()

    @property
    def waiting(self) -> int:
        """Return about how many writes wait for their turn."""
        return self._lanes.waiting

    def _put_work(self, target: NamedObject, term: int, work: Work) -> None:
        # A lane may reach the work long after it was queued: the term may be over by then.
        def in_term() -> None:
            self._terms.now = term
            if self._leads(term):
                work()

        self._lanes.put(target.uid, in_term)

    # One method an intent.

    def bind(self, intent: BindPod, term: int, *, patience: float = 0.0) -> None:
        """Bind a pod. If the server refuses for a reason that may pass, retry for ``patience`` seconds.

        Preparations are written first, in a thread of their own, since provisioning volumes may take minutes.
        """
        if not intent.preparations:
            self._begin_binding(intent, term, patience)
            return
        name = f"live-prepare-{intent.pod.name}"
        threading.Thread(target=self._prepare_binding, args=(intent, term, patience), name=name, daemon=True).start()

    def _begin_binding(self, intent: BindPod, term: int, patience: float) -> None:
        deadline = time.monotonic() + patience
        self._put_work(intent.pod, term, lambda: self._bind_pod(intent, term, deadline, FIRST_REST))

    def report(self, intent: ReportPod, term: int) -> None:
        """Write the event FailedScheduling, and the condition if it says something new."""
        self._recorder.failed_scheduling(intent.pod, intent.message)
        if intent.reason and intent.status_changes:
            self._put_work(intent.pod, term, lambda: self._write_status(intent))

    def nominate(self, intent: NominateNode, term: int) -> None:
        self._put_work(
            intent.pod,
            term,
            lambda: self._report_failure(intent.pod, "nominated node", self._writer.nominate(intent.pod, intent.node)),
        )

    def free(self, intent: FreeDevices, term: int) -> None:
        self._put_work(intent.pod, term, lambda: self._free(intent, term))

    def report_group(self, intent: ReportGroup, term: int) -> None:
        """Write the condition of a group."""
        self._put_work(intent.group, term, lambda: self._group_status(intent))

    def evict(self, intent: EvictPod, term: int) -> None:
        self._put_work(intent.pod, term, lambda: self._evict_pod(intent, term))

    # In the threads for preparations.

    def _prepare_binding(self, intent: BindPod, term: int, patience: float) -> None:
        self._terms.now = term
        try:
            outcome = self._make_preparer(term).prepare(intent.pod, intent.preparations)
        except Exception as error:
            logger.exception("live_prepare_failed", pod=intent.pod.key)
            outcome = WriteResult(WriteCode.REFUSED, f"preparing failed: {type(error).__name__}")
        if outcome.is_done:
            self._begin_binding(intent, term, patience)
        # Withheld: another process leads, and nobody here waits for the answer.
        elif outcome.result is not WriteCode.WITHHELD:
            self._sink(BindEnded(term, intent, "refused", outcome.text))

    # In a lane.

    def _bind_pod(self, intent: BindPod, term: int, deadline: float, delay: float) -> None:
        try:
            outcome = self._try_to_bind(intent, term)
        except CycleError as error:
            outcome = WriteResult(WriteCode.MISSING, str(error))
        except Exception as error:
            logger.exception("live_bind_failed", pod=intent.pod.key)
            outcome = WriteResult(WriteCode.MISSING, f"binding failed: {type(error).__name__}")
        if outcome.result is WriteCode.WITHHELD:
            return
        if outcome.result is WriteCode.REFUSED and time.monotonic() + delay < deadline and not self._ended.is_set():
            # A timer queues the next try, so that the lane goes on with other pods meanwhile.
            longer = min(LONGEST_REST, 2 * delay)
            retry = partial(self._bind_pod, intent, term, deadline, longer)
            timer = threading.Timer(delay, self._put_work, (intent.pod, term, retry))
            timer.daemon = True
            timer.start()
        elif outcome.is_done:
            self._recorder.record_scheduled(intent.pod, intent.node)
            self._sink(BindEnded(term, intent, "bound"))
        else:
            self._sink(BindEnded(term, intent, "refused", outcome.text))

    def _try_to_bind(self, intent: BindPod, term: int) -> WriteResult:
        """Return the result of one try; withheld also if another process leads by now, so nobody waits for it."""
        # A binder among the extenders binds in the place of the default binder.
        if intent.extender is not None and intent.extender():
            return WriteResult(WriteCode.BOUND)
        outcome = self._writer.bind(intent.pod, intent.node)
        while outcome.result is WriteCode.UNKNOWN:
            # Nothing else may be done with the pod until its binding is known.
            if not self._leads(term) or self._ended.wait(LOOK_AGAIN):
                return WITHHELD
            outcome = self._writer.read_binding(intent.pod, intent.node, outcome.text)
        return outcome

    def _write_status(self, intent: ReportPod) -> None:
        outcome = self._writer.report_unscheduled(intent.pod, intent.reason, intent.message, intent.nominated)
        self._report_failure(intent.pod, "condition PodScheduled", outcome)

    def _group_status(self, intent: ReportGroup) -> None:
        self._report_failure(
            intent.group, f"condition {CONDITIONS[intent.group.object_kind]}", self._writer.report_group(intent)
        )

    def _evict_pod(self, intent: EvictPod, term: int) -> None:
        outcome = self._writer.evict(intent.pod, intent.preemptor, intent.scheduler)
        if outcome.is_done:
            # The condition goes first and the event last, as in kube-scheduler's `prepareCandidate`.
            self._recorder.record_preempted(intent.pod, intent.preemptor, intent.node)
        elif outcome.result not in (WriteCode.MISSING, WriteCode.WITHHELD):
            self._sink(EvictFailed(term, intent, outcome.text))

    def _free(self, intent: FreeDevices, term: int) -> None:
        freed = self._make_preparer(term).free(intent.pod, intent.claim)
        self._report_failure(intent.pod, f"resourceclaim {intent.claim.claim}", freed)

    def _make_preparer(self, term: int) -> Preparer:
        return Preparer(self._writer, lambda: self._leads(term), self._ended)

    def _report_failure(self, target: PodRef | GroupRef, description: str, outcome: WriteResult) -> None:
        if not outcome.is_done and outcome.result not in (WriteCode.MISSING, WriteCode.WITHHELD):
            self._sink(WriteFailed(f"{description} of {target.key}: {outcome.text}"))
