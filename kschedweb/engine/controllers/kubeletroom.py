"""Which pods a kubelet ends so that a critical pod has room on its node.

BestEffort pods go before Burstable ones, those before Guaranteed ones: as few as can be, and of these the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kschedweb.engine.objects.access import mapping, string_map
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, quality
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

CRITICAL = 2_000_000_000  # priority from which on a pod is critical
SOURCE, FROM_API, MIRROR = "kubernetes.io/config.source", "api", "kubernetes.io/config.mirror"


class NoRoomError(ValueError):
    """No pods can be found whose end makes room enough."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Of ``resource`` ``requested`` was asked for; ``used`` of the node's ``capacity`` is taken. Milli-CPU, units."""

    resource: str
    requested: int
    used: int
    capacity: int

    def __str__(self) -> str:
        return (
            f"Node didn't have enough resource: {self.resource}, requested: {self.requested}, used: {self.used}, "
            f"capacity: {self.capacity}"
        )

    @property
    def missing(self) -> int:
        return self.requested - (self.capacity - self.used)


@dataclass(frozen=True, slots=True)
class _Needed:
    resource: str
    amount: int


def critical(pod: Pod) -> bool:
    """Whether the kubelet makes room for the pod: a static or mirror pod, or one of a system priority."""
    return pod.priority >= CRITICAL or static(pod) or MIRROR in _annotations(pod)


def static(pod: Pod) -> bool:
    """Whether the kubelet has the pod from elsewhere than the API server."""
    return _annotations(pod).get(SOURCE, FROM_API) != FROM_API


def _annotations(pod: Pod) -> dict[str, str]:
    return string_map(mapping(pod.raw, "metadata"), "annotations", "metadata.")


def makes_room(pod: Pod, others: Iterable[Pod], short: Sequence[Shortage]) -> list[Pod]:
    """The pods of ``others`` that end for the critical ``pod``, in this order. Raises NoRoomError."""
    ranks: dict[str, list[Pod]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for other in others:
        if (critical(pod) and not critical(other)) or pod.priority > other.priority:
            ranks[quality(other)].append(other)
    needed = [_Needed(one.resource, one.missing) for one in short]
    best, burstable, guaranteed = ranks.values()
    if left := _less(needed, [*best, *burstable, *guaranteed]):
        raise NoRoomError(f"preemption: error finding a set of pods to preempt: {_none(left)}")
    last = _chosen(guaranteed, _less(needed, [*best, *burstable]))
    middle = _chosen(burstable, _less(needed, [*best, *last]))
    first = _chosen(best, _less(needed, [*middle, *last]))
    return [*first, *middle, *last]


def _none(left: list[_Needed]) -> str:
    listed = "".join(f"(res: {one.resource}, q: {one.amount}), " for one in left)
    return f"no set of running pods found to reclaim resources: [{listed}]"


def _chosen(pods: list[Pod], needed: list[_Needed]) -> list[Pod]:
    """Those of ``pods`` that meet what is ``needed``, the one that leaves least of it first."""
    pods, found = list(pods), []
    while needed:
        place, best = 0, math.inf
        for at, pod in enumerate(pods):
            distance = _distance(needed, pod)
            if distance < best or (distance == best and _smaller(pod, pods[place])):
                place, best = at, distance
        needed = _less(needed, [pods[place]])
        found.append(pods[place])
        pods[place] = pods[-1]
        pods.pop()
    return found


def _distance(needed: list[_Needed], pod: Pod) -> float:
    """The sum of the squared shares of what is needed that the end of ``pod`` would leave."""
    left = [(float(one.amount - _asked(pod, one.resource)), one.amount) for one in needed]
    return sum(((rest / amount) ** 2 for rest, amount in left if rest > 0), 0.0)


def _less(needed: Iterable[_Needed], pods: Sequence[Pod]) -> list[_Needed]:
    """What is needed still after the end of ``pods``."""
    left = (replace(one, amount=one.amount - sum(_asked(pod, one.resource) for pod in pods)) for one in needed)
    return [one for one in left if one.amount > 0]


def _smaller(pod: Pod, other: Pod) -> bool:
    """Whether ``pod`` asks for less memory, then less CPU, or for as much."""
    return [_asked(pod, name) for name in (MEMORY, CPU)] <= [_asked(other, name) for name in (MEMORY, CPU)]


def _asked(pod: Pod, resource: str) -> int:
    return 1 if resource == "pods" else pod.resources.evicted.get(resource, 0)
