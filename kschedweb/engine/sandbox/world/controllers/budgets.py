"""The status of PodDisruptionBudgets: how many pods may be evicted now. Source: pkg/controller/disruption."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.labels import SelectorError, label_selector
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import (
    get_scaled_value,
    is_deleting,
    is_pod_ready,
    is_pod_terminal,
    with_conditions,
)
from kschedweb.engine.sandbox.world.resources import (
    BUDGET,
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)

SCALED = {resource.kind: resource for resource in (DEPLOYMENT, REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET)}


class DisruptionController:
    """Writes into the status of PodDisruptionBudgets how many pods may be evicted now."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is BUDGET:
            yield change.key
        elif change.resource is POD and _pod_state(change.old) != _pod_state(change.new):
            for budget in self._context.store.all(BUDGET, change.key[0]):
                if _budget_matches(budget, change.last):
                    yield change.key[0], budget["metadata"]["name"]
        elif change.resource.kind in SCALED and _get_replicas(change.old) != _get_replicas(change.new):
            for budget in self._context.store.all(BUDGET, change.key[0]):
                yield change.key[0], budget["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        budget = self._context.store.get(BUDGET, *key)
        if budget is None:
            return None
        pods = [
            pod
            for pod in self._context.index.pods_in_namespace(key[0])
            if _budget_matches(budget, pod) and not is_pod_terminal(pod)
        ]
        healthy = sum(is_pod_ready(pod) and not is_deleting(pod) for pod in pods)
        expected, desired = self._expected_pod_count(budget, pods)
        allowed = max(0, healthy - desired) if expected else 0
        enough = {"type": "DisruptionAllowed", "status": "True" if allowed else "False", "message": ""}
        enough["reason"] = "SufficientPods" if allowed else "InsufficientPods"
        generation = budget["metadata"].get("generation", 1)
        enough["observedGeneration"] = generation
        counts = {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
        status = with_conditions(budget["status"], self._context.format_now(), enough)
        status |= {**counts, "disruptionsAllowed": allowed, "observedGeneration": generation}
        self._context.objects.change_object(BUDGET, budget, status=status)
        return None

    def _expected_pod_count(self, budget: Json, pods: list[Json]) -> tuple[int, int]:
        """Return how many pods there should be, and how many of them healthy."""
        spec = budget["spec"]
        min_available, max_unavailable = spec.get("minAvailable"), spec.get("maxUnavailable")
        try:
            if max_unavailable is not None:
                expected = self._expected_scale(pods)
                return expected, max(0, expected - get_scaled_value(max_unavailable, expected, up=True))
            if isinstance(min_available, str):
                expected = self._expected_scale(pods)
                return expected, get_scaled_value(min_available, expected, up=True)
            return len(pods), 1 if min_available is None else get_scaled_value(min_available, len(pods), up=True)
        except ValueError:
            # An unreadable number allows no disruption.
            return len(pods), len(pods)

    def _expected_scale(self, pods: list[Json]) -> int:
        """Return how many pods the controllers of ``pods`` want together."""
        owners = {owner["uid"]: (pod, owner) for pod in pods if (owner := get_controller_of(pod)) is not None}
        total = sum(get_controller_of(pod) is None for pod in pods)
        # Pods of one Deployment may have several ReplicaSets: the Deployment counts once.
        tops: dict[str, int] = {}
        for pod, owner in owners.values():
            scales = self._find_scale(pod["metadata"]["namespace"], owner)
            tops.update(scales)
        return total + sum(tops.values())

    def _find_scale(self, namespace: str, owner: Json, below: frozenset[str] = frozenset()) -> dict[str, int]:
        """Return how many pods the topmost controller wants, by its uid.

        ``below`` are the uids on the way, since owners may go in circles.
        """
        resource = SCALED.get(owner["kind"])
        raw = None if resource is None else self._context.store.get(resource, namespace, owner["name"])
        if raw is None:
            return {}
        above, uid = get_controller_of(raw), raw["metadata"]["uid"]
        if above is not None and above["kind"] in SCALED and uid not in below:
            return self._find_scale(namespace, above, below | {uid})
        return {uid: int(raw["spec"].get("replicas", 1))}


def _pod_state(pod: Json | None) -> object:
    if pod is None:
        return None
    return is_pod_ready(pod), is_deleting(pod), is_pod_terminal(pod), pod["metadata"].get("labels")


def _get_replicas(raw: Json | None) -> object:
    return None if raw is None else raw["spec"].get("replicas")


def _budget_matches(budget: Json, pod: Json) -> bool:
    try:
        return label_selector(budget["spec"].get("selector")).matches(pod["metadata"].get("labels") or {})
    except (SelectorError, ObjectError):
        return False
