"""Kueue: Jobs that name a LocalQueue wait, suspended, until their Workload has quota.

Each look reads all queues and Workloads anew, plays Kueue's cycles on them until one changes nothing, and writes what
changed. Admission checks, topologies and waitForPodsReady are not served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.cycle.cycle import QuotaScheduler
from kschedweb.engine.queueing.explaining.queue_state import QueueState, build_state, detect_fair_sharing
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.status_json import write_status
from kschedweb.engine.queueing.workloads.workload import Workload
from kschedweb.engine.queueing.world import CycleLog, KueueEvent
from kschedweb.engine.sandbox.resources import KUEUE, NAMESPACE, POD
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, owner_reference
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import (
    get_condition,
    is_deleting,
    is_pod_terminal,
    template_hash,
)
from kschedweb.engine.sandbox.world.queue_labels import MINIMUM_ANNOTATION, PRIORITY_LABEL, QUEUE_LABEL
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

# All queues are looked at together.
ALL: Key = ("", "")
# Seconds of the sandbox between two looks, at least.
LOOK_SECONDS = 1.0
# Cycles of one look; the next one goes on.
MOST_CYCLES = 200
COMPONENT = "kueue-admission"
_READ = (
    COHORT, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS, PRIORITY_CLASS, NAMESPACE,
)  # fmt: skip


class QuotaQueueController:
    """Creates the Workloads of Jobs, gives them quota, and lets their Jobs run or stop."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._next = 0.0
        # True while it writes itself, which needs no other look.
        self._is_writing = False

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if self._is_writing:
            return
        if change.resource.group == KUEUE or (change.resource is JOB and _matters(change)):
            yield ALL
        elif change.resource is POD and (change.new is None or is_pod_terminal(change.new)):
            owner = get_controller_of(change.last)
            if owner is not None and owner["kind"] == JOB.kind:
                yield ALL

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
        finally:
            self._is_writing = False
        return None

    def _look(self) -> None:
        store = self._context.store
        jobs = {raw["metadata"]["uid"]: raw for raw in store.all(JOB) if _is_queued(raw) and not is_deleting(raw)}
        self._create_workloads(jobs)
        jobs_by_workload = {
            f"{raw['metadata']['namespace']}/{raw['metadata']['name']}": jobs[owner["uid"]]
            for raw in store.all(WORKLOAD)
            if (owner := get_controller_of(raw)) is not None and owner["uid"] in jobs
        }
        self._run_cycles(jobs_by_workload)
        self._count_workloads()

    # Workloads of Jobs.

    def _create_workloads(self, jobs: dict[str, Json]) -> None:
        owned = {owner["uid"] for raw in self._context.store.all(WORKLOAD) if (owner := get_controller_of(raw))}
        for uid, job in jobs.items():
            if uid not in owned and not _find_end(job):
                metadata = job["metadata"]
                try:
                    self._context.objects.create_object(WORKLOAD, metadata["namespace"], self._build_workload(job))
                except ApiRefusal as refusal:
                    self._record(job, "ErrWorkloadCompose", refusal.message)

    def _build_workload(self, job: Json) -> Json:
        metadata, spec = job["metadata"], job["spec"]
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        pod_set: Json = {"name": "main", "count": spec["parallelism"], "template": spec["template"]}
        least = annotations.get(MINIMUM_ANNOTATION, "")
        if least.isdecimal() and 0 < int(least) < spec["parallelism"]:
            pod_set["minCount"] = int(least)
        name = f"job-{metadata['name'][:50]}-{template_hash({'uid': metadata['uid']})[:5]}"
        return {
            "metadata": {"name": name, "ownerReferences": [owner_reference(JOB, job)]},
            "spec": {
                "queueName": labels[QUEUE_LABEL],
                "active": True,
                "podSets": [pod_set],
                **self._find_priority(labels.get(PRIORITY_LABEL, ""), spec["template"]["spec"]),
            },
        }

    def _find_priority(self, workload_class: str, pod_spec: Json) -> Json:
        """Return the priority of a Workload, and the class that it has it from."""
        sources = (
            (WORKLOAD_PRIORITY_CLASS, workload_class),
            (PRIORITY_CLASS, pod_spec.get("priorityClassName") or ""),
        )
        for resource, name in sources:
            raw = self._context.store.get(resource, "", name)
            if raw is not None:
                reference = {"group": resource.group, "kind": resource.kind, "name": name}
                return {"priority": int(raw.get("value") or 0), "priorityClassRef": reference}
        return {"priority": 0}

    # Cycles.

    def _run_cycles(self, jobs: dict[str, Json]) -> None:
        store = self._context.store
        objects = [raw for resource in _READ for raw in store.all(resource)]
        workloads = [raw for raw in store.all(WORKLOAD) if not _is_true(raw, kinds.FINISHED)]
        objects += workloads
        before = {f"{raw['metadata']['namespace']}/{raw['metadata']['name']}": raw for raw in workloads}
        state = build_state(
            objects,
            float(int(self._context.objects.clock())),
            uses_fair_sharing=detect_fair_sharing(objects),
            has_stopped=partial(self._has_stopped, jobs),
        )
        events = [*self._follow_jobs(state, jobs), *_play(state)]
        for workload in state.world.list_workloads():
            raw = before[workload.key]
            raw = self._context.objects.change_object(WORKLOAD, raw, status=write_status(workload))
            if job := jobs.get(workload.key):
                self._follow_workload(state, workload, job)
        for event in events:
            if raw := before.get(event.key):
                self._context.recorder.record_event(
                    WORKLOAD, raw, event.reason, event.message, component=COMPONENT, kind=NORMAL
                )

    def _has_stopped(self, jobs: dict[str, Json], key: str) -> bool:
        """Return true if no pod of an evicted Workload is left."""
        job = jobs.get(key)
        return job is None or all(map(is_pod_terminal, self._context.index.list_owned(job["metadata"]["uid"], POD)))

    def _follow_jobs(self, state: QueueState, jobs: dict[str, Json]) -> Iterator[KueueEvent]:
        """Let Workloads end with their Jobs, and give back the quota of pods that are no longer needed."""
        for workload in state.world.list_workloads():
            job = jobs.get(workload.key)
            if job is None or workload.is_finished:
                continue
            if end := _find_end(job):
                state.controllers.finish(workload)
                yield KueueEvent(workload.key, "FinishedWorkload", end)
            elif (reclaimable := _count_reclaimable(job)) != workload.status.reclaimable.get("main", 0):
                state.world.update_status(workload.with_status(reclaimable={"main": reclaimable}))

    def _follow_workload(self, state: QueueState, workload: Workload, job: Json) -> None:
        """Suspend the Job of a Workload without quota, and run that of one with quota on the nodes of its flavors."""
        runs = workload.is_admitted and not workload.is_evicted and not workload.is_finished
        is_suspended = bool(job["spec"].get("suspend"))
        if workload.is_finished or runs != is_suspended:
            return
        spec, (pod_set,) = job["spec"], workload.pod_sets
        if not runs:
            # The Job gets back what it asked for.
            changed = {**spec, "suspend": True, "template": pod_set.template, "parallelism": pod_set.count}
        else:
            assert workload.status.admission is not None
            assigned = workload.status.admission.find_pod_set(pod_set.name)
            flavors = dict.fromkeys(assigned.flavors.values()) if assigned is not None else {}
            count = pod_set.count if assigned is None or assigned.count is None else assigned.count
            template = self._place_template(pod_set.template, list(flavors))
            changed = {**spec, "suspend": False, "template": template, "parallelism": count}
        self._context.objects.change_object(JOB, job, spec=changed)
        words = ("Started", f"Admitted by clusterQueue {state.find_queue_name(workload)}")
        self._record(job, *(words if runs else ("Stopped", _find_reason(workload))))

    def _place_template(self, template: Json, flavors: list[str]) -> Json:
        """Return a template for the nodes of its flavors."""
        spec = dict(template["spec"])
        selector, tolerations = dict(spec.get("nodeSelector") or {}), list(spec.get("tolerations") or ())
        for name in flavors:
            raw = self._context.store.get(RESOURCE_FLAVOR, "", name) or {}
            flavor = raw.get("spec") or {}
            selector |= flavor.get("nodeLabels") or {}
            tolerations += [raw for raw in flavor.get("tolerations") or () if raw not in tolerations]
        spec |= {"nodeSelector": selector} if selector else {}
        return {**template, "spec": spec | ({"tolerations": tolerations} if tolerations else {})}

    def _record(self, job: Json, reason: str, message: str) -> None:
        self._context.recorder.record_event(JOB, job, reason, message, component="kueue-job-controller")

    # Queues.

    def _count_workloads(self) -> None:
        """Write how many Workloads wait, have quota and run into the status of the queues."""
        store = self._context.store
        queues = {f"{raw['metadata']['namespace']}/{raw['metadata']['name']}": raw for raw in store.all(LOCAL_QUEUE)}
        counts: dict[tuple[str, str], list[int]] = {}
        for raw in store.all(WORKLOAD):
            local = f"{raw['metadata']['namespace']}/{raw['spec'].get('queueName')}"
            if local not in queues or _is_true(raw, kinds.FINISHED):
                continue
            has_quota, runs = _is_true(raw, kinds.QUOTA_RESERVED), _is_true(raw, kinds.ADMITTED)
            for holder in (("LocalQueue", local), ("ClusterQueue", str(queues[local]["spec"].get("clusterQueue")))):
                count = counts.setdefault(holder, [0, 0, 0])
                for place, is_counted in enumerate((not has_quota, has_quota, runs)):
                    count[place] += is_counted
        for resource in (CLUSTER_QUEUE, LOCAL_QUEUE):
            for raw in list(store.all(resource)):
                metadata = raw["metadata"]
                key = f"{metadata['namespace']}/{metadata['name']}" if resource.namespaced else metadata["name"]
                numbers = counts.get((resource.kind, key), [0, 0, 0])
                names = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
                status = {**(raw.get("status") or {}), **dict(zip(names, numbers, strict=True))}
                self._context.objects.change_object(resource, raw, status=status)


