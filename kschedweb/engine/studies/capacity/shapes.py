"""Build shapes: the next pod of a workload, and the next node of a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedweb.engine.controllers.admission import admit_pod
from kschedweb.engine.controllers.claims import VOLUME_CLAIM
from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects, get_string, get_string_map
from kschedweb.engine.objects.node import HOSTNAME, ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import CSINode
from kschedweb.engine.refusals import find_refusals
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

REVISION, TEMPLATE_HASH = "deployment.kubernetes.io/revision", "pod-template-hash"
# Kinds with pods of one template that a question can be about.
WORKLOADS = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job")
# Metadata that replicas of a pod share.
REPLICA_METADATA = ("namespace", "labels", "annotations", "ownerReferences")


class ShapeError(ValueError):
    """A shape that cannot be built; the message says of what, and why."""


@dataclass(frozen=True)
class PodShape:
    """Pods that differ only in their names.

    A claim that a StatefulSet would make for each of them is an ephemeral volume here, which has the same effect: each
    pod has a claim of its own from the template.
    """

    # Prefix of their names.
    name: str
    # A v1 Pod without node and status.
    raw: Json
    # What such pods would have in a real cluster in addition, and why it would refuse them.
    notes: tuple[str, ...] = ()
    # Claims that they would have there and do not have here.
    left_out: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        return get_string(get_mapping(self.raw, "metadata"), "namespace", "metadata.") or "default"

    def clone(self, number: int) -> Pod:
        """Return the pod of this shape with number ``number``; raise ObjectError if it cannot be parsed."""
        template_metadata = {key: value for key, value in get_mapping(self.raw, "metadata").items() if key != "uid"}
        metadata = {**template_metadata, "name": f"{self.name}-{number}"}
        return Pod.from_json({**self.raw, "metadata": metadata})


def pod_shape(raw: Any, snapshot: Snapshot) -> PodShape:
    """Return the shape of a user's v1 Pod, after admission with the classes of ``snapshot``. Raise ShapeError."""
    if not isinstance(raw, dict):
        raise ShapeError("must be a v1 Pod: an object with metadata and spec")
    try:
        metadata, spec = get_mapping(raw, "metadata"), get_mapping(raw, "spec")
        if not get_objects(spec, "containers", "spec."):
            raise ShapeError("spec.containers: a pod needs at least one container")
        name = (
            get_string(metadata, "name", "metadata.")
            or get_string(metadata, "generateName", "metadata.").rstrip("-")
            or "pod"
        )
        shared_metadata = {key: metadata[key] for key in REPLICA_METADATA if metadata.get(key) is not None}
        spec = {key: value for key, value in spec.items() if key != "nodeName"}
        shaped = {"apiVersion": "v1", "kind": "Pod", "metadata": {**shared_metadata, "name": name}, "spec": spec}
        notes = tuple(f"A cluster would not take this pod. {refusal.text}." for refusal in find_refusals(shaped))
        shape = PodShape(
            _free_prefix(snapshot, shared_metadata, f"{name}-more"), admit_pod(shaped, snapshot.objects), notes
        )
        # Parses a pod, so that errors are reported now.
        shape.clone(1)
    except ObjectError as error:
        raise ShapeError(str(error)) from None
    return shape


def replica_shape(pod: Pod, snapshot: Snapshot) -> PodShape:
    """Return the shape of the pod that the controller of ``pod`` would make next."""
    if pod.controller is not None and pod.controller[1] == "DaemonSet":
        raise ShapeError(f"Pod {pod.key}: a DaemonSet puts one pod on each node, so no further one can be asked about")
    metadata, spec = get_mapping(pod.raw, "metadata"), get_mapping(pod.raw, "spec")
    shared_metadata = {key: metadata[key] for key in REPLICA_METADATA if metadata.get(key) is not None}
    own_claims = _own_claims(pod)
    templates = {
        name: template for name in own_claims if (template := _claim_template(snapshot, pod, name)) is not None
    }
    volumes = [
        _own_volume(get_string(volume, "name", "spec.volumes."), templates[claim]) if claim in templates else volume
        for volume in get_objects(spec, "volumes", "spec.")
        if (claim := _claim_name(volume)) in templates or claim not in own_claims
    ]
    pod_spec = {key: value for key, value in spec.items() if key not in ("nodeName", "volumes")}
    shaped = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": shared_metadata,
        "spec": pod_spec | ({"volumes": volumes} if volumes else {}),
    }
    left_out = tuple(name for name in own_claims if name not in templates)
    notes = (_without_claims(left_out),) if left_out else ()
    return PodShape(_free_prefix(snapshot, shared_metadata, f"{pod.name}-more"), shaped, notes, left_out)


