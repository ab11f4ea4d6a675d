"""PodDisruptionBudgets: how many of their pods may be evicted now. Source: pkg/controller/disruption."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.labels import SelectorError, label_selector
from kschedweb.engine.sandbox.resources import POD
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.pods import ended, leaving, ready, scaled, with_conditions
from kschedweb.engine.sandbox.world.resources import (
    BUDGET,
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)

SCALED = {one.kind: one for one in (DEPLOYMENT, REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET)}


class Budgets:
    def __init__(self, context: Context) -> None:
        self._context = context

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is BUDGET:
            yield change.key
        elif change.resource is POD and _counts(change.old) != _counts(change.new):
            for budget in self._context.store.all(BUDGET, change.key[0]):
                if _matches(budget, change.last):
                    yield change.key[0], budget["metadata"]["name"]
        elif change.resource.kind in SCALED and _replicas(change.old) != _replicas(change.new):
            for budget in self._context.store.all(BUDGET, change.key[0]):
                yield change.key[0], budget["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        budget = self._context.store.get(BUDGET, *key)
        if budget is None:
            return None
        pods = [
            pod for pod in self._context.index.pods_within(key[0]) if _matches(budget, pod) and not ended(pod)
        ]  # fmt: skip
        healthy = sum(ready(pod) and not leaving(pod) for pod in pods)
        expected, desired = self._wanted(budget, pods)
        allowed = max(0, healthy - desired) if expected else 0
        enough = {"type": "DisruptionAllowed", "status": "True" if allowed else "False", "message": ""}
        enough["reason"] = "SufficientPods" if allowed else "InsufficientPods"
        generation = budget["metadata"].get("generation", 1)
        enough["observedGeneration"] = generation
        counts = {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
        status = with_conditions(budget["status"], self._context.stamp(), enough)
        status |= {**counts, "disruptionsAllowed": allowed, "observedGeneration": generation}
        self._context.objects.change(BUDGET, budget, status=status)
        return None

    def _wanted(self, budget: Json, pods: list[Json]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        spec = budget["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        try:
            if most is not None:
                expected = self._expected(pods)
                return expected, max(0, expected - scaled(most, expected, up=True))
            if isinstance(least, str):
                expected = self._expected(pods)
                return expected, scaled(least, expected, up=True)
            return len(pods), 1 if least is None else scaled(least, len(pods), up=True)
        except ValueError:
            return len(pods), len(pods)

    def _expected(self, pods: list[Json]) -> int:
        """What the controllers of the pods want together."""
        owners = {owner["uid"]: (pod, owner) for pod in pods if (owner := controller_of(pod)) is not None}
        total = sum(controller_of(pod) is None for pod in pods)
        tops: dict[str, int] = {}
        for pod, owner in owners.values():
            found = self._scale(pod["metadata"]["namespace"], owner)
            tops.update(found)
        return total + sum(tops.values())

    def _scale(self, namespace: str, owner: Json, below: frozenset[str] = frozenset()) -> dict[str, int]:
        """How many pods the controller above all wants; ``below`` are the uids on the way: owners may go in circles."""
        resource = SCALED.get(owner["kind"])
        raw = None if resource is None else self._context.store.get(resource, namespace, owner["name"])
        if raw is None:
            return {}
        above, uid = controller_of(raw), raw["metadata"]["uid"]
        if above is not None and above["kind"] in SCALED and uid not in below:
            return self._scale(namespace, above, below | {uid})
        return {uid: int(raw["spec"].get("replicas", 1))}


def _counts(pod: Json | None) -> object:
    if pod is None:
        return None
    return ready(pod), leaving(pod), ended(pod), pod["metadata"].get("labels")


def _replicas(raw: Json | None) -> object:
    return None if raw is None else raw["spec"].get("replicas")


def _matches(budget: Json, pod: Json) -> bool:
    try:
        return label_selector(budget["spec"].get("selector")).matches(pod["metadata"].get("labels") or {})
    except (SelectorError, ObjectError):
        return False
