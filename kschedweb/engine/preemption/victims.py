"""Units of eviction: a pod, or all pods of a group, or tree of groups, that may only be disrupted together."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import COMPOSITE, PodGroup
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.preemption.disruption_budgets import Allowances
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.state.podgroups import PodGroups
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Victim:
    """Pods that are evicted together or not at all."""

    pods: tuple[Pod, ...]
    priority: int
    # 0 for a single pod, 1 for those of a group, 2 for those of a composite group: the higher is more important.
    rank: int
    # The place among the victims considered: of those that have not started, the first is more important.
    born: int

    @property
    def started(self) -> float:
        """The start of the pod that has run the longest."""
        return min(pod.started for pod in self.pods)


def priority_of(pod: Pod, groups: PodGroups, rules: PreemptionRules) -> int:
    """Return the priority that counts for the pod's eviction: its group's, if that is known, or its own."""
    group = groups.group_of(pod)
    return pod.priority if group is None or rules.workload_preemption else group.priority


def victims_among(pods: Iterable[Pod], snapshot: Snapshot, rules: PreemptionRules) -> list[Victim]:
    """Return every unit of eviction that has one of ``pods``, each once, in their order."""
    groups = snapshot.objects.groups
    victims: list[Victim] = []
    seen_keys: set[str] = set()
    for pod in pods:
        whole = _find_whole_group(pod, groups, rules)
        key = pod.key if whole is None else whole.entity
        if key in seen_keys:
            continue
        seen_keys.add(key)
        leaves = [] if whole is None else groups.list_leaves(whole)
        together = tuple(member for leaf in leaves for member in snapshot.group_members(leaf.key)) or (pod,)
        rank = 0 if whole is None else 1 + whole.is_composite
        if not rules.workload_preemption:
            rank = int(bool(pod.scheduling_group))
        victims.append(Victim(together, priority_of(pod, groups, rules), rank, len(victims)))
    return victims


def _find_whole_group(pod: Pod, groups: PodGroups, rules: PreemptionRules) -> PodGroup | None:
    """Return the highest group above the pod that goes as a whole, as `getHighestAllAncestor` does; ``None`` if there
    is none.
    """
    highest, group, seen_entities = None, groups.group_of(pod), set[str]()
    while group is not None and group.entity not in seen_entities:
        seen_entities.add(group.entity)
        highest = group if group.disrupted_whole else highest
        group = groups.get(group.parent, COMPOSITE) if rules.evicts_composites and group.parent else None
    return highest


def sort_victims(victims: Iterable[Victim], rules: PreemptionRules) -> list[Victim]:
    """Sort the most important first; ties go as ``rules`` say, or stay as kube-scheduler's sort leaves them."""
    if rules.ties_by_uid:
        return sorted(victims, key=rank_importance)
    listed = list(victims)
    sort_slice(listed, _more_important)
    return listed


def _more_important(victim: Victim, other: Victim) -> bool:
    if victim.priority != other.priority:
        return victim.priority > other.priority
    if victim.rank != other.rank:
        return victim.rank > other.rank
    if len(victim.pods) != len(other.pods):
        return len(victim.pods) > len(other.pods)
    if victim.started == other.started == math.inf:
        return victim.born < other.born
    return victim.started < other.started


def rank_importance(victim: Victim) -> tuple[float | str, ...]:
    """Return a key that sorts the most important victim first (`MoreImportantVictim` of 1.38)."""
    return (-victim.priority, -victim.rank, -len(victim.pods), victim.started, victim.pods[0].uid)


def count_violations(
    victims: Iterable[Victim], budgets: list[PodDisruptionBudget], rules: PreemptionRules
) -> list[int]:
    """Return, for each victim in order, the number of its pods that a disruption budget protects."""
    allowances = Allowances(budgets, rules)
    return [sum(allowances.charge_eviction(pod) for pod in victim.pods) for victim in victims]
