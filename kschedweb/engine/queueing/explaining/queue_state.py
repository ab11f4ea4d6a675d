"""A cluster's queues and workloads as they are now, taken in by Kueue's controllers, before a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    describe_object,
    get_mapping,
    get_objects,
    get_string,
    get_time,
)
from kschedweb.engine.objects.kinds import KUEUE
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.queueing.control_loop import ControlLoop
from kschedweb.engine.queueing.cycle.cycle import SchedulingCycle
from kschedweb.engine.queueing.cycle.entries import CycleEntry
from kschedweb.engine.queueing.gates import DEFAULT_GATES
from kschedweb.engine.queueing.object_store import START_ORDER, ObjectStore
from kschedweb.engine.queueing.preemption.fair_preemption import DEFAULT_STRATEGIES
from kschedweb.engine.queueing.queues import PreemptorMark, QueueHead
from kschedweb.engine.queueing.quota.objects import get_name, get_namespace
from kschedweb.engine.queueing.snapshot import QueueingSnapshot
from kschedweb.engine.queueing.workloads.conditions import QUOTA_RESERVED
from kschedweb.engine.queueing.workloads.requests import RequestOptions
from kschedweb.engine.queueing.workloads.status_json import format_time
from kschedweb.engine.queueing.workloads.submission import Submission, SubmissionError
from kschedweb.engine.queueing.workloads.workload import Workload, WorkloadOrdering
from kschedweb.engine.queueing.workloads.workload_info import InfoFactory, WorkloadInfo
from kschedweb.engine.queueing.world import KueueConfiguration, KueueWorld
from kschedweb.engine.values import dataclass

# Kinds of Kueue's own, and those of others that it looks at.
KUEUE_KINDS = frozenset({
    "AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "Workload",
    "WorkloadPriorityClass",
})  # fmt: skip
_OTHER_KINDS = frozenset({"LimitRange", "Namespace", "Node", "PriorityClass", "RuntimeClass"})
# Only topology-aware scheduling looks at pods.
_TOPOLOGY_KINDS = frozenset({"Pod"})
_CLASS_KINDS = frozenset({"PriorityClass", "WorkloadPriorityClass"})
_UNDER_WAY = "Pending the preemption of"
# For how many cycles an evicted workload of the cluster keeps its quota: its pods are still there.
_EVICTION_CYCLES = 1
# After every UID of a cluster.
_LAST_UID = "~"


class WorkloadMissingError(LookupError):
    """The cluster has no such workload, or no such queue."""


@dataclass(frozen=True)
class StateProblem:
    """An object that could not be read, and is left out."""

    subject: str
    reason: str


@dataclass
class QueueState:
    """The queues of a cluster."""

    # The objects that were read, as JSON.
    objects: list[Json]
    now: float
    uses_fair_sharing: bool
    world: KueueWorld
    controllers: ControlLoop
    store: ObjectStore
    problems: list[StateProblem] = field(default_factory=list)

    def find_workload(self, key: str) -> Workload:
        """Return the workload ``key`` ("namespace/name"). Raises WorkloadMissingError."""
        workload = self.world.workloads.get(key)
        if workload is None:
            raise WorkloadMissingError(f"There is no Workload {key}.")
        return workload

    def find_queue_name(self, workload: Workload) -> str:
        """Return the ClusterQueue that has given ``workload`` quota, or in which it waits; "" for none."""
        if workload.status.admission is not None:
            return workload.status.admission.cluster_queue
        local_queue = self.world.local_queues.get(workload.queue_key)
        return local_queue.cluster_queue if local_queue is not None else ""

    def start_cycle(self) -> SchedulingCycle:
        """Return a cycle on the state as it is, which nominates without changing anything."""
        return SchedulingCycle(self.world, QueueingSnapshot(self.world.cache), 1, lambda: None)

    def nominate(self, info: WorkloadInfo, queue: str) -> CycleEntry:
        """Return what a cycle would make of ``info`` at the head of ``queue``, if nobody else were looked at."""
        entry = self.start_cycle().nominate(QueueHead(info.copy_for_cycle(queue), False))
        assert entry is not None, "only workloads without quota are nominated"
        return entry

    def tree_queues(self, name: str) -> frozenset[str]:
        """Return the ClusterQueues of the tree of ``name``; itself without a cohort."""
        queue = self.world.cache.queues.get(name)
        if queue is None or queue.parent is None or queue.parent.has_cycle:
            return frozenset({name})
        return frozenset(member.name for member in queue.parent.root.subtree_queues())

    def restrict_to_tree(self, name: str) -> QueueState:
        """Return another state, of a ClusterQueue's tree: the rest changes nothing unless places are shared."""
        return build_state(self._list_objects(name), self.now, uses_fair_sharing=self.uses_fair_sharing)

    def submit(self, submission: Submission) -> QueueState:
        """Return another state, of the tree in question, in which a Workload has just been created.

        It takes the place of the one that the same job has already. Raises SubmissionError.
        """
        metadata = submission.workload["metadata"]
        # Of equally old ones Kueue takes the lower UID first, and nobody has submitted this one before.
        identity = {"creationTimestamp": format_time(self.now), "uid": _LAST_UID}
        workload = {**submission.workload, "metadata": {**metadata, **identity}}
        local_queue = self.world.local_queues.get(f"{metadata['namespace']}/{workload['spec']['queueName']}")
        listed = self.objects if local_queue is None else self._list_objects(local_queue.cluster_queue)
        objects = [
            raw
            for raw in listed
            if raw["kind"] != "Workload" or f"{get_namespace(raw)}/{get_name(raw)}" != submission.replaced
        ]
        state = build_state([*objects, workload], self.now, uses_fair_sharing=self.uses_fair_sharing)
        if submission.key not in state.world.workloads:
            raise SubmissionError(problem.reason for problem in state.problems[-1:])
        return state

    def _list_objects(self, queue: str) -> list[Json]:
        """Return the objects of the tree of a ClusterQueue."""
        if self.world.cache.topologies:
            return self.objects
        names = self.tree_queues(queue)
        keys = {queue.key for queue in self.world.local_queues.values() if queue.cluster_queue in names}
        return [raw for raw in self.objects if _is_of_tree(raw, names, keys)]


