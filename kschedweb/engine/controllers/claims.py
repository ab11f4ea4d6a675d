"""Claims that controllers make for pods: of ephemeral volumes, ResourceClaimTemplates and StatefulSets.

The objects are those of Kubernetes' own controllers. Claims of ephemeral volumes and of templates belong to the pod,
and go with it.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Protocol

from kschedweb.engine.controllers.naming import draw_letters
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.csi_migration import DRIVERS, UNCOUNTED_PLUGINS
from kschedweb.engine.objects.json_access import (
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
)
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import ResourceClaim, read_pod_claims
from kschedweb.engine.objects.storage import BETA_CLASS, BIND_COMPLETED, NO_PROVISIONER, Claim, PersistentVolume
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.devices.claims import ClaimUse
from kschedweb.engine.values import dataclass

RESOURCE_API = "resource.k8s.io/v1"
TEMPLATE, RESOURCE_CLAIM, VOLUME_CLAIM = "ResourceClaimTemplate", "ResourceClaim", "PersistentVolumeClaim"
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
# The most that the controller leaves for the first part of a name: 63, without a hyphen and five random letters.
MAX_BASE = 57
# Phases of claims and volumes.
PENDING, BOUND, RELEASED = "Pending", "Bound", "Released"
IMMEDIATE = "Immediate"


class KnownClaims(Protocol):
    """The claims and templates of a cluster, as far as the controllers look at them."""

    def find_controller(self, kind: str, namespace: str, name: str, /) -> str | None:
        """Return the uid of the claim's controller, "" if it has none; ``None`` if there is no such claim."""

    def find_generated(self, pod: Pod, entry: str, /) -> str | None:
        """Return the name of a ResourceClaim that was made for the pod's entry and is not in its status yet."""

    def find_template(self, namespace: str, name: str, /) -> Json | None:
        """Return the ResourceClaimTemplate; ``None`` if there is none."""


@dataclass(slots=True)
class GeneratedClaims:
    """The claims of a pod that controllers would create."""

    # Raw PersistentVolumeClaims.
    volume_claims: list[Json] = field(default_factory=list)
    # Raw ResourceClaims, by the pod's entry.
    resource_claims: dict[str, Json] = field(default_factory=dict)
    # Names of claims that exist and are not in the pod's status, by entry.
    existing_names: dict[str, str] = field(default_factory=dict)
    # Texts of the controllers' events about what they cannot create, "" for none; each stops at its first problem.
    volume_problem: str = ""
    resource_problem: str = ""

    @property
    def problems(self) -> list[str]:
        return [problem for problem in (self.volume_problem, self.resource_problem) if problem]


def needs_claims(pod: Pod) -> bool:
    """Return true if controllers look after claims of the pod."""
    return any(volume.ephemeral for volume in pod.volumes) or any(item.generated for item in pod.resource_claims)


def make_claims_for_pod(pod: Pod, known_claims: KnownClaims) -> GeneratedClaims:
    """Return the claims that controllers would create for ``pod`` now; existing claims are left out."""
    generated = GeneratedClaims()
    if any(volume.ephemeral for volume in pod.volumes):
        _make_volume_claims(pod, known_claims, generated)
    if any(item.generated for item in pod.resource_claims):
        _make_resource_claims(pod, known_claims, generated)
    return generated


def list_claim_statuses(pod: Pod, names: Mapping[str, str]) -> list[Json]:
    """Return the pod's ``status.resourceClaimStatuses`` with these claim names (by entry), in the order of the pod."""
    status = get_mapping(pod.raw, "status")
    statuses_by_entry = {
        entry_status.get("name"): entry_status
        for entry_status in get_objects(status, "resourceClaimStatuses", "status.")
    }
    statuses_by_entry |= {entry: {"name": entry, "resourceClaimName": name} for entry, name in names.items()}
    return [statuses_by_entry[item.name] for item in pod.resource_claims if item.name in statuses_by_entry]


def _make_volume_claims(pod: Pod, known_claims: KnownClaims, generated: GeneratedClaims) -> None:
    for volume in get_objects(get_mapping(pod.raw, "spec"), "volumes", "spec."):
        if volume.get("ephemeral") is None:
            continue
        name = f"{pod.name}-{volume.get('name')}"
        owner = known_claims.find_controller(VOLUME_CLAIM, pod.namespace, name)
        if owner is None:
            generated.volume_claims.append(make_volume_claim(pod, volume))
        elif owner != pod.uid:
            conflict = f"PVC {pod.namespace}/{name} was not created for pod {pod.key} (pod is not owner)"
            generated.volume_problem = f"ephemeral volume {volume.get('name')}: {conflict}"
            return


