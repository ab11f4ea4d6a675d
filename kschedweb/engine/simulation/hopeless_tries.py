"""Answer tries that would fail again: kube-scheduler repeats them every five minutes.

A pod that every node rejected for its object, or for lack of room, is rejected again for as long as nodes stay as they
are and pods only come to them: no node gets more room. No pod of lower priority may come either, for preemption could
help then. Pods with the same signature share the answer.
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
# Filters that look at node objects alone.
FIXED = frozenset({"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity"})
# Filters that may come before the one that lacks room, or be it.
BEFORE = FIXED | {"NodePorts", ROOM}
# PreFilter plugins that answer the same as long as the pod has none of what ``_is_answerable`` excludes.
PRE_FILTERS = BEFORE | {
    *("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    *("PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"),
}
POST_FILTERS = frozenset({"DefaultPreemption", "DynamicResources"})


@dataclass(frozen=True, slots=True)
class FailedTry:
    """A try that failed, and what another one would come to."""

    placement: Placement
    # How far the start of the next search moves on.
    step: int
    priority: int
    # Version of the snapshot's pods at the try.
    version: int
    # False if pods came since: the try still fails, but its message may differ.
    to_the_letter: bool = True


class HopelessTries:
    """Remembers failed tries of ``scheduler``.

    It gives no answers where plugins of other packages, extenders or groups of pods are configured.
    """

    def __init__(self, scheduler: Scheduler, queue: SchedulingQueue) -> None:
        self._scheduler, self._nominator = scheduler, queue.nominator
        self._known: dict[tuple[str, Hashable], FailedTry] = {}
        unsupported = scheduler.configuration.extenders or scheduler.configuration.release.has_group_scheduling
        self._simple = frozenset() if unsupported else _answerable_profiles(scheduler.frameworks)
        self._snapshot: Snapshot | None = None
        self._objects = self._version = 0

    def remember_try(self, pod: Pod, placement: Placement, start: int) -> None:
        """Remember a try that began its search at ``start``, if it failed for good."""
        failed = placement.rejected_by and placement.rejected_by <= FIXED | {ROOM}
        if failed and not (placement.node or placement.nominated or placement.victims or placement.frees):
            snapshot = self._follow_snapshot()
            if self._is_answerable(pod):
                step = (self._scheduler.start - start) % len(snapshot)
                self._known[pod.scheduler_name, pod.signature] = FailedTry(
                    placement, step, pod.priority, snapshot.pods.version
                )

    def recall_try(self, pod: Pod) -> FailedTry | None:
        """Return the result of a try of ``pod`` now; ``None`` if the try has to be made."""
        self._follow_snapshot()
        failed_try = self._known.get((pod.scheduler_name, pod.signature))
        if failed_try is None or not self._is_answerable(pod):
            return None
        return failed_try if failed_try.version == self._version else replace(failed_try, to_the_letter=False)

    def skip_search(self, failed_try: FailedTry) -> None:
        """Move the start of the search on, as a real try would have."""
        self._scheduler.advance_start(failed_try.step)

    def _is_answerable(self, pod: Pod) -> bool:
        """Return true if only fixed properties of nodes and room decide about the pod."""
        looks = pod.volumes or pod.resource_claims or pod.host_ports or pod.spread_constraints or pod.nominated_node
        return not (looks or pod.pod_affinity.present or len(self._nominator)) and pod.scheduler_name in self._simple

    def _follow_snapshot(self) -> Snapshot:
        """Forget the tries that the changes since the last call may have made possible."""
        snapshot = self._scheduler.snapshot
        moves = snapshot.pods.moves_since(self._version) if snapshot is self._snapshot else None
        # A pod that left made room, and an unknown change may have.
        if moves is None or self._objects != snapshot.objects.version or any(move.sign < 0 for move in moves):
            self._known.clear()
        elif moves:
            # Pods that came since are the last ones, since none has left.
            new_pods = snapshot.pods.pods[-len(moves) :]
            lowest = min(pod.priority for pod in new_pods if pod is not None)
            for kind in [kind for kind, failed_try in self._known.items() if failed_try.priority > lowest]:
                del self._known[kind]
        self._snapshot, self._objects, self._version = snapshot, snapshot.objects.version, snapshot.pods.version
        return snapshot


def _answerable_profiles(frameworks: Mapping[str, Framework]) -> frozenset[str]:
    """Return the profiles whose plugins are known to repeat their rejections."""
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
