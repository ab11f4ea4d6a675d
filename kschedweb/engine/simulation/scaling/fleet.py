"""The pods of a scaled workload, and how its controller creates and deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from datetime import datetime

from kschedweb.engine.controllers.autoscaling.replica_calculator import PENDING, RUNNING, ObservedPod
from kschedweb.engine.controllers.deletion_order import DeletionCandidate, deletion_cost, rank_for_deletion
from kschedweb.engine.controllers.naming import draw_letters, parse_ordinal
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects, get_string, get_string_map
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class WorkloadTemplate:
    """The template of further pods of a workload."""

    workload: str
    # A raw pod, which is copied under another name.
    pod: Json
    # The beginning of each name.
    stem: str
    # True if names count up, as those of a StatefulSet do.
    numbered: bool = False
    # Seconds for which a new pod runs before it is ready.
    startup: float = 0.0


@dataclass(eq=False)
class Fleet:
    """The pods of a workload."""

    kind: WorkloadTemplate
    # Number of pods that are asked for.
    replicas: int
    # By key, in the order in which they came.
    lives: dict[str, PodLife] = field(default_factory=dict)
    # Number of names that were tried so far, so that random ones do not repeat.
    created_count: int = 0

    @property
    def active(self) -> list[PodLife]:
        """The pods that are not on their way out."""
        return [life for life in self.lives.values() if life.leaves is None]

    def ready_lives(self, now: float) -> list[PodLife]:
        """Return the pods that are ready, and so take a part of the load."""
        return [life for life in self.active if life.bound is not None and ready_since(life) <= now]

    def observe_pods(self, now: float) -> list[ObservedPod]:
        """Return the pods as a controller sees them."""
        return [_observe_pod(life, now) for life in self.lives.values()]

    def list_surplus(self, now: float) -> list[PodLife]:
        """Return the pods that their controller deletes, in order."""
        active = self.active
        more = len(active) - self.replicas
        if more <= 0:
            return []
        # A StatefulSet deletes the pod with the highest ordinal first, whatever its state.
        if self.kind.numbered:
            return sorted(active, key=lambda life: parse_ordinal(life.pod.name), reverse=True)[:more]
        ordered = rank_for_deletion(
            (_deletion_candidate(life, now) for life in active), (life.pod.node_name for life in active), now
        )
        return [self.lives[candidate.key] for candidate in ordered[:more]]

    def missing_pods(self, is_taken: Callable[[str], bool]) -> Iterator[Json]:
        """Yield the pods that its controller creates; ``is_taken`` tells whether a key is in use."""
        for _ in range(self.replicas - len(self.active)):
            name = self._next_name(is_taken)
            yield {
                **self.kind.pod,
                "metadata": {**self.kind.pod["metadata"], "name": name, **self._identity_labels(name)},
            }

    def _next_name(self, is_taken: Callable[[str], bool]) -> str:
        namespace, number = self.kind.workload.partition("/")[0], 0 if self.kind.numbered else self.created_count
        while True:
            suffix = str(number) if self.kind.numbered else draw_letters(f"{self.kind.workload}/{number}", 5)
            number += 1
            if not is_taken(f"{namespace}/{self.kind.stem}-{suffix}"):
                self.created_count = number
                return f"{self.kind.stem}-{suffix}"

    def _identity_labels(self, name: str) -> dict[str, dict[str, str]]:
        if not self.kind.numbered:
            return {}
        labels = get_string_map(self.kind.pod["metadata"], "labels")
        number = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(parse_ordinal(name))}
        return {"labels": {**labels, **number}}


def ready_since(life: PodLife) -> float:
    """Return when the pod became ready, or will."""
    assert life.bound is not None
    return life.bound if life.ready is None else life.ready


def _observe_pod(life: PodLife, now: float) -> ObservedPod:
    pod = life.pod
    if life.bound is None:
        return ObservedPod(
            pod.key, pod.resources, PENDING, terminating=life.leaves is not None, ready=None, started=None
        )
    since = ready_since(life)
    ready = since <= now
    return ObservedPod(
        pod.key,
        pod.resources,
        terminating=life.leaves is not None,
        ready=ready,
        since=since if ready else life.bound,
        started=life.bound,
    )


def _deletion_candidate(life: PodLife, now: float) -> DeletionCandidate:
    """Return what the order of deletion looks at.

    Times are whole seconds, as the API server keeps them; a pod of the beginning is as old as its object says.
    """
    pod = life.pod
    metadata, status = get_mapping(pod.raw, "metadata"), get_mapping(pod.raw, "status")
    ready = ready_since(life) if life.bound is not None and ready_since(life) <= now else None
    if ready == 0.0:
        conditions = (condition for condition in get_objects(status, "conditions") if condition.get("type") == "Ready")
        ready = next((_parse_time(get_string(condition, "lastTransitionTime"), 0.0) for condition in conditions), 0.0)
    return DeletionCandidate(
        key=pod.key,
        uid=pod.uid,
        node=pod.node_name,
        phase=PENDING if life.bound is None else RUNNING,
        ready=None if ready is None else float(int(ready)),
        cost=deletion_cost(get_string_map(metadata, "annotations")),
        created=_creation_time(pod, life.arrived),
        restarts=(_max_restarts(status, "containerStatuses"), _max_restarts(status, "initContainerStatuses")),
    )


def _creation_time(pod: Pod, arrived: float) -> float:
    if arrived > 0.0:
        return float(int(arrived))
    return _parse_time(get_string(get_mapping(pod.raw, "metadata"), "creationTimestamp"), 0.0)


def _parse_time(moment: str, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return otherwise


def _max_restarts(status: Json, key: str) -> int:
    return max(
        (
            container_status["restartCount"]
            for container_status in get_objects(status, key)
            if isinstance(container_status.get("restartCount"), int)
        ),
        default=0,
    )
