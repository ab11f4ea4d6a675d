"""Pods while they wait to be scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.values import dataclass

NEVER = float("-inf")


class Queued(Protocol):
    """What is tried as one: a pod, or a group of pods."""

    queued: float
    attempts: int
    unschedulable: int
    errors: int
    gating: str
    flushed: bool
    flush_checked_at: float
    expires: float | None

    @property
    def key(self) -> str: ...

    @property
    def subject(self) -> Pod | PodGroup:
        """What QueueSort compares."""

    @property
    def members(self) -> Sequence[QueuedPod]:
        """The pods."""

    @property
    def rejectors(self) -> frozenset[str]: ...

    @property
    def wakers(self) -> tuple[str, frozenset[str]]:
        """The scheduler name, and the plugins whose events concern it; none where every event does."""


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod and what the queue remembers of it. Times are seconds.

    ``rejected_by`` and ``pending`` name the plugins that rejected it last: pods of the latter kind skip backoff when
    that plugin's event comes. ``gating`` is the PreEnqueue plugin that keeps it out, "" for none. ``flushed``: it was
    tried again only because it had waited for long. ``flush_checked_at``: when it was last looked at for that.
    """

    pod: Pod
    queued: float
    attempts: int = 0
    unschedulable: int = 0
    errors: int = 0  # attempts that ended in an error, since the last that did not
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    gating: str = ""
    flushed: bool = False
    flush_checked_at: float = NEVER
    expires: float | None = None  # when backoff ends, once worked out

    @property
    def key(self) -> str:
        return self.pod.key

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
    def wakers(self) -> tuple[str, frozenset[str]]:
        return self.pod.scheduler_name, self.rejectors


Less = Callable[[Queued, Queued], bool]


class UnschedulablePods:
    """What was found unschedulable, or is gated, by who rejected it: an event concerns all of one kind or none."""

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
        """How many a PreEnqueue plugin keeps out."""
        return len(self._gated)

    def get(self, key: str) -> Queued | None:
        return self._pods.get(key)

    def add(self, queued: Queued) -> None:
        """Put a pod in; needed again when who rejected it changed."""
        self.remove(queued.key)
        group = queued.wakers
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
        """(scheduler name, who rejected, pods) of each group; safe to change the pool while walking it."""
        return [(name, rejectors, list(pods.values())) for (name, rejectors), pods in self._groups.items()]
