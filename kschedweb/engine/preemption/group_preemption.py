"""Preemption for a pod group: the pods and groups that have to go, on any node, so that all of it fits."""

from __future__ import annotations

from kschedweb.engine.framework.groups import AssignedPods, GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.status import Status, unresolvable, unschedulable
from kschedweb.engine.preemption.disruption_budgets import list_budgets
from kschedweb.engine.preemption.eligibility import NEVER, NEVER_POLICY, being_preempted, never_preempts
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.preemption.victim_ranking import VictimRanking
from kschedweb.engine.preemption.victims import Victim, count_violations, priority_of, sort_victims, victims_among
from kschedweb.engine.state.snapshot import Snapshot

ONGOING = "ongoing preemption on nominated nodes"
NO_VICTIMS = "No preemption victims found for incoming preemptor"


def make_room(cycle: GroupCycle, handle: GroupHandle, rules: PreemptionRules) -> GroupRoom:
    """Remove everything of lower priority, place the group, and reprieve what fits beside it."""
    refuses = _never_preempts(cycle, rules)
    if refuses and not rules.workload_preemption:
        return GroupRoom(unschedulable(NEVER))
    if _is_preemption_ongoing(cycle, rules):
        nominated = {pod.key: pod.nominated_node for pod in cycle.pods}
        return GroupRoom(Status(reasons=(ONGOING,)), nominated)
    if refuses:
        return GroupRoom(unschedulable(NEVER))
    # kube-scheduler loses count of the nodes that have an image during these trials.
    snapshot, priority = cycle.snapshot.without_images(), cycle.group.priority
    pods = (pod for node in range(len(snapshot)) for pod in snapshot.pods.pods_on(node))
    victims = [victim for victim in victims_among(pods, snapshot, rules) if victim.priority < priority]
    if not victims:
        return GroupRoom(unschedulable(NO_VICTIMS) if rules.workload_preemption else unresolvable(NO_VICTIMS))
    violations_by_victim = _count_violations(victims, cycle, rules)
    ranking = VictimRanking(snapshot, violations_by_victim) if rules.workload_preemption else None
    for victim in victims:
        _take_out(snapshot, victim)
    status, assigned = handle.find_on(snapshot, ranking)
    if not status.ok:
        return GroupRoom(status)
    reprieve = Reprieve(snapshot, handle.assigned(snapshot, assigned))
    # Those that a budget protects come first.
    evicted = [
        victim
        for victim in sorted(violations_by_victim, key=lambda victim: not violations_by_victim[victim])
        if not reprieve.reprieve_victim(victim)
    ]
    ordered = evicted if rules.workload_preemption else sort_victims(evicted, rules)
    leaving = tuple(pod for victim in ordered for pod in victim.pods)
    nominated = {pod.key: node for pod, node in assigned}
    return GroupRoom(
        Status(reasons=(f"found a placement for podgroup, preempting {len(leaving)} victims",)),
        nominated,
        leaving,
        sum(violations_by_victim[victim] for victim in evicted),
        cleared_nodes=frozenset(nominated.values()) if rules.workload_preemption else frozenset(),
    )


def _never_preempts(cycle: GroupCycle, rules: PreemptionRules) -> bool:
    if rules.workload_preemption and cycle.group.preemption_policy:
        return cycle.group.preemption_policy == NEVER_POLICY
    return any(never_preempts(pod) for pod in cycle.pods)


def _count_violations(victims: list[Victim], cycle: GroupCycle, rules: PreemptionRules) -> dict[Victim, int]:
    """Return the number of pods of each victim that a budget protects, the most important victim first."""
    listed = sort_victims(victims, rules)
    violations = count_violations(listed, list_budgets(cycle.snapshot), rules)
    return dict(zip(listed, violations, strict=True))


class Reprieve:
    """Reprieves victims on ``snapshot``, beside the pods for which they were removed."""

    def __init__(self, snapshot: Snapshot, assumed_pods: AssignedPods) -> None:
        self._snapshot, self._assumed_pods = snapshot, assumed_pods

    def reprieve_victim(self, victim: Victim) -> bool:
        """Return whether the victim may stay: all its pods or none."""
        self._move_victim(victim, add=True)
        if self._assumed_pods.fit({self._snapshot.index[pod.node_name] for pod in victim.pods}):
            return True
        self._move_victim(victim, add=False)
        return False

    def _move_victim(self, victim: Victim, *, add: bool) -> None:
        for pod in victim.pods:
            node = self._snapshot.index[pod.node_name]
            if add:
                self._snapshot.add_pod(pod, node)
            else:
                self._snapshot.remove_pod(pod.key)
            self._assumed_pods.notify_move(pod, node, add=add)


def _take_out(snapshot: Snapshot, victim: Victim) -> None:
    for pod in victim.pods:
        snapshot.remove_pod(pod.key)


def _is_preemption_ongoing(cycle: GroupCycle, rules: PreemptionRules) -> bool:
    """Return whether pods of lower priority are leaving nodes for which pods of this group are nominated."""
    snapshot, groups = cycle.snapshot, cycle.snapshot.objects.groups
    nodes = {snapshot.index[pod.nominated_node] for pod in cycle.pods if pod.nominated_node in snapshot.index}
    return any(
        priority_of(pod, groups, rules) < cycle.group.priority and being_preempted(pod)
        for node in nodes
        for pod in snapshot.pods.pods_on(node)
    )
