"""The pod garbage collector: pods whose node is gone, and pods that ended long ago. Source: pkg/controller/podgc."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext, get_annotation_time, own_annotations
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.pods import is_deleting, is_pod_terminal, with_disruption_target

# Seconds for which a missing node may still come.
QUARANTINE = 40.0
# Seconds for which an ended pod is kept that no Job keeps.
ENDED_POD_TTL_SECONDS = 1800.0


class PodGCController:
    """Deletes pods whose node is gone, and pods that ended long ago."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        # uid of the pod -> when its node's quarantine is over
        self._missing: dict[str, float] = {}

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is POD:
            if change.new is None:
                self._missing.pop(change.last["metadata"]["uid"], None)
            else:
                yield change.key
        elif change.resource is NODE and (change.new is None or change.old is None):
            for pod in self._context.index.pods_on_node(change.key[1]):
                yield pod["metadata"]["namespace"], pod["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        context = self._context
        pod = context.store.get(POD, *key)
        if pod is None:
            return None
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if node and context.store.get(NODE, "", node) is None:
            due = self._missing.setdefault(uid, context.time + QUARANTINE)
            if context.time < due and not is_deleting(pod):
                return due
            if not is_pod_terminal(pod):
                message = "PodGC: node no longer exists"
                status = with_disruption_target(
                    {**pod["status"], "phase": "Failed"}, context.format_now(), "DeletionByPodGC", message
                )
                pod = context.objects.change_object(POD, pod, status=status)
            context.delete_object(POD, pod, 0)
            return None
        self._missing.pop(uid, None)
        return self._delete_old(key)

    def _delete_old(self, key: Key) -> float | None:
        """Delete a pod that ended long ago, unless a Job counts it."""
        context = self._context
        pod = context.store.get(POD, *key)
        owner = None if pod is None else get_controller_of(pod)
        if (
            pod is None
            or not is_pod_terminal(pod)
            or is_deleting(pod)
            or (owner is not None and owner["kind"] == "Job")
        ):
            return None
        ended_at = get_annotation_time(pod, "ended-at")
        if ended_at is None:
            ended_at = context.time
            context.annotate(POD, pod, annotations=own_annotations(ended_at=f"{ended_at:.3f}"))
        if context.time < ended_at + ENDED_POD_TTL_SECONDS:
            return ended_at + ENDED_POD_TTL_SECONDS
        context.delete_object(POD, context.store.get(POD, *key) or pod, 0)
        return None
