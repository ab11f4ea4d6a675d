"""Claims and volumes: the volume controller, and a provisioner that makes what claims ask for."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.quantity import parse
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.resources import NODE
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import CLAIM, STORAGE_CLASS, VOLUME

SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED, BY_CONTROLLER = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"
BY = "persistentvolume-controller"


class Volumes:
    """Keys of claims have a namespace, those of volumes none."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def heard(self, change: Change) -> Iterable[Key]:
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
                self._volume(volume)
            return None
        claim = self._context.store.get(CLAIM, *key)
        if claim is not None and not claim["metadata"].get("deletionTimestamp"):
            self._claim(claim)
        return None

    # Claims.

    def _claim(self, claim: Json) -> None:
        store, spec = self._context.store, claim["spec"]
        if claim["status"].get("phase") == "Bound":
            return
        volume = store.get(VOLUME, "", spec["volumeName"]) if spec.get("volumeName") else self._reserved(claim)
        if volume is None and not spec.get("volumeName"):
            volume = self._provided(claim)
        if volume is not None:
            self._bind(claim, volume)
        elif not claim["status"].get("phase"):
            self._context.objects.change(CLAIM, claim, status={**claim["status"], "phase": "Pending"})

    def _reserved(self, claim: Json) -> Json | None:
        """The volume that the scheduler, or a person, has taken for the claim."""
        metadata = claim["metadata"]
        mine = (metadata["namespace"], metadata["name"])
        for volume in self._context.store.all(VOLUME):
            wanted = volume["spec"].get("claimRef") or {}
            named = (wanted.get("namespace"), wanted.get("name"))
            if named == mine and wanted.get("uid") in (None, "", metadata["uid"]):
                return volume
        return None

    def _provided(self, claim: Json) -> Json | None:
        """A volume that is made for the claim, or that fits one of a class which nobody provides."""
        spec, store = claim["spec"], self._context.store
        name = spec.get("storageClassName") or ""
        found = store.get(STORAGE_CLASS, "", name) if name else None
        if name and found is None:
            said = f'storageclass.storage.k8s.io "{name}" not found'
            self._context.recorder.say(CLAIM, claim, "ProvisioningFailed", said, by=BY, kind=WARNING)
            return None
        waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED)
        if waits and not node:
            return None
        if found is None or found.get("provisioner") == "kubernetes.io/no-provisioner":
            return self._smallest(claim) if not waits else None
        return self._provision(claim, found, node or "")

    def _smallest(self, claim: Json) -> Json | None:
        """The smallest free volume of the claim's class that is large enough."""
        spec = claim["spec"]
        wanted, modes = _size(spec.get("resources", {}).get("requests") or {}), set(spec.get("accessModes") or ())
        fits = [
            volume
            for volume in self._context.store.all(VOLUME)
            if not volume["spec"].get("claimRef")
            and (volume["spec"].get("storageClassName") or "") == (spec.get("storageClassName") or "")
            and modes <= set(volume["spec"].get("accessModes") or ())
            and _size(volume["spec"].get("capacity") or {}) >= wanted
        ]
        return min(fits, key=lambda volume: _size(volume["spec"].get("capacity") or {}), default=None)

    def _provision(self, claim: Json, found: Json, node: str) -> Json | None:
        metadata, spec = claim["metadata"], claim["spec"]
        name = f"pvc-{metadata['uid']}"
        raw: Json = {
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": found["provisioner"]}},
            "spec": {
                "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
                "capacity": {"storage": (spec.get("resources", {}).get("requests") or {}).get("storage", "1Gi")},
                "claimRef": _reference(claim),
                "csi": {"driver": found["provisioner"], "volumeHandle": name},
                "persistentVolumeReclaimPolicy": found.get("reclaimPolicy", "Delete"),
                "storageClassName": found["metadata"]["name"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
            },
        }
        on = self._context.store.get(NODE, "", node)
        zone = None if on is None else (on["metadata"].get("labels") or {}).get(ZONE)
        if zone:
            expression = {"key": ZONE, "operator": "In", "values": [zone]}
            raw["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        try:
            made = self._context.objects.create(VOLUME, "", raw)
        except Refusal:
            return self._context.store.get(VOLUME, "", name)
        said = f"Successfully provisioned volume {name}"
        self._context.recorder.say(CLAIM, claim, "ProvisioningSucceeded", said, by=found["provisioner"])
        return made

    def _bind(self, claim: Json, volume: Json) -> None:
        """The volume first, then the claim: who restarts in between finds the one by the other."""
        context, taken = self._context, volume["spec"].get("claimRef") or {}
        if taken.get("uid") not in (None, "", claim["metadata"]["uid"]):
            return
        marked = volume["metadata"]
        if not taken:
            marked = {**marked, "annotations": {**(marked.get("annotations") or {}), BY_CONTROLLER: "yes"}}
        spec = {**volume["spec"], "claimRef": {**_reference(claim), **taken, "uid": claim["metadata"]["uid"]}}
        volume = context.objects.change(VOLUME, volume, metadata=marked, spec=spec, status={"phase": "Bound"})
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

    def _volume(self, volume: Json) -> None:
        """A volume whose claim is gone is released, or goes too."""
        taken = volume["spec"].get("claimRef") or {}
        claim = self._context.store.get(CLAIM, taken.get("namespace") or "", taken.get("name") or "")
        phase = (volume.get("status") or {}).get("phase")
        if not taken:
            if phase != "Available":
                self._context.objects.change(VOLUME, volume, status={"phase": "Available"})
        elif taken.get("uid") and (claim is None or claim["metadata"]["uid"] != taken["uid"]):
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                self._context.delete(VOLUME, volume)
            elif phase != "Released":
                self._context.objects.change(VOLUME, volume, status={"phase": "Released"})


def _reference(claim: Json) -> Json:
    metadata = claim["metadata"]
    named = {key: metadata[key] for key in ("namespace", "name", "uid")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **named}


def _size(listed: Json) -> int:
    return parse(str(listed.get("storage", "0")))
