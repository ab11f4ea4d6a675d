"""The creation and deletion of pods that controllers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.limits import BURST
from kschedweb.engine.sandbox.resources import POD, Resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import get_phase, is_pod_ready
from kschedweb.engine.sandbox.world.recorder import WARNING

# Seconds until a pod that was refused is tried again.
RETRY_SECONDS = 15.0


class PodControl:
    """Creates and deletes the pods of one controller's objects, and records that as events of ``component``."""

    def __init__(self, context: SandboxContext, resource: Resource, component: str) -> None:
        self.context, self.resource, self.component = context, resource, component

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        """Yield the objects of this resource that ``change`` is about, themselves or as controllers of a pod."""
        if change.resource is self.resource:
            yield change.key
        elif change.resource is POD:
            for raw in (change.old, change.new):
                owner = None if raw is None else get_controller_of(raw)
                if owner is not None and owner["kind"] == self.resource.kind:
                    yield change.key[0], owner["name"]

    def find_owner(self, key: Key) -> Json | None:
        """Return the object, unless it is gone or going."""
        owner = self.context.store.get(self.resource, *key)
        return None if owner is None or owner["metadata"].get("deletionTimestamp") else owner

    def list_pods(self, owner: Json) -> list[Json]:
        return self.context.index.list_owned(owner["metadata"]["uid"], POD)

    def create_pod(self, owner: Json, pod: Json) -> bool:
        """Create a pod; returns false if it was refused."""
        try:
            created = self.context.objects.create_object(POD, owner["metadata"]["namespace"], pod)
        except ApiRefusal as refusal:
            self.record_event(owner, "FailedCreate", f"Error creating: {refusal.message}", WARNING)
            return False
        self.record_event(owner, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")
        return True

    def create_pods(self, owner: Json, missing: int, pod: Callable[[Json], Json]) -> float | None:
        """Create as many of the ``missing`` pods as one look may; returns when to look again."""
        for _ in range(min(missing, BURST)):
            if not self.create_pod(owner, pod(owner)):
                return self.context.time + RETRY_SECONDS
        return self.context.time if missing > BURST else None

    def delete_pods(self, owner: Json, pods: list[Json]) -> float | None:
        """Delete as many of ``pods`` as one look may; returns when to look again."""
        for pod in pods[:BURST]:
            self.delete_pod(owner, pod)
        return self.context.time if len(pods) > BURST else None

    def delete_pod(self, owner: Json, pod: Json) -> None:
        self.context.delete_object(POD, pod)
        self.record_event(owner, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def record_event(self, owner: Json, reason: str, message: str, kind: str = "Normal") -> None:
        self.context.recorder.record_event(self.resource, owner, reason, message, component=self.component, kind=kind)

    def update_status(self, owner: Json, **values: object) -> Json:
        """Write the status with these values, without those that are ``None`` or 0, as Go's omitempty does."""
        status = {**(owner.get("status") or {}), **values}
        status = {key: value for key, value in status.items() if value or key in _ALWAYS}
        if "observedGeneration" not in values:
            status["observedGeneration"] = owner["metadata"].get("generation", 1)
        return self.context.objects.change_object(self.resource, owner, status=status)


# Fields without omitempty, which Go writes even if they are 0.
_ALWAYS = frozenset({
    "replicas", "availableReplicas", "numberAvailable", "currentNumberScheduled", "desiredNumberScheduled",
    "numberMisscheduled", "numberReady",
})  # fmt: skip


def rank_pods_for_deletion(pods: Iterable[Json]) -> list[Json]:
    """Return pods in the order of deletion: without a node, not running, not ready, then the youngest."""
    order = {"Pending": 0, "Unknown": 1}
    youngest = sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
    return sorted(
        youngest, key=lambda pod: (bool(pod["spec"].get("nodeName")), order.get(get_phase(pod), 2), is_pod_ready(pod))
    )  # fmt: skip