def workload_shape(snapshot: Snapshot, workload: str) -> PodShape:
    """Return the shape of the next replica of "namespace/Kind/name". Raise ShapeError.

    It comes from the workload's template, else from one of its pods.
    """
    parts = workload.split("/")
    if len(parts) != 3 or not all(parts):
        raise ShapeError(f"{workload}: write a workload as namespace/Kind/name, such as shop/Deployment/web")
    namespace, kind, name = parts
    if kind not in WORKLOADS:
        raise ShapeError(f"{workload}: is none of the kinds that can be asked about, which are {', '.join(WORKLOADS)}")
    try:
        owner = _template_owner(snapshot, namespace, kind, name)
        if owner is not None and get_mapping(get_mapping(get_mapping(owner, "spec"), "template"), "spec").get(
            "containers"
        ):
            return _of_template(snapshot, namespace, name, owner)
    except ObjectError as error:
        raise ShapeError(f"{workload}: {error}") from None
    sample = next((pod for pod in known_pods(snapshot) if _belongs_to_workload(pod, namespace, kind, name)), None)
    if sample is None:
        raise ShapeError(f"{workload}: the snapshot has neither a template nor a pod of it")
    return replica_shape(sample, snapshot)


def known_pods(snapshot: Snapshot) -> list[Pod]:
    """Return bound and pending pods, bound ones first."""
    bound = [pod for slot in snapshot.pods.slots.values() if (pod := snapshot.pods.pods[slot]) is not None]
    return bound + snapshot.pending


def _template_owner(snapshot: Snapshot, namespace: str, kind: str, name: str) -> Json | None:
    """Return the object with the pod template; for a Deployment, its newest ReplicaSet."""
    if kind != "Deployment":
        return snapshot.objects.get(kind, namespace, name)
    owned = []
    for raw in snapshot.objects.list_in_namespace("ReplicaSet", namespace):
        metadata = get_mapping(raw, "metadata")
        owners = get_objects(metadata, "ownerReferences", "metadata.")
        if any(owner.get("kind") == kind and owner.get("name") == name for owner in owners):
            revision = str(get_mapping(metadata, "annotations", "metadata.").get(REVISION, ""))
            owned.append((int(revision) if revision.isdecimal() else 0, raw))
    if owned:
        return max(owned, key=lambda pair: pair[0])[1]
    return snapshot.objects.get(kind, namespace, name)


def _of_template(snapshot: Snapshot, namespace: str, name: str, owner: Json) -> PodShape:
    template, owner_metadata = get_mapping(get_mapping(owner, "spec"), "template"), get_mapping(owner, "metadata")
    metadata: Json = {"namespace": namespace, "labels": get_string_map(get_mapping(template, "metadata"), "labels")}
    # A Deployment's pods belong to its ReplicaSet, which is not known here.
    if owner.get("kind") != "Deployment":
        reference = {key: value for key, value in (("uid", owner_metadata.get("uid")),) if value is not None}
        owner_reference = {
            "apiVersion": owner.get("apiVersion"),
            "kind": owner.get("kind"),
            "name": owner_metadata.get("name"),
        }
        metadata["ownerReferences"] = [{**owner_reference, **reference, "controller": True}]
    spec = with_own_volumes(get_mapping(template, "spec"), owner)
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return PodShape(_free_prefix(snapshot, metadata, f"{name}-more"), admit_pod(raw, snapshot.objects))


def with_own_volumes(spec: Json, owner: Json) -> Json:
    """Return the spec of pods of ``owner``, each with volumes of its own from the templates of a StatefulSet."""
    templates = {
        get_string(get_mapping(template, "metadata"), "name"): template
        for template in get_objects(get_mapping(owner, "spec"), "volumeClaimTemplates", "spec.")
    }
    if not templates:
        return spec
    other_volumes = [volume for volume in get_objects(spec, "volumes", "spec.") if volume.get("name") not in templates]
    return {**spec, "volumes": [*(_own_volume(name, template) for name, template in templates.items()), *other_volumes]}


def _own_volume(name: str, template: Json) -> Json:
    return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": get_mapping(template, "spec")}}}


def _belongs_to_workload(pod: Pod, namespace: str, kind: str, name: str) -> bool:
    if pod.namespace != namespace or pod.controller is None:
        return False
    _, owner, owner_name = pod.controller
    if kind == "Deployment":
        hashed = pod.labels.get(TEMPLATE_HASH) or owner_name.rpartition("-")[2]
        return owner == "ReplicaSet" and owner_name == f"{name}-{hashed}"
    return (owner, owner_name) == (kind, name)


