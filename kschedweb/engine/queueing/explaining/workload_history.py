"""The history of a Workload, and why: from its conditions, and from its earlier states where they were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import StrEnum

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_time
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.conditions import Condition
from kschedweb.engine.queueing.workloads.workload import Workload, read_workload
from kschedweb.engine.values import dataclass


class StepKind(StrEnum):
    """Something that happened to a Workload."""

    CREATED = "created"
    WAITS = "waits"
    QUOTA = "quota"
    ADMITTED = "admitted"
    RUNNING = "running"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    RELEASED = "released"
    REQUEUED = "requeued"
    PRIORITY = "priority"
    DEACTIVATED = "deactivated"
    FINISHED = "finished"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """One step of a Workload's history."""

    # Seconds since 1970.
    at: float
    kind: StepKind
    # Kueue's own word and sentence.
    reason: str = ""
    message: str = ""
    # Flavors of a reservation, and how many pods it is for.
    flavors: tuple[str, ...] = ()
    pods: int = 0
    priority: int = 0
    # True if the moment was recorded, so that the cluster as of then can be looked at.
    is_recorded: bool = False


# Conditions that say something when they become true, and when they become false.
_TRUE = {
    kinds.ADMITTED: StepKind.ADMITTED,
    kinds.EVICTED: StepKind.EVICTED,
    kinds.PREEMPTED: StepKind.PREEMPTED,
    kinds.REQUEUED: StepKind.REQUEUED,
    kinds.PODS_READY: StepKind.RUNNING,
    kinds.FINISHED: StepKind.FINISHED,
}
# Steps of one second in the order in which they follow each other.
_ORDER = list(StepKind)


@dataclass
class _HistoryReader:
    """Reads the states of one Workload in their order."""

    steps: list[WorkloadStep] = field(default_factory=list)
    _former: Workload | None = None

    def read_state(self, raw: Json, at: float | None) -> None:
        """Add what is new in a state that was recorded ``at``; None for a state whose moment is not known."""
        workload = read_workload(raw, at or 0.0)
        former = self._former
        if former is None or former.uid != workload.uid:
            former = None
            pods, priority = sum(pod_set.count for pod_set in workload.pod_sets), workload.base_priority()
            self.steps.append(WorkloadStep(workload.created, StepKind.CREATED, pods=pods, priority=priority))
        for condition in workload.status.conditions:
            before = None if former is None else former.find_condition(condition.type)
            if before is None or before.content != condition.content:
                self._add_condition(workload, condition, before, at if former is not None else None)
        if former is not None and at is not None:
            if former.base_priority() != workload.base_priority():
                priority = workload.base_priority()
                self.steps.append(WorkloadStep(at, StepKind.PRIORITY, priority=priority, is_recorded=True))
            if former.is_active and not workload.is_active:
                self.steps.append(WorkloadStep(at, StepKind.DEACTIVATED, is_recorded=True))
        self._former = workload

    def _add_condition(
        self, workload: Workload, condition: Condition, before: Condition | None, at: float | None
    ) -> None:
        kind = _TRUE.get(condition.type) if condition.is_true else None
        flavors: tuple[str, ...] = ()
        pods = 0
        if condition.type == kinds.QUOTA_RESERVED:
            kind = StepKind.QUOTA if condition.is_true else StepKind.WAITS
            if before is not None and before.is_true and not condition.is_true:
                kind = StepKind.RELEASED
            admission = workload.status.admission
            if condition.is_true and admission is not None:
                flavors = tuple(sorted(admission.flavors))
                pods = sum(pod_set.count or 0 for pod_set in admission.pod_sets)
        if kind is None:
            return
        time = condition.since if at is None else at
        self.steps.append(
            WorkloadStep(time, kind, condition.reason, condition.message, flavors, pods, is_recorded=at is not None)
        )

    def read_end(self, at: float) -> None:
        self.steps.append(WorkloadStep(at, StepKind.DELETED, is_recorded=True))
        self._former = None


def list_steps(states: Iterable[tuple[float | None, Json | None]]) -> list[WorkloadStep]:
    """Return the steps of a Workload, the oldest first.

    ``states`` are its states in their order, None where it was gone, each with the seconds since 1970 at which it was
    recorded. Of a state that stands alone the conditions tell when they changed last.
    """
    reader = _HistoryReader()
    for at, raw in states:
        try:
            if raw is not None:
                reader.read_state(raw, at)
            elif at is not None:
                reader.read_end(at)
        except ObjectError:
            continue
    return sorted(_drop_repeated(reader.steps), key=lambda step: (int(step.at), _ORDER.index(step.kind)))


def _drop_repeated(steps: Iterable[WorkloadStep]) -> Iterator[WorkloadStep]:
    """Yield the steps without those that say once more why the Workload still waits."""
    last_wait: tuple[str, str] | None = None
    for step in steps:
        if step.kind is StepKind.WAITS:
            if last_wait == (step.reason, step.message):
                continue
            last_wait = step.reason, step.message
        elif step.kind in (StepKind.QUOTA, StepKind.CREATED):
            last_wait = None
        yield step


def find_creation(raw: Json) -> float | None:
    """Return when an object was created, in seconds since 1970."""
    try:
        return get_time(get_mapping(raw, "metadata"), "creationTimestamp")
    except ObjectError:
        return None
