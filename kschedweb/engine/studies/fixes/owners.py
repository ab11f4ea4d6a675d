"""The object that a person edits to change a pod: its Deployment or other controller, else the pod itself."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.studies.fixes.changes import ObjectKey
from kschedweb.engine.values import dataclass

TEMPLATE_HASH = "pod-template-hash"
# Kinds whose pod template can be changed, so that new pods have the change.
EDITABLE = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet"})
TEMPLATE_PATH: tuple[str | int, ...] = ("spec", "template")
# What the API server lets change in a pod that waits: its tolerations may grow, its gates may go.
CHANGEABLE_IN_PODS = frozenset({"tolerations", "schedulingGates"})


@dataclass(frozen=True)
class PodSource:
    """Place where the spec of a pod is written."""

    target: ObjectKey
    # Path of the pod's content in the target: () for the pod itself.
    prefix: tuple[str | int, ...]
    # True if kubectl can change it there.
    editable: bool
    # True for a pod of the cluster, of which the API server lets some fields change.
    is_running: bool = False

    def path_of(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        return (*self.prefix, *path)

    def can_patch(self, path: tuple[str | int, ...]) -> bool:
        """Return whether a patch of the field at ``path`` of the pod is accepted."""
        return self.editable or (self.is_running and len(path) > 1 and path[1] in CHANGEABLE_IN_PODS)


def find_pod_source(pod: Pod, objects: ClusterObjects) -> PodSource:
    """Return where the spec of ``pod`` is written."""
    own_key = ("Pod", pod.namespace, pod.name)
    if pod.controller is None:
        return PodSource(own_key, (), False, is_running=True)
    _, kind, name = pod.controller
    if kind == "ReplicaSet":
        deployment = _find_deployment(pod, name, objects)
        kind, name = ("Deployment", deployment) if deployment else (kind, name)
    return PodSource((kind, pod.namespace, name), TEMPLATE_PATH, kind in EDITABLE)


def _find_deployment(pod: Pod, replica_set: str, objects: ClusterObjects) -> str:
    """Return the Deployment of a ReplicaSet, "" if there is none."""
    raw: Json | None = objects.get("ReplicaSet", pod.namespace, replica_set)
    if raw is not None:
        owners = (raw.get("metadata") or {}).get("ownerReferences") or []
        return next((str(owner.get("name")) for owner in owners if owner.get("kind") == "Deployment"), "")
    # Without the ReplicaSet, its name tells: the Deployment's with the hash of the template.
    suffix = f"-{pod.labels.get(TEMPLATE_HASH, '')}"
    return replica_set.removesuffix(suffix) if len(suffix) > 1 and replica_set.endswith(suffix) else ""
