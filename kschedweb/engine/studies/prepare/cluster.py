"""The cluster of a scenario during preparation, in its state at the time of the current change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from kschedweb.engine.controllers.admission import DEFAULT, admit_group, admit_pod
from kschedweb.engine.objects.json_access import Json, ObjectError, describe_object, get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import is_group
from kschedweb.engine.simulation import PodArrives, SimulationEvent
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.owners import of_daemon_set, stays_at_drain
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_PODS
from kschedweb.engine.studies.document.parts import ALL, ARRIVALS
from kschedweb.engine.studies.document.raw_pods import FINISHED, is_stored, recreate_pod, shift_times, unbind_pod
from kschedweb.engine.studies.prepare.claims import settle_claims
from kschedweb.engine.studies.prepare.kubelet_admission import find_turned_away

CLASSES = frozenset({"PriorityClass", "RuntimeClass", "Namespace"})
Admission = Callable[[Json, ClusterObjects], Json]


class ScenarioCluster:
    """``nodes`` by name, ``bound`` pods by key, ``others`` by kind, namespace and name, and the ``events`` that follow.

    ``waiting`` has the pods that arrive at 0, by key; ``base_nodes`` the base's nodes. ``notes`` says what was left out
    or interpreted. ``plugins`` are those of admission.
    """

    def __init__(self, listed: Iterable[Any], place: str, now: float, plugins: frozenset[str] = DEFAULT) -> None:
        self._admit: Admission = partial(admit_pod, plugins=plugins)
        self.nodes: dict[str, Json] = {}
        self.bound: dict[str, Json] = {}
        self.waiting: dict[str, Json] = {}
        self.others: dict[tuple[str, str, str], Json] = {}
        self.events: list[SimulationEvent] = []
        self.notes: list[str] = []
        self.initially_bound: list[Pod] = []  # the base's bound pods
        self.keys: set[str] = set()  # keys of all pods that ever exist
        self.ended: dict[str, float] = {}  # when recorded pods left, by key
        self.lifetimes: dict[tuple[str, str, str], tuple[float, float]] = {}  # when others were there, if not always
        pods: list[Json] = []
        for raw in _flatten_lists(listed):
            self._add_object(raw, pods)
        pods.sort(key=lambda raw: str(get_mapping(raw, "metadata").get("creationTimestamp") or "9"))
        self.base_nodes = dict(self.nodes)
        self._began: dict[str, Json] | None = None
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
        """The objects that admission reads."""
        classes = ClusterObjects()
        for (kind, *_), raw in self.others.items():
            if kind in CLASSES:
                with suppress(ObjectError):  # an error is reported where a pod names it
                    classes.add(raw)
        return classes

    def _admit_object(self, raw: Json, classes: ClusterObjects, admission: Admission) -> Json:
        """A bound pod, or a PodGroup, after admission; one that admission would refuse is kept as it is."""
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
        if (isinstance(phase, str) and phase in FINISHED) or (pod.terminating and (place == ALL or not pod.node_name)):
            return
        self.keys.add(pod.key)
        if pod.node_name:
            self.initially_bound.append(pod)
        if pod.node_name and (place != ALL or stays):
            self.bound[pod.key] = shift_times(self._admit_object(raw, classes, self._admit), now)
        elif pod.node_name or place != ARRIVALS:
            self.waiting[pod.key] = recreate_pod(raw) if pod.node_name else unbind_pod(raw)

    def add_object(self, raw: Json) -> None:
        """Add an object other than nodes and pods from the beginning on; an existing one of the name stays."""
        metadata = raw["metadata"]
        namespace = "" if raw["kind"] in ("PersistentVolume", "Namespace") else metadata.get("namespace") or "default"
        self.others.setdefault((raw["kind"], namespace, metadata["name"]), raw)

    def find_object(self, kind: str, namespace: str, name: str, at: float | None = None) -> Json | None:
        """An object that exists at ``at``; with ``None``, at any time."""
        places = (namespace, "") if namespace == "default" else (namespace,)
        keys = ((kind, place, name) for place in places)
        return next((self.others[key] for key in keys if key in self.others and self.exists_at(key, at)), None)

    def exists_at(self, key: tuple[str, str, str], at: float | None) -> bool:
        """Whether the object ``key`` (kind, namespace, name) exists at ``at``; with ``None``, at any time."""
        begin, end = self.lifetimes.get(key, (0.0, math.inf))
        return at is None or begin <= at < end

    def add_arrival(self, raw: Json, at: float, life: float | None = None) -> None:
        """The pod ``raw`` arrives at ``at`` and runs for ``life`` seconds; raises PartError if it exists already."""
        metadata = raw["metadata"]
        key = f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
        if key in self.keys:
            raise PartError(f"there is a pod {key} already")
        if len(self.keys) >= MOST_PODS:
            raise PartError(f"there are more than {MOST_PODS:,} pods: set a limit, or fewer replicas")
        self.keys.add(key)
        if at == 0.0 and life is None:
            self.waiting[key] = raw
        else:
            self.events.append(create_arrival(raw, at, life))

    def withdraw_arrivals(self, keys: set[str]) -> None:
        """Remove arrivals of pods."""
        self.events = [
            event for event in self.events if not (isinstance(event, PodArrives) and _arrival_key(event) in keys)
        ]

    def add_note(self, text: str) -> None:
        self.notes.append(text)

    def fix_initial_state(self) -> None:
        """Fix the state at time 0; all further changes are later."""
        if self._began is None:
            self._began = dict(self.nodes)

    @property
    def initial_nodes(self) -> dict[str, Json]:
        """The nodes at 0."""
        return self.nodes if self._began is None else self._began

    def list_objects(self) -> list[Json]:
        """The objects at time 0, groups of pods admitted, without pending pods, which are events."""
        self.fix_initial_state()
        settle_claims(self.others, self._raw_pods())
        classes = self._admission_classes()
        other_objects = [
            self._admit_object(raw, classes, admit_group) if is_group(raw) else raw for raw in self.others.values()
        ]
        late = find_turned_away(self.initial_nodes, self.bound.values())
        self.events[:0] = [create_arrival(self.bound.pop(key), 0.0) for key in late]
        return [*other_objects, *self.initial_nodes.values(), *self.bound.values()]

    def _raw_pods(self) -> Iterator[Json]:
        """All pods that are there or come."""
        yield from self.bound.values()
        yield from self.waiting.values()
        for event in self.events:
            if isinstance(event, PodArrives):
                yield event.pod.raw if isinstance(event.pod, Pod) else event.pod


def create_arrival(raw: Json, at: float, life: float | None = None) -> PodArrives:
    """The event of an arrival. A pod that passed admission is taken as it is; others pass it when they arrive.

    A controller whose template names a node would try there again and again: such a pod is not replaced.
    """
    pod = Pod.from_json(raw)
    names_node = bool(pod.node_name) and not is_stored(raw)
    replaced = pod.controller is not None and not of_daemon_set(pod) and not names_node
    return PodArrives(at, pod if is_stored(raw) else raw, life, replaced)


def _arrival_key(event: PodArrives) -> str:
    metadata = (event.pod.raw if isinstance(event.pod, Pod) else event.pod)["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def _flatten_lists(listed: Iterable[Any]) -> Iterable[Any]:
    """The objects, with lists expanded."""
    for raw in listed:
        if isinstance(raw, dict) and raw.get("kind") == "List" and isinstance(raw.get("items"), list):
            yield from _flatten_lists(raw["items"])
        else:
            yield raw