def _make_resource_claims(pod: Pod, known_claims: KnownClaims, generated: GeneratedClaims) -> None:
    templates = {
        get_string(entry, "name", at): get_string(entry, "resourceClaimTemplateName", at)
        for entry, at in get_objects_and_paths(get_mapping(pod.raw, "spec"), "resourceClaims", "spec.")
        if entry.get("resourceClaimTemplateName") is not None
    }
    for item in pod.resource_claims:
        if not item.generated or (item.created and item.claim is None):
            continue
        if item.claim and known_claims.find_controller(RESOURCE_CLAIM, pod.namespace, item.claim) == pod.uid:
            continue
        if (name := known_claims.find_generated(pod, item.name)) is not None:
            generated.existing_names[item.name] = name
            continue
        template = known_claims.find_template(pod.namespace, templates[item.name])
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{templates[item.name]}" not found'
            problem = f'resource claim template "{templates[item.name]}": {missing}'
            generated.resource_problem = f"PodResourceClaim {item.name}: {problem}"
            return
        generated.resource_claims[item.name] = make_resource_claim(pod, item.name, template)


def make_volume_claim(pod: Pod, volume: Json) -> Json:
    """Return the PersistentVolumeClaim of the pod's ephemeral ``volume``."""
    template = get_mapping(get_mapping(volume, "ephemeral"), "volumeClaimTemplate", "ephemeral.")
    metadata = {"name": f"{pod.name}-{volume.get('name')}", "namespace": pod.namespace}
    return {
        "apiVersion": "v1",
        "kind": VOLUME_CLAIM,
        "metadata": {
            **metadata,
            **_copied_metadata(template),
            "ownerReferences": [{**_owner_reference(pod), "blockOwnerDeletion": True}],
        },
        "spec": dict(get_mapping(template, "spec", "ephemeral.volumeClaimTemplate.")),
    }


def make_resource_claim(pod: Pod, entry: str, template: Json) -> Json:
    """Return the ResourceClaim for the pod's ``resourceClaims`` entry of that name; the API server completes its name.

    A long name is shortened as the controller does: the pod's part and the entry's in proportion to their lengths.
    """
    inner = get_mapping(template, "spec")
    metadata = _copied_metadata(inner)
    base = f"{pod.name}-{entry}-"
    if (length := len(base)) > MAX_BASE:
        parts = (part[: len(part) * MAX_BASE // length] for part in (pod.name, entry))
        base = "-".join(parts)
    return {
        "apiVersion": RESOURCE_API,
        "kind": RESOURCE_CLAIM,
        "metadata": {
            **metadata,
            "generateName": base,
            "namespace": pod.namespace,
            "annotations": {**metadata.get("annotations", {}), POD_CLAIM_NAME: entry},
            "ownerReferences": [_owner_reference(pod)],
        },
        "spec": dict(get_mapping(inner, "spec", "spec.")),
    }


def make_stateful_claims(owner: Json, pod: str) -> list[Json]:
    """Return the PersistentVolumeClaims of the StatefulSet ``owner`` for its pod of that name."""
    spec, namespace = get_mapping(owner, "spec"), get_string(get_mapping(owner, "metadata"), "namespace") or "default"
    matched = get_string_map(get_mapping(spec, "selector", "spec."), "matchLabels", "spec.selector.")
    claims = []
    for template in get_objects(spec, "volumeClaimTemplates", "spec."):
        metadata = dict(get_mapping(template, "metadata"))
        labels = {**get_string_map(metadata, "labels", "metadata."), **matched}
        metadata |= {"name": f"{metadata.get('name')}-{pod}", "namespace": namespace}
        metadata |= {"labels": labels} if labels else {}
        spec_of_claim = dict(get_mapping(template, "spec"))
        claims.append({"apiVersion": "v1", "kind": VOLUME_CLAIM, "metadata": metadata, "spec": spec_of_claim})
    return claims


def add_stateful_volumes(spec: Json, owner: Json, pod: str) -> Json:
    """Return the spec of the StatefulSet's pod of that name, with its claims in place of volumes of the same names."""
    names = [
        get_string(get_mapping(template, "metadata"), "name", "metadata.")
        for template in get_objects(get_mapping(owner, "spec"), "volumeClaimTemplates", "spec.")
    ]
    claim_volumes = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}} for name in names]
    other_volumes = [volume for volume in get_objects(spec, "volumes") if volume.get("name") not in names]
    return {**spec, "volumes": [*claim_volumes, *other_volumes]} if claim_volumes else spec


