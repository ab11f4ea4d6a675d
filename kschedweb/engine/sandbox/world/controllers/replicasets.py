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
    """Controls the objects of ``resource``, which is one of both kinds."""

    def __init__(self, context: SandboxContext, resource: Resource, by: str) -> None:
        self._maker = PodControl(context, resource, by)

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        return self._maker.affected_keys(change)

    def sync(self, key: Key) -> float | None:
        maker = self._maker
        owner = maker.find_owner(key)
        if owner is None:
            return None
        pods = [pod for pod in maker.list_pods(owner) if is_pod_active(pod)]
        desired = owner["spec"].get("replicas", 1)
        retry_at = maker.create_pods(owner, desired - len(pods), self._new_pod)
        retry_at = maker.delete_pods(owner, rank_pods_for_deletion(pods)[: max(0, len(pods) - desired)]) or retry_at
        pods = [pod for pod in maker.list_pods(owner) if is_pod_active(pod)]
        well = sum(map(is_pod_ready, pods))
        counts = {"replicas": len(pods), "fullyLabeledReplicas": len(pods)}
        maker.update_status(owner, **counts, readyReplicas=well, availableReplicas=well)
        return retry_at

    def _new_pod(self, owner: Json) -> Json:
        return pod_from_template(owner["spec"]["template"], self._maker.resource, owner)
