"""Claims and volumes: the volume controller, and a provisioner that creates what claims ask for."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.quantity import parse_quantity
from kschedweb.engine.sandbox.resources import NODE
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM, STORAGE_CLASS, VOLUME

# Annotations that kube-scheduler and the volume controller use.
SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED, BY_CONTROLLER = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"
COMPONENT = "persistentvolume-controller"


class PersistentVolumeController:
    """Binds claims to volumes. Keys of claims have a namespace, those of volumes none."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is CLAIM:
            yield change.key
            volume = change.last["spec"].get("volumeName")
            if change.new is None and volume:
                yield "", volume
        elif change.resource is VOLUME:
            yield change.key
            claim = None if change.new is None else change.new["spec"].get("claimRef")
            if claim:
                yield claim.get("namespace") or "", claim.get("name") or ""
        elif change.resource is STORAGE_CLASS and change.old is None:
            for claim in self._context.store.all(CLAIM):
                yield claim["metadata"]["namespace"], claim["metadata"]["name"]

    def sync(self, key: Key) -> float | None:
        if not key[0]:
            volume = self._context.store.get(VOLUME, *key)
            if volume is not None:
                self._sync_volume(volume)
            return None
        claim = self._context.store.get(CLAIM, *key)
        if claim is not None and not claim["metadata"].get("deletionTimestamp"):
            self._sync_claim(claim)
        return None

    # Claims.

    def _sync_claim(self, claim: Json) -> None:
        store, spec = self._context.store, claim["spec"]
        if claim["status"].get("phase") == "Bound":
            return
        volume = (
            store.get(VOLUME, "", spec["volumeName"]) if spec.get("volumeName") else self._find_reserved_volume(claim)
        )
        if volume is None and not spec.get("volumeName"):
            volume = self._find_or_provision(claim)
        if volume is not None:
            self._bind_volume(claim, volume)
        elif not claim["status"].get("phase"):
            self._context.objects.change_object(CLAIM, claim, status={**claim["status"], "phase": "Pending"})

    def _find_reserved_volume(self, claim: Json) -> Json | None:
        """Return the volume that the scheduler, or a person, has reserved for the claim."""
        metadata = claim["metadata"]
        mine = (metadata["namespace"], metadata["name"])
        for volume in self._context.store.all(VOLUME):
            claim_ref = volume["spec"].get("claimRef") or {}
            claim_key = (claim_ref.get("namespace"), claim_ref.get("name"))
            if claim_key == mine and claim_ref.get("uid") in (None, "", metadata["uid"]):
                return volume
        return None

    def _find_or_provision(self, claim: Json) -> Json | None:
        """Return a volume that is created for the claim, or one that fits if its class has no provisioner."""
        spec, store = claim["spec"], self._context.store
        name = spec.get("storageClassName") or ""
        storage_class = store.get(STORAGE_CLASS, "", name) if name else None
        if name and storage_class is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            self._context.recorder.record_event(
                CLAIM, claim, "ProvisioningFailed", message, component=COMPONENT, kind=WARNING
            )
            return None
        waits = storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED)
        if waits and not node:
            return None
        if storage_class is None or storage_class.get("provisioner") == "kubernetes.io/no-provisioner":
            return self._find_smallest_volume(claim) if not waits else None
        return self._provision_volume(claim, storage_class, node or "")

    def _find_smallest_volume(self, claim: Json) -> Json | None:
        """Return the smallest free volume of the claim's class that is large enough."""
        spec = claim["spec"]
        requested_size, modes = (
            _parse_storage(spec.get("resources", {}).get("requests") or {}),
            set(spec.get("accessModes") or ()),
        )
        fits = [
            volume
            for volume in self._context.store.all(VOLUME)
            if not volume["spec"].get("claimRef")
            and (volume["spec"].get("storageClassName") or "") == (spec.get("storageClassName") or "")
            and modes <= set(volume["spec"].get("accessModes") or ())
            and _parse_storage(volume["spec"].get("capacity") or {}) >= requested_size
        ]
        return min(fits, key=lambda volume: _parse_storage(volume["spec"].get("capacity") or {}), default=None)

    def _provision_volume(self, claim: Json, storage_class: Json, node: str) -> Json | None:
        metadata, spec = claim["metadata"], claim["spec"]
        name = f"pvc-{metadata['uid']}"
        raw: Json = {
            "metadata": {
                "name": name,
                "annotations": {"pv.kubernetes.io/provisioned-by": storage_class["provisioner"]},
            },
            "spec": {
                "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
                "capacity": {"storage": (spec.get("resources", {}).get("requests") or {}).get("storage", "1Gi")},
                "claimRef": _claim_reference(claim),
                "csi": {"driver": storage_class["provisioner"], "volumeHandle": name},
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "storageClassName": storage_class["metadata"]["name"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
            },
        }
        on = self._context.store.get(NODE, "", node)
        # A volume stays in the zone of the node that was chosen for its first pod.
        zone = None if on is None else (on["metadata"].get("labels") or {}).get(ZONE)
        if zone:
            expression = {"key": ZONE, "operator": "In", "values": [zone]}
            raw["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        try:
            volume = self._context.objects.create_object(VOLUME, "", raw)
        except ApiRefusal:
            # An earlier try created the volume, and ended before it was bound.
            return self._context.store.get(VOLUME, "", name)
        message = f"Successfully provisioned volume {name}"
        self._context.recorder.record_event(
            CLAIM, claim, "ProvisioningSucceeded", message, component=storage_class["provisioner"]
        )
        return volume

    def _bind_volume(self, claim: Json, volume: Json) -> None:
        """Bind the volume first, then the claim: after a restart in between one leads to the other."""
        context, claim_ref = self._context, volume["spec"].get("claimRef") or {}
        if claim_ref.get("uid") not in (None, "", claim["metadata"]["uid"]):
            return
        marked = volume["metadata"]
        if not claim_ref:
            marked = {**marked, "annotations": {**(marked.get("annotations") or {}), BY_CONTROLLER: "yes"}}
        spec = {**volume["spec"], "claimRef": {**_claim_reference(claim), **claim_ref, "uid": claim["metadata"]["uid"]}}
        volume = context.objects.change_object(VOLUME, volume, metadata=marked, spec=spec, status={"phase": "Bound"})
        claim = context.store.get(CLAIM, claim["metadata"]["namespace"], claim["metadata"]["name"]) or claim
        annotations = {COMPLETED: "yes"} | ({} if claim["spec"].get("volumeName") else {BY_CONTROLLER: "yes"})
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"].get("accessModes") or [],
            "capacity": volume["spec"].get("capacity") or {},
        }
        bound = {**claim["spec"], "volumeName": volume["metadata"]["name"]}
        context.annotate(CLAIM, claim, annotations=annotations, spec=bound, status=status)

    # Volumes.

    def _sync_volume(self, volume: Json) -> None:
        """Release or delete a volume whose claim is gone."""
        claim_ref = volume["spec"].get("claimRef") or {}
        claim = self._context.store.get(CLAIM, claim_ref.get("namespace") or "", claim_ref.get("name") or "")
        phase = (volume.get("status") or {}).get("phase")
        if not claim_ref:
            if phase != "Available":
                self._context.objects.change_object(VOLUME, volume, status={"phase": "Available"})
        elif claim_ref.get("uid") and (claim is None or claim["metadata"]["uid"] != claim_ref["uid"]):
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                self._context.delete_object(VOLUME, volume)
            elif phase != "Released":
                self._context.objects.change_object(VOLUME, volume, status={"phase": "Released"})


def _claim_reference(claim: Json) -> Json:
    metadata = claim["metadata"]
    identity = {key: metadata[key] for key in ("namespace", "name", "uid")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **identity}


def _parse_storage(listed: Json) -> int:
    return parse_quantity(str(listed.get("storage", "0")))
