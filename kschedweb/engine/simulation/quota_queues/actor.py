"""Kueue as an actor: jobs wait for quota, run on the nodes of their flavors, and come back if they are evicted.

Its scheduling cycles take no time: at each moment at which something happens there are as many as change anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.queueing.cycle.cycle import QuotaScheduler, TriedCycles
from kschedweb.engine.queueing.explaining.pod_links import GATE
from kschedweb.engine.queueing.explaining.queue_state import (
    build_state,
    detect_fair_sharing,
    find_newest_time,
    select_objects,
)
from kschedweb.engine.queueing.preemption.preemption import REASON_WORDS
from kschedweb.engine.queueing.quota.objects import get_name
from kschedweb.engine.queueing.workloads import conditions as kinds
from kschedweb.engine.queueing.workloads.webhooks import find_object_refusals
from kschedweb.engine.queueing.workloads.workload import PENDING, Workload
from kschedweb.engine.queueing.world import CycleLog
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.pod_life import Departure, PodLife
from kschedweb.engine.simulation.quota_queues.gating import (
    FlavorNodes,
    gate_pod,
    list_places,
    open_pod,
    read_flavor_nodes,
)
from kschedweb.engine.simulation.quota_queues.jobs import (
    WORKLOAD_ANNOTATION,
    JobIdentity,
    JobPodSet,
    OwnerKey,
    QueuedJob,
    QueueLabels,
    WorkloadLinks,
    build_workload,
    find_labelled_owners,
    identify_job,
    split_alike,
)
from kschedweb.engine.simulation.quota_queues.reports import JobReport, JobStep
from kschedweb.engine.simulation.quota_queues.usage import QuotaMeter
from kschedweb.engine.values import dataclass

BECAUSE = "Kueue: {}"
# 2024-01-01, where no object of Kueue tells of a time.
FIRST_DAY = 1_704_067_200.0
# Cycles at one moment, after which the next moment is awaited.
MOST_CYCLES = 20_000
WITHOUT_PODS = "{:,} workloads of the base have quota and no pods: they keep it to the end"


@dataclass(frozen=True, eq=False)
class QueueingSetup(ActorSetup):
    """The quota queues of a scenario; one serves for any number of simulations."""

    # Of the cluster those that Kueue reads.
    objects: list[Json]
    uses_fair_sharing: bool
    # Seconds since 1970 at which a simulation begins.
    start: float
    owners: Mapping[OwnerKey, QueueLabels]
    flavors: Mapping[str, FlavorNodes]
    links: WorkloadLinks
    # A label whose value, in lower case, is the LocalQueue of pods that name none; "" for no such label.
    queue_label: str = ""

    @classmethod
    def from_objects(
        cls, objects: Iterable[Json], *, uses_fair_sharing: bool | None = None, queue_label: str = ""
    ) -> QueueingSetup:
        """Read a cluster's queues; without ``uses_fair_sharing`` the objects tell. Raises ObjectError."""
        listed = list(objects)
        selected = select_objects(listed)
        newest = find_newest_time(selected)
        fair = detect_fair_sharing(selected) if uses_fair_sharing is None else uses_fair_sharing
        return cls(
            selected,
            fair,
            FIRST_DAY if newest is None else newest,
            find_labelled_owners(listed),
            {get_name(raw): read_flavor_nodes(raw) for raw in selected if raw["kind"] == "ResourceFlavor"},
            WorkloadLinks(raw for raw in selected if raw["kind"] == "Workload"),
            queue_label,
        )

    def join(self, context: SimulationContext) -> Actor:
        return QuotaQueues(self, context)


