"""ResourceClaims and DeviceClasses, and the claims that a pod names, as the scheduler reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum

from kschedweb.engine.objects.access import Json, boolean, each, mapping, objects, string_map, text, texts
from kschedweb.engine.objects.devicerequests import DeviceConstraint, DeviceRequest, read_selectors
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, terms
from kschedweb.engine.objects.quantity import read
from kschedweb.engine.validation.affinity import selector_problems
from kschedweb.engine.validation.fields import aggregate
from kschedweb.engine.values import dataclass

EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
DeviceId = tuple[str, str, str]  # driver, pool, device
Placed = list[tuple[Json, str]]  # parts of the claim, each with the path of its fields
MAX_ALTERNATIVES = 8  # what an alternative is worth: the first eight, the last one


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's ``resourceClaims``.

    ``claim`` names the ResourceClaim, ``None`` where none is needed or none is named. ``generated``: made for the pod
    from a template, ``created`` is then whether that has happened.
    """

    name: str
    claim: str | None
    generated: bool = False
    created: bool = True


def read_pod_claims(spec: Json, status: Json) -> tuple[PodClaim, ...]:
    """The pod's claims, in its order."""
    listed = each(spec, "resourceClaims", "spec.")
    return tuple(_pod_claim(item, at, status) for item, at in listed) if listed else ()


def _pod_claim(raw: Json, path: str, status: Json) -> PodClaim:
    name = text(raw, "name", path)
    direct = _optional(raw, "resourceClaimName", path)
    if direct is not None or _optional(raw, "resourceClaimTemplateName", path) is None:
        return PodClaim(name, direct)
    for item, at in each(status, "resourceClaimStatuses", "status."):
        if text(item, "name", at) == name:
            return PodClaim(name, _optional(item, "resourceClaimName", at), generated=True)
    return PodClaim(name, None, generated=True, created=False)


class BindingState(Enum):
    """Whether the devices of a claim can be used: some have to be made ready on their node first."""

    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """A device that a claim has: its driver, pool and name, and the request, or request/alternative, it answers.

    ``share`` is the id of a share of it, "" where it is the claim's alone; ``consumed`` holds (capacity, nano-units)
    that the share takes, ``None`` where it does not say. With ``admin`` the device is not in use by that.
    """

    request: str
    device: DeviceId
    admin: bool = False
    share: str = ""
    consumed: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Allocation:
    """The devices a claim has.

    ``terms`` say on which nodes they can be used, ``None`` on all; ``problem`` is what kube-scheduler says of them
    where they cannot be parsed. ``dated`` is whether it is known since when: then there is a time limit for
    ``WAITING``.
    """

    terms: tuple[NodeSelectorTerm, ...] | None = None
    problem: str = ""
    devices: tuple[AllocatedDevice, ...] = ()
    binding: BindingState = BindingState.READY
    dated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ResourceClaim:
    """``owners`` holds (pod's name, uid) of its controllers; ``reserved_for`` the uids of the pods that may use it."""

    namespace: str
    name: str
    terminating: bool
    owners: tuple[tuple[str, str], ...]
    for_extended_resources: bool
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[DeviceConstraint, ...]
    reserved_for: tuple[str, ...]
    allocation: Allocation | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def made_for(self, uid: str) -> bool:
        """Whether the pod ``uid`` is its controller."""
        return bool(self.owners) and self.owners[0][1] == uid

    def reserved(self, uids: tuple[str, ...]) -> ResourceClaim:
        """This claim, reserved for exactly these pods; one that asks for no device counts as allocated from then on."""
        return replace(self, reserved_for=uids, allocation=self.allocation or Allocation())

    def allocated(self, allocation: Allocation) -> ResourceClaim:
        """This claim with devices."""
        return replace(self, allocation=allocation)

    def deallocated(self) -> ResourceClaim:
        """This claim without its devices, reserved for nobody."""
        return replace(self, reserved_for=(), allocation=None)

    @property
    def worth(self) -> int:
        """What the alternatives count that were chosen for it: the earlier in its list, the more."""
        if self.allocation is None:
            return 0
        return worth(self.requests, {one.request for one in self.allocation.devices})

    @classmethod
    def read(cls, raw: Json) -> ResourceClaim:
        metadata, status = mapping(raw, "metadata"), mapping(raw, "status")
        devices = mapping(mapping(raw, "spec"), "devices", "spec.")
        annotations = string_map(metadata, "annotations", "metadata.")
        return cls(
            namespace=text(metadata, "namespace", "metadata."),
            name=text(metadata, "name", "metadata."),
            terminating=metadata.get("deletionTimestamp") is not None,
            owners=_controllers(metadata),
            for_extended_resources=annotations.get(EXTENDED_RESOURCE_CLAIM) == "true",
            requests=tuple(DeviceRequest.read(item, at) for item, at in each(devices, "requests", "spec.devices.")),
            constraints=tuple(
                DeviceConstraint.read(item, at) for item, at in each(devices, "constraints", "spec.devices.")
            ),
            reserved_for=tuple(text(item, "uid", at) for item, at in each(status, "reservedFor", "status.")),
            allocation=None if status.get("allocation") is None else _allocation(status),
        )


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """``extended_resource`` is the resource that pods may ask for in its place, "" where there is none."""

    name: str
    extended_resource: str
    created: float  # seconds of the epoch
    selectors: tuple[str | None, ...] = ()  # CEL expressions, as a request has them

    @classmethod
    def read(cls, raw: Json) -> DeviceClass:
        metadata, spec = mapping(raw, "metadata"), mapping(raw, "spec")
        return cls(
            text(metadata, "name", "metadata."),
            text(spec, "extendedResourceName", "spec."),
            _seconds(text(metadata, "creationTimestamp", "metadata.")),
            read_selectors(spec, "spec."),
        )


