"""Prepares a pod's binding in the cluster: its claims get their volumes and devices.

kube-scheduler does this in PreBind of VolumeBinding and DynamicResources; the messages are its own. In PostFilter of
DynamicResources a claim loses devices that are in the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from kschedweb.clusters.connecting.client import MERGE, STRATEGIC, ClusterError
from kschedweb.clusters.following.facts import Json, Named
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
from kschedweb.engine.objects.resourceclaim import (
    DELETE_PROTECTION,
    EXTENDED_RESOURCE_CLAIM,
    BindingState,
    ResourceClaim,
)
from kschedweb.live.schedulers.writing.writer import DONE, MISSING, WITHHELD, WriteCode, Writer, WriteResult, pod_path

BIND_SECONDS = 600.0  # VolumeBinding's bindTimeoutSeconds
LOOK_SECONDS = 0.5  # between two looks whether claims are bound
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED, BY_CONTROLLER = "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"
VOLUMES, DEVICES = "VolumeBinding", "DynamicResources"
Written = SelectNode | TakeVolume | ReserveClaim | AllocateClaim  # what is written to a claim that is there


class Stop(Protocol):
    def wait(self, timeout: float) -> bool: ...


class Preparer:
    """Blocks until everything has taken effect, ``seconds`` have passed, ``stop`` is set, or ``leads`` says no."""

    def __init__(self, writer: Writer, leads: Callable[[], bool], stop: Stop, *, seconds: float = BIND_SECONDS) -> None:
        self._writer, self._leads, self._stop, self._seconds = writer, leads, stop, seconds

    def prepare(self, pod: Named, preparations: Sequence[Preparation]) -> WriteResult:
        """Done, withheld, or why the pod cannot be bound; the text is PreBind's error."""
        try:
            written: list[Written] = []
            known: Written
            for one in preparations:
                if isinstance(one, MakeClaim):
                    outcome, known = self._make(pod, one)
                else:
                    outcome, known = self._write(pod, one), one
                if not outcome.done:
                    return outcome if outcome.result is WriteCode.WITHHELD else _failed(one, outcome.text)
                written.append(known)
            return self._bound(pod, [one for one in written if _waits(one)])
        except ClusterError as error:
            return _failed(preparations[0], error.detail)

    def free(self, pod: Named, one: FreeClaim) -> WriteResult:
        """Take away the devices of a claim that only ``pod`` uses, as kube-scheduler's PostFilter does."""
        path = BY_NAME["ResourceClaim"].object_path(one.namespace, one.claim)
        try:
            if one.made:
                return self._delete(path)
            found = self._read(path)
        except ClusterError as error:
            return WriteResult(WriteCode.REFUSED, error.detail)
        status = (found or {}).get("status") or {}
        if found is None or not status.get("allocation"):
            return DONE
        if any(user.get("uid") != pod.uid for user in status.get("reservedFor") or []):
            return WriteResult(WriteCode.CONFLICT, "it is reserved for another pod by now")
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        nothing = {"allocation": None, "reservedFor": None, "devices": None}
        return self._change(f"{path}/status", {"metadata": version, "status": nothing}, found["metadata"]["uid"])

    # Writing.

    def _write(self, pod: Named, one: Written) -> WriteResult:
        match one:
            case SelectNode():
                return self._change(_claim_path(one), {"metadata": {"annotations": {SELECTED_NODE: one.node}}}, one.uid)
            case TakeVolume():
                return self._take(one)
            case ReserveClaim() | AllocateClaim():
                return self._reserve(pod, one)

    def _take(self, one: TakeVolume) -> WriteResult:
        path = BY_NAME["PersistentVolume"].object_path("", one.volume)
        found = self._read(path)
        if found is None:
            return WriteResult(WriteCode.MISSING, f'persistentvolume "{one.volume}" not found')
        taken = found["spec"].get("claimRef")
        if taken and (taken.get("namespace"), taken.get("name")) != (one.namespace, one.claim):
            return WriteResult(WriteCode.CONFLICT, f'persistentvolume "{one.volume}" was taken by another claim')
        claim: Json = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": one.uid}
        claim |= {"namespace": one.namespace, "name": one.claim}
        # The resource version makes sure that nobody took the volume in between.
        metadata: Json = {"resourceVersion": found["metadata"]["resourceVersion"]}
        if not taken:
            # A volume that a person reserved for the claim stays reserved when the claim is gone.
            metadata["annotations"] = {BY_CONTROLLER: "yes"}
        return self._change(path, {"metadata": metadata, "spec": {"claimRef": claim}}, found["metadata"]["uid"])

    def _reserve(self, pod: Named, one: ReserveClaim | AllocateClaim) -> WriteResult:
        path = BY_NAME["ResourceClaim"].object_path(one.namespace, one.claim)
        found = self._read(path)
        key = f"{one.namespace}/{one.claim}"
        if found is None:
            return WriteResult(WriteCode.MISSING, f'resourceclaim "{key}" not found')
        status = found.get("status") or {}
        reserved: list[Json] = status.get("reservedFor") or []
        if any(user.get("uid") == pod.uid for user in reserved):
            return DONE
        change: Json = {"reservedFor": [*reserved, {"resource": "pods", "name": pod.name, "uid": pod.uid}]}
        if isinstance(one, AllocateClaim):
            if status.get("allocation"):
                return WriteResult(WriteCode.CONFLICT, f"claim {key} got allocated elsewhere in the meantime")
            held = self._hold(path, found)
            if not held.done:
                return held
            found = self._read(path) or found
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            change["allocation"] = one.allocation | {"allocationTimestamp": now}
        elif not status.get("allocation"):
            return WriteResult(WriteCode.CONFLICT, f"resourceclaim {key} has no devices any more")
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        return self._change(f"{path}/status", {"metadata": version, "status": change}, found["metadata"]["uid"])

    def _make(self, pod: Named, one: MakeClaim) -> tuple[WriteResult, AllocateClaim]:
        """Make the claim for extended resources, write its devices, and name it in the pod's status."""
        path, _, _ = BY_NAME["ResourceClaim"].object_path(one.namespace, "-").rpartition("/")
        outcome, made = self._writer.make(path, _for_extended_resources(pod, one))
        name = made["metadata"]["name"] if outcome.done else ""
        known = AllocateClaim(one.namespace, name, one.allocation, one.waits)
        if not outcome.done:
            return outcome, known
        outcome = self._reserve(pod, known)
        if outcome.done:
            named = {"requestMappings": list(one.mappings), "resourceClaimName": name}
            status = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": named}}
            outcome = self._writer.persist("PATCH", f"{pod_path(pod)}/status", status, STRATEGIC)
        if not outcome.done:
            self._delete(f"{path}/{name}")
        return outcome, known

    def _delete(self, path: str) -> WriteResult:
        """Delete a claim that was made for extended resources, whether it has devices or not."""
        found = self._read(path)
        if found is None:
            return DONE
        uid, finalizers = found["metadata"]["uid"], found["metadata"].get("finalizers") or []
        outcome = DONE
        if DELETE_PROTECTION in finalizers:
            left = [one for one in finalizers if one != DELETE_PROTECTION]
            outcome = self._change(path, {"metadata": {"finalizers": left}}, uid)
        if outcome.done:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
            outcome = self._writer.persist("DELETE", path, options)
        return DONE if outcome.result is WriteCode.MISSING else outcome

    def _hold(self, path: str, found: Json) -> WriteResult:
        """Make sure that a claim with devices does not go before they are given back."""
        metadata = found["metadata"]
        finalizers = metadata.get("finalizers") or []
        if DELETE_PROTECTION in finalizers:
            return DONE
        version = {
            "resourceVersion": metadata["resourceVersion"],
            "finalizers": [*finalizers, DELETE_PROTECTION],
        }
        return self._change(path, {"metadata": version}, metadata["uid"])

    def _change(self, path: str, patch: dict[str, Any], uid: str) -> WriteResult:
        metadata = {"uid": uid, **patch["metadata"]} if uid else patch["metadata"]
        return self._writer.persist("PATCH", path, {**patch, "metadata": metadata}, MERGE)

    def _read(self, path: str) -> Json | None:
        answer = self._writer.read(path)
        if answer.code == MISSING:
            return None
        found = answer.json()
        if answer.code != 200 or not isinstance(found, dict):
            raise ClusterError("The API server did not say what stands there.", code=answer.code)
        return found

    # Waiting.

    def _bound(self, pod: Named, wanted: Sequence[Written]) -> WriteResult:
        """Wait until controllers and provisioners have bound the claims."""
        until = time.monotonic() + self._seconds
        waiting = list(wanted)
        while True:
            for one in list(waiting):
                why = self._looked(one)
                if why:
                    return _failed(one, why)
                if why is None:
                    waiting.remove(one)
            if not waiting:
                return DONE
            if not self._leads():
                return WITHHELD
            if time.monotonic() > until:
                return _failed(waiting[0], "context deadline exceeded")
            if self._read(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}") is None:
                return _failed(waiting[0], f'pod does not exist any more: pod "{pod.name}" not found')
            if self._stop.wait(LOOK_SECONDS):
                return WITHHELD

    def _looked(self, one: Written) -> str | None:
        """``None`` if the claim is bound, "" if it is not bound yet, else why it will not be."""
        if isinstance(one, AllocateClaim):
            return self._ready(one)
        found = self._read(_claim_path(one))
        if found is None:
            return f'persistentvolumeclaim "{one.claim}" not found'
        annotations = found["metadata"].get("annotations") or {}
        if found["spec"].get("volumeName") and BIND_COMPLETED in annotations:
            return None
        if isinstance(one, SelectNode) and annotations.get(SELECTED_NODE) != one.node:
            # The provisioner gave up the node.
            return f'provisioning failed for PVC "{one.claim}"'
        return ""

    def _ready(self, one: AllocateClaim) -> str | None:
        """The same of devices that have to be made ready."""
        found = self._read(BY_NAME["ResourceClaim"].object_path(one.namespace, one.claim))
        allocation = None if found is None else ResourceClaim.read(found).allocation
        if allocation is None:
            return f"claim {one.namespace}/{one.claim} got deallocated elsewhere in the meantime"
        if allocation.binding is BindingState.FAILED:
            return f"device binding failed: claim={one.claim}"
        return None if allocation.binding is BindingState.READY else ""


def _for_extended_resources(pod: Named, one: MakeClaim) -> Json:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "generateName": f"{pod.name}-extended-resources-",
        "namespace": one.namespace,
        "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    spec = {"devices": {"requests": list(one.requests)}}
    kind = BY_NAME["ResourceClaim"]
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}


def _waits(one: Written) -> bool:
    """Whether others have to do something before it has taken effect."""
    return one.waits if isinstance(one, AllocateClaim) else not isinstance(one, ReserveClaim)


def _claim_path(one: Written) -> str:
    return BY_NAME["PersistentVolumeClaim"].object_path(one.namespace, one.claim)


def _failed(one: Preparation, why: str) -> WriteResult:
    plugin = DEVICES if isinstance(one, ReserveClaim | AllocateClaim | MakeClaim) else VOLUMES
    doing = "reserving claims" if plugin == DEVICES else "binding volumes"
    return WriteResult(WriteCode.REFUSED, f'running PreBind plugin "{plugin}": {doing}: {why}')
