"""The pods of a workload that is scaled, and what its controller does to have as many as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from datetime import datetime
from typing import Any

from kschedweb.engine.controllers.autoscaling.deletion import Candidate, deletion_cost, in_order
from kschedweb.engine.controllers.autoscaling.replicas import PENDING, RUNNING, Seen
from kschedweb.engine.controllers.naming import letters, ordinal
from kschedweb.engine.objects.access import Json, mapping, objects, string_map, text
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.life import Life
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """How further pods of a workload are made: ``pod`` (raw) under a name that begins with ``stem``.

    ``numbered``: names count up, as those of a StatefulSet do. ``startup`` is how many seconds a new pod runs before
    it is ready.
    """

    workload: str
    pod: Json
    stem: str
    numbered: bool = False
    startup: float = 0.0


@dataclass(eq=False)
class Fleet:
    """``lives`` are those of the workload's pods, in the order in which they came; ``replicas`` are asked for."""

    kind: Kind
    replicas: int
    lives: dict[str, Life] = field(default_factory=dict)
    made: int = 0

    @property
    def active(self) -> list[Life]:
        """The pods that are not on their way out."""
        return [life for life in self.lives.values() if life.leaves is None]

    def ready(self, now: float) -> list[Life]:
        """The pods that are ready, and so take a part of the load."""
        return [life for life in self.active if life.bound is not None and ready_since(life) <= now]

    def seen(self, now: float) -> list[Seen]:
        """The pods as a controller sees them."""
        return [_seen(life, now) for life in self.lives.values()]

    def surplus(self, now: float) -> list[Life]:
        """The pods that their controller deletes, the first first."""
        active = self.active
        more = len(active) - self.replicas
        if more <= 0:
            return []
        if self.kind.numbered:
            return sorted(active, key=lambda life: ordinal(life.pod.name), reverse=True)[:more]
        found = in_order((_candidate(life, now) for life in active), (life.pod.node_name for life in active), now)
        return [self.lives[one.key] for one in found[:more]]

    def missing(self, taken: Callable[[str], bool]) -> Iterator[Json]:
        """The pods that its controller creates; ``taken`` says whether there is a pod of a key."""
        for _ in range(self.replicas - len(self.active)):
            name = self._name(taken)
            yield {**self.kind.pod, "metadata": {**self.kind.pod["metadata"], "name": name, **self._own(name)}}

    def _name(self, taken: Callable[[str], bool]) -> str:
        namespace, number = self.kind.workload.partition("/")[0], 0 if self.kind.numbered else self.made
        while True:
            suffix = str(number) if self.kind.numbered else letters(f"{self.kind.workload}/{number}", 5)
            number += 1
            if not taken(f"{namespace}/{self.kind.stem}-{suffix}"):
                self.made = number
                return f"{self.kind.stem}-{suffix}"

    def _own(self, name: str) -> dict[str, Any]:
        if not self.kind.numbered:
            return {}
        labels = string_map(self.kind.pod["metadata"], "labels")
        number = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal(name))}
        return {"labels": {**labels, **number}}


def ready_since(life: Life) -> float:
    """When the pod became ready, or will."""
    assert life.bound is not None
    return life.bound if life.ready is None else life.ready


def _seen(life: Life, now: float) -> Seen:
    pod = life.pod
    if life.bound is None:
        return Seen(pod.key, pod.resources, PENDING, terminating=life.leaves is not None, ready=None, started=None)
    since = ready_since(life)
    ready = since <= now
    return Seen(
        pod.key,
        pod.resources,
        terminating=life.leaves is not None,
        ready=ready,
        since=since if ready else life.bound,
        started=life.bound,
    )


def _candidate(life: Life, now: float) -> Candidate:
    """Times are whole seconds, as the API server keeps them; a pod of the base is as old as it says."""
    pod = life.pod
    metadata, status = mapping(pod.raw, "metadata"), mapping(pod.raw, "status")
    ready = ready_since(life) if life.bound is not None and ready_since(life) <= now else None
    if ready == 0.0:
        conditions = (one for one in objects(status, "conditions") if one.get("type") == "Ready")
        ready = next((_seconds(text(one, "lastTransitionTime"), 0.0) for one in conditions), 0.0)
    return Candidate(
        key=pod.key,
        uid=pod.uid,
        node=pod.node_name,
        phase=PENDING if life.bound is None else RUNNING,
        ready=None if ready is None else float(int(ready)),
        cost=deletion_cost(string_map(metadata, "annotations")),
        created=_created(pod, life.arrived),
        restarts=(_restarts(status, "containerStatuses"), _restarts(status, "initContainerStatuses")),
    )


def _created(pod: Pod, arrived: float) -> float:
    if arrived > 0.0:
        return float(int(arrived))
    return _seconds(text(mapping(pod.raw, "metadata"), "creationTimestamp"), 0.0)


def _seconds(moment: str, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return otherwise


def _restarts(status: Json, key: str) -> int:
    return max(
        (one["restartCount"] for one in objects(status, key) if isinstance(one.get("restartCount"), int)), default=0
    )
