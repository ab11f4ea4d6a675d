"""Answer tries of groups that would fail again: while nothing changes, the result stays the same.

A group waits for no event: kube-scheduler tries it again and again, after its backoff.
"""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class TryInputs:
    """Everything that a try depends on; two are equal only if nothing has changed between them."""

    group: PodGroup
    pods: tuple[Pod, ...]
    snapshot: Snapshot
    # Number of pod movements in the snapshot, without those that tries made and took back.
    moves: int
    # Versions of the objects and of the groups.
    objects: tuple[int, int]
    # Position of the node where the search begins.
    start: int


class HopelessGroupTries:
    """Makes the tries of ``scheduler``; with ``remembers`` a failed try is repeated only once it may succeed."""

    def __init__(self, scheduler: Scheduler, *, remembers: bool) -> None:
        self._scheduler = scheduler
        self._remembers = remembers and _has_only_own_plugins(scheduler)
        # group -> (inputs, result, how far the search moved on)
        self._known: dict[str, tuple[TryInputs, GroupPlacement, int]] = {}
        self._taken_back = 0

    def find_placement(self, group: PodGroup, pods: Sequence[Pod], request: SearchRequest) -> GroupPlacement:
        """Return the result of a try of the group."""
        scheduler = self._scheduler
        state = self._current_state(group, tuple(pods))
        before, placement, step = self._known.get(group.entity, (None, None, 0))
        if placement is not None and before == state and self._is_repeatable(state):
            # The next search begins where it would have begun after a real try.
            scheduler.advance_start(step)
            return placement
        version = scheduler.snapshot.pods.version
        placement = scheduler.find_group(group, pods, request)
        # A search puts the group's pods on nodes and takes them off again, which changes nothing.
        self._taken_back += scheduler.snapshot.pods.version - version
        self._known.pop(group.entity, None)
        if not placement.searched.ok and not placement.waits_for_room and self._is_repeatable(state):
            self._known[group.entity] = state, placement, scheduler.start - state.start
        return placement

    def _current_state(self, group: PodGroup, pods: tuple[Pod, ...]) -> TryInputs:
        snapshot = self._scheduler.snapshot
        moves = snapshot.pods.version - self._taken_back
        objects = snapshot.objects.version, snapshot.objects.groups.version
        return TryInputs(group, pods, snapshot, moves, objects, self._scheduler.start)

    def _is_repeatable(self, state: TryInputs) -> bool:
        """Return true if nothing else decides: no nominations, claims or volumes."""
        claims = any(pod.volumes or pod.resource_claims for pod in state.pods)
        return self._remembers and not claims and not len(self._scheduler.nominator)


def _has_only_own_plugins(scheduler: Scheduler) -> bool:
    """Return true if all plugins are kube-scheduler's own, which look at nothing but the cluster."""
    own_plugins = scheduler.configuration.release.in_tree_plugins.specs
    names = {plugin.name for framework in scheduler.frameworks.values() for plugin in framework.instances}
    return not scheduler.configuration.extenders and names <= own_plugins.keys()
