"""Prepare a pod's binding in the cluster: its claims get their volumes and devices.

kube-scheduler does this in PreBind of VolumeBinding and DynamicResources; the messages are its own. PostFilter of
DynamicResources takes devices from a claim that is in the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from kschedweb.clusters.connecting.client import MERGE, STRATEGIC, ClusterError
from kschedweb.clusters.following.facts import NamedObject
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.engine.framework.preparation import (
    AllocateClaim,
    FreeClaim,
    MakeClaim,
    Preparation,
    ReserveClaim,
    SelectNode,
    TakeVolume,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resourceclaim import (
    DELETE_PROTECTION,
    EXTENDED_RESOURCE_CLAIM,
    BindingState,
    ResourceClaim,
)
from kschedweb.live.schedulers.writing.writer import (
    MISSING,
    WITHHELD,
    WRITTEN,
    WriteCode,
    Writer,
    WriteResult,
    pod_path,
)

# VolumeBinding's default bindTimeoutSeconds.
BIND_SECONDS = 600.0
# Seconds between two reads of claims that are not bound yet.
LOOK_SECONDS = 0.5
# Annotations by which scheduler, provisioner and volume controller work together.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED, BY_CONTROLLER = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"
VOLUMES, DEVICES = "VolumeBinding", "DynamicResources"
# Writes to a claim that exists already.
ClaimWrite = SelectNode | TakeVolume | ReserveClaim | AllocateClaim


class Stop(Protocol):
    def wait(self, timeout: float) -> bool: ...


class Preparer:
    """Prepares bindings.

    It blocks until all has taken effect, ``seconds`` have passed, or it is to stop or not leading.
    """

    def __init__(self, writer: Writer, leads: Callable[[], bool], stop: Stop, *, seconds: float = BIND_SECONDS) -> None:
        self._writer, self._leads, self._stop, self._seconds = writer, leads, stop, seconds

    def prepare(self, pod: NamedObject, preparations: Sequence[Preparation]) -> WriteResult:
        """Write the preparations and wait for them.

        Return done, withheld, or a refusal with PreBind's error as text.
        """
        try:
            writes: list[ClaimWrite] = []
            current_write: ClaimWrite
            for preparation in preparations:
                if isinstance(preparation, MakeClaim):
                    outcome, current_write = self._make_claim(pod, preparation)
                else:
                    outcome, current_write = self._write_preparation(pod, preparation), preparation
                if not outcome.is_done:
                    return (
                        outcome if outcome.result is WriteCode.WITHHELD else _prebind_failure(preparation, outcome.text)
                    )
                writes.append(current_write)
            return self._wait_until_bound(pod, [claim_write for claim_write in writes if _must_wait(claim_write)])
        except ClusterError as error:
            return _prebind_failure(preparations[0], error.detail)

    def free(self, pod: NamedObject, claim: FreeClaim) -> WriteResult:
        """Take the devices of a claim that only ``pod`` uses, as DynamicResources does in PostFilter."""
        path = BY_NAME["ResourceClaim"].object_path(claim.namespace, claim.claim)
        try:
            # A claim for extended resources exists for one pod only: without its devices it is useless.
            if claim.is_generated:
                return self._delete_claim(path)
            stored_claim = self._read_object(path)
        except ClusterError as error:
            return WriteResult(WriteCode.REFUSED, error.detail)
        status = (stored_claim or {}).get("status") or {}
        if stored_claim is None or not status.get("allocation"):
            return WRITTEN
        if any(user.get("uid") != pod.uid for user in status.get("reservedFor") or []):
            return WriteResult(WriteCode.CONFLICT, "it is reserved for another pod by now")
        # The server refuses the patch if anybody reserved the claim in between.
        version = {"resourceVersion": stored_claim["metadata"]["resourceVersion"]}
        nothing = {"allocation": None, "reservedFor": None, "devices": None}
        return self._patch_object(
            f"{path}/status", {"metadata": version, "status": nothing}, stored_claim["metadata"]["uid"]
        )

    # Writing.

    def _write_preparation(self, pod: NamedObject, preparation: ClaimWrite) -> WriteResult:
        match preparation:
            case SelectNode():
                return self._patch_object(
                    _claim_path(preparation),
                    {"metadata": {"annotations": {SELECTED_NODE: preparation.node}}},
                    preparation.uid,
                )
            case TakeVolume():
                return self._take_volume(preparation)
            case ReserveClaim() | AllocateClaim():
                return self._reserve_claim(pod, preparation)

    def _take_volume(self, preparation: TakeVolume) -> WriteResult:
        path = BY_NAME["PersistentVolume"].object_path("", preparation.volume)
        volume = self._read_object(path)
        if volume is None:
            return WriteResult(WriteCode.MISSING, f'persistentvolume "{preparation.volume}" not found')
        claim_ref = volume["spec"].get("claimRef")
        if claim_ref and (claim_ref.get("namespace"), claim_ref.get("name")) != (
            preparation.namespace,
            preparation.claim,
        ):
            return WriteResult(
                WriteCode.CONFLICT, f'persistentvolume "{preparation.volume}" was taken by another claim'
            )
        claim: Json = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": preparation.uid}
        claim |= {"namespace": preparation.namespace, "name": preparation.claim}
        # The resource version ensures that nobody took the volume in between.
        metadata: Json = {"resourceVersion": volume["metadata"]["resourceVersion"]}
        if not claim_ref:
            # Without this annotation a volume counts as reserved by a person, and stays reserved when the claim is
            # gone.
            metadata["annotations"] = {BY_CONTROLLER: "yes"}
        return self._patch_object(path, {"metadata": metadata, "spec": {"claimRef": claim}}, volume["metadata"]["uid"])

    def _reserve_claim(self, pod: NamedObject, preparation: ReserveClaim | AllocateClaim) -> WriteResult:
        path = BY_NAME["ResourceClaim"].object_path(preparation.namespace, preparation.claim)
        stored_claim = self._read_object(path)
        key = f"{preparation.namespace}/{preparation.claim}"
        if stored_claim is None:
            return WriteResult(WriteCode.MISSING, f'resourceclaim "{key}" not found')
        status = stored_claim.get("status") or {}
        reserved: list[Json] = status.get("reservedFor") or []
        if any(user.get("uid") == pod.uid for user in reserved):
            return WRITTEN
        change: Json = {"reservedFor": [*reserved, {"resource": "pods", "name": pod.name, "uid": pod.uid}]}
        if isinstance(preparation, AllocateClaim):
            if status.get("allocation"):
                return WriteResult(WriteCode.CONFLICT, f"claim {key} got allocated elsewhere in the meantime")
            # The finalizer must be there before the allocation, or a deletion in between would leak the devices.
            protected = self._protect_claim(path, stored_claim)
            if not protected.is_done:
                return protected
            stored_claim = self._read_object(path) or stored_claim
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            change["allocation"] = preparation.allocation | {"allocationTimestamp": now}
        elif not status.get("allocation"):
            return WriteResult(WriteCode.CONFLICT, f"resourceclaim {key} has no devices any more")
        version = {"resourceVersion": stored_claim["metadata"]["resourceVersion"]}
        return self._patch_object(
            f"{path}/status", {"metadata": version, "status": change}, stored_claim["metadata"]["uid"]
        )

    def _make_claim(self, pod: NamedObject, preparation: MakeClaim) -> tuple[WriteResult, AllocateClaim]:
        """Create the claim for extended resources, write its devices, and name it in the pod's status."""
        path, _, _ = BY_NAME["ResourceClaim"].object_path(preparation.namespace, "-").rpartition("/")
        outcome, claim = self._writer.make_object(path, _for_extended_resources(pod, preparation))
        name = claim["metadata"]["name"] if outcome.is_done else ""
        allocation_write = AllocateClaim(preparation.namespace, name, preparation.allocation, preparation.waits)
        if not outcome.is_done:
            return outcome, allocation_write
        outcome = self._reserve_claim(pod, allocation_write)
        if outcome.is_done:
            claim_status = {"requestMappings": list(preparation.mappings), "resourceClaimName": name}
            status = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": claim_status}}
            outcome = self._writer.persist("PATCH", f"{pod_path(pod)}/status", status, STRATEGIC)
        # A claim that its pod does not name would keep the devices for nobody.
        if not outcome.is_done:
            self._delete_claim(f"{path}/{name}")
        return outcome, allocation_write

    def _delete_claim(self, path: str) -> WriteResult:
        """Delete a claim that was made for extended resources, with or without devices."""
        stored_claim = self._read_object(path)
        if stored_claim is None:
            return WRITTEN
        uid, finalizers = stored_claim["metadata"]["uid"], stored_claim["metadata"].get("finalizers") or []
        outcome = WRITTEN
        if DELETE_PROTECTION in finalizers:
            remaining = [finalizer for finalizer in finalizers if finalizer != DELETE_PROTECTION]
            outcome = self._patch_object(path, {"metadata": {"finalizers": remaining}}, uid)
        if outcome.is_done:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
            outcome = self._writer.persist("DELETE", path, options)
        return WRITTEN if outcome.result is WriteCode.MISSING else outcome

    def _protect_claim(self, path: str, stored_claim: Json) -> WriteResult:
        """Add the finalizer that keeps a claim from being deleted while it has devices."""
        metadata = stored_claim["metadata"]
        finalizers = metadata.get("finalizers") or []
        if DELETE_PROTECTION in finalizers:
            return WRITTEN
        version = {
            "resourceVersion": metadata["resourceVersion"],
            "finalizers": [*finalizers, DELETE_PROTECTION],
        }
        return self._patch_object(path, {"metadata": version}, metadata["uid"])

    def _patch_object(self, path: str, patch: Json, uid: str) -> WriteResult:
        metadata = {"uid": uid, **patch["metadata"]} if uid else patch["metadata"]
        return self._writer.persist("PATCH", path, {**patch, "metadata": metadata}, MERGE)

    def _read_object(self, path: str) -> Json | None:
        answer = self._writer.read_object(path)
        if answer.code == MISSING:
            return None
        raw = answer.json()
        if answer.code != 200 or not isinstance(raw, dict):
            raise ClusterError("The API server did not say what stands there.", code=answer.code)
        return raw

    # Waiting.

    def _wait_until_bound(self, pod: NamedObject, writes: Sequence[ClaimWrite]) -> WriteResult:
        """Wait until controllers and provisioners have bound the claims."""
        deadline = time.monotonic() + self._seconds
        waiting = list(writes)
        while True:
            for claim_write in list(waiting):
                why = self._check_claim(claim_write)
                if why:
                    return _prebind_failure(claim_write, why)
                if why is None:
                    waiting.remove(claim_write)
            if not waiting:
                return WRITTEN
            if not self._leads():
                return WITHHELD
            if time.monotonic() > deadline:
                return _prebind_failure(waiting[0], "context deadline exceeded")
            if self._read_object(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}") is None:
                return _prebind_failure(waiting[0], f'pod does not exist any more: pod "{pod.name}" not found')
            if self._stop.wait(LOOK_SECONDS):
                return WITHHELD

    def _check_claim(self, claim_write: ClaimWrite) -> str | None:
        """Return None if the claim is bound, "" if it is not bound yet, else why it never will be."""
        if isinstance(claim_write, AllocateClaim):
            return self._check_devices(claim_write)
        stored_claim = self._read_object(_claim_path(claim_write))
        if stored_claim is None:
            return f'persistentvolumeclaim "{claim_write.claim}" not found'
        annotations = stored_claim["metadata"].get("annotations") or {}
        if stored_claim["spec"].get("volumeName") and BIND_COMPLETED in annotations:
            return None
        if isinstance(claim_write, SelectNode) and annotations.get(SELECTED_NODE) != claim_write.node:
            # The provisioner gave the node up by removing the annotation.
            return f'provisioning failed for PVC "{claim_write.claim}"'
        return ""

    def _check_devices(self, claim_write: AllocateClaim) -> str | None:
        """Return the same for a claim whose devices have binding conditions."""
        stored_claim = self._read_object(BY_NAME["ResourceClaim"].object_path(claim_write.namespace, claim_write.claim))
        allocation = None if stored_claim is None else ResourceClaim.from_json(stored_claim).allocation
        if allocation is None:
            return f"claim {claim_write.namespace}/{claim_write.claim} got deallocated elsewhere in the meantime"
        if allocation.binding is BindingState.FAILED:
            return f"device binding failed: claim={claim_write.claim}"
        return None if allocation.binding is BindingState.READY else ""


def _for_extended_resources(pod: NamedObject, preparation: MakeClaim) -> Json:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "generateName": f"{pod.name}-extended-resources-",
        "namespace": preparation.namespace,
        "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    spec = {"devices": {"requests": list(preparation.requests)}}
    kind = BY_NAME["ResourceClaim"]
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}


def _must_wait(claim_write: ClaimWrite) -> bool:
    """Return whether other controllers have to act before the write takes effect."""
    return claim_write.waits if isinstance(claim_write, AllocateClaim) else not isinstance(claim_write, ReserveClaim)


def _claim_path(claim_write: ClaimWrite) -> str:
    return BY_NAME["PersistentVolumeClaim"].object_path(claim_write.namespace, claim_write.claim)


def _prebind_failure(preparation: Preparation, why: str) -> WriteResult:
    plugin = DEVICES if isinstance(preparation, ReserveClaim | AllocateClaim | MakeClaim) else VOLUMES
    doing = "reserving claims" if plugin == DEVICES else "binding volumes"
    return WriteResult(WriteCode.REFUSED, f'running PreBind plugin "{plugin}": {doing}: {why}')
