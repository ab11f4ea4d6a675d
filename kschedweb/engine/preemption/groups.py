"""Room for a group: which pods and groups would have to go, wherever they are, so that all of it finds a place."""

from __future__ import annotations

from kschedweb.engine.framework.groups import AssignedPods, Assignment, GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.status import Status, unresolvable, unschedulable
from kschedweb.engine.preemption.disruption import budgets
from kschedweb.engine.preemption.eligibility import NEVER, being_preempted, never_preempts
from kschedweb.engine.preemption.victims import Victim, ordered, priority_of, victims_among, violations
from kschedweb.engine.state.snapshot import Snapshot

ONGOING = "ongoing preemption on nominated nodes"
NO_VICTIMS = "No preemption victims found for incoming preemptor"


def make_room(cycle: GroupCycle, handle: GroupHandle) -> GroupRoom:
    """All of lower priority are taken out, the group is placed, and those that fit beside it are let back in."""
    if any(never_preempts(pod) for pod in cycle.pods):
        return GroupRoom(unschedulable(NEVER))
    if _ongoing(cycle):
        nominated = {pod.key: pod.nominated_node for pod in cycle.pods}
        return GroupRoom(Status(reasons=(ONGOING,)), nominated)
    # kube-scheduler loses count of the nodes that have an image while it tries things out.
    snapshot, priority = cycle.snapshot.without_images(), cycle.group.priority
    pods = (pod for node in range(len(snapshot)) for pod in snapshot.pods.on(node))
    victims = [victim for victim in victims_among(pods, snapshot) if victim.priority < priority]
    if not victims:
        return GroupRoom(unresolvable(NO_VICTIMS))
    for victim in victims:
        _take_out(snapshot, victim)
    status, assigned = handle.find_on(snapshot)
    if not status.ok:
        return GroupRoom(status)
    return _spared(cycle, victims, Reprieve(snapshot, handle.assigned(snapshot, assigned)), assigned)


class Reprieve:
    """Lets victims back onto ``snapshot`` beside the pods for which they were taken out."""

    def __init__(self, snapshot: Snapshot, standing: AssignedPods) -> None:
        self._snapshot, self._standing = snapshot, standing

    def grant(self, victim: Victim) -> bool:
        """Whether the victim may stay: all its pods or none."""
        self._move(victim, add=True)
        if self._standing.fit({self._snapshot.index[pod.node_name] for pod in victim.pods}):
            return True
        self._move(victim, add=False)
        return False

    def _move(self, victim: Victim, *, add: bool) -> None:
        for pod in victim.pods:
            node = self._snapshot.index[pod.node_name]
            if add:
                self._snapshot.add_pod(pod, node)
            else:
                self._snapshot.remove_pod(pod.key)
            self._standing.moved(pod, node, add=add)


def _spared(cycle: GroupCycle, victims: list[Victim], reprieve: Reprieve, assigned: list[Assignment]) -> GroupRoom:
    """Let the victims back in that leave room; those that a budget would keep come first."""
    listed = ordered(victims)
    kept = dict(zip(listed, violations(listed, budgets(cycle.snapshot)), strict=True))
    gone = [victim for victim in sorted(listed, key=lambda one: not kept[one]) if not reprieve.grant(victim)]
    leaving = tuple(pod for victim in ordered(gone) for pod in victim.pods)
    said = f"found a placement for podgroup, preempting {len(leaving)} victims"
    nominated = {pod.key: node for pod, node in assigned}
    return GroupRoom(Status(reasons=(said,)), nominated, leaving, sum(kept[victim] for victim in gone))


def _take_out(snapshot: Snapshot, victim: Victim) -> None:
    for pod in victim.pods:
        snapshot.remove_pod(pod.key)


def _ongoing(cycle: GroupCycle) -> bool:
    """Whether pods are leaving already, for this group, nodes that its pods wait for."""
    snapshot, groups = cycle.snapshot, cycle.snapshot.objects.groups
    nodes = {snapshot.index[pod.nominated_node] for pod in cycle.pods if pod.nominated_node in snapshot.index}
    return any(
        priority_of(pod, groups) < cycle.group.priority and being_preempted(pod)
        for node in nodes
        for pod in snapshot.pods.on(node)
    )
