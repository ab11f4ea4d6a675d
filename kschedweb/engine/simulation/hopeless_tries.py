"""Tries that would come to nothing again: kube-scheduler makes them every five minutes, here they are answered.

A pod that every node rejected for what its object says, or for want of room, is rejected again for as long as nodes
stay as they are and pods only come to them: no node gets more room. No pod of lower priority may come either, for
preemption could help then. Pods of one signature share the answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.queue.scheduling_queue import SchedulingQueue
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

ROOM = "NodeResourcesFit"
FIXED = frozenset({"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity"})  # they look at node objects
BEFORE = FIXED | {"NodePorts", ROOM}  # filters that may come before, or be, the one that wants room
PRE_FILTERS = BEFORE | {
    *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    *("PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"),
}
POST_FILTERS = frozenset({"DefaultPreemption", "DynamicResources"})


@dataclass(frozen=True, slots=True)
class FailedTry:
    """``placement`` is what a try comes to; what it says is true only where that is so ``to_the_letter``.

    The beginning of the next search for nodes moves on by ``step``.
    """

    placement: Placement
    step: int
    priority: int
    version: int  # of the snapshot's pods
    to_the_letter: bool = True


class HopelessTries:
    """Remembers tries of ``scheduler`` that came to nothing.

    Plugins of other packages, extenders and groups of pods are never answered for.
    """

    def __init__(self, scheduler: Scheduler, queue: SchedulingQueue) -> None:
        self._scheduler, self._nominator = scheduler, queue.nominator
        self._known: dict[tuple[str, Hashable], FailedTry] = {}
        unsupported = scheduler.configuration.extenders or scheduler.configuration.release.has_group_scheduling
        self._simple = frozenset() if unsupported else _answerable_profiles(scheduler.frameworks)
        self._snapshot: Snapshot | None = None
        self._objects = self._version = 0

    def remember_try(self, pod: Pod, placement: Placement, start: int) -> None:
        """A try that began its search at ``start`` came to ``placement``."""
        failed = placement.rejected_by and placement.rejected_by <= FIXED | {ROOM}
        if failed and not (placement.node or placement.nominated or placement.victims or placement.frees):
            snapshot = self._follow_snapshot()
            if self._is_answerable(pod):
                step = (self._scheduler.start - start) % len(snapshot)
                self._known[pod.scheduler_name, pod.signature] = FailedTry(
                    placement, step, pod.priority, snapshot.pods.version
                )

    def recall_try(self, pod: Pod) -> FailedTry | None:
        """What a try of ``pod`` comes to now; ``None`` where it has to be made."""
        self._follow_snapshot()
        failed_try = self._known.get((pod.scheduler_name, pod.signature))
        if failed_try is None or not self._is_answerable(pod):
            return None
        return failed_try if failed_try.version == self._version else replace(failed_try, to_the_letter=False)

    def skip_search(self, failed_try: FailedTry) -> None:
        """The search for nodes moves on as if it had been made."""
        self._scheduler.advance_start(failed_try.step)

    def _is_answerable(self, pod: Pod) -> bool:
        """Whether what rejects the pod cannot help it by coming to a node either."""
        looks = pod.volumes or pod.resource_claims or pod.host_ports or pod.spread_constraints or pod.nominated_node
        return not (looks or pod.pod_affinity.present or len(self._nominator)) and pod.scheduler_name in self._simple

    def _follow_snapshot(self) -> Snapshot:
        """Forget what is not true any more."""
        snapshot = self._scheduler.snapshot
        moves = snapshot.pods.moves_since(self._version) if snapshot is self._snapshot else None
        if moves is None or self._objects != snapshot.objects.version or any(move.sign < 0 for move in moves):
            self._known.clear()
        elif moves:
            new_pods = snapshot.pods.pods[-len(moves) :]
            lowest = min(pod.priority for pod in new_pods if pod is not None)
            for kind in [kind for kind, failed_try in self._known.items() if failed_try.priority > lowest]:
                del self._known[kind]
        self._snapshot, self._objects, self._version = snapshot, snapshot.objects.version, snapshot.pods.version
        return snapshot


def _answerable_profiles(frameworks: Mapping[str, Framework]) -> frozenset[str]:
    """The profiles whose plugins are known to reject for good what they reject."""
    profiles = set()
    for name, framework in frameworks.items():
        points = framework.points
        filters, before, post = (
            [plugin.name for plugin in plugins] for plugins in (points.filter, points.pre_filter, points.post_filter)
        )
        first = filters[: filters.index(ROOM) + 1] if ROOM in filters else filters
        if BEFORE.issuperset(first) and PRE_FILTERS.issuperset(before) and POST_FILTERS.issuperset(post):
            profiles.add(name)
    return frozenset(profiles)
