"""What is evicted as a whole: a pod, or all pods of a group that may only be disrupted together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.workloads import Budget
from kschedweb.engine.preemption.disruption import Allowances
from kschedweb.engine.state.podgroups import PodGroups
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Victim:
    """``pods`` go together or not at all. ``grouped``: they are of a group, which stays rather than a single pod.

    ``born`` is its place among the victims that were looked at: of those that have not started the first stays.
    """

    pods: tuple[Pod, ...]
    priority: int
    grouped: bool
    born: int

    @property
    def started(self) -> float:
        """When the pod that has run for the longest time started."""
        return min(pod.started for pod in self.pods)


def priority_of(pod: Pod, groups: PodGroups) -> int:
    """The priority that counts for its eviction: its group's, where that is known."""
    group = groups.of(pod)
    return pod.priority if group is None else group.priority


def victims_among(pods: Iterable[Pod], snapshot: Snapshot) -> list[Victim]:
    """All that could be evicted together with one of ``pods``, each once, in their order."""
    groups = snapshot.objects.groups
    found: list[Victim] = []
    seen: set[tuple[bool, str]] = set()
    for pod in pods:
        group = groups.of(pod)
        whole = group is not None and group.disrupted_whole
        key = (whole, pod.scheduling_group if whole else pod.key)
        if key in seen:
            continue
        seen.add(key)
        together = tuple(snapshot.members(pod.scheduling_group)) if whole else (pod,)
        found.append(Victim(together, priority_of(pod, groups), bool(pod.scheduling_group), len(found)))
    return found


def ordered(victims: Iterable[Victim]) -> list[Victim]:
    """The most important first; ties as kube-scheduler's sort leaves them."""
    listed = list(victims)
    sort_slice(listed, _more_important)
    return listed


def _more_important(one: Victim, other: Victim) -> bool:
    if one.priority != other.priority:
        return one.priority > other.priority
    if one.grouped != other.grouped:
        return one.grouped
    if len(one.pods) != len(other.pods):
        return len(one.pods) > len(other.pods)
    if one.started == other.started == math.inf:
        return one.born < other.born
    return one.started < other.started


def violations(victims: Iterable[Victim], known: list[Budget]) -> list[int]:
    """How many pods of each victim, in that order, a disruption budget would keep."""
    allowances = Allowances(known)
    return [sum(allowances.violates(pod) for pod in victim.pods) for victim in victims]
