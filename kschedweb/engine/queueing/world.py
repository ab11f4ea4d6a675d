"""State that Kueue's controllers share: the stored objects, caches, queues, the clock, and what is told of a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.cache import KueueCache
from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.queues import QueueManager
from kschedweb.engine.queueing.quota.objects import ClusterQueue, LocalQueue
from kschedweb.engine.queueing.workloads.pod_set_memo import PodSetMemo
from kschedweb.engine.queueing.workloads.requests import LimitSummary, adjust_pod_set, summarize_limits
from kschedweb.engine.queueing.workloads.status_changes import keep_managed, mark_evicted
from kschedweb.engine.queueing.workloads.workload import PodSet, Workload, WorkloadOrdering
from kschedweb.engine.queueing.workloads.workload_info import InfoFactory, WorkloadInfo
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class KueueConfiguration:
    """The parts of Kueue's Configuration that change decisions."""

    gates: FeatureGates
    # Strategies of fair sharing; None without it.
    fair_strategies: tuple[str, ...] | None
    waits_for_pods_ready: bool
    ignores_undeclared: bool
    ordering: WorkloadOrdering


@dataclass
class KueueEvent:
    """An event that Kueue publishes."""

    key: str
    reason: str
    message: str

    def to_json(self) -> Json:
        return {"object": self.key, "reason": self.reason, "message": self.message}


@dataclass
class PreemptionRecord:
    """A preemption of a cycle."""

    key: str
    cluster_queue: str
    preemptor: str
    reason: str
    message: str

    def to_json(self) -> Json:
        return {
            "workload": self.key,
            "clusterQueue": self.cluster_queue,
            "by": self.preemptor,
            "reason": self.reason,
            "message": self.message,
        }


@dataclass
class CycleLog:
    """The record of a cycle and of its consequences, besides its entries."""

    # Tree -> workloads in the order in which they were processed.
    order: dict[str, list[str]] = field(default_factory=dict)
    preempted: list[PreemptionRecord] = field(default_factory=list)
    evicted: list[KueueEvent] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    events: list[KueueEvent] = field(default_factory=list)
    made_ready: list[str] = field(default_factory=list)


class WorkloadTable(dict[str, Workload]):
    """Workloads by key, which knows those that were written since it was asked last."""

    def __init__(self) -> None:
        super().__init__()
        self._written: set[str] = set()

    def __setitem__(self, key: str, workload: Workload) -> None:
        super().__setitem__(key, workload)
        self._written.add(key)

    def take_written(self) -> list[Workload]:
        """Return what was written since the last time, by key."""
        keys, self._written = self._written, set()
        return [self[key] for key in sorted(keys) if key in self]


class KueueWorld:
    """The stored objects and everything that reacts to them."""

    def __init__(self, configuration: KueueConfiguration, factory: InfoFactory, now: float) -> None:
        self.configuration = configuration
        self.now = now
        self.factory = factory
        self.cache = KueueCache(factory, tracks_pods_ready=configuration.waits_for_pods_ready)
        self.queues = QueueManager(configuration.ordering)
        self.workloads = WorkloadTable()
        self.cluster_queues: dict[str, ClusterQueue] = {}
        self.local_queues: dict[str, LocalQueue] = {}
        # Name -> labels.
        self.namespaces: dict[str, dict[str, str]] = {}
        # Namespace -> LimitRanges by name.
        self._limit_ranges: dict[str, dict[str, Json]] = {}
        self._limits: dict[str, dict[str, LimitSummary]] = {}
        # RuntimeClass -> what its pods need beside their containers.
        self._overheads: dict[str, Json] = {}
        # Pod sets as limits and overheads leave them.
        self._adjusted = PodSetMemo[tuple[PodSet, ...]]()
        # Workloads whose eviction was issued, but not yet seen.
        self.expected_evictions: set[str] = set()
        self.log = CycleLog()

    @property
    def gates(self) -> FeatureGates:
        return self.configuration.gates

    def set_limit_range(self, namespace: str, name: str, raw: Json) -> None:
        self._limit_ranges.setdefault(namespace, {})[name] = raw
        self._limits[namespace] = summarize_limits(self._limit_ranges[namespace].values())
        self._adjusted.clear()

    def set_runtime_class(self, name: str, overhead: Json) -> None:
        """Take in what each pod of a RuntimeClass needs beside its containers."""
        self._overheads[name] = overhead
        self._adjusted.clear()

    def limits(self, namespace: str) -> dict[str, LimitSummary]:
        return self._limits.get(namespace, {})

    def create_info(self, workload: Workload) -> WorkloadInfo:
        """Return what is known of ``workload``, its resources adjusted."""
        original = workload.pod_sets

        def adjust(pod_sets: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
            limits = self.limits(workload.namespace)
            adjusted = tuple(adjust_pod_set(pod_set, limits, self._overheads) for pod_set in pod_sets)
            return pod_sets if all(new is old for new, old in zip(adjusted, pod_sets, strict=True)) else adjusted

        pod_sets = self._adjusted.get(original, adjust)
        return self.factory.create(workload if pod_sets is original else replace(workload, pod_sets=pod_sets))

    def list_workloads(self) -> list[Workload]:
        return [self.workloads[key] for key in sorted(self.workloads)]

    # Writing

    def update_status(self, workload: Workload) -> None:
        """Write a status as it is."""
        current = self.workloads.get(workload.key)
        if current is not None:
            self.workloads[workload.key] = replace(current, status=workload.status)

    def patch_admission(
        self, workload: Workload, update: Callable[[Workload], Workload], *, force: bool = False
    ) -> Workload:
        """Write ``workload`` as ``update`` changes it, unless it changes nothing (`PatchAdmissionStatus`).

        Return what is stored then.
        """
        updated = update(workload)
        current = self.workloads.get(workload.key)
        if current is None or (updated is workload and not force):
            return workload
        status = replace(keep_managed(updated).status, reclaimable=current.status.reclaimable)
        stored = replace(current, status=status)
        self.workloads[workload.key] = stored
        return stored

    def evict(
        self,
        workload: Workload,
        reason: str,
        message: str,
        cause: str = "",
        prepare: Callable[[Workload], Workload] | None = None,
    ) -> None:
        """Mark ``workload`` as evicted, and tell so (`workloadevict.Evict`)."""
        told_reason = f"{reason}DueTo{cause}" if cause else reason

        def update(current: Workload) -> Workload:
            prepared = prepare(current) if prepare is not None else current
            return mark_evicted(prepared, told_reason, message, self.now)

        self.patch_admission(workload, update, force=True)
        if workload.status.admission is not None:
            self.record_event(workload, f"EvictedDueTo{told_reason}", message)

    # Telling

    def record_event(self, workload: Workload, reason: str, message: str) -> None:
        """Keep an event, unless the cycle tells it elsewhere."""
        if reason == "Pending" or reason.startswith("EvictedDueToPreempted") or reason == "PreemptedWorkload":
            return
        events = self.log.evicted if reason.startswith("EvictedDueTo") else self.log.events
        events.append(KueueEvent(workload.key, reason, message))

    def notify(self, names: Iterable[str]) -> None:
        self.queues.notify(names)
