"""PodDisruptionBudgets as Karpenter looks at them: whether it may begin to disrupt the node of a pod."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.objects.access import Json, ObjectError, integer, mapping, text
from kschedweb.engine.objects.labels import Selector, SelectorError, label_selector
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """A budget. ``blocks_fully``: it never lets a pod go, whatever its status says."""

    key: str
    namespace: str
    selector: Selector
    allowed: int
    blocks_fully: bool
    lets_unhealthy_go: bool

    @classmethod
    def read(cls, raw: Json) -> Guard:
        """Raises ObjectError."""
        metadata, spec, status = mapping(raw, "metadata"), mapping(raw, "spec"), mapping(raw, "status")
        namespace = text(metadata, "namespace", "metadata.") or "default"
        selector = None if spec.get("selector") is None else mapping(spec, "selector", "spec.")
        try:
            found = label_selector(selector, "spec.selector.")
        except SelectorError as error:
            raise ObjectError(f"spec.selector: {error}") from None
        unavailable, available = spec.get("maxUnavailable"), spec.get("minAvailable")
        return cls(
            key=f"{namespace}/{text(metadata, 'name', 'metadata.')}",
            namespace=namespace,
            selector=found,
            allowed=integer(status, "disruptionsAllowed", path="status."),
            blocks_fully=(unavailable is not None and unavailable in (0, "0%")) or available == "100%",
            lets_unhealthy_go=text(spec, "unhealthyPodEvictionPolicy", "spec.") == "AlwaysAllow",
        )


class Guards:
    """All budgets of a cluster, at a time (seconds of the epoch)."""

    def __init__(self, guards: Sequence[Guard], now: float) -> None:
        self._guards, self._now = guards, now

    def against(self, pods: Sequence[PodView]) -> list[str]:
        """The budgets that keep the first of the pods that cannot be evicted; several where it has several."""
        for pod in pods:
            if found := self._against(pod, fully=False):
                return found
        return []

    def moves(self, pod: PodView) -> bool:
        """Whether the pod would be evicted, and so needs another place."""
        return pod.reschedulable and pod.disruptable(self._now) and not self._against(pod, fully=True)

    def _against(self, pod: PodView, *, fully: bool) -> list[str]:
        if not self._guards or not pod.evictable(self._now):
            return []
        meant = [one for one in self._guards if one.namespace == pod.namespace and one.selector.matches(pod.labels)]
        if len(meant) > 1:
            return [one.key for one in meant]
        for one in meant:
            if one.lets_unhealthy_go and pod.unready:
                return []
            if one.blocks_fully if fully else one.allowed == 0:
                return [one.key]
        return []
