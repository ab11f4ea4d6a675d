"""Kueue: Jobs that name a LocalQueue wait, suspended, until their Workload has quota.

Kueue's state is kept between two looks. A look takes in the Jobs and Workloads that changed, plays cycles until one
changes nothing, and writes what changed. Once others change queues or Workloads, all is read anew. Admission checks,
topologies and waitForPodsReady are not served.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.cycle.cycle import QuotaScheduler, TriedCycles
from kschedweb.engine.queueing.explaining.queue_state import QueueState, build_state, detect_fair_sharing
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.labels import is_queued
from kschedweb.engine.queueing.workloads.status_json import write_status
from kschedweb.engine.queueing.workloads.workload import Workload
from kschedweb.engine.queueing.world import CycleLog, KueueEvent
from kschedweb.engine.sandbox.resources import NAMESPACE, POD
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange, get_object_key
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.controllers.queued_jobs import (
    build_spec,
    build_workload,
    count_reclaimable,
    find_end,
    is_relevant,
    runs,
)
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import get_condition, is_deleting, is_pod_terminal
from kschedweb.engine.sandbox.world.recorder import NORMAL
from kschedweb.engine.sandbox.world.resources import (
    CLUSTER_QUEUE,
    COHORT,
    JOB,
    LOCAL_QUEUE,
    PRIORITY_CLASS,
    RESOURCE_FLAVOR,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from kschedweb.engine.values import dataclass

# All queues are looked at together.
ALL: Key = ("", "")
# Seconds of the sandbox between two looks, at least.
LOOK_SECONDS = 1.0
# Cycles of one look; the next one goes on.
MOST_CYCLES = 200
# Workloads that ended since all was read, after which it is read anew: what is remembered of them goes.
MOST_ENDED = 1000
COMPONENT = "kueue-admission"
_READ = (
    COHORT, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS, PRIORITY_CLASS, NAMESPACE,
)  # fmt: skip
_COUNTS = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")


@dataclass
class _KeptState:
    """Kueue's state, from look to look."""

    queues: QueueState
    scheduler: QuotaScheduler
    # Workloads that have not ended, as they were written last.
    last_written: dict[str, Workload]
    # The Job of each, and the other way round.
    jobs: dict[str, Key] = field(default_factory=dict)
    workloads: dict[Key, str] = field(default_factory=dict)
    ended: int = 0

    def pair(self, raw: Json, job: Key) -> None:
        key = "/".join(get_object_key(raw))
        self.jobs[key], self.workloads[job] = job, key

    def forget(self, key: str) -> Key | None:
        """Forget a Workload that has ended or is deleted; return its Job."""
        self.ended += 1
        self.last_written.pop(key, None)
        job = self.jobs.pop(key, None)
        if job is not None:
            del self.workloads[job]
        return job


