"""Preemption for a pod group: the pods and groups that have to go, on any node, so that all of it fits."""

from __future__ import annotations

from kschedweb.engine.framework.groups import AssignedPods, Assignment, GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.status import Status, unresolvable, unschedulable
from kschedweb.engine.preemption.disruption_budgets import list_budgets
from kschedweb.engine.preemption.eligibility import NEVER, being_preempted, never_preempts
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.preemption.victims import Victim, count_violations, priority_of, sort_victims, victims_among
from kschedweb.engine.state.snapshot import Snapshot

ONGOING = "ongoing preemption on nominated nodes"
NO_VICTIMS = "No preemption victims found for incoming preemptor"


def make_room(cycle: GroupCycle, handle: GroupHandle, rules: PreemptionRules) -> GroupRoom:
    """Remove everything of lower priority, place the group, and reprieve what fits beside it."""
    if any(never_preempts(pod) for pod in cycle.pods):
        return GroupRoom(unschedulable(NEVER))
    if _is_preemption_ongoing(cycle, rules):
        nominated = {pod.key: pod.nominated_node for pod in cycle.pods}
        return GroupRoom(Status(reasons=(ONGOING,)), nominated)
    # kube-scheduler loses count of the nodes that have an image during these trials.
    snapshot, priority = cycle.snapshot.without_images(), cycle.group.priority
    pods = (pod for node in range(len(snapshot)) for pod in snapshot.pods.pods_on(node))
    victims = [victim for victim in victims_among(pods, snapshot, rules) if victim.priority < priority]
    if not victims:
        return GroupRoom(unresolvable(NO_VICTIMS))
    for victim in victims:
        _take_out(snapshot, victim)
    status, assigned = handle.find_on(snapshot)
    if not status.ok:
        return GroupRoom(status)
    return _reprieve_victims(cycle, victims, Reprieve(snapshot, handle.assigned(snapshot, assigned)), assigned, rules)


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


def _reprieve_victims(
    cycle: GroupCycle,
    victims: list[Victim],
    reprieve: Reprieve,
    assigned: list[Assignment],
    rules: PreemptionRules,
) -> GroupRoom:
    """Reprieve the victims that leave enough room, those that a budget protects first."""
    listed = sort_victims(victims, rules)
    violations = count_violations(listed, list_budgets(cycle.snapshot), rules)
    violations_by_victim = dict(zip(listed, violations, strict=True))
    evicted = [
        victim
        for victim in sorted(listed, key=lambda victim: not violations_by_victim[victim])
        if not reprieve.reprieve_victim(victim)
    ]
    leaving = tuple(pod for victim in sort_victims(evicted, rules) for pod in victim.pods)
    message = f"found a placement for podgroup, preempting {len(leaving)} victims"
    nominated = {pod.key: node for pod, node in assigned}
    return GroupRoom(
        Status(reasons=(message,)), nominated, leaving, sum(violations_by_victim[victim] for victim in evicted)
    )


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
