"""Taking objects into the world as Kueue's controllers do when they start and when an object changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_mapping, get_string, get_string_map
from kschedweb.engine.queueing.quota.objects import (
    ClusterQueue,
    Cohort,
    LocalQueue,
    get_name,
    get_namespace,
    read_admission_check,
    read_cluster_queue,
    read_cohort,
    read_flavor,
    read_local_queue,
    read_topology,
    read_topology_node,
)
from kschedweb.engine.queueing.quota.quota_tree import CohortCycleError
from kschedweb.engine.queueing.workloads.requests import sum_pod_requests
from kschedweb.engine.queueing.workloads.workload import Workload, read_workload
from kschedweb.engine.queueing.world import KueueWorld

# Kinds in the order in which their controllers start.
START_ORDER = (
    "Namespace", "LimitRange", "RuntimeClass", "Topology", "Node", "Pod", "ResourceFlavor", "AdmissionCheck", "Cohort",
    "ClusterQueue", "LocalQueue",
)  # fmt: skip
# Annotations of pods that topology-aware scheduling placed, which count as workloads (`IsTAS`).
_TOPOLOGY_ANNOTATIONS = frozenset(
    f"kueue.x-k8s.io/podset-{name}"
    for name in (
        "required-topology",
        "preferred-topology",
        "unconstrained-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
    )
)


_READERS: dict[str, Callable[[Json], object]] = {
    "AdmissionCheck": read_admission_check,
    "ClusterQueue": read_cluster_queue,
    "Cohort": read_cohort,
    "LocalQueue": read_local_queue,
    "ResourceFlavor": read_flavor,
    "Topology": read_topology,
    "Workload": lambda raw: read_workload(raw, 0.0),
}


def check_object(raw: Json) -> None:
    """Raise ObjectError or SelectorError if an object of Kueue cannot be read."""
    read = _READERS.get(get_string(raw, "kind"))
    if read is not None:
        read(raw)


class PriorityClasses:
    """The values of priority classes, which workloads without a priority get."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], int] = {}

    def add(self, raw: Json) -> None:
        self._values[get_string(raw, "kind"), get_name(raw)] = get_integer(raw, "value")

    def complete(self, workload: Workload, *, all_kinds: bool = True) -> Workload:
        """Return ``workload`` with its class's value, as the controllers of jobs do."""
        if workload.priority_class is None or workload.priority is not None:
            return workload
        _, kind, name = workload.priority_class
        if not all_kinds and kind != "WorkloadPriorityClass":
            return workload
        value = self._values.get((kind, name))
        return workload if value is None else replace(workload, priority=value)