def set_default_class(claim: Json, classes: Iterable[Json]) -> Json:
    """Return the PersistentVolumeClaim with the default StorageClass if it names none, as admission does.

    Of several default classes the newest counts, then the first by name.
    """
    metadata, spec = get_mapping(claim, "metadata"), get_mapping(claim, "spec")
    # The empty string is a name: it asks for no class at all.
    if spec.get("storageClassName") is not None or BETA_CLASS in get_mapping(metadata, "annotations", "metadata."):
        return claim
    defaults = sorted(
        (candidate for candidate in classes if _is_default(candidate)),
        key=lambda candidate: get_string(candidate["metadata"], "name"),
    )
    if not defaults:
        return claim
    # ``max`` takes the first of equally new ones, which the sort has made the first by name.
    newest = max(defaults, key=lambda candidate: get_string(candidate["metadata"], "creationTimestamp"))
    return {**claim, "spec": {**spec, "storageClassName": newest["metadata"]["name"]}}


def provision_at_once(claim: Json, classes: Iterable[Json]) -> tuple[Json, Json | None]:
    """Return a new PersistentVolumeClaim and the volume that it gets at once if its class says Immediate.

    The volume can be reached from wherever the class allows, since the place that a driver would choose is not known.
    The volume is ``None`` if the claim waits for its first pod, or if its class provisions nothing.
    """
    spec, metadata = get_mapping(claim, "spec"), get_mapping(claim, "metadata")
    candidates = (candidate for candidate in classes if candidate["metadata"]["name"] == spec.get("storageClassName"))
    storage_class = next(candidates, None)
    if storage_class is None or storage_class.get("volumeBindingMode") != IMMEDIATE or spec.get("volumeName"):
        return claim, None
    provisioner = str(storage_class.get("provisioner") or "")
    if provisioner in ("", NO_PROVISIONER):
        return claim, None
    name = f"pvc-{metadata.get('uid') or '{namespace}-{name}'.format_map(metadata)}"
    reference = {key: metadata[key] for key in ("namespace", "name", "uid") if key in metadata}
    volume: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": get_mapping(get_mapping(spec, "resources", "spec."), "requests", "spec.resources."),
            **{key: spec[key] for key in ("accessModes", "storageClassName", "volumeMode") if key in spec},
            "claimRef": reference,
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        },
        "status": {"phase": BOUND},
    }
    if provisioner not in UNCOUNTED_PLUGINS:
        volume["spec"]["csi"] = {"driver": DRIVERS.get(provisioner, provisioner), "volumeHandle": name}
    if terms := [_node_term(item, at) for item, at in get_objects_and_paths(storage_class, "allowedTopologies")]:
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    annotations = {**get_mapping(metadata, "annotations", "metadata."), BIND_COMPLETED: "yes"}
    bound = {**claim, "metadata": {**metadata, "annotations": annotations}, "spec": {**spec, "volumeName": name}}
    return {**bound, "status": {"phase": BOUND}}, volume


def _node_term(topology: Json, path: str) -> Json:
    """Convert a term of ``allowedTopologies`` to one of a node selector."""
    listed = get_objects(topology, "matchLabelExpressions", path)
    return {"matchExpressions": [{**expression, "operator": "In"} for expression in listed]}


def create_claims(pod: Pod, cluster: ClusterObjects, claims: ClaimUse) -> tuple[Pod, list[str]]:
    """Create the pod's claims in a simulated cluster; returns the pod with them in its status, and the problems.

    ``cluster`` and ``claims`` belong to one snapshot or world. Only what such a copy has for itself changes.
    """
    if not needs_claims(pod):
        return pod, []
    known_claims = _SimulatedClaims(cluster, claims)
    generated = make_claims_for_pod(pod, known_claims)
    for raw in generated.volume_claims:
        classes, name = cluster.all("StorageClass"), raw["metadata"]["name"]
        # The uid differs each time: a claim that is created again under its name is another one.
        uid = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{pod.uid}/{name}/{cluster.storage.count_claim()}"))
        first = {**raw, "metadata": {**raw["metadata"], "uid": uid}, "status": {"phase": PENDING}}
        claim, volume = provision_at_once(set_default_class(first, classes), classes)
        cluster.storage.put_object(Claim.from_json(claim))
        if volume is not None:
            cluster.storage.put_object(PersistentVolume.from_json(volume))
    names = dict(generated.existing_names)
    for entry, raw in generated.resource_claims.items():
        names[entry] = known_claims.complete_name(pod, raw)
        metadata = {**raw["metadata"], "name": names[entry]}
        cluster.devices.put_claim(ResourceClaim.from_json({**raw, "metadata": metadata}))
        claims.drop_local_changes(pod.namespace, names[entry])
    if not names:
        return pod, generated.problems
    status = {**get_mapping(pod.raw, "status"), "resourceClaimStatuses": list_claim_statuses(pod, names)}
    entries = read_pod_claims(get_mapping(pod.raw, "spec"), status)
    return replace(pod, raw={**pod.raw, "status": status}, resource_claims=entries), generated.problems


