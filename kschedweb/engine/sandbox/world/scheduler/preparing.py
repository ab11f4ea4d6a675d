"""A pod's claims before it is bound: they get volumes and devices, as PreBind of kube-scheduler's plugins does it.

A preparation is written, its answer looked at, and then what waits for others is waited for, by what is heard of the
claims.
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
from kschedweb.engine.live import Bind, PodRef
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.resourceclaim import DELETE_PROTECTION, EXTENDED_RESOURCE_CLAIM
from kschedweb.engine.sandbox.objects import timestamp
from kschedweb.engine.sandbox.patching import STRATEGIC
from kschedweb.engine.sandbox.requests import Answer, Request
from kschedweb.engine.sandbox.world.scheduler.writes import Write, claim_path, merge, pod_path
from kschedweb.engine.values import dataclass

SECONDS = 600.0  # VolumeBinding's bindTimeoutSeconds
SELECTED, COMPLETED = "volume.kubernetes.io/selected-node", "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
Done = Callable[[str, float], list[Write]]  # "" or why it failed, and the time


@dataclass
class Prepared:
    """A binding whose preparations are under way; ``waits`` are claims (namespace, name) that are not bound yet."""

    bind: Bind
    until: float
    waits: set[tuple[str, str]] = field(default_factory=set)
    written: bool = False


class Preparing:
    """``done`` is called with the pod's uid once all is prepared, or has failed."""

    def __init__(self, done: Callable[[Bind, str, float], list[Write]]) -> None:
        self._done = done
        self._under_way: dict[str, Prepared] = {}

    @property
    def next_deadline(self) -> float | None:
        return min((one.until for one in self._under_way.values()), default=None)

    def begin(self, bind: Bind, now: float) -> list[Write]:
        one = self._under_way[bind.pod.uid] = Prepared(bind, now + SECONDS)
        return self._next(one, list(bind.preparations), now)

    def heard(self, claim: Json, now: float) -> list[Write]:
        """A PersistentVolumeClaim is so now."""
        metadata = claim["metadata"]
        key = (metadata["namespace"], metadata["name"])
        writes: list[Write] = []
        for one in [one for one in self._under_way.values() if key in one.waits]:
            if claim["spec"].get("volumeName") and COMPLETED in (metadata.get("annotations") or {}):
                one.waits.discard(key)
                writes += self._look(one, now)
        return writes

    def gone(self, uid: str) -> None:
        """The pod is gone."""
        self._under_way.pop(uid, None)

    def time_out(self, now: float) -> list[Write]:
        late = [one for one in self._under_way.values() if one.until <= now]
        return [write for one in late for write in self._end(one, "context deadline exceeded", now)]

    def _next(self, one: Prepared, left: list[Preparation], now: float) -> list[Write]:
        """Write the first of those that are left; the others follow its answer."""
        if not left:
            one.written = True
            return self._look(one, now)

        def then(why: str, at: float) -> list[Write]:
            return self._end(one, why, at) if why else self._next(one, left[1:], at)

        first = left[0]
        match first:
            case SelectNode():
                one.waits.add((first.namespace, first.claim))
                body = {"metadata": {"uid": first.uid, "annotations": {SELECTED: first.node}}}
                return [_written(merge(claim_path(first.namespace, first.claim), body), then)]
            case TakeVolume():
                one.waits.add((first.namespace, first.claim))
                return _take(first, then)
            case ReserveClaim():
                return _reserve(one.bind.pod, first.namespace, first.claim, None, then)
            case AllocateClaim():
                return _reserve(one.bind.pod, first.namespace, first.claim, first.allocation, then)
            case MakeClaim():
                return _make(one.bind.pod, first, then)

    def _look(self, one: Prepared, now: float) -> list[Write]:
        return self._end(one, "", now) if one.written and not one.waits else []

    def _end(self, one: Prepared, why: str, now: float) -> list[Write]:
        if self._under_way.pop(one.bind.pod.uid, None) is not one:
            return []
        return self._done(one.bind, _said(one.bind, why) if why else "", now)


