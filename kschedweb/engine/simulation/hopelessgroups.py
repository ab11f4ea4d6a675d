"""Tries of groups that would come to nothing again: while nothing changes, they come to what they came to before.

A group waits for no event: kube-scheduler tries it again and again, after its backoff.
"""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.groupplacement import GroupPlacement
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SeenBy:
    """All that a try depends on. Two are equal only if nothing has changed in between."""

    group: PodGroup
    pods: tuple[Pod, ...]
    snapshot: Snapshot
    moves: int  # of pods, but for those that tries made and took back
    objects: tuple[int, int]
    start: int


class HopelessGroups:
    """Makes the tries of ``scheduler``; with ``remembers`` those that failed are made again only once it may help."""

    def __init__(self, scheduler: Scheduler, *, remembers: bool) -> None:
        self._scheduler = scheduler
        self._remembers = remembers and _own_plugins_alone(scheduler)
        self._known: dict[str, tuple[SeenBy, GroupPlacement, int]] = {}
        self._taken_back = 0

    def find(self, group: PodGroup, pods: Sequence[Pod], request: SearchRequest) -> GroupPlacement:
        """What a try comes to."""
        scheduler = self._scheduler
        seen = self._seen(group, tuple(pods))
        before, found, step = self._known.get(group.key, (None, None, 0))
        if found is not None and before == seen and self._lasts(seen):
            scheduler.advance(step)
            return found
        version = scheduler.snapshot.pods.version
        found = scheduler.find_group(group, pods, request)
        self._taken_back += scheduler.snapshot.pods.version - version
        self._known.pop(group.key, None)
        if not found.searched.ok and not found.waits_for_room and self._lasts(seen):
            self._known[group.key] = seen, found, scheduler.start - seen.start
        return found

    def _seen(self, group: PodGroup, pods: tuple[Pod, ...]) -> SeenBy:
        snapshot = self._scheduler.snapshot
        moves = snapshot.pods.version - self._taken_back
        objects = snapshot.objects.version, snapshot.objects.groups.version
        return SeenBy(group, pods, snapshot, moves, objects, self._scheduler.start)

    def _lasts(self, seen: SeenBy) -> bool:
        """Whether nothing else decides: nominations, claims, volumes."""
        claims = any(pod.volumes or pod.resource_claims for pod in seen.pods)
        return self._remembers and not claims and not len(self._scheduler.nominator)


def _own_plugins_alone(scheduler: Scheduler) -> bool:
    """Whether only plugins of kube-scheduler have a say, which look at nothing but the cluster."""
    own = scheduler.configuration.release.own.specs
    names = {plugin.name for framework in scheduler.frameworks.values() for plugin in framework.instances}
    return not scheduler.configuration.extenders and names <= own.keys()