def _is_of_tree(raw: Json, queues: frozenset[str], local_queues: set[str]) -> bool:
    kind, spec = raw.get("kind"), raw.get("spec")
    if kind == "ClusterQueue":
        return get_name(raw) in queues
    if kind == "LocalQueue":
        return f"{get_namespace(raw)}/{get_name(raw)}" in local_queues
    if kind == "Workload":
        if isinstance(spec, dict) and f"{get_namespace(raw)}/{spec.get('queueName')}" in local_queues:
            return True
        admission = (raw.get("status") or {}).get("admission")
        return isinstance(admission, dict) and admission.get("clusterQueue") in queues
    return True


def has_queues(objects: Iterable[Json]) -> bool:
    return any(raw.get("kind") == "ClusterQueue" for raw in objects)


def detect_fair_sharing(objects: Iterable[Json]) -> bool:
    """Return True if Kueue has written shares to a queue or cohort, as it does with fair sharing alone."""
    return any(
        isinstance(raw.get("status"), dict) and raw["status"].get("fairSharing") is not None
        for raw in objects
        if raw.get("kind") in ("ClusterQueue", "Cohort")
    )


def find_newest_time(objects: Iterable[Json]) -> float | None:
    """Return the newest moment that Kueue's objects tell of, in seconds since 1970; None if they tell of none."""
    newest: float | None = None
    for raw in objects:
        if raw.get("kind") not in KUEUE_KINDS:
            continue
        with suppress(ObjectError):
            conditions = get_objects(get_mapping(raw, "status"), "conditions")
            times = [get_time(get_mapping(raw, "metadata"), "creationTimestamp")]
            times += [get_time(condition, "lastTransitionTime") for condition in conditions]
            newest = max((when for when in (*times, newest) if when is not None), default=None)
    return newest


def select_objects(objects: Iterable[Json]) -> list[Json]:
    """Return of a cluster's objects those that Kueue looks at."""
    selected = [raw for raw in objects if _is_read(raw)]
    if not any(raw["kind"] == "Topology" for raw in selected):
        selected = [raw for raw in selected if raw["kind"] not in _TOPOLOGY_KINDS]
    return selected


