"""The cluster of a scenario during preparation, in its state at the time of the current change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from kschedweb.engine.controllers.admission import DEFAULT, admit, admit_group
from kschedweb.engine.objects.access import Json, ObjectError, mapping, reference
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import is_group
from kschedweb.engine.simulation import Event, PodArrives
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.owners import of_daemon_set, stays_at_drain
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_PODS
from kschedweb.engine.studies.document.parts import ALL, ARRIVALS
from kschedweb.engine.studies.document.raw import FINISHED, recreated, shifted, stored, unbound
from kschedweb.engine.studies.prepare.claims import settle_claims
from kschedweb.engine.studies.prepare.onnodes import turned_away

CLASSES = frozenset({"PriorityClass", "RuntimeClass", "Namespace"})
Admission = Callable[[Json, ClusterObjects], Json]


class Cluster:
    """``nodes`` by name, ``bound`` pods by key, ``others`` by kind, namespace and name, and the ``events`` that follow.

    ``waiting`` has the pods that arrive at 0, by key; ``based`` the base's nodes. ``notes`` says what was left out or
    interpreted. ``plugins`` are those of admission.
    """

    def __init__(self, listed: Iterable[Any], place: str, now: float, plugins: frozenset[str] = DEFAULT) -> None:
        self._admit: Admission = partial(admit, plugins=plugins)
        self.nodes: dict[str, Json] = {}
        self.bound: dict[str, Json] = {}
        self.waiting: dict[str, Json] = {}
        self.others: dict[tuple[str, str, str], Json] = {}
        self.events: list[Event] = []
        self.notes: list[str] = []
        self.ran: list[Pod] = []  # the base's bound pods
        self.keys: set[str] = set()  # keys of all pods that ever exist
        self.ended: dict[str, float] = {}  # when recorded pods left, by key
        self.spans: dict[tuple[str, str, str], tuple[float, float]] = {}  # when others were there, if not always
        pods: list[Json] = []
        for raw in _flat(listed):
            self._keep(raw, pods)
        pods.sort(key=lambda raw: str(mapping(raw, "metadata").get("creationTimestamp") or "9"))
        self.based = dict(self.nodes)
        self._began: dict[str, Json] | None = None
        classes = self._classes()
        for raw in pods:
            self._place(raw, place, now, classes)

    def _keep(self, raw: Any, pods: list[Json]) -> None:
        try:
            kind, metadata = raw.get("kind") if isinstance(raw, dict) else None, mapping(raw, "metadata")
            name, namespace = metadata.get("name"), metadata.get("namespace") or ""
            if not isinstance(kind, str) or not isinstance(name, str) or not isinstance(namespace, str):
                raise ObjectError("has no kind, name or namespace that can be read")
        except ObjectError as problem:
            self.notes.append(f"{reference(raw)}: is left out: {problem}")
            return
        if kind == "Pod":
            pods.append(raw)
        elif kind == "Node":
            self.nodes[name] = raw
        else:
            self.others[kind, namespace, name] = raw

    def _classes(self) -> ClusterObjects:
        """The objects that admission reads."""
        found = ClusterObjects()
        for (kind, *_), raw in self.others.items():
            if kind in CLASSES:
                with suppress(ObjectError):  # an error is reported where a pod names it
                    found.add(raw)
        return found

    def _admitted(self, raw: Json, classes: ClusterObjects, admission: Admission) -> Json:
        """A bound pod, or a PodGroup, after admission; one that admission would refuse is kept as it is."""
        try:
            return raw if stored(raw) else admission(raw, classes)
        except ObjectError as problem:
            self.notes.append(f"{problem}: is taken without what its classes would give it")
            return raw

    def _place(self, raw: Json, place: str, now: float, classes: ClusterObjects) -> None:
        try:
            pod = Pod.read(raw)
            phase, stays = mapping(raw, "status").get("phase"), stays_at_drain(pod)
        except ObjectError as problem:
            self.notes.append(f"{reference(raw)}: is left out: {problem}")
            return
        if (isinstance(phase, str) and phase in FINISHED) or (pod.terminating and (place == ALL or not pod.node_name)):
            return
        self.keys.add(pod.key)
        if pod.node_name:
            self.ran.append(pod)
        if pod.node_name and (place != ALL or stays):
            self.bound[pod.key] = shifted(self._admitted(raw, classes, self._admit), now)
        elif pod.node_name or place != ARRIVALS:
            self.waiting[pod.key] = recreated(raw) if pod.node_name else unbound(raw)

    def add(self, raw: Json) -> None:
        """Add an object other than nodes and pods from the beginning on; an existing one of the name stays."""
        metadata = raw["metadata"]
        namespace = "" if raw["kind"] in ("PersistentVolume", "Namespace") else metadata.get("namespace") or "default"
        self.others.setdefault((raw["kind"], namespace, metadata["name"]), raw)

    def find(self, kind: str, namespace: str, name: str, at: float | None = None) -> Json | None:
        """An object that exists at ``at``; with ``None``, at any time."""
        places = (namespace, "") if namespace == "default" else (namespace,)
        keys = ((kind, place, name) for place in places)
        return next((self.others[key] for key in keys if key in self.others and self.there(key, at)), None)

    def there(self, key: tuple[str, str, str], at: float | None) -> bool:
        """Whether the object ``key`` (kind, namespace, name) exists at ``at``; with ``None``, at any time."""
        came, gone = self.spans.get(key, (0.0, math.inf))
        return at is None or came <= at < gone

    def arrive(self, raw: Json, at: float, life: float | None = None) -> None:
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
            self.events.append(arrival(raw, at, life))

    def withdraw(self, keys: set[str]) -> None:
        """Remove arrivals of pods."""
        self.events = [event for event in self.events if not (isinstance(event, PodArrives) and _key(event) in keys)]

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self) -> None:
        """Fix the state at time 0; all further changes are later."""
        if self._began is None:
            self._began = dict(self.nodes)

    @property
    def first(self) -> dict[str, Json]:
        """The nodes at 0."""
        return self.nodes if self._began is None else self._began

    def listed(self) -> list[Json]:
        """The objects at time 0, groups of pods admitted, without pending pods, which are events."""
        self.begin()
        settle_claims(self.others, self._raw_pods())
        classes = self._classes()
        others = [self._admitted(raw, classes, admit_group) if is_group(raw) else raw for raw in self.others.values()]
        late = turned_away(self.first, self.bound.values())
        self.events[:0] = [arrival(self.bound.pop(key), 0.0) for key in late]
        return [*others, *self.first.values(), *self.bound.values()]

    def _raw_pods(self) -> Iterator[Json]:
        """All pods that are there or come."""
        yield from self.bound.values()
        yield from self.waiting.values()
        for event in self.events:
            if isinstance(event, PodArrives):
                yield event.pod.raw if isinstance(event.pod, Pod) else event.pod


def arrival(raw: Json, at: float, life: float | None = None) -> PodArrives:
    """The event of an arrival. A pod that passed admission is taken as it is; others pass it when they arrive.

    A controller whose template names a node would try there again and again: such a pod is not replaced.
    """
    pod = Pod.read(raw)
    named = bool(pod.node_name) and not stored(raw)
    replaced = pod.controller is not None and not of_daemon_set(pod) and not named
    return PodArrives(at, pod if stored(raw) else raw, life, replaced)


def _key(event: PodArrives) -> str:
    metadata = (event.pod.raw if isinstance(event.pod, Pod) else event.pod)["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def _flat(listed: Iterable[Any]) -> Iterable[Any]:
    """The objects, with lists expanded."""
    for raw in listed:
        if isinstance(raw, dict) and raw.get("kind") == "List" and isinstance(raw.get("items"), list):
            yield from _flat(raw["items"])
        else:
            yield raw
