"""Pod garbage: pods whose node is gone, and pods that ended long ago. Source: pkg/controller/podgc."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.sandbox.resources import NODE, POD
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context, own, time_in
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.pods import disrupted, ended, leaving

QUARANTINE = 40.0  # seconds for which a node that is missing may still come
KEPT = 1800.0  # seconds for which a pod that ended is kept, where no job does so


class PodGarbage:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._missing: dict[str, float] = {}  # uid of the pod -> when its node was first missed

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is POD:
            if change.new is None:
                self._missing.pop(change.last["metadata"]["uid"], None)
            else:
                yield change.key
        elif change.resource is NODE and (change.new is None or change.old is None):
            for pod in self._context.index.pods_on(change.key[1]):
                yield pod["metadata"]["namespace"], pod["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        context = self._context
        pod = context.store.get(POD, *key)
        if pod is None:
            return None
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if node and context.store.get(NODE, "", node) is None:
            due = self._missing.setdefault(uid, context.time + QUARANTINE)
            if context.time < due and not leaving(pod):
                return due
            if not ended(pod):
                message = "PodGC: node no longer exists"
                status = disrupted({**pod["status"], "phase": "Failed"}, context.stamp(), "DeletionByPodGC", message)
                pod = context.objects.change(POD, pod, status=status)
            context.delete(POD, pod, 0)
            return None
        self._missing.pop(uid, None)
        return self._old(key)

    def _old(self, key: Key) -> float | None:
        """Delete a pod that ended long ago, unless a job counts it."""
        context = self._context
        pod = context.store.get(POD, *key)
        owner = None if pod is None else controller_of(pod)
        if pod is None or not ended(pod) or leaving(pod) or (owner is not None and owner["kind"] == "Job"):
            return None
        ended_at = time_in(pod, "ended-at")
        if ended_at is None:
            ended_at = context.time
            context.annotate(POD, pod, annotations=own(ended_at=f"{ended_at:.3f}"))
        if context.time < ended_at + KEPT:
            return ended_at + KEPT
        context.delete(POD, context.store.get(POD, *key) or pod, 0)
        return None