def free(pod: PodRef, one: FreeClaim) -> list[Write]:
    """Take away the devices of a claim that only ``pod`` uses, as PostFilter does."""
    path = f"{CLAIMS.format(one.namespace)}/{one.claim}"

    def seen(answer: Answer, now: float) -> list[Write]:
        status = answer.body.get("status") or {}
        if answer.code != 200:
            return []
        if one.made:
            kept = [name for name in answer.body["metadata"].get("finalizers") or () if name != DELETE_PROTECTION]
            unheld = merge(path, {"metadata": {"finalizers": kept}})
            return [Write(unheld), Write(Request("DELETE", path))]
        if any(user.get("uid") != pod.uid for user in status.get("reservedFor") or ()):
            return []
        version = {"resourceVersion": answer.body["metadata"]["resourceVersion"]}
        nothing = {"allocation": None, "reservedFor": None, "devices": None}
        return [Write(merge(f"{path}/status", {"metadata": version, "status": nothing}))]

    return [Write(Request("GET", path), seen)]


def _written(request: Request, then: Done) -> Write:
    def answered(answer: Answer, now: float) -> list[Write]:
        return then("" if answer.code < 300 else _message(answer), now)

    return Write(request, answered)


def _take(one: TakeVolume, then: Done) -> list[Write]:
    path = f"/api/v1/persistentvolumes/{one.volume}"

    def seen(answer: Answer, now: float) -> list[Write]:
        if answer.code != 200:
            return then(_message(answer), now)
        taken = answer.body["spec"].get("claimRef")
        if taken and (taken.get("namespace"), taken.get("name")) != (one.namespace, one.claim):
            return then(f'persistentvolume "{one.volume}" was taken by another claim', now)
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": one.uid}
        claim |= {"namespace": one.namespace, "name": one.claim}
        metadata: Json = {"resourceVersion": answer.body["metadata"]["resourceVersion"]}
        if not taken:
            metadata["annotations"] = {BY_CONTROLLER: "yes"}
        return [_written(merge(path, {"metadata": metadata, "spec": {"claimRef": claim}}), then)]

    return [Write(Request("GET", path), seen)]


def _reserve(pod: PodRef, namespace: str, name: str, allocation: Json | None, then: Done) -> list[Write]:
    """Reserve a claim for the pod; with an ``allocation``, give it these devices."""
    path, key = f"{CLAIMS.format(namespace)}/{name}", f"{namespace}/{name}"

    def seen(answer: Answer, now: float) -> list[Write]:
        if answer.code != 200:
            return then(_message(answer), now)
        found, status = answer.body, answer.body.get("status") or {}
        if bool(status.get("allocation")) is (allocation is not None):
            return then(f"claim {key} got {'allocated' if allocation else 'deallocated'} elsewhere meanwhile", now)
        finalizers = found["metadata"].get("finalizers") or []
        if allocation is not None and DELETE_PROTECTION not in finalizers:
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            return [Write(merge(path, {"metadata": {**version, "finalizers": [*finalizers, DELETE_PROTECTION]}}), seen)]
        users = [one for one in status.get("reservedFor") or () if one.get("uid") != pod.uid]
        change: Json = {"reservedFor": [*users, {"resource": "pods", "name": pod.name, "uid": pod.uid}]}
        if allocation is not None:
            change["allocation"] = allocation | {"allocationTimestamp": timestamp(now)}
        metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
        return [_written(merge(f"{path}/status", {"metadata": metadata, "status": change}), then)]

    return [Write(Request("GET", path), seen)]


def _make(pod: PodRef, one: MakeClaim, then: Done) -> list[Write]:
    """Make the claim for extended resources, write its devices, and name it in the pod's status."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "generateName": f"{pod.name}-extended-resources-",
        "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    body = {"metadata": metadata, "spec": {"devices": {"requests": list(one.requests)}}}

    def made(answer: Answer, now: float) -> list[Write]:
        if answer.code >= 300:
            return then(_message(answer), now)
        name = answer.body["metadata"]["name"]

        def allocated(why: str, at: float) -> list[Write]:
            if why:
                return then(why, at)
            named = {"requestMappings": list(one.mappings), "resourceClaimName": name}
            status = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": named}}
            return [_written(Request("PATCH", f"{pod_path(pod)}/status", body=status, content=STRATEGIC), then)]

        return _reserve(pod, one.namespace, name, one.allocation, allocated)

    return [Write(Request("POST", CLAIMS.format(one.namespace), body=body), made)]


def _message(answer: Answer) -> str:
    return str(answer.body.get("message") or f"the server answered {answer.code}")


def _said(bind: Bind, why: str) -> str:
    devices = any(isinstance(one, ReserveClaim | AllocateClaim | MakeClaim) for one in bind.preparations)
    plugin, doing = ("DynamicResources", "reserving claims") if devices else ("VolumeBinding", "binding volumes")
    return f'running PreBind plugin "{plugin}": {doing}: {why}'