@dataclass(eq=False)
class QuotaQueues(Actor):
    """The quota queues of one simulation."""

    # Jobs of the base that wait get their pods when they have quota.
    creates_pods = True

    setup: QueueingSetup
    context: SimulationContext
    # By key of their Workload.
    jobs: dict[str, QueuedJob] = field(default_factory=dict)
    # Workloads of the jobs that came, as they were created.
    created: list[Json] = field(default_factory=list)
    # Pod -> its job and pod set.
    _places: dict[str, tuple[QueuedJob, JobPodSet]] = field(default_factory=dict)
    # Key that a pod and its replacements share -> its job and pod set.
    _places_by_first: dict[str, tuple[QueuedJob, JobPodSet]] = field(default_factory=dict)
    # Pods that came, by their job.
    _arrived: dict[JobIdentity, dict[str, PodLife]] = field(default_factory=dict)
    # Workloads as they were followed last.
    _followed: dict[str, Workload] = field(default_factory=dict)
    # Keys of jobs whose pods came or went since they were last looked at.
    _touched: dict[str, None] = field(default_factory=dict)
    # Nodes as Kueue was shown them last.
    _nodes: dict[str, Node] = field(default_factory=dict)
    # Workload -> the one for which Kueue evicted it last.
    _preemptors: dict[str, str] = field(default_factory=dict)
    # When each job was evicted last.
    _evictions: dict[str, float] = field(default_factory=dict)
    # Until when there are no cycles, in seconds.
    _pause_end: float = -math.inf
    _cycle: int = 0
    _woken: bool = False
    # When it wakes by itself, in seconds; infinite for never.
    _next_wake: float = math.inf
    _without_pods: int = 0

    def __post_init__(self) -> None:
        self._counting = self.context.configuration.release.counting
        self._state = build_state(
            list(self.setup.objects),
            self.setup.start,
            uses_fair_sharing=self.setup.uses_fair_sharing,
            has_stopped=self._has_stopped,
        )
        self.world = self._state.world
        self._controllers = self._state.controllers
        self._scheduler = QuotaScheduler(self.world, self._controllers.make_pods_ready)
        self._meter = QuotaMeter(self.world)
        self.context.pods.result.refused.extend(
            (0.0, f"{problem.subject}: {problem.reason}") for problem in self._state.problems
        )
        for workload in self.world.list_workloads():
            if not workload.is_finished:
                self._add_job(workload, workload.key)

    def begin(self) -> None:
        """Begin: jobs of the base that have quota and no pods never end."""
        for job in self.jobs.values():
            workload = self.world.workloads[job.key]
            self._report(job, JobStep.QUEUED, 0.0)
            if workload.has_quota:
                self._set_limits(job, workload)
                self._report(job, JobStep.ADMITTED, 0.0)
                self._note_running(job, 0.0)
                self._without_pods += not job.has_pods
        self._wake(0.0)

    def list_notes(self) -> list[str]:
        return [WITHOUT_PODS.format(self._without_pods)] if self._without_pods else []

    # Pods.

    def on_initial_pod(self, pod: Pod) -> None:
        """Take a pod that is on its node to the job of the base that it is of."""
        job = self.jobs.get(self.setup.links.find_workload(pod))
        if job is not None:
            pod_set = job.choose_pod_set()
            pod_set.open[pod.key] = None
            pod_set.bound.add(pod.key)
            self._places[pod.key] = job, pod_set
            self._places_by_first[pod.key] = job, pod_set
            job.durations[pod.key] = None

    def on_pod_added(self, life: PodLife, now: float) -> None:
        """Hold a pod of a job: it waits for its job's quota."""
        if life.pod.node_name:
            return
        if life.heirs and (place := self._places_by_first.get(_first_key(life))) is not None:
            self._rejoin(life, *place, now)
            return
        job = self.jobs.get(self.setup.links.find_workload(life.pod))
        if job is not None:
            self._hold(life, job, job.choose_pod_set())
            self._wake(now)
            return
        identity = identify_job(life.pod, self.setup.owners, self.setup.queue_label)
        if identity is not None:
            life.pod = gate_pod(life.pod, self._counting)
            self._arrived.setdefault(identity, {})[life.pod.key] = life
            self._wake(now)

    def _rejoin(self, life: PodLife, job: QueuedJob, pod_set: JobPodSet, now: float) -> None:
        """Take in a pod in the place of another one of a job."""
        if job.is_stopping or not job.has_quota:
            # A job that is stopped starts over.
            life.duration = job.durations.get(_first_key(life), life.duration)
        self._hold(life, job, pod_set)
        self._wake(now)

    def _hold(self, life: PodLife, job: QueuedJob, pod_set: JobPodSet) -> None:
        life.pod = gate_pod(life.pod, self._counting)
        pod_set.gated[life.pod.key] = None
        self._places[life.pod.key] = job, pod_set
        first = _first_key(life)
        self._places_by_first[first] = job, pod_set
        self._touched[job.key] = None
        job.durations.setdefault(first, life.duration)

    def on_moved(self, life: PodLife, now: float) -> None:
        """Note a pod that came to its node, or begins to leave it."""
        place = self._places.get(life.pod.key)
        if place is None:
            return
        job, pod_set = place
        key = life.pod.key
        if life.leaves is not None:
            pod_set.open.pop(key, None)
            pod_set.bound.discard(key)
            pod_set.leaving.add(key)
        elif key in pod_set.open:
            pod_set.bound.add(key)
            self._note_running(job, now)

    def on_pod_removed(self, life: PodLife, now: float) -> None:
        """Count a pod that has ended; one that is replaced has not."""
        for lives in self._arrived.values():
            lives.pop(life.pod.key, None)
        place = self._places.pop(life.pod.key, None)
        if place is None:
            return
        job, pod_set = place
        self._touched[job.key] = None
        pod_set.discard(life.pod.key)
        if not life.replaced or life.why is Departure.ENDED:
            pod_set.ended += 1
        self._wake(now)

    def _note_running(self, job: QueuedJob, now: float) -> None:
        if job.has_quota and not job.is_running and not job.is_stopping and job.has_pods and job.is_placed:
            job.is_running = True
            self._report(job, JobStep.RUNNING, now)

    # Time.

    def _wake(self, now: float) -> None:
        """Look at the queues once all else of this moment has happened."""
        if not self._woken:
            self._woken = True
            self.context.schedule_action(now, self._act)

    def _act(self, now: float) -> None:
        self._woken = False
        if now < self._pause_end:
            return
        self.world.now = self.setup.start + math.floor(now)
        self.world.queues.second_pass.advance(self.world.now, self.world.factory.create)
        self._follow_nodes()
        self._create_jobs(now)
        self._follow_pods(now)
        self._run_cycles(now)
        report = self._meter.measure()
        if report is not None:
            self.context.report(report, now)
        self._plan_wake(now)

    def _plan_wake(self, now: float) -> None:
        """Wake at the end of the next back-off, or of a delay before a second pass."""
        due = [
            workload.status.requeue_at - self.setup.start
            for workload in self.world.workloads.values()
            if workload.status.requeue_at is not None and workload.state == PENDING
        ]
        if self.world.queues.second_pass.is_waiting:
            due.append(math.floor(now) + 1.0)
        later = min((time for time in due if time > now), default=math.inf)
        if later < self._next_wake:
            self._next_wake = later
            self.context.schedule_action(later, self._wake_again)

    def _wake_again(self, now: float) -> None:
        self._next_wake = math.inf
        self._wake(now)

    def _follow_nodes(self) -> None:
        """Show Kueue the nodes as they are, if it places pods by topology."""
        cache = self.world.cache
        if not cache.topologies:
            return
        nodes = self.context.pods.world.nodes
        for name in [name for name in cache.nodes if name not in nodes]:
            del cache.nodes[name]
        for name, node in nodes.items():
            if self._nodes.get(name) is not node:
                self._nodes[name] = node
                self._state.store.apply(node.raw)

    # Jobs.

    def _create_jobs(self, now: float) -> None:
        """Let jobs queue whose pods have come."""
        for identity, lives in list(self._arrived.items()):
            if len(lives) < identity.count:
                continue
            del self._arrived[identity]
            if lives:
                self._create_job(identity, list(lives.values()), now)

    def _create_job(self, identity: JobIdentity, lives: list[PodLife], now: float) -> None:
        world = self.world
        groups = split_alike(life.pod for life in lives)
        base = f"{identity.namespace}/{identity.name}"
        key = next(
            candidate
            for candidate in (base, *(f"{base}-{number}" for number in range(2, len(world.workloads) + 3)))
            if candidate not in world.workloads
        )
        name = key.partition("/")[2]
        priority = max(life.pod.priority for life in lives)
        raw = build_workload(name, identity, groups, priority, world.now, GATE)
        # Every namespace has this label.
        world.namespaces.setdefault(identity.namespace, {"kubernetes.io/metadata.name": identity.namespace})
        problems = find_object_refusals(raw, world.gates)
        if not problems:
            try:
                self._state.store.apply(raw)
                world.create_info(world.workloads[key])
            except (ObjectError, SelectorError) as error:
                world.workloads.pop(key, None)
                problems = [str(error)]
        if problems:
            refusal = f"Workload {key}: {'; '.join(problems)}"
            self.context.pods.result.refused.append((now, refusal))
            for life in lives:
                life.message = refusal
            return
        self.created.append(raw)
        job = self._add_job(world.workloads[key], base)
        by_key = {life.pod.key: life for life in lives}
        for pod_set, pods in zip(job.pod_sets, groups, strict=True):
            for pod in pods:
                self._hold(by_key[pod.key], job, pod_set)
        self._report(job, JobStep.QUEUED, now)

    def _add_job(self, workload: Workload, base: str) -> QueuedJob:
        pod_sets = [JobPodSet(pod_set.name, pod_set.count) for pod_set in workload.pod_sets]
        job = self.jobs[workload.key] = QueuedJob(workload.key, base, workload.base_priority(), pod_sets)
        return job

    def _follow_pods(self, now: float) -> None:
        """Let jobs end whose pods have ended, give back quota that is no longer needed, and open gates."""
        touched, self._touched = self._touched, {}
        for key in touched:
            job = self.jobs.get(key)
            if job is None:
                continue
            if any(pod_set.remaining for pod_set in job.pod_sets):
                self._reclaim(job)
                if job.has_quota and not job.is_stopping:
                    self._open_pods(job, now)
            elif not job.has_pods:
                self._end_job(job, now)

    def _reclaim(self, job: QueuedJob) -> None:
        """Count the pods of a job that are no longer needed."""
        workload = self.world.workloads[job.key]
        reclaimable = {
            pod_set.name: count
            for pod_set in job.pod_sets
            if (count := max(0, (pod_set.limit or pod_set.count) - pod_set.remaining))
        }
        if reclaimable != workload.status.reclaimable:
            self.world.update_status(workload.with_status(reclaimable=reclaimable))

    def _end_job(self, job: QueuedJob, now: float) -> None:
        workload = self.world.workloads[job.key]
        self._report(job, JobStep.FINISHED if workload.has_quota else JobStep.WITHDRAWN, now)
        self._controllers.delete(workload)
        self._followed.pop(job.key, None)
        self._evictions.pop(job.key, None)
        del self.jobs[job.key]
        for key in job.durations:
            self._places_by_first.pop(key, None)

    def _has_stopped(self, key: str) -> bool:
        """Return true if the pods of an evicted workload are gone."""
        job = self.jobs.get(key)
        return job is not None and (not job.has_quota or (job.is_stopping and job.has_stopped))

    # Cycles.

    def _run_cycles(self, now: float) -> None:
        """Run cycles until one changes nothing that one before has not tried.

        Workloads may evict each other without end. Where an evicted one has quota again at the same moment, the next
        cycle is a second later, as in a cluster, so that the scheduler has its turn.
        """
        cycle_tries = TriedCycles()
        for _ in range(MOST_CYCLES):
            checkpoint()
            self._cycle += 1
            self.world.log = CycleLog()
            self._controllers.settle(self._cycle)
            changed = self._follow_workloads(now)
            result = self._scheduler.run_cycle()
            self._preemptors.update((record.key, record.preemptor) for record in self.world.log.preempted)
            self._controllers.settle(self._cycle)
            self._controllers.pass_checks()
            changed = self._follow_workloads(now) or changed
            if cycle_tries.is_over(result, changed=changed):
                return
            if now < self._pause_end:
                self.context.schedule_action(self._pause_end, self._wake)
                return

    def _follow_workloads(self, now: float) -> bool:
        """Let jobs follow their Workloads; return true if one was admitted, evicted or released."""
        changed = False
        for workload in self.world.list_workloads():
            if self._followed.get(workload.key) is workload:
                continue
            self._followed[workload.key] = workload
            job = self.jobs.get(workload.key)
            if job is not None:
                changed = self._follow_workload(job, workload, now) or changed
        return changed

    def _follow_workload(self, job: QueuedJob, workload: Workload, now: float) -> bool:
        if workload.is_evicted and workload.has_quota and job.has_quota and not job.is_stopping:
            self._stop_job(job, workload, now)
            return True
        if job.has_quota and not workload.has_quota:
            job.has_quota = job.is_stopping = False
            for pod_set in job.pod_sets:
                pod_set.limit = 0
            return True
        if workload.is_admitted and not workload.is_evicted and not job.has_quota:
            self._start_job(job, workload, now)
            return True
        self._note_message(job, workload)
        return False

    def _note_message(self, job: QueuedJob, workload: Workload) -> None:
        """Write into the waiting pods what Kueue says of their workload."""
        condition = workload.find_condition(kinds.QUOTA_RESERVED)
        if condition is None or condition.is_true:
            return
        lives = self.context.pods.lives
        for pod_set in job.pod_sets:
            for key in pod_set.gated:
                if key in lives:
                    lives[key].message = condition.message

    def _set_limits(self, job: QueuedJob, workload: Workload) -> None:
        job.has_quota, job.is_running = True, False
        admission = workload.status.admission
        for pod_set in job.pod_sets:
            assigned = admission.find_pod_set(pod_set.name) if admission is not None else None
            count = assigned.count if assigned is not None else None
            pod_set.limit = pod_set.count if count is None else count

    def _start_job(self, job: QueuedJob, workload: Workload, now: float) -> None:
        self._set_limits(job, workload)
        if self._evictions.get(job.key) == now:
            self._pause_end = now + 1.0
        admission = workload.status.admission
        flavors = "" if admission is None else ", ".join(sorted(admission.flavors))
        self._report(job, JobStep.ADMITTED, now, flavors)
        if not job.has_pods:
            self._create_pods(job, workload, now)
        self._open_pods(job, now)

    def _create_pods(self, job: QueuedJob, workload: Workload, now: float) -> None:
        """Create the pods of a job of the base, which has none while it is suspended."""
        for pod_set, source in zip(job.pod_sets, workload.pod_sets, strict=True):
            metadata = get_mapping(source.template, "metadata", "template.")
            annotations = {**get_mapping(metadata, "annotations"), WORKLOAD_ANNOTATION: workload.name}
            for number in range(1, pod_set.limit + 1):
                name = f"{workload.name}-{pod_set.name}-{number}"
                pod_metadata = {**metadata, "name": name, "namespace": workload.namespace, "annotations": annotations}
                raw = {"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": source.spec}
                self.context.create_pod(raw, now, replaced=True)

    def _open_pods(self, job: QueuedJob, now: float) -> None:
        """Let the scheduler place as many pods of a job as it has quota for."""
        admission = self.world.workloads[job.key].status.admission
        if admission is None:
            return
        pods = self.context.pods
        for pod_set in job.pod_sets:
            assigned = admission.find_pod_set(pod_set.name)
            count = pod_set.limit - len(pod_set.open)
            if assigned is None or count <= 0:
                continue
            places = list(list_places(assigned.topology))[len(pod_set.open) :]
            for place, key in enumerate(list(pod_set.gated)[:count]):
                del pod_set.gated[key]
                pod_set.open[key] = None
                life = pods.lives[key]
                life.message = ""
                labels = places[place] if place < len(places) else {}
                pods.change_pod(open_pod(life.pod, assigned, self.setup.flavors, labels, self._counting), now)

    def _stop_job(self, job: QueuedJob, workload: Workload, now: float) -> None:
        """End the pods of an evicted job; others come in their place, and wait."""
        job.is_stopping, job.is_running, job.reason = True, False, _eviction_reason(workload)
        preemptor = self._preemptors.pop(job.key, "") if job.reason in REASON_WORDS else ""
        self._evictions[job.key] = now
        self._report(job, JobStep.EVICTED, now, job.reason, preemptor)
        pods = self.context.pods
        for pod_set in job.pod_sets:
            for key in list(pod_set.open):
                life = pods.lives.get(key)
                if life is not None:
                    # Whoever submitted a pod without a controller submits it again.
                    life.replaced = True
                    pods.evict_pod(life, BECAUSE.format(job.reason), now)

    def _report(self, job: QueuedJob, step: JobStep, now: float, text: str = "", preemptor: str = "") -> None:
        workload = self.world.workloads.get(job.key)
        queue = "" if workload is None else self._state.find_queue_name(workload)
        count = job.count
        if step is JobStep.ADMITTED:
            count = sum(pod_set.limit for pod_set in job.pod_sets)
        self.context.report(JobReport(job.key, step, queue, job.priority, count, text, preemptor), now)


def _first_key(life: PodLife) -> str:
    """Return the key that a pod and its replacements share."""
    name = life.template.name
    return f"{life.pod.namespace}/{name.rpartition('-again')[0] if life.heirs else name}"


def _eviction_reason(workload: Workload) -> str:
    """Return why a workload is evicted; of a preemption its cause."""
    evicted, preempted = (workload.find_condition(kind) for kind in (kinds.EVICTED, kinds.PREEMPTED))
    if evicted is None:
        return ""
    if evicted.reason == kinds.PREEMPTED and preempted is not None and preempted.is_true:
        return preempted.reason
    return evicted.reason
