"""PodDisruptionBudgets as Karpenter reads them: they decide if the node of a pod may be disrupted."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_integer, get_mapping, get_string
from kschedweb.engine.objects.labels import Selector, SelectorError, label_selector
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class PdbLimit:
    """A PodDisruptionBudget."""

    # "namespace/name".
    key: str
    namespace: str
    selector: Selector
    # status.disruptionsAllowed.
    allowed: int
    # It never lets a pod go, whatever its status says: maxUnavailable 0 or minAvailable 100%.
    blocks_fully: bool
    # unhealthyPodEvictionPolicy is AlwaysAllow.
    lets_unhealthy_go: bool

    @classmethod
    def from_json(cls, raw: Json) -> PdbLimit:
        """Read a PodDisruptionBudget; raises ObjectError."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        namespace = get_string(metadata, "namespace", "metadata.") or "default"
        selector = None if spec.get("selector") is None else get_mapping(spec, "selector", "spec.")
        try:
            pod_selector = label_selector(selector, "spec.selector.")
        except SelectorError as error:
            raise ObjectError(f"spec.selector: {error}") from None
        unavailable, available = spec.get("maxUnavailable"), spec.get("minAvailable")
        return cls(
            key=f"{namespace}/{get_string(metadata, 'name', 'metadata.')}",
            namespace=namespace,
            selector=pod_selector,
            allowed=get_integer(status, "disruptionsAllowed", path="status."),
            blocks_fully=(unavailable is not None and unavailable in (0, "0%")) or available == "100%",
            lets_unhealthy_go=get_string(spec, "unhealthyPodEvictionPolicy", "spec.") == "AlwaysAllow",
        )


class PdbLimits:
    """All budgets of a cluster at a time in seconds of the epoch."""

    def __init__(self, guards: Sequence[PdbLimit], now: float) -> None:
        self._guards, self._now = guards, now

    def find_blocking_budgets(self, pods: Sequence[PodView]) -> list[str]:
        """Return the budgets that block the first pod that cannot be evicted; several if it has several."""
        for pod in pods:
            if blocking := self._find_blocking(pod, fully=False):
                return blocking
        return []

    def is_currently_reschedulable(self, pod: PodView) -> bool:
        """Return whether the pod would be evicted, and so needs another place."""
        return pod.is_reschedulable and pod.is_disruptable(self._now) and not self._find_blocking(pod, fully=True)

    def _find_blocking(self, pod: PodView, *, fully: bool) -> list[str]:
        if not self._guards or not pod.is_evictable(self._now):
            return []
        meant = [
            limit for limit in self._guards if limit.namespace == pod.namespace and limit.selector.matches(pod.labels)
        ]
        # The eviction API refuses pods with more than one budget.
        if len(meant) > 1:
            return [limit.key for limit in meant]
        for limit in meant:
            if limit.lets_unhealthy_go and pod.unready:
                return []
            if limit.blocks_fully if fully else limit.allowed == 0:
                return [limit.key]
        return []
