"""Settle the claims of a cluster at the beginning of a scenario, which has not all recorded pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedweb.engine.controllers.claims import POD_CLAIM_NAME, RESOURCE_API, RESOURCE_CLAIM, TEMPLATE, VOLUME_CLAIM
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects
from kschedweb.engine.studies.prepare.manifests import namespace_and_name

OtherObjects = dict[tuple[str, str, str], Json]  # by kind, namespace and name


def settle_claims(other_objects: OtherObjects, pods: Iterable[Json]) -> None:
    """Change claims as the garbage collector and the resource-claim controller do once only ``pods`` exist.

    Claims of pods that do not exist are deleted, and devices that are reserved only for such pods become free.
    """
    pods = list(pods)
    _restore_templates(other_objects, pods)
    uids = {_pod_uid(pod) for pod in pods}
    released = set()
    for key, raw in list(other_objects.items()):
        # Claims that a pod owns are those of generic ephemeral volumes and of claim templates.
        owner = _owning_pod(raw) if key[0] in (VOLUME_CLAIM, RESOURCE_CLAIM) else None
        if owner is not None and owner.get("uid") not in uids:
            del other_objects[key]
            released.add(str(get_mapping(raw, "spec").get("volumeName") or ""))
        elif key[0] == RESOURCE_CLAIM:
            other_objects[key] = _without_reservations(raw, uids)
    _remove_volumes(other_objects, released - {""})


def _pod_uid(pod: Json) -> str:
    return str(pod["metadata"].get("uid") or "/".join(namespace_and_name(pod)))


def _owning_pod(claim: Json) -> Json | None:
    """Return the owner reference of the pod for which the claim was made, if any."""
    try:
        owners = get_objects(get_mapping(claim, "metadata"), "ownerReferences", "metadata.")
    except ObjectError:
        return None  # Whoever parses the claim reports the error with its name.
    return next((owner for owner in owners if owner.get("controller") and owner.get("kind") == "Pod"), None)


def _remove_volumes(other_objects: OtherObjects, names: set[str]) -> None:
    """Detach the volumes of deleted claims, and delete those that are not retained."""
    for name in names:
        volume = other_objects.get(("PersistentVolume", "", name))
        if volume is not None and get_mapping(volume, "spec").get("persistentVolumeReclaimPolicy") == "Delete":
            del other_objects["PersistentVolume", "", name]
    for key, raw in list(other_objects.items()) if names else ():
        source = get_mapping(get_mapping(raw, "spec"), "source", "spec.") if key[0] == "VolumeAttachment" else {}
        if source.get("persistentVolumeName") in names:
            del other_objects[key]


def _without_reservations(claim: Json, uids: set[str]) -> Json:
    """Return the claim without reservations for pods that do not exist, and deallocated if there are no others."""
    try:
        status = get_mapping(claim, "status")
        reserved = get_objects(status, "reservedFor", "status.")
    except ObjectError:
        return claim  # Whoever parses the claim reports the error with its name.
    remaining = [consumer for consumer in reserved if consumer.get("resource") != "pods" or consumer.get("uid") in uids]
    if len(remaining) == len(reserved):
        return claim
    if remaining:
        return {**claim, "status": {**status, "reservedFor": remaining}}
    allocation_fields = ("reservedFor", "allocation", "devices")
    return {**claim, "status": {key: value for key, value in status.items() if key not in allocation_fields}}


def _restore_templates(other_objects: OtherObjects, pods: list[Json]) -> None:
    """Add templates that were not recorded, with the specs of claims that were made from them."""
    entries = {(*namespace_and_name(pod), entry): template for pod in pods for entry, template in _claim_templates(pod)}
    if not entries:
        return
    for (kind, namespace, _), raw in list(other_objects.items()):
        owner = _owning_pod(raw) if kind == RESOURCE_CLAIM else None
        if owner is None:
            continue
        entry = get_mapping(get_mapping(raw, "metadata"), "annotations", "metadata.").get(POD_CLAIM_NAME)
        name = entries.get((namespace or "default", str(owner.get("name")), str(entry)))
        if name is None or ((TEMPLATE, namespace, name) in other_objects):
            continue
        other_objects[TEMPLATE, namespace, name] = {
            "apiVersion": RESOURCE_API,
            "kind": TEMPLATE,
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "spec": {"spec": get_mapping(raw, "spec")},
        }


def _claim_templates(pod: Json) -> Iterator[tuple[str, str]]:
    """Yield the names of the pod's claims that come from templates, with the names of the templates."""
    for entry in get_objects(get_mapping(pod, "spec"), "resourceClaims", "spec."):
        if entry.get("resourceClaimTemplateName"):
            yield str(entry.get("name")), str(entry["resourceClaimTemplateName"])