class QuotaQueueController:
    """Creates the Workloads of Jobs, gives them quota, and lets their Jobs run or stop."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._next = 0.0
        # True while it writes itself, which needs no other look.
        self._is_writing = False
        # None if all is to be read anew.
        self._state: _KeptState | None = None
        # What changed since the last look, in its order.
        self._changed_jobs: dict[Key, None] = {}
        self._deleted_workloads: dict[str, None] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        return (ALL,) if not self._is_writing and self._note(change) else ()

    def _note(self, change: StoreChange) -> bool:
        """Note a change; return true if it asks for a look."""
        resource = change.resource
        if resource is POD:
            return self._may_end_eviction(change)
        if resource is JOB:
            if not is_relevant(change):
                return False
            self._changed_jobs[change.key] = None
        elif resource is WORKLOAD and change.new is None and self._state is not None:
            key = "/".join(change.key)
            if key not in self._state.queues.world.workloads:
                return False
            self._deleted_workloads[key] = None
        elif resource is WORKLOAD or (resource in _READ and _says_else(change)):
            self._state = None
        else:
            return False
        return True

    def _may_end_eviction(self, change: StoreChange) -> bool:
        """Return true if a pod ended while an evicted Workload waits until its pods have."""
        if self._state is None or not self._state.queues.controllers.is_evicting:
            return False
        owner = get_controller_of(change.last)
        return owner is not None and owner["kind"] == JOB.kind and (change.new is None or is_pod_terminal(change.new))

    def sync(self, key: Key) -> float | None:
        store, now = self._context.store, self._context.time
        if not store.count_objects(LOCAL_QUEUE) and not store.count_objects(WORKLOAD):
            return None
        if now < self._next:
            return self._next
        self._next = now + LOOK_SECONDS
        self._is_writing = True
        try:
            self._look()
        except BaseException:
            self._state = None
            raise
        finally:
            self._is_writing = False
        return None

    def _look(self) -> None:
        state = self._state
        if state is None or state.ended > MOST_ENDED:
            state = self._state = self._read_all()
        self._take_deletions(state)
        changed_jobs, self._changed_jobs = list(self._changed_jobs), {}
        world = state.queues.world
        world.now = float(int(self._context.objects.clock()))
        events = list[KueueEvent]()
        for key in changed_jobs:
            job = self._context.store.get(JOB, *key)
            if job is not None and is_queued(job) and not is_deleting(job):
                events += self._follow_job(state, job)
        events += _play(state)
        changed = [item for item in world.list_workloads() if state.last_written.get(item.key) is not item]
        for workload in changed:
            self._write_workload(state, workload)
        for key in changed_jobs:
            if (paired := world.workloads.get(state.workloads.get(key, ""))) is not None:
                self._follow_workload(state, paired)
        self._record_events(events)
        for workload in changed:
            if workload.is_finished:
                state.queues.controllers.forget(workload)
                state.forget(workload.key)
        self._count_workloads(state)

    # Reading.

    def _read_all(self) -> _KeptState:
        store = self._context.store
        workloads = [raw for raw in store.all(WORKLOAD) if not _is_true(raw, kinds.FINISHED)]
        objects = [raw for resource in _READ for raw in store.all(resource)] + workloads
        now = float(int(self._context.objects.clock()))
        jobs = {raw["metadata"]["uid"]: get_object_key(raw) for raw in store.all(JOB) if is_queued(raw)}
        self._changed_jobs = dict.fromkeys(jobs.values())
        queues = build_state(
            objects, now, uses_fair_sharing=detect_fair_sharing(objects), has_stopped=self._has_stopped
        )
        state = _KeptState(queues, QuotaScheduler(queues.world, queues.controllers.make_pods_ready), {})
        for raw in workloads:
            owner = get_controller_of(raw)
            if owner is not None and owner["uid"] in jobs:
                state.pair(raw, jobs[owner["uid"]])
        return state

    def _take_deletions(self, state: _KeptState) -> None:
        deleted, self._deleted_workloads = list(self._deleted_workloads), {}
        for key in deleted:
            workload = state.queues.world.workloads.get(key)
            if workload is not None and self._context.store.get(WORKLOAD, *key.split("/")) is None:
                state.queues.controllers.delete(workload)
                if (job := state.forget(key)) is not None:
                    # It gets another one.
                    self._changed_jobs[job] = None

    def _has_stopped(self, key: str) -> bool:
        """Return true if no pod of an evicted Workload is left."""
        job = self._find_job(key)
        return job is None or all(map(is_pod_terminal, self._context.index.list_owned(job["metadata"]["uid"], POD)))

    def _find_job(self, workload: str) -> Json | None:
        key = self._state.jobs.get(workload) if self._state is not None else None
        return None if key is None else self._context.store.get(JOB, *key)

    # Jobs.

    def _follow_job(self, state: _KeptState, job: Json) -> Iterable[KueueEvent]:
        """Let a Job have a Workload, which ends with it, and give back the quota of pods that it no longer needs."""
        end, world = find_end(job), state.queues.world
        workload = world.workloads.get(state.workloads.get(get_object_key(job), ""))
        if workload is None:
            if not end:
                self._create_workload(state, job)
        elif end:
            state.queues.controllers.finish(workload)
            yield KueueEvent(workload.key, "FinishedWorkload", end)
        elif (reclaimable := count_reclaimable(job)) != workload.status.reclaimable.get("main", 0):
            world.update_status(workload.with_status(reclaimable={"main": reclaimable}))

    def _create_workload(self, state: _KeptState, job: Json) -> None:
        objects, namespace = self._context.objects, job["metadata"]["namespace"]
        uid = job["metadata"]["uid"]
        if self._context.index.list_owned(uid, WORKLOAD):
            return
        try:
            raw = objects.create_object(WORKLOAD, namespace, build_workload(self._context.store, job))
        except ApiRefusal as refusal:
            self._record(job, "ErrWorkloadCompose", refusal.message)
            return
        state.pair(raw, get_object_key(job))
        state.queues.store.apply(raw)

    def _follow_workload(self, state: _KeptState, workload: Workload) -> None:
        """Suspend the Job of a Workload without quota, and run that of one with quota."""
        job = self._find_job(workload.key)
        if job is None or workload.is_finished or runs(workload) != bool(job["spec"].get("suspend")):
            return
        self._context.objects.change_object(JOB, job, spec=build_spec(self._context.store, job, workload))
        words = ("Started", f"Admitted by clusterQueue {state.queues.find_queue_name(workload)}")
        self._record(job, *(words if runs(workload) else ("Stopped", _find_reason(workload))))

    def _record(self, job: Json, reason: str, message: str) -> None:
        self._context.recorder.record_event(JOB, job, reason, message, component="kueue-job-controller")

    # Writing.

    def _write_workload(self, state: _KeptState, workload: Workload) -> None:
        raw = self._context.store.get(WORKLOAD, *workload.key.split("/"))
        assert raw is not None, "deleted ones are taken out before"
        self._context.objects.change_object(WORKLOAD, raw, status=write_status(workload))
        state.last_written[workload.key] = workload
        self._follow_workload(state, workload)

    def _record_events(self, events: Iterable[KueueEvent]) -> None:
        for event in events:
            raw = self._context.store.get(WORKLOAD, *event.key.split("/"))
            if raw is not None:
                self._context.recorder.record_event(
                    WORKLOAD, raw, event.reason, event.message, component=COMPONENT, kind=NORMAL
                )

    def _count_workloads(self, state: _KeptState) -> None:
        """Write how many Workloads wait, have quota and run into the status of the queues."""
        counts = Counter[tuple[str, str, str]]()
        world = state.queues.world
        for workload in world.workloads.values():
            queue = world.local_queues.get(workload.queue_key)
            if queue is None:
                continue
            for count in _list_counts(workload):
                counts["LocalQueue", queue.key, count] += 1
                counts["ClusterQueue", queue.cluster_queue, count] += 1
        for resource in (CLUSTER_QUEUE, LOCAL_QUEUE):
            for raw in list(self._context.store.all(resource)):
                name = "/".join(filter(None, get_object_key(raw)))
                numbers = {count: counts[resource.kind, name, count] for count in _COUNTS}
                self._context.objects.change_object(resource, raw, status={**(raw.get("status") or {}), **numbers})


def _list_counts(workload: Workload) -> Iterable[str]:
    """Return which numbers of its queues a Workload is in."""
    pending, reserving, admitted = _COUNTS
    if not workload.has_quota:
        return (pending,)
    return (reserving, admitted) if workload.is_admitted else (reserving,)


def _play(state: _KeptState) -> list[KueueEvent]:
    """Play cycles until one changes nothing that one before has not tried; returns what Kueue tells."""
    world, controllers = state.queues.world, state.queues.controllers
    events, cycle_tries = list[KueueEvent](), TriedCycles()
    for cycle in range(1, MOST_CYCLES + 1):
        world.log = CycleLog()
        former = dict(world.workloads)
        controllers.settle(cycle)
        result = state.scheduler.run_cycle()
        controllers.settle(cycle)
        events += [*world.log.events, *world.log.evicted]
        changed = (item for key, item in world.workloads.items() if item is not former[key])
        if cycle_tries.is_over(result, changed=any(item.status != former[item.key].status for item in changed)):
            break
    return events


def _says_else(change: StoreChange) -> bool:
    """Return true if more than the status of an object changed."""
    return (
        change.old is None
        or change.new is None
        or any(change.old.get(part) != change.new.get(part) for part in ("spec", "value"))
        or change.old["metadata"].get("labels") != change.new["metadata"].get("labels")
    )


def _is_true(raw: Json, kind: str) -> bool:
    return (get_condition(raw, kind) or {}).get("status") == "True"


def _find_reason(workload: Workload) -> str:
    evicted = workload.find_condition(kinds.EVICTED)
    return evicted.message if evicted is not None and evicted.is_true else "The workload has no quota"