def worth(requests: tuple[DeviceRequest, ...], answered: Iterable[str]) -> int:
    """What the alternatives among ``answered`` count, by full name: the earlier in its list, the more."""
    chosen = {request for request in answered if request.count("/") == 1}
    return sum(
        MAX_ALTERNATIVES - place
        for request in requests
        if not request.exact
        for place, (name, _) in enumerate(request.classes)
        if name in chosen
    )


def _optional(raw: Json, key: str, path: str) -> str | None:
    return None if raw.get(key) is None else text(raw, key, path)


def _seconds(time: str) -> float:
    try:
        read = datetime.fromisoformat(time)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return float("-inf")


def _controllers(metadata: Json) -> tuple[tuple[str, str], ...]:
    return tuple(
        (text(owner, "name", at), text(owner, "uid", at))
        for owner, at in each(metadata, "ownerReferences", "metadata.")
        if boolean(owner, "controller", at)
    )


def _allocation(status: Json) -> Allocation:
    path = "status.allocation."
    raw = mapping(status, "allocation", "status.")
    results = each(mapping(raw, "devices", path), "results", f"{path}devices.")
    selector = None if raw.get("nodeSelector") is None else mapping(raw, "nodeSelector", path)
    return Allocation(
        terms=None if selector is None else terms(selector, "nodeSelectorTerms", f"{path}nodeSelector."),
        problem="" if selector is None else selector_problem(selector),
        devices=tuple(_device(item, at) for item, at in results),
        binding=_binding(results, each(status, "devices", "status.")),
        dated=raw.get("allocationTimestamp") is not None,
    )


def _device(raw: Json, path: str) -> AllocatedDevice:
    consumed = mapping(raw, "consumedCapacity", path)
    driver, pool, device = (text(raw, key, path) for key in ("driver", "pool", "device"))
    return AllocatedDevice(
        request=text(raw, "request", path),
        device=(driver, pool, device),
        admin=boolean(raw, "adminAccess", path),
        share=text(raw, "shareID", path),
        consumed=tuple((name, read(value, f"{path}consumedCapacity.{name}")) for name, value in consumed.items())
        if raw.get("consumedCapacity") is not None
        else None,
    )


def selector_problem(selector: Json) -> str:
    """What is wrong with a node selector, in kube-scheduler's words; "" where nothing is."""
    listed = [
        {kind: [_requirement(item) for item in objects(term, kind)] for kind in ("matchExpressions", "matchFields")}
        for term in objects(selector, "nodeSelectorTerms")
    ]
    found = selector_problems({"nodeSelectorTerms": listed}, "")
    return aggregate([replace(problem, text=problem.text.removeprefix(".")) for problem in found]) if found else ""


def _requirement(raw: Json) -> Json:
    values = None if raw.get("values") is None else list(texts(raw, "values"))
    return {"key": text(raw, "key"), "operator": text(raw, "operator"), "values": values}


def _binding(results: Placed, reported: Placed) -> BindingState:
    """Every condition that a device asks for must be met, and none of those that mean failure."""
    for result, path in results:
        wanted = texts(result, "bindingConditions", path)
        if not wanted:
            continue
        conditions = _conditions(result, reported)
        if conditions is None:
            return BindingState.WAITING
        if any(conditions.get(kind) == "True" for kind in texts(result, "bindingFailureConditions", path)):
            return BindingState.FAILED
        if any(conditions.get(kind) != "True" for kind in wanted):
            return BindingState.WAITING
    return BindingState.READY


def _conditions(result: Json, reported: Placed) -> dict[str, str] | None:
    """Condition type -> status of the device in ``result``, ``None`` where its driver has not reported any."""
    for device, path in reported:
        if all(device.get(key) == result.get(key) for key in ("driver", "pool", "device")):
            conditions = each(device, "conditions", path)
            # The first condition of a type counts.
            return {text(item, "type", at): text(item, "status", at) for item, at in reversed(conditions)}
    return None