def _play(state: QueueState) -> list[KueueEvent]:
    """Play cycles until one changes nothing that one before has not tried; returns what Kueue tells."""
    world, scheduler = state.world, QuotaScheduler(state.world, state.controllers.make_pods_ready)
    events, seen = list[KueueEvent](), set[tuple[object, ...]]()
    for cycle in range(1, MOST_CYCLES + 1):
        world.log = CycleLog()
        former = {workload.key: workload.status for workload in world.list_workloads()}
        state.controllers.settle(cycle)
        result = scheduler.run_cycle()
        state.controllers.settle(cycle)
        state.controllers.pass_checks()
        events += [*world.log.events, *world.log.evicted]
        if any(former[workload.key] != workload.status for workload in world.list_workloads()):
            seen.clear()
            continue
        mark = result.describe_tries()
        if result.is_idle or mark in seen:
            break
        seen.add(mark)
    return events


def _matters(change: StoreChange) -> bool:
    """Return true if a change of a Job is of interest to its Workload."""
    if not _is_queued(change.last):
        return False
    old, new = (None if raw is None else _describe_job(raw) for raw in (change.old, change.new))
    return old != new


def _describe_job(job: Json) -> tuple[object, ...]:
    status, spec = job.get("status") or {}, job["spec"]
    metadata = job["metadata"]
    return metadata["uid"], metadata.get("labels"), spec, status.get("succeeded", 0), _find_end(job), is_deleting(job)


def _is_queued(job: Json) -> bool:
    return QUEUE_LABEL in (job["metadata"].get("labels") or {})


def _is_true(raw: Json, kind: str) -> bool:
    return (get_condition(raw, kind) or {}).get("status") == "True"


def _find_end(job: Json) -> str:
    """Return what a Job that has ended says; "" while it has not."""
    ends = (get_condition(job, kind) for kind in ("Complete", "Failed"))
    return next((str(end.get("message")) for end in ends if end is not None and end.get("status") == "True"), "")


def _find_reason(workload: Workload) -> str:
    evicted = workload.find_condition(kinds.EVICTED)
    return evicted.message if evicted is not None and evicted.is_true else "The workload has no quota"


def _count_reclaimable(job: Json) -> int:
    """Return how many pods of a Job are no longer needed (`ReclaimablePods`)."""
    spec, succeeded = job["spec"], (job.get("status") or {}).get("succeeded", 0)
    parallelism, completions = spec["parallelism"], spec.get("completions")
    if parallelism == 1 or not succeeded or completions is None:
        return 0
    return max(0, parallelism - (completions - succeeded))