def _claim_name(volume: Json) -> str:
    return get_string(get_mapping(volume, "persistentVolumeClaim"), "claimName")


def _own_claims(pod: Pod) -> list[str]:
    """Return the claims that a StatefulSet made for this pod alone; the next replica gets others."""
    if pod.controller is None or pod.controller[1] != "StatefulSet":
        return []
    names = (_claim_name(volume) for volume in get_objects(get_mapping(pod.raw, "spec"), "volumes", "spec."))
    return [name for name in names if name.endswith(f"-{pod.name}")]


def _claim_template(snapshot: Snapshot, pod: Pod, claim: str) -> Json | None:
    """Return the template of the claim of a StatefulSet's pod, or the claim itself; ``None`` if neither is known."""
    owner = snapshot.objects.get("StatefulSet", pod.namespace, pod.controller[2] if pod.controller else "") or {}
    for template in get_objects(get_mapping(owner, "spec"), "volumeClaimTemplates", "spec."):
        if claim == f"{get_string(get_mapping(template, 'metadata'), 'name')}-{pod.name}":
            return template
    existing = snapshot.objects.get(VOLUME_CLAIM, pod.namespace, claim)
    if existing is None:
        return None
    return {"spec": {key: value for key, value in get_mapping(existing, "spec").items() if key != "volumeName"}}


def _without_claims(names: Sequence[str]) -> str:
    """Return the note about claims that are not known."""
    return f"Each replica gets volumes of its own ({', '.join(names)}); they are left out, and limit nothing here."


def _free_prefix(snapshot: Snapshot, metadata: Json, prefix: str) -> str:
    """Return ``prefix`` with "-x" appended until no pod of the snapshot has a clone's name."""
    namespace = get_string(metadata, "namespace", "metadata.") or "default"
    taken_names = {
        pod.name for pod in known_pods(snapshot) if pod.namespace == namespace and pod.name.startswith(prefix)
    }
    while any(name.startswith(f"{prefix}-") for name in taken_names):
        prefix += "-x"
    return prefix


@dataclass(frozen=True)
class NodeShape:
    """Nodes of one type."""

    # Prefix of their names.
    name: str
    # A v1 Node.
    raw: Json
    # Zones that nodes get in turn; empty: the zone of `raw`.
    zones: tuple[str, ...] = ()
    # Volumes that a node of the type can attach; None: unknown, and not limited.
    csi_node: CSINode | None = None

    def create_nodes(self, count: int) -> list[Node]:
        """Return the first ``count`` nodes of this type."""
        return [self._create_node(number) for number in range(count)]

    def _create_node(self, number: int) -> Node:
        name = f"{self.name}-{number + 1}"
        metadata = get_mapping(self.raw, "metadata")
        labels = {**get_string_map(metadata, "labels", "metadata."), HOSTNAME: name}
        if self.zones:
            labels[ZONE] = self.zones[number % len(self.zones)]
        return Node.from_json({**self.raw, "metadata": {**metadata, "name": name, "labels": labels}})


def node_shape(
    raw: Any, *, zones: Sequence[str] = (), taken_names: Sequence[str] = (), csi_node: CSINode | None = None
) -> NodeShape:
    """Return the type of a v1 Node. New nodes are ready and not cordoned, and have no taints that controllers set.

    New nodes do not get the names in ``taken_names``. Raise ShapeError.
    """
    if not isinstance(raw, dict):
        raise ShapeError("must be a v1 Node: an object with metadata and status")
    try:
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        taints = [taint for taint in get_objects(spec, "taints", "spec.") if taint.get("key") not in CONTROLLED]
        allocatable = get_mapping(status, "allocatable", "status.")
        if not allocatable:
            raise ShapeError("status.allocatable: says what a node has room for, and is missing")
        prefix = f"{get_string(metadata, 'name', 'metadata.') or 'node'}-new"
        while any(name.startswith(f"{prefix}-") for name in taken_names):
            prefix += "-x"
        ready = [{"type": "Ready", "status": "True"}]
        shaped = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": prefix, "labels": get_string_map(metadata, "labels", "metadata.")},
            "spec": {"taints": taints} if taints else {},
            "status": {**status, "conditions": ready, "allocatable": allocatable},
        }
        Node.from_json(shaped)
    except ObjectError as error:
        raise ShapeError(str(error)) from None
    return NodeShape(prefix, shaped, tuple(zones), csi_node)
