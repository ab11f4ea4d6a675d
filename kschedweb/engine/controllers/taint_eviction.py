"""Decide when pods must leave a node because of its NoExecute taints, as the taint-eviction controller does."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE, Taint, Toleration
from kschedweb.engine.values import dataclass


def matching_tolerations(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> list[Toleration] | None:
    """Return the first matching toleration of each taint; ``None`` if a taint is not tolerated."""
    matching = []
    for taint in taints:
        first = next((toleration for toleration in tolerations if toleration.tolerates(taint)), None)
        if first is None:
            return None
        matching.append(first)
    return matching


def min_toleration_time(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> float | None:
    """Return for how many seconds a pod may stay under these NoExecute taints; ``None`` for ever."""
    matching = matching_tolerations(taints, tolerations)
    if matching is None:
        return 0.0
    limits = [max(0, toleration.seconds) for toleration in matching if toleration.seconds is not None]
    return float(min(limits)) if limits else None


@dataclass(frozen=True, slots=True)
class _Eviction:
    decided: float
    due: float


class TaintEviction:
    """Knows which pods are to be deleted when. Times are seconds.

    Its caller reports every change, and deletes the pods that ``take_due`` returns.
    """

    def __init__(self) -> None:
        # node -> its NoExecute taints
        self._taints: dict[str, tuple[Taint, ...]] = {}
        self._evictions: dict[str, _Eviction] = {}

    def node_changed(self, node: str, taints: Iterable[Taint], pods: Iterable[Pod], now: float) -> None:
        """Take in that the node was added, or has other taints; ``pods`` are those on it."""
        present = tuple(taint for taint in taints if taint.effect == NO_EXECUTE)
        if present == self._taints.get(node, ()):
            return
        self._taints[node] = present
        if not present:
            del self._taints[node]
        for pod in pods:
            if present:
                self._decide_eviction(pod, present, now)
            else:
                self._evictions.pop(pod.key, None)

    def node_gone(self, node: str) -> None:
        self._taints.pop(node, None)

    def pod_changed(self, pod: Pod, now: float) -> None:
        """Take in that a pod came to its node, or has other tolerations."""
        if taints := self._taints.get(pod.node_name):
            self._decide_eviction(pod, taints, now)

    def pod_gone(self, key: str) -> None:
        self._evictions.pop(key, None)

    def _decide_eviction(self, pod: Pod, taints: tuple[Taint, ...], now: float) -> None:
        seconds = min_toleration_time(taints, pod.tolerations)
        if seconds is None:
            self._evictions.pop(pod.key, None)
            return
        existing = self._evictions.get(pod.key)
        # An earlier decision stands, even if a new taint would leave less time: only a taint that is not tolerated at
        # all changes it.
        untolerated = matching_tolerations(taints, pod.tolerations) is None
        if existing is None or untolerated or existing.decided >= now:
            self._evictions[pod.key] = _Eviction(now, now + seconds)

    def next_due(self) -> float | None:
        """Return when the next pod must go; ``None`` while none must."""
        return min((eviction.due for eviction in self._evictions.values()), default=None)

    def take_due(self, now: float) -> list[str]:
        """Return the keys of the pods that must go by ``now``, the earliest decision first; each only once."""
        due = sorted(
            (eviction.due, eviction.decided, key) for key, eviction in self._evictions.items() if eviction.due <= now
        )
        for _, _, key in due:
            del self._evictions[key]
        return [key for _, _, key in due]
