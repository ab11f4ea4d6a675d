"""Build the cluster of a scenario: its state at the time of the current change, and the events that follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from kschedweb.engine.controllers.admission import DEFAULT, admit_group, admit_pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, describe_object, get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import is_group
from kschedweb.engine.simulation import PodArrives, SimulationEvent
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.owners import has_daemon_set_owner, stays_at_drain
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_PODS
from kschedweb.engine.studies.document.parts import ALL, ARRIVALS
from kschedweb.engine.studies.document.raw_pods import FINISHED, is_stored, recreate_pod, shift_times, unbind_pod
from kschedweb.engine.studies.prepare.claims import settle_claims
from kschedweb.engine.studies.prepare.kubelet_admission import find_refused_pods

CLASSES = frozenset({"PriorityClass", "RuntimeClass", "Namespace"})
# Completes a raw object with what the admission plugins of an API server would set; raises ObjectError.
Admission = Callable[[Json, ClusterObjects], Json]


class ScenarioCluster:
    """The objects of a scenario while it is prepared, and the events of its run.

    Raw objects are kept as JSON, because changes copy and edit them before they are parsed. ``place`` says which pods
    the scheduler places: all, the pending ones, or only those that arrive. ``now`` is the time of the base in seconds
    of the epoch. ``plugins`` are the admission plugins that complete the base's pods.
    """

    def __init__(self, listed: Iterable[Any], place: str, now: float, plugins: frozenset[str] = DEFAULT) -> None:
        self._admit: Admission = partial(admit_pod, plugins=plugins)
        # Nodes by name, at the time of the current change.
        self.nodes: dict[str, Json] = {}
        # Pods that are on nodes at time 0, by key.
        self.bound: dict[str, Json] = {}
        # Pods that arrive at time 0, by key.
        self.waiting: dict[str, Json] = {}
        # All objects that are not nodes or pods, by kind, namespace and name.
        self.others: dict[tuple[str, str, str], Json] = {}
        self.events: list[SimulationEvent] = []
        # Notes for the user: objects that were left out, and how unclear ones were interpreted.
        self.notes: list[str] = []
        # The bound pods of the base, also those that a change removes or that are placed anew: their use was measured.
        self.initially_bound: list[Pod] = []
        # Keys of all pods that exist at any time of the run; names must not repeat.
        self.pod_keys: set[str] = set()
        # Seconds at which pods of a recording left, by key.
        self.recorded_ends: dict[str, float] = {}
        # Seconds from and until which another object exists; objects without an entry exist all the time.
        self.lifetimes: dict[tuple[str, str, str], tuple[float, float]] = {}
        pods: list[Json] = []
        for raw in _flatten_lists(listed):
            self._add_object(raw, pods)
        # Older pods first. "9" sorts behind every year, so pods without a time come last.
        pods.sort(key=lambda raw: str(get_mapping(raw, "metadata").get("creationTimestamp") or "9"))
        self.base_nodes = dict(self.nodes)
        # The nodes at time 0, once changes at later times may alter `nodes`; None before.
        self._initial_nodes: dict[str, Json] | None = None
        classes = self._admission_classes()
        for raw in pods:
            self._add_pod(raw, place, now, classes)

    def _add_object(self, raw: Any, pods: list[Json]) -> None:
        try:
            kind, metadata = raw.get("kind") if isinstance(raw, dict) else None, get_mapping(raw, "metadata")
            name, namespace = metadata.get("name"), metadata.get("namespace") or ""
            if not isinstance(kind, str) or not isinstance(name, str) or not isinstance(namespace, str):
                raise ObjectError("has no kind, name or namespace that can be read")
        except ObjectError as problem:
            self.notes.append(f"{describe_object(raw)}: is left out: {problem}")
            return
        if kind == "Pod":
            pods.append(raw)
        elif kind == "Node":
            self.nodes[name] = raw
        else:
            self.others[kind, namespace, name] = raw

    def _admission_classes(self) -> ClusterObjects:
        """Return the objects that admission reads: classes and namespaces."""
        classes = ClusterObjects()
        for (kind, *_), raw in self.others.items():
            if kind in CLASSES:
                with suppress(ObjectError):  # an error is reported where a pod names it
                    classes.add(raw)
        return classes

    def _admit_object(self, raw: Json, classes: ClusterObjects, admission: Admission) -> Json:
        """Return a bound pod or a PodGroup as admission completes it; unchanged if admission refuses it."""
        try:
            return raw if is_stored(raw) else admission(raw, classes)
        except ObjectError as problem:
            self.notes.append(f"{problem}: is taken without what its classes would give it")
            return raw

    def _add_pod(self, raw: Json, place: str, now: float, classes: ClusterObjects) -> None:
        try:
            pod = Pod.from_json(raw)
            phase, stays = get_mapping(raw, "status").get("phase"), stays_at_drain(pod)
        except ObjectError as problem:
            self.notes.append(f"{describe_object(raw)}: is left out: {problem}")
            return
        # A terminating pod goes away and leaves room; it counts only while it is bound and pods keep their places.
        if (isinstance(phase, str) and phase in FINISHED) or (pod.terminating and (place == ALL or not pod.node_name)):
            return
        self.pod_keys.add(pod.key)
        if pod.node_name:
            self.initially_bound.append(pod)
        # Pods of DaemonSets and mirror pods stay on their nodes even if all pods are placed anew.
        if pod.node_name and (place != ALL or stays):
            self.bound[pod.key] = shift_times(self._admit_object(raw, classes, self._admit), now)
        elif pod.node_name or place != ARRIVALS:
            self.waiting[pod.key] = recreate_pod(raw) if pod.node_name else unbind_pod(raw)

    def add_object(self, raw: Json) -> None:
        """Add an object that is not a node or a pod and exists from time 0 on, unless there is one of the name."""
        metadata = raw["metadata"]
        namespace = "" if raw["kind"] in ("PersistentVolume", "Namespace") else metadata.get("namespace") or "default"
        self.others.setdefault((raw["kind"], namespace, metadata["name"]), raw)

    def find_object(self, kind: str, namespace: str, name: str, at: float | None = None) -> Json | None:
        """Return the object if it exists at ``at`` (seconds), or at any time if ``at`` is ``None``."""
        # A manifest in the namespace default may leave the namespace out, and then its key has "".
        places = (namespace, "") if namespace == "default" else (namespace,)
        keys = ((kind, place, name) for place in places)
        return next((self.others[key] for key in keys if key in self.others and self.exists_at(key, at)), None)

    def exists_at(self, key: tuple[str, str, str], at: float | None) -> bool:
        """Return whether the object ``key`` (kind, namespace, name) exists at ``at``; with ``None``, at any time."""
        begin, end = self.lifetimes.get(key, (0.0, math.inf))
        return at is None or begin <= at < end

    def add_arrival(self, raw: Json, at: float, life: float | None = None) -> None:
        """Let the pod ``raw`` arrive at ``at`` and run for ``life`` seconds; raise PartError if it exists already."""
        metadata = raw["metadata"]
        key = f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
        if key in self.pod_keys:
            raise PartError(f"there is a pod {key} already")
        if len(self.pod_keys) >= MOST_PODS:
            raise PartError(f"there are more than {MOST_PODS:,} pods: set a limit, or fewer replicas")
        self.pod_keys.add(key)
        if at == 0.0 and life is None:
            self.waiting[key] = raw
        else:
            self.events.append(create_arrival(raw, at, life))

    def withdraw_arrivals(self, keys: set[str]) -> None:
        """Remove the arrivals of the pods ``keys``."""
        self.events = [
            event for event in self.events if not (isinstance(event, PodArrives) and _arrival_key(event) in keys)
        ]

    def add_note(self, text: str) -> None:
        """Add a note for the user."""
        self.notes.append(text)

    def fix_initial_state(self) -> None:
        """Keep a copy of the nodes at time 0, before changes at later times alter them."""
        if self._initial_nodes is None:
            self._initial_nodes = dict(self.nodes)

    @property
    def initial_nodes(self) -> dict[str, Json]:
        """The nodes at time 0, by name."""
        return self.nodes if self._initial_nodes is None else self._initial_nodes

    def list_objects(self) -> list[Json]:
        """Return the objects at time 0; pending pods are events instead. PodGroups pass admission here."""
        self.fix_initial_state()
        settle_claims(self.others, self._raw_pods())
        classes = self._admission_classes()
        other_objects = [
            self._admit_object(raw, classes, admit_group) if is_group(raw) else raw for raw in self.others.values()
        ]
        # A kubelet refuses these pods during the run, so they are events and not part of the initial state.
        refused_keys = find_refused_pods(self.initial_nodes, self.bound.values())
        self.events[:0] = [create_arrival(self.bound.pop(key), 0.0) for key in refused_keys]
        return [*other_objects, *self.initial_nodes.values(), *self.bound.values()]

    def _raw_pods(self) -> Iterator[Json]:
        """Yield all pods that exist at time 0 or arrive later."""
        yield from self.bound.values()
        yield from self.waiting.values()
        for event in self.events:
            if isinstance(event, PodArrives):
                yield event.pod.raw if isinstance(event.pod, Pod) else event.pod


def create_arrival(raw: Json, at: float, life: float | None = None) -> PodArrives:
    """Return the event of a pod's arrival. A stored pod is taken as it is; others pass admission when they arrive.

    A controller replaces the pod after an eviction, unless its template names a node: it would try there for ever.
    """
    pod = Pod.from_json(raw)
    names_node = bool(pod.node_name) and not is_stored(raw)
    replaced = pod.controller is not None and not has_daemon_set_owner(pod) and not names_node
    return PodArrives(at, pod if is_stored(raw) else raw, life, replaced)


def _arrival_key(event: PodArrives) -> str:
    metadata = (event.pod.raw if isinstance(event.pod, Pod) else event.pod)["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def _flatten_lists(listed: Iterable[Any]) -> Iterable[Any]:
    """Yield the objects, with items of a ``List`` in its place."""
    for raw in listed:
        if isinstance(raw, dict) and raw.get("kind") == "List" and isinstance(raw.get("items"), list):
            yield from _flatten_lists(raw["items"])
        else:
            yield raw
