"""Pods while they wait to be scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kschedweb.engine.objects.pod import Pod

NEVER = float("-inf")


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod and what the queue remembers of it. Times are seconds.

    ``rejected_by`` and ``pending`` name the plugins that rejected it last: pods of the latter kind skip backoff when
    that plugin's event comes. ``gating`` is the PreEnqueue plugin that keeps it out, "" for none. ``flushed``: it was
    tried again only because it had waited for long.
    """

    pod: Pod
    queued: float
    first_attempt: float | None = None
    attempts: int = 0
    unschedulable: int = 0
    errors: int = 0  # attempts that ended in an error, since the last that did not
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    gating: str = ""
    flushed: bool = False
    expires: float | None = None  # when backoff ends, once worked out

    @property
    def key(self) -> str:
        return self.pod.key

    @property
    def rejectors(self) -> frozenset[str]:
        return self.rejected_by | self.pending


Less = Callable[[QueuedPod, QueuedPod], bool]


class UnschedulablePods:
    """Pods found unschedulable, or gated, grouped by who rejected them: an event concerns whole groups or none."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._gated: set[str] = set()
        self._groups: dict[tuple[str, frozenset[str]], dict[str, QueuedPod]] = {}
        self._group_of: dict[str, tuple[str, frozenset[str]]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    @property
    def gated(self) -> int:
        """How many of the pods a PreEnqueue plugin keeps out."""
        return len(self._gated)

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key)

    def add(self, queued: QueuedPod) -> None:
        """Put a pod in; needed again when who rejected it changed."""
        self.remove(queued.key)
        group = queued.pod.scheduler_name, queued.rejectors
        self._pods[queued.key] = queued
        if queued.gating:
            self._gated.add(queued.key)
        self._group_of[queued.key] = group
        self._groups.setdefault(group, {})[queued.key] = queued

    def remove(self, key: str) -> QueuedPod | None:
        queued = self._pods.pop(key, None)
        if queued is not None:
            self._gated.discard(key)
            group = self._group_of.pop(key)
            members = self._groups[group]
            del members[key]
            if not members:
                del self._groups[group]
        return queued

    def groups(self) -> list[tuple[str, frozenset[str], list[QueuedPod]]]:
        """(scheduler name, who rejected, pods) of each group; safe to change the pool while walking it."""
        return [(name, rejectors, list(pods.values())) for (name, rejectors), pods in self._groups.items()]