class ObjectStore:
    """Takes in objects, and tells queues and cache what changed."""

    def __init__(self, world: KueueWorld) -> None:
        self._world = world
        self.classes = PriorityClasses()
        # Keys of the workloads that were there at the start, by LocalQueue and by the ClusterQueue of their quota.
        self._by_local_queue: dict[str, list[str]] = {}
        self._by_cluster_queue: dict[str, list[str]] = {}
        self._is_starting = True
        cache = world.cache
        self._starters: dict[str, Callable[[Json], object]] = {
            "Namespace": self._set_namespace,
            "RuntimeClass": self._set_runtime_class,
            "Topology": lambda raw: cache.set_topology(read_topology(raw)),
            "Node": lambda raw: cache.set_node(read_topology_node(raw)),
            "Pod": self._set_pod,
            "ResourceFlavor": lambda raw: cache.set_flavor(read_flavor(raw)),
            "AdmissionCheck": lambda raw: cache.set_check(read_admission_check(raw)),
            "Cohort": lambda raw: self._set_cohort(read_cohort(raw)),
            "ClusterQueue": lambda raw: self._set_cluster_queue(read_cluster_queue(raw)),
            "LocalQueue": lambda raw: self._set_local_queue(read_local_queue(raw)),
        }

    def add_workloads(self, raws: Iterable[Json]) -> None:
        """Store Workloads, which the others look at when they are taken in."""
        for raw in raws:
            workload = self.classes.complete(read_workload(raw, self._world.now))
            self._world.workloads[workload.key] = workload
            self._by_local_queue.setdefault(workload.queue_key, []).append(workload.key)
            if workload.status.admission is not None:
                name = workload.status.admission.cluster_queue
                self._by_cluster_queue.setdefault(name, []).append(workload.key)

    def start(self, raw: Json) -> None:
        """Take in an object that is there from the beginning."""
        world, kind = self._world, get_string(raw, "kind")
        if kind == "LimitRange":
            world.set_limit_range(get_namespace(raw), get_name(raw), raw)
        elif kind in self._starters:
            self._starters[kind](raw)

    def apply(self, raw: Json) -> None:
        """Create an object, or replace its spec; what waits may be tried again then."""
        self._is_starting = False
        world, kind = self._world, get_string(raw, "kind")
        if kind == "Workload":
            self._apply_workload(raw)
        elif kind == "Namespace":
            self._set_namespace(raw)
            world.notify(world.cache.queues_matching(world.namespaces[get_name(raw)]))
        elif kind == "ResourceFlavor":
            flavor = read_flavor(raw)
            world.notify(world.cache.set_flavor(flavor))
            world.notify(world.cache.queues_using(flavor.name))
        elif kind == "Topology":
            world.notify(world.cache.set_topology(read_topology(raw)))
        elif kind == "AdmissionCheck":
            world.notify(world.cache.set_check(read_admission_check(raw)))
        elif kind == "Node":
            world.cache.set_node(read_topology_node(raw))
            for name in world.cache.topology_flavors:
                if world.cache.find_topology(name) is not None:
                    world.notify(world.cache.queues_using(name))
        elif kind in ("WorkloadPriorityClass", "PriorityClass"):
            self.classes.add(raw)
        else:
            self.start(raw)

    def _set_namespace(self, raw: Json) -> None:
        labels = get_string_map(get_mapping(raw, "metadata"), "labels", "metadata.")
        self._world.namespaces[get_name(raw)] = labels

    def _set_runtime_class(self, raw: Json) -> None:
        overhead = get_mapping(get_mapping(raw, "overhead"), "podFixed", "overhead.")
        self._world.set_runtime_class(get_name(raw), overhead)

    def _set_pod(self, raw: Json) -> None:
        """Count a pod that runs outside of topology-aware scheduling."""
        annotations = get_string_map(get_mapping(raw, "metadata"), "annotations", "metadata.")
        spec, phase = get_mapping(raw, "spec"), get_string(get_mapping(raw, "status"), "phase", "status.")
        node = get_string(spec, "nodeName", "spec.")
        if node and phase not in ("Succeeded", "Failed") and _TOPOLOGY_ANNOTATIONS.isdisjoint(annotations):
            key = f"{get_namespace(raw)}/{get_name(raw)}"
            self._world.cache.set_other_pod(key, node, sum_pod_requests(spec))

    def _set_cohort(self, cohort: Cohort) -> None:
        # The controller fails over a ring of cohorts, and the queues below are not active.
        with suppress(CohortCycleError):
            self._world.cache.set_cohort(cohort)
        self._world.queues.set_cohort(cohort)

    def _set_cluster_queue(self, spec: ClusterQueue) -> None:
        world = self._world
        former = world.cluster_queues.get(spec.name)
        world.cluster_queues[spec.name] = spec
        workloads = (
            workload
            for workload in self._list_indexed(self._by_cluster_queue, spec.name)
            if workload.status.admission is not None and workload.status.admission.cluster_queue == spec.name
        )
        with suppress(CohortCycleError):
            world.cache.set_cluster_queue(spec, workloads)
        world.queues.set_cluster_queue(spec, former)

    def _set_local_queue(self, spec: LocalQueue) -> None:
        world = self._world
        former = world.local_queues.get(spec.key)
        world.local_queues[spec.key] = spec
        if former is not None and former.is_running and not spec.is_running:
            world.queues.delete_local_queue(spec.key)
        elif former is not None and former.stop_policy == spec.stop_policy:
            if spec.is_running:
                world.queues.update_local_queue(spec)
        elif spec.is_running:
            self._start_local_queue(spec)

    def _list_indexed(self, index: dict[str, list[str]], name: str) -> list[Workload]:
        """Return the workloads that may be of ``name``, by key: all of them once objects have changed."""
        if not self._is_starting:
            return self._world.list_workloads()
        stored = self._world.workloads
        return [stored[key] for key in index.get(name, ()) if key in stored]

    def _start_local_queue(self, spec: LocalQueue) -> None:
        """Let the workloads of a LocalQueue wait, whatever their back-off."""
        world = self._world
        listed = self._list_indexed(self._by_local_queue, spec.key)
        workloads = [workload for workload in listed if workload.queue_key == spec.key]
        infos = [world.create_info(workload) for workload in workloads if workload.is_admissible(world.gates)]
        world.queues.add_local_queue(spec, infos, [workload.key for workload in workloads])

    def _apply_workload(self, raw: Json) -> None:
        world = self._world
        workload = self.classes.complete(read_workload(raw, world.now), all_kinds=False)
        former = world.workloads.get(workload.key)
        if former is not None:
            workload = replace(
                workload,
                uid=former.uid,
                created=former.created,
                generation=former.generation + 1,
                status=former.status,
            )
        world.workloads[workload.key] = workload
