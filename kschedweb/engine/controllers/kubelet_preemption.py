"""The pods that a kubelet ends to make room for a critical pod on its node.

BestEffort pods go before Burstable ones, and those before Guaranteed ones: as few as possible, and of these the
smallest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kschedweb.engine.objects.json_access import get_mapping, get_string_map
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, get_pod_qos
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

# The priority from which on a pod is critical: `SystemCriticalPriority`.
CRITICAL = 2_000_000_000
SOURCE, FROM_API, MIRROR = "kubernetes.io/config.source", "api", "kubernetes.io/config.mirror"


class NoRoomError(ValueError):
    """No pods can be found whose end makes enough room."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource that a node has too little of. CPU in milli-units, others in units."""

    resource: str
    # What the pod asks for.
    requested: int
    # What is taken of ``capacity``.
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
class _AdmissionRequirement:
    resource: str
    amount: int


def is_critical(pod: Pod) -> bool:
    """Return true if the kubelet makes room for the pod: it is static, a mirror pod, or of a system priority."""
    return pod.priority >= CRITICAL or is_static(pod) or MIRROR in _pod_annotations(pod)


def is_static(pod: Pod) -> bool:
    """Return true if the kubelet has the pod from elsewhere than the API server."""
    return _pod_annotations(pod).get(SOURCE, FROM_API) != FROM_API


def _pod_annotations(pod: Pod) -> dict[str, str]:
    return get_string_map(get_mapping(pod.raw, "metadata"), "annotations", "metadata.")


def get_pods_to_preempt(pod: Pod, other_pods: Iterable[Pod], short: Sequence[Shortage]) -> list[Pod]:
    """Return those of ``other_pods`` that end for the critical ``pod``, in this order. Raises NoRoomError."""
    ranks: dict[str, list[Pod]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for other in other_pods:
        if (is_critical(pod) and not is_critical(other)) or pod.priority > other.priority:
            ranks[get_pod_qos(other)].append(other)
    needed = [_AdmissionRequirement(shortage.resource, shortage.missing) for shortage in short]
    best, burstable, guaranteed = ranks.values()
    if unmet := _subtract_pods(needed, [*best, *burstable, *guaranteed]):
        raise NoRoomError(f"preemption: error finding a set of pods to preempt: {_no_set_message(unmet)}")
    # From the most valuable class on, assuming that all of the lesser classes go: so the fewest valuable pods end.
    last = _choose_pods(guaranteed, _subtract_pods(needed, [*best, *burstable]))
    middle = _choose_pods(burstable, _subtract_pods(needed, [*best, *last]))
    first = _choose_pods(best, _subtract_pods(needed, [*middle, *last]))
    return [*first, *middle, *last]


def _no_set_message(unmet: list[_AdmissionRequirement]) -> str:
    listed = "".join(f"(res: {need.resource}, q: {need.amount}), " for need in unmet)
    return f"no set of running pods found to reclaim resources: [{listed}]"


def _choose_pods(pods: list[Pod], needed: list[_AdmissionRequirement]) -> list[Pod]:
    """Return those of ``pods`` that meet what is ``needed``; each time the one that leaves least of it."""
    pods, chosen = list(pods), []
    while needed:
        place, best = 0, math.inf
        for at, pod in enumerate(pods):
            distance = _compute_distance(needed, pod)
            if distance < best or (distance == best and _is_smaller(pod, pods[place])):
                place, best = at, distance
        needed = _subtract_pods(needed, [pods[place]])
        chosen.append(pods[place])
        # The original fills the gap with the last pod, which decides the order of equal ones.
        pods[place] = pods[-1]
        pods.pop()
    return chosen


def _compute_distance(needed: list[_AdmissionRequirement], pod: Pod) -> float:
    """Return the sum of the squared shares of the need that the end of ``pod`` would leave."""
    remaining = [(float(need.amount - _freed_amount(pod, need.resource)), need.amount) for need in needed]
    return sum(((unmet_amount / amount) ** 2 for unmet_amount, amount in remaining if unmet_amount > 0), 0.0)


def _subtract_pods(needed: Iterable[_AdmissionRequirement], pods: Sequence[Pod]) -> list[_AdmissionRequirement]:
    """Return what is still needed after the end of ``pods``."""
    remaining = (
        replace(need, amount=need.amount - sum(_freed_amount(pod, need.resource) for pod in pods)) for need in needed
    )
    return [need for need in remaining if need.amount > 0]


def _is_smaller(pod: Pod, other: Pod) -> bool:
    """Return true if ``pod`` requests less memory, then less CPU, or as much."""
    return [_freed_amount(pod, name) for name in (MEMORY, CPU)] <= [
        _freed_amount(other, name) for name in (MEMORY, CPU)
    ]


def _freed_amount(pod: Pod, resource: str) -> int:
    return 1 if resource == "pods" else pod.resources.evicted.get(resource, 0)