def keep_claims(old: Pod, new: Pod) -> Pod:
    """Return a newer form of the pod with the claims in its old status, which nobody else writes."""
    if new.resource_claims == old.resource_claims or not needs_claims(old):
        return new
    statuses = get_objects(get_mapping(old.raw, "status"), "resourceClaimStatuses", "status.")
    status = {**get_mapping(new.raw, "status"), "resourceClaimStatuses": statuses}
    return replace(new, raw={**new.raw, "status": status}, resource_claims=old.resource_claims)


def delete_claims(pod: Pod, cluster: ClusterObjects, claims: ClaimUse) -> None:
    """Delete the claims of a pod that is gone and no longer on its node from a simulated cluster."""
    storage = cluster.storage
    for volume in pod.volumes:
        claim = storage.claims.get((pod.namespace, volume.claim or "")) if volume.ephemeral else None
        if claim is None or claim.controller_uid != pod.uid:
            continue
        storage.drop_object(claim)
        if (persistent := storage.volumes.get(claim.volume)) is None:
            continue
        # A volume without a raw object was provisioned here, and its class deletes it.
        raw = cluster.get("PersistentVolume", "", persistent.name)
        if raw is None or get_mapping(raw, "spec").get("persistentVolumeReclaimPolicy") == "Delete":
            storage.drop_object(persistent)
        else:
            storage.put_object(replace(persistent, phase=RELEASED))
    for item in pod.resource_claims:
        resource_claim = claims.get(pod.namespace, item.claim) if item.generated and item.claim is not None else None
        if resource_claim is not None and resource_claim.made_for(pod.uid):
            cluster.devices.drop_claim(resource_claim.namespace, resource_claim.name)
            claims.drop_local_changes(resource_claim.namespace, resource_claim.name)


class _SimulatedClaims:
    """The claims of a simulated cluster; those that are created there have no raw objects."""

    def __init__(self, cluster: ClusterObjects, claims: ClaimUse) -> None:
        self._cluster, self._claims = cluster, claims

    def find_controller(self, kind: str, namespace: str, name: str, /) -> str | None:
        if kind == VOLUME_CLAIM:
            claim = self._cluster.storage.claims.get((namespace, name))
            return None if claim is None else claim.controller_uid or ""
        resource_claim = self._claims.get(namespace, name)
        if resource_claim is None:
            return None
        return resource_claim.owners[0][1] if resource_claim.owners else ""

    def find_generated(self, pod: Pod, entry: str, /) -> str | None:
        """Return ``None``: claims are created here together with the pod's status."""
        return None

    def find_template(self, namespace: str, name: str, /) -> Json | None:
        template = self._cluster.get(TEMPLATE, namespace, name)
        # Objects of scenarios may leave the namespace out.
        return self._cluster.get(TEMPLATE, "", name) if template is None and namespace == "default" else template

    def complete_name(self, pod: Pod, raw: Json) -> str:
        """Return a name that no claim has, as the API server draws its end."""
        base = raw["metadata"]["generateName"]
        names = (f"{base}{draw_letters(f'{pod.key}/{base}/{number}', 5)}" for number in itertools.count())
        return next(name for name in names if self._claims.get(pod.namespace, name) is None)


def _owner_reference(pod: Pod) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}


def _copied_metadata(template: Json) -> Json:
    """Return the labels and annotations of a template."""
    metadata = get_mapping(template, "metadata")
    copied = {key: get_string_map(metadata, key, "metadata.") for key in ("labels", "annotations")}
    return {key: dict(value) for key, value in copied.items() if value}


def _is_default(storage_class: Json) -> bool:
    annotations = get_string_map(get_mapping(storage_class, "metadata"), "annotations", "metadata.")
    return any(annotations.get(key) == "true" for key in DEFAULT_CLASS)
