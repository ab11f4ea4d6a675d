"""ReplicaSets and ReplicationControllers: as many equal pods as their spec asks for."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.controllers.pod_control import PodControl, rank_pods_for_deletion
from kschedweb.engine.sandbox.world.pods import is_pod_active, is_pod_ready, pod_from_template


class ReplicaSetController:
    """Creates and deletes pods of ReplicaSets or ReplicationControllers (``resource``) until there are ``replicas``."""

    def __init__(self, context: SandboxContext, resource: Resource, component: str) -> None:
        self._pod_control = PodControl(context, resource, component)

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        return self._pod_control.affected_keys(change)

    def sync(self, key: Key) -> float | None:
        pod_control = self._pod_control
        owner = pod_control.find_owner(key)
        if owner is None:
            return None
        pods = [pod for pod in pod_control.list_pods(owner) if is_pod_active(pod)]
        desired = owner["spec"].get("replicas", 1)
        retry_at = pod_control.create_pods(owner, desired - len(pods), self._new_pod)
        retry_at = (
            pod_control.delete_pods(owner, rank_pods_for_deletion(pods)[: max(0, len(pods) - desired)]) or retry_at
        )
        pods = [pod for pod in pod_control.list_pods(owner) if is_pod_active(pod)]
        ready_count = sum(map(is_pod_ready, pods))
        counts = {"replicas": len(pods), "fullyLabeledReplicas": len(pods)}
        pod_control.update_status(owner, **counts, readyReplicas=ready_count, availableReplicas=ready_count)
        return retry_at

    def _new_pod(self, owner: Json) -> Json:
        return pod_from_template(owner["spec"]["template"], self._pod_control.resource, owner)
