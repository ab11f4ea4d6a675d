"""Prepare a pod's claims before it is bound: they get volumes and devices, as in PreBind of kube-scheduler's plugins.

Preparations are written one after the other, each after the answer to the one before. Claims that wait for a volume are
then followed through their changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

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
from kschedweb.engine.live import BindPod, PodRef
from kschedweb.engine.objects.resourceclaim import DELETE_PROTECTION, EXTENDED_RESOURCE_CLAIM
from kschedweb.engine.sandbox.api_objects import format_timestamp
from kschedweb.engine.sandbox.patching import STRATEGIC
from kschedweb.engine.sandbox.requests import ApiResponse, Request
from kschedweb.engine.sandbox.world.scheduler.writes import Write, claim_path, merge_request, pod_path
from kschedweb.engine.values import dataclass

# The default of VolumeBinding's bindTimeoutSeconds.
BIND_TIMEOUT_SECONDS = 600.0
SELECTED, COMPLETED = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
# Called with "" or the reason of the failure, and the time.
Continuation = Callable[[str, float], list[Write]]


@dataclass
class PendingBinding:
    """A binding whose preparations are under way."""

    bind: BindPod
    # Seconds of the epoch.
    deadline: float
    # Claims (namespace, name) that are not bound yet.
    unbound_claims: set[tuple[str, str]] = field(default_factory=set)
    # True once every preparation is written.
    is_written: bool = False


class BindingPreparer:
    """Prepares bindings; calls ``on_done`` with the binding, "" or why it failed, and the time."""

    def __init__(self, on_done: Callable[[BindPod, str, float], list[Write]]) -> None:
        self._on_done = on_done
        self._under_way: dict[str, PendingBinding] = {}

    @property
    def next_deadline(self) -> float | None:
        return min((binding.deadline for binding in self._under_way.values()), default=None)

    def begin_preparation(self, bind: BindPod, now: float) -> list[Write]:
        binding = self._under_way[bind.pod.uid] = PendingBinding(bind, now + BIND_TIMEOUT_SECONDS)
        return self._write_next(binding, list(bind.preparations), now)

    def on_claim(self, claim: Json, now: float) -> list[Write]:
        """Take in the state of a PersistentVolumeClaim."""
        metadata = claim["metadata"]
        key = (metadata["namespace"], metadata["name"])
        writes: list[Write] = []
        for binding in [binding for binding in self._under_way.values() if key in binding.unbound_claims]:
            if claim["spec"].get("volumeName") and COMPLETED in (metadata.get("annotations") or {}):
                binding.unbound_claims.discard(key)
                writes += self._finish_if_bound(binding, now)
        return writes

    def remove_pod(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self._under_way.pop(uid, None)

    def expire_bindings(self, now: float) -> list[Write]:
        expired = [binding for binding in self._under_way.values() if binding.deadline <= now]
        return [write for binding in expired for write in self._finish(binding, "context deadline exceeded", now)]

    def _write_next(self, binding: PendingBinding, remaining: list[Preparation], now: float) -> list[Write]:
        """Write the first of the remaining preparations; the others follow its answer."""
        if not remaining:
            binding.is_written = True
            return self._finish_if_bound(binding, now)

        def continue_after(why: str, at: float) -> list[Write]:
            return self._finish(binding, why, at) if why else self._write_next(binding, remaining[1:], at)

        first = remaining[0]
        match first:
            case SelectNode():
                binding.unbound_claims.add((first.namespace, first.claim))
                body = {"metadata": {"uid": first.uid, "annotations": {SELECTED: first.node}}}
                return [_write_then(merge_request(claim_path(first.namespace, first.claim), body), continue_after)]
            case TakeVolume():
                binding.unbound_claims.add((first.namespace, first.claim))
                return _claim_volume(first, continue_after)
            case ReserveClaim():
                return _reserve_claim(binding.bind.pod, first.namespace, first.claim, None, continue_after)
            case AllocateClaim():
                return _reserve_claim(binding.bind.pod, first.namespace, first.claim, first.allocation, continue_after)
            case MakeClaim():
                return _create_claim(binding.bind.pod, first, continue_after)

    def _finish_if_bound(self, binding: PendingBinding, now: float) -> list[Write]:
        return self._finish(binding, "", now) if binding.is_written and not binding.unbound_claims else []

    def _finish(self, binding: PendingBinding, why: str, now: float) -> list[Write]:
        if self._under_way.pop(binding.bind.pod.uid, None) is not binding:
            return []
        return self._on_done(binding.bind, _prebind_error(binding.bind, why) if why else "", now)


def deallocate_claim(pod: PodRef, preparation: FreeClaim) -> list[Write]:
    """Free the devices of a claim that only ``pod`` uses, as PostFilter does."""
    path = f"{CLAIMS.format(preparation.namespace)}/{preparation.claim}"

    def on_read(answer: ApiResponse, now: float) -> list[Write]:
        status = answer.body.get("status") or {}
        if answer.code != 200:
            return []
        if preparation.is_generated:
            # The finalizer protects claims with devices: without it the deletion can end.
            finalizers = [name for name in answer.body["metadata"].get("finalizers") or () if name != DELETE_PROTECTION]
            remove_finalizer = merge_request(path, {"metadata": {"finalizers": finalizers}})
            return [Write(remove_finalizer), Write(Request("DELETE", path))]
        if any(user.get("uid") != pod.uid for user in status.get("reservedFor") or ()):
            return []
        version = {"resourceVersion": answer.body["metadata"]["resourceVersion"]}
        deallocated = {"allocation": None, "reservedFor": None, "devices": None}
        return [Write(merge_request(f"{path}/status", {"metadata": version, "status": deallocated}))]

    return [Write(Request("GET", path), on_read)]


def _write_then(request: Request, then: Continuation) -> Write:
    def on_response(answer: ApiResponse, now: float) -> list[Write]:
        return then("" if answer.code < 300 else _error_message(answer), now)

    return Write(request, on_response)


def _claim_volume(preparation: TakeVolume, then: Continuation) -> list[Write]:
    path = f"/api/v1/persistentvolumes/{preparation.volume}"

    def on_read(answer: ApiResponse, now: float) -> list[Write]:
        if answer.code != 200:
            return then(_error_message(answer), now)
        claim_ref = answer.body["spec"].get("claimRef")
        if claim_ref and (claim_ref.get("namespace"), claim_ref.get("name")) != (
            preparation.namespace,
            preparation.claim,
        ):
            return then(f'persistentvolume "{preparation.volume}" was taken by another claim', now)
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": preparation.uid}
        claim |= {"namespace": preparation.namespace, "name": preparation.claim}
        metadata: Json = {"resourceVersion": answer.body["metadata"]["resourceVersion"]}
        if not claim_ref:
            metadata["annotations"] = {BY_CONTROLLER: "yes"}
        return [_write_then(merge_request(path, {"metadata": metadata, "spec": {"claimRef": claim}}), then)]

    return [Write(Request("GET", path), on_read)]


def _reserve_claim(pod: PodRef, namespace: str, name: str, allocation: Json | None, then: Continuation) -> list[Write]:
    """Reserve a claim for the pod; with an ``allocation``, give it these devices."""
    path, key = f"{CLAIMS.format(namespace)}/{name}", f"{namespace}/{name}"

    def on_read(answer: ApiResponse, now: float) -> list[Write]:
        if answer.code != 200:
            return then(_error_message(answer), now)
        claim, status = answer.body, answer.body.get("status") or {}
        if bool(status.get("allocation")) is (allocation is not None):
            return then(f"claim {key} got {'allocated' if allocation else 'deallocated'} elsewhere meanwhile", now)
        finalizers = claim["metadata"].get("finalizers") or []
        # The finalizer comes first: a claim with devices must never be without it.
        if allocation is not None and DELETE_PROTECTION not in finalizers:
            version = {"resourceVersion": claim["metadata"]["resourceVersion"]}
            return [
                Write(
                    merge_request(path, {"metadata": {**version, "finalizers": [*finalizers, DELETE_PROTECTION]}}),
                    on_read,
                )
            ]
        users = [user for user in status.get("reservedFor") or () if user.get("uid") != pod.uid]
        change: Json = {"reservedFor": [*users, {"resource": "pods", "name": pod.name, "uid": pod.uid}]}
        if allocation is not None:
            change["allocation"] = allocation | {"allocationTimestamp": format_timestamp(now)}
        metadata = {"resourceVersion": claim["metadata"]["resourceVersion"]}
        return [_write_then(merge_request(f"{path}/status", {"metadata": metadata, "status": change}), then)]

    return [Write(Request("GET", path), on_read)]


def _create_claim(pod: PodRef, preparation: MakeClaim, then: Continuation) -> list[Write]:
    """Create the claim for extended resources, write its devices, and name it in the pod's status."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "generateName": f"{pod.name}-extended-resources-",
        "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    body = {"metadata": metadata, "spec": {"devices": {"requests": list(preparation.requests)}}}

    def on_created(answer: ApiResponse, now: float) -> list[Write]:
        if answer.code >= 300:
            return then(_error_message(answer), now)
        name = answer.body["metadata"]["name"]

        def on_allocated(why: str, at: float) -> list[Write]:
            if why:
                return then(why, at)
            claim_status = {"requestMappings": list(preparation.mappings), "resourceClaimName": name}
            status = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": claim_status}}
            return [_write_then(Request("PATCH", f"{pod_path(pod)}/status", body=status, content=STRATEGIC), then)]

        return _reserve_claim(pod, preparation.namespace, name, preparation.allocation, on_allocated)

    return [Write(Request("POST", CLAIMS.format(preparation.namespace), body=body), on_created)]


def _error_message(answer: ApiResponse) -> str:
    return str(answer.body.get("message") or f"the server answered {answer.code}")


def _prebind_error(bind: BindPod, why: str) -> str:
    devices = any(
        isinstance(preparation, ReserveClaim | AllocateClaim | MakeClaim) for preparation in bind.preparations
    )
    plugin, doing = ("DynamicResources", "reserving claims") if devices else ("VolumeBinding", "binding volumes")
    return f'running PreBind plugin "{plugin}": {doing}: {why}'
