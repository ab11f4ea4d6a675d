"""Claims of a cluster at the beginning of a scenario, whose pods are not all those that were recorded with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedweb.engine.controllers.claims import POD_CLAIM_NAME, RESOURCE_API, RESOURCE_CLAIM, TEMPLATE, VOLUME_CLAIM
from kschedweb.engine.objects.access import Json, mapping, objects
from kschedweb.engine.studies.prepare.manifests import named

Others = dict[tuple[str, str, str], Json]  # by kind, namespace and name


def settle_claims(others: Others, pods: Iterable[Json]) -> None:
    """Let the garbage collector and the resource-claim controller do what they do once only ``pods`` are there.

    Claims of pods that are gone go, and devices that are reserved for none that is left are free.
    """
    pods = list(pods)
    _restore_templates(others, pods)
    uids = {_uid(pod) for pod in pods}
    released = set()
    for key, raw in list(others.items()):
        owner = _owning_pod(raw) if key[0] in (VOLUME_CLAIM, RESOURCE_CLAIM) else None
        if owner is not None and owner.get("uid") not in uids:
            del others[key]
            released.add(str(mapping(raw, "spec").get("volumeName") or ""))
        elif key[0] == RESOURCE_CLAIM:
            others[key] = _without_reservations(raw, uids)
    _remove_volumes(others, released - {""})


def _uid(pod: Json) -> str:
    return str(pod["metadata"].get("uid") or "/".join(named(pod)))


def _owning_pod(claim: Json) -> Json | None:
    """The owner reference of the pod for which the claim was made."""
    owners = objects(mapping(claim, "metadata"), "ownerReferences", "metadata.")
    return next((one for one in owners if one.get("controller") and one.get("kind") == "Pod"), None)


def _remove_volumes(others: Others, names: set[str]) -> None:
    """Detach the volumes of claims that are gone, and delete those that are not retained."""
    for name in names:
        volume = others.get(("PersistentVolume", "", name))
        if volume is not None and mapping(volume, "spec").get("persistentVolumeReclaimPolicy") == "Delete":
            del others["PersistentVolume", "", name]
    for key, raw in list(others.items()) if names else ():
        source = mapping(mapping(raw, "spec"), "source", "spec.") if key[0] == "VolumeAttachment" else {}
        if source.get("persistentVolumeName") in names:
            del others[key]


def _without_reservations(claim: Json, uids: set[str]) -> Json:
    """Return the claim as the controller leaves it: not reserved for pods that are gone; free if that were all."""
    status = mapping(claim, "status")
    reserved = objects(status, "reservedFor", "status.")
    left = [one for one in reserved if one.get("resource") != "pods" or one.get("uid") in uids]
    if len(left) == len(reserved):
        return claim
    if left:
        return {**claim, "status": {**status, "reservedFor": left}}
    gone = ("reservedFor", "allocation", "devices")
    return {**claim, "status": {key: value for key, value in status.items() if key not in gone}}


def _restore_templates(others: Others, pods: list[Json]) -> None:
    """Add templates that were not recorded, from claims that were made of them: their specs are equal."""
    entries = {(*named(pod), entry): template for pod in pods for entry, template in _templates(pod)}
    if not entries:
        return
    for (kind, namespace, _), raw in list(others.items()):
        owner = _owning_pod(raw) if kind == RESOURCE_CLAIM else None
        if owner is None:
            continue
        entry = mapping(mapping(raw, "metadata"), "annotations", "metadata.").get(POD_CLAIM_NAME)
        name = entries.get((namespace or "default", str(owner.get("name")), str(entry)))
        if name is None or ((TEMPLATE, namespace, name) in others):
            continue
        others[TEMPLATE, namespace, name] = {
            "apiVersion": RESOURCE_API,
            "kind": TEMPLATE,
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "spec": {"spec": mapping(raw, "spec")},
        }


def _templates(pod: Json) -> Iterator[tuple[str, str]]:
    """The pod's entries of resource claims that are made from templates, with the templates' names."""
    for entry in objects(mapping(pod, "spec"), "resourceClaims", "spec."):
        if entry.get("resourceClaimTemplateName"):
            yield str(entry.get("name")), str(entry["resourceClaimTemplateName"])