def _is_read(raw: Json) -> bool:
    kind = raw.get("kind")
    if kind in KUEUE_KINDS:
        # Kubernetes has a Workload of its own, in another group.
        return str(raw.get("apiVersion", "")).startswith(f"{KUEUE}/")
    return kind in _OTHER_KINDS or kind in _TOPOLOGY_KINDS


def read_state(objects: Iterable[Json], now: float, *, uses_fair_sharing: bool | None = None) -> QueueState:
    """Read the queues of a cluster at ``now``, in seconds since 1970.

    Without ``uses_fair_sharing`` the objects tell whether Kueue shares fairly. What cannot be read is left out.
    """
    selected = select_objects(objects)
    if uses_fair_sharing is None:
        uses_fair_sharing = detect_fair_sharing(selected)
    return build_state(selected, now, uses_fair_sharing=uses_fair_sharing)


def build_state(
    objects: list[Json],
    now: float,
    *,
    uses_fair_sharing: bool,
    has_stopped: Callable[[str], bool] | None = None,
) -> QueueState:
    """Take ``objects`` in as Kueue's controllers do when they start; ``has_stopped`` as of `ControlLoop`."""
    gates = DEFAULT_GATES
    configuration = KueueConfiguration(
        gates, DEFAULT_STRATEGIES if uses_fair_sharing else None, False, False, WorkloadOrdering(True, gates)
    )
    world = KueueWorld(configuration, InfoFactory(RequestOptions(), gates), now)
    controllers = ControlLoop(world, _EVICTION_CYCLES if has_stopped is None else 0, has_stopped)
    state = QueueState(objects, now, uses_fair_sharing, world, controllers, ObjectStore(world))
    _start(state)
    state.controllers.settle(0)
    _mark_preemptors(state)
    return state


def _mark_preemptors(state: QueueState) -> None:
    """Let those stay first for which preemptions are under way, as their last message tells."""
    for queue in state.world.queues.queues.values():
        for info in queue.list_pending():
            condition = info.workload.find_condition(QUOTA_RESERVED)
            if condition is not None and not condition.is_true and _UNDER_WAY in condition.message:
                queue.preemptor = PreemptorMark(info.key, info.workload.generation, not queue.is_strict)
                break


def _start(state: QueueState) -> None:
    store, by_kind = state.store, dict[str, list[Json]]()
    for raw in state.objects:
        by_kind.setdefault(raw["kind"], []).append(raw)
    for kind in _CLASS_KINDS:
        for raw in by_kind.get(kind, ()):
            _take_in(state, raw, store.classes.add)
    for raw in sorted(by_kind.get("Workload", ()), key=_sort_key):
        _take_in(state, raw, lambda raw: _add_workload(state, store, raw))
    for namespace in {workload.namespace for workload in state.world.workloads.values()}:
        # Dumps often lack namespaces, and Kueue admits nothing in one that is not there.
        state.world.namespaces[namespace] = {}
    for kind in START_ORDER:
        for raw in sorted(by_kind.get(kind, ()), key=_sort_key):
            _take_in(state, raw, store.start)


def _add_workload(state: QueueState, store: ObjectStore, raw: Json) -> None:
    store.add_workloads([raw])
    key = f"{get_namespace(raw)}/{get_name(raw)}"
    try:
        # What cannot be counted later is left out here.
        state.world.create_info(state.world.workloads[key])
    except (ObjectError, SelectorError):
        del state.world.workloads[key]
        raise


def _take_in(state: QueueState, raw: Json, take: Callable[[Json], object]) -> None:
    try:
        take(raw)
    except (ObjectError, SelectorError) as error:
        state.problems.append(StateProblem(describe_object(raw), str(error)))


def _sort_key(raw: Json) -> str:
    metadata = get_mapping(raw, "metadata")
    return f"{get_string(metadata, 'namespace')}/{get_string(metadata, 'name')}"


def with_workload(info: WorkloadInfo, state: QueueState, **changes: Any) -> WorkloadInfo:
    """Return what is known of a workload with other fields."""
    return state.world.create_info(replace(info.workload, **changes))
