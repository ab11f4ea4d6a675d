"""Pods while they wait to be scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.values import dataclass

# The kind of entity that is no group.
POD = "pod"
# Before any time of a clock.
NEVER = float("-inf")


class Queued(Protocol):
    """A pod, or a group of pods, that is tried as one. Times are seconds."""

    # When it came into the queue, or came back to it.
    queued: float
    attempts: int
    # Tries that ended with a rejection.
    unschedulable: int
    # Tries that ended in an error, since the last that did not.
    errors: int
    # The PreEnqueue plugin that keeps it out, "" for none.
    gating: str
    # True if it was tried again only because it had waited for long.
    flushed: bool
    # When ``flush`` last found that it had waited for long.
    flush_checked_at: float
    # When its backoff ends, once worked out.
    expires: float | None

    @property
    def key(self) -> str: ...

    @property
    def kind(self) -> str:
        """``POD``, or the kind of the group in lower case, as kube-scheduler's metrics name it."""

    @property
    def subject(self) -> Pod | PodGroup:
        """The object that QueueSort compares."""

    @property
    def members(self) -> Sequence[QueuedPod]:
        """The pods that are tried together."""

    @property
    def rejectors(self) -> frozenset[str]: ...

    @property
    def hint_scope(self) -> tuple[str, frozenset[str]]:
        """The scheduler name, and the plugins whose events concern it; none if every event does."""


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod and what the queue remembers of it. Times are seconds."""

    pod: Pod
    queued: float
    attempts: int = 0
    unschedulable: int = 0
    # Tries that ended in an error, since the last that did not.
    errors: int = 0
    # The plugins that rejected it last.
    rejected_by: frozenset[str] = frozenset()
    # Plugins that rejected it last and whose events let it skip its backoff.
    pending: frozenset[str] = frozenset()
    # The PreEnqueue plugin that keeps it out, "" for none.
    gating: str = ""
    # True if it was tried again only because it had waited for long.
    flushed: bool = False
    # When ``flush`` last found that it had waited for long.
    flush_checked_at: float = NEVER
    # When its backoff ends, once worked out.
    expires: float | None = None

    @property
    def key(self) -> str:
        return self.pod.key

    @property
    def kind(self) -> str:
        return POD

    @property
    def subject(self) -> Pod:
        return self.pod

    @property
    def members(self) -> tuple[QueuedPod]:
        return (self,)

    @property
    def rejectors(self) -> frozenset[str]:
        return self.rejected_by | self.pending

    @property
    def hint_scope(self) -> tuple[str, frozenset[str]]:
        return self.pod.scheduler_name, self.rejectors


Less = Callable[[Queued, Queued], bool]


class UnschedulablePods:
    """Unschedulable and gated pods, grouped by the plugins that rejected them.

    An event concerns all pods of such a group or none, so that one look is enough for each group.
    """

    def __init__(self) -> None:
        self._pods: dict[str, Queued] = {}
        self._gated: set[str] = set()
        self._groups: dict[tuple[str, frozenset[str]], dict[str, Queued]] = {}
        self._group_of: dict[str, tuple[str, frozenset[str]]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[Queued]:
        return iter(self._pods.values())

    @property
    def gated(self) -> int:
        """The number of pods that a PreEnqueue plugin keeps out."""
        return len(self._gated)

    def get(self, key: str) -> Queued | None:
        return self._pods.get(key)

    def add(self, queued: Queued) -> None:
        """Put a pod in. Call it again when its rejecting plugins changed."""
        self.remove(queued.key)
        group = queued.hint_scope
        self._pods[queued.key] = queued
        if queued.gating:
            self._gated.add(queued.key)
        self._group_of[queued.key] = group
        self._groups.setdefault(group, {})[queued.key] = queued

    def remove(self, key: str) -> Queued | None:
        queued = self._pods.pop(key, None)
        if queued is not None:
            self._gated.discard(key)
            group = self._group_of.pop(key)
            members = self._groups[group]
            del members[key]
            if not members:
                del self._groups[group]
        return queued

    def groups(self) -> list[tuple[str, frozenset[str], list[Queued]]]:
        """Return (scheduler name, rejecting plugins, pods) of each group; the pool may change meanwhile."""
        return [(name, rejectors, list(pods.values())) for (name, rejectors), pods in self._groups.items()]
