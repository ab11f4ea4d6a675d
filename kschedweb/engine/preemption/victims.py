"""What is evicted as a whole: a pod, or all pods of a group that may only be disrupted together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.preemption.disruption_budgets import Allowances
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
    group = groups.group_of(pod)
    return pod.priority if group is None else group.priority


def victims_among(pods: Iterable[Pod], snapshot: Snapshot) -> list[Victim]:
    """All that could be evicted together with one of ``pods``, each once, in their order."""
    groups = snapshot.objects.groups
    victims: list[Victim] = []
    seen_keys: set[tuple[bool, str]] = set()
    for pod in pods:
        group = groups.group_of(pod)
        whole = group is not None and group.disrupted_whole
        key = (whole, pod.scheduling_group if whole else pod.key)
        if key in seen_keys:
            continue
        seen_keys.add(key)
        together = tuple(snapshot.group_members(pod.scheduling_group)) if whole else (pod,)
        victims.append(Victim(together, priority_of(pod, groups), bool(pod.scheduling_group), len(victims)))
    return victims


def sort_victims(victims: Iterable[Victim]) -> list[Victim]:
    """The most important first; ties as kube-scheduler's sort leaves them."""
    listed = list(victims)
    sort_slice(listed, _more_important)
    return listed


def _more_important(victim: Victim, other: Victim) -> bool:
    if victim.priority != other.priority:
        return victim.priority > other.priority
    if victim.grouped != other.grouped:
        return victim.grouped
    if len(victim.pods) != len(other.pods):
        return len(victim.pods) > len(other.pods)
    if victim.started == other.started == math.inf:
        return victim.born < other.born
    return victim.started < other.started


def count_violations(victims: Iterable[Victim], budgets: list[PodDisruptionBudget]) -> list[int]:
    """How many pods of each victim, in that order, a disruption budget would keep."""
    allowances = Allowances(budgets)
    return [sum(allowances.charge_eviction(pod) for pod in victim.pods) for victim in victims]
