"""ResourceClaims and DeviceClasses, and the claims that a pod names, as the scheduler reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.devicerequests import DeviceConstraint, DeviceRequest, read_selectors
from kschedweb.engine.objects.json_access import (
    get_boolean,
    get_mapping,
    get_objects,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, parse_terms
from kschedweb.engine.objects.quantity import canonicalize_quantity, read_signed_quantity
from kschedweb.engine.validation.affinity import selector_problems
from kschedweb.engine.validation.fields import aggregate_problems
from kschedweb.engine.values import dataclass

EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
# (driver, pool, device).
DeviceId = tuple[str, str, str]
# No capacity with no text, where no amount is negative.
NO_AMOUNT = ("", "")
# Parts of the claim, each with the path of its fields.
PathedObjects = list[tuple[Json, str]]
# The API's limit. It is also the score of the first alternative; the eighth scores 1.
MAX_ALTERNATIVES = 8


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's ``resourceClaims``."""

    name: str
    # Name of the ResourceClaim; None if none is needed or named.
    claim: str | None
    # True if a claim is made for the pod from a template.
    generated: bool = False
    # False if that has not happened yet.
    created: bool = True


def read_pod_claims(spec: Json, status: Json) -> tuple[PodClaim, ...]:
    """Return the pod's claims, in its order."""
    listed = get_objects_and_paths(spec, "resourceClaims", "spec.")
    return tuple(_pod_claim(item, at, status) for item, at in listed) if listed else ()


def _pod_claim(raw: Json, path: str, status: Json) -> PodClaim:
    name = get_string(raw, "name", path)
    direct = _read_optional(raw, "resourceClaimName", path)
    if direct is not None or _read_optional(raw, "resourceClaimTemplateName", path) is None:
        return PodClaim(name, direct)
    for item, at in get_objects_and_paths(status, "resourceClaimStatuses", "status."):
        if get_string(item, "name", at) == name:
            return PodClaim(name, _read_optional(item, "resourceClaimName", at), generated=True)
    return PodClaim(name, None, generated=True, created=False)


class BindingState(Enum):
    """The state of a claim's devices, some of which have to be made ready on their node first."""

    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """A device, or a share of one, that is allocated to a claim."""

    # The request, or request/alternative, that it was allocated for.
    request: str
    device: DeviceId
    # True for admin access, which does not take the device from others.
    admin: bool = False
    # Id of the share; "" if the claim has the whole device.
    share: str = ""
    # (capacity, nano-units) that the share takes; None if not stated.
    consumed: tuple[tuple[str, int], ...] | None = None
    # (capacity, its text) of the first negative amount by name.
    negative: tuple[str, str] = NO_AMOUNT


@dataclass(frozen=True, slots=True)
class Allocation:
    """The devices allocated to a claim."""

    # The nodes where they can be used; None for all.
    terms: tuple[NodeSelectorTerm, ...] | None = None
    # kube-scheduler's error if the node selector cannot be parsed, else empty.
    problem: str = ""
    devices: tuple[AllocatedDevice, ...] = ()
    binding: BindingState = BindingState.READY
    # True if the time of the allocation is known: then WAITING has a time limit.
    has_timestamp: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ResourceClaim:
    """A claim for devices."""

    namespace: str
    name: str
    terminating: bool
    # (pod's name, uid) of its controllers.
    owners: tuple[tuple[str, str], ...]
    for_extended_resources: bool
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[DeviceConstraint, ...]
    # Uids of the pods that may use it.
    reserved_for: tuple[str, ...]
    allocation: Allocation | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def made_for(self, uid: str) -> bool:
        """Return True if the pod ``uid`` is its controller."""
        return bool(self.owners) and self.owners[0][1] == uid

    def with_reservations(self, uids: tuple[str, ...]) -> ResourceClaim:
        """Return this claim reserved for exactly these pods.

        A claim without requests counts as allocated from then on.
        """
        return replace(self, reserved_for=uids, allocation=self.allocation or Allocation())

    def with_allocation(self, allocation: Allocation) -> ResourceClaim:
        """Return this claim with an allocation."""
        return replace(self, allocation=allocation)

    def without_allocation(self) -> ResourceClaim:
        """Return this claim without devices and reservations."""
        return replace(self, reserved_for=(), allocation=None)

    @property
    def worth(self) -> int:
        """The score of the alternatives chosen for it: the earlier in its list, the higher."""
        if self.allocation is None:
            return 0
        return compute_worth(self.requests, {device.request for device in self.allocation.devices})

    @classmethod
    def from_json(cls, raw: Json) -> ResourceClaim:
        metadata, status = get_mapping(raw, "metadata"), get_mapping(raw, "status")
        devices = get_mapping(get_mapping(raw, "spec"), "devices", "spec.")
        annotations = get_string_map(metadata, "annotations", "metadata.")
        return cls(
            namespace=get_string(metadata, "namespace", "metadata."),
            name=get_string(metadata, "name", "metadata."),
            terminating=metadata.get("deletionTimestamp") is not None,
            owners=_read_controllers(metadata),
            for_extended_resources=annotations.get(EXTENDED_RESOURCE_CLAIM) == "true",
            requests=tuple(
                DeviceRequest.from_json(item, at)
                for item, at in get_objects_and_paths(devices, "requests", "spec.devices.")
            ),
            constraints=tuple(
                DeviceConstraint.from_json(item, at)
                for item, at in get_objects_and_paths(devices, "constraints", "spec.devices.")
            ),
            reserved_for=tuple(
                get_string(item, "uid", at) for item, at in get_objects_and_paths(status, "reservedFor", "status.")
            ),
            allocation=None if status.get("allocation") is None else _read_allocation(status),
        )


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A class of devices."""

    name: str
    # The resource that pods may request in its place; "" if there is none.
    extended_resource: str
    # Seconds of the epoch; minus infinity if unknown.
    created: float
    # CEL expressions, as in a request.
    selectors: tuple[str | None, ...] = ()

    @classmethod
    def from_json(cls, raw: Json) -> DeviceClass:
        metadata, spec = get_mapping(raw, "metadata"), get_mapping(raw, "spec")
        return cls(
            get_string(metadata, "name", "metadata."),
            get_string(spec, "extendedResourceName", "spec."),
            _parse_seconds(get_string(metadata, "creationTimestamp", "metadata.")),
            read_selectors(spec, "spec."),
        )


def compute_worth(requests: tuple[DeviceRequest, ...], answered: Iterable[str]) -> int:
    """Return the score of the alternatives among ``answered``, by full name: the earlier, the higher."""
    chosen = {request for request in answered if request.count("/") == 1}
    return sum(
        MAX_ALTERNATIVES - place
        for request in requests
        if not request.exact
        for place, (name, _) in enumerate(request.device_classes)
        if name in chosen
    )


def _read_optional(raw: Json, key: str, path: str) -> str | None:
    return None if raw.get(key) is None else get_string(raw, key, path)


def _parse_seconds(time: str) -> float:
    try:
        read = datetime.fromisoformat(time)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return float("-inf")


def _read_controllers(metadata: Json) -> tuple[tuple[str, str], ...]:
    return tuple(
        (get_string(owner, "name", at), get_string(owner, "uid", at))
        for owner, at in get_objects_and_paths(metadata, "ownerReferences", "metadata.")
        if get_boolean(owner, "controller", at)
    )


def _read_allocation(status: Json) -> Allocation:
    path = "status.allocation."
    raw = get_mapping(status, "allocation", "status.")
    results = get_objects_and_paths(get_mapping(raw, "devices", path), "results", f"{path}devices.")
    selector = None if raw.get("nodeSelector") is None else get_mapping(raw, "nodeSelector", path)
    return Allocation(
        terms=None if selector is None else parse_terms(selector, "nodeSelectorTerms", f"{path}nodeSelector."),
        problem="" if selector is None else selector_problem(selector),
        devices=tuple(_read_device(item, at) for item, at in results),
        binding=_binding_state(results, get_objects_and_paths(status, "devices", "status.")),
        has_timestamp=raw.get("allocationTimestamp") is not None,
    )


def _read_device(raw: Json, path: str) -> AllocatedDevice:
    consumed = get_mapping(raw, "consumedCapacity", path)
    driver, pool, device = (get_string(raw, key, path) for key in ("driver", "pool", "device"))
    amounts = {name: read_signed_quantity(value, f"{path}consumedCapacity.{name}") for name, value in consumed.items()}
    negative = next((name for name in sorted(amounts) if amounts[name] < 0), "")
    return AllocatedDevice(
        request=get_string(raw, "request", path),
        device=(driver, pool, device),
        admin=get_boolean(raw, "adminAccess", path),
        share=get_string(raw, "shareID", path),
        consumed=None if raw.get("consumedCapacity") is None else tuple(amounts.items()),
        negative=(negative, canonicalize_quantity(str(consumed[negative]))) if negative else NO_AMOUNT,
    )


def selector_problem(selector: Json) -> str:
    """Return the error of a node selector in kube-scheduler's words; "" if there is none."""
    listed = [
        {
            kind: [_read_requirement(item) for item in get_objects(term, kind)]
            for kind in ("matchExpressions", "matchFields")
        }
        for term in get_objects(selector, "nodeSelectorTerms")
    ]
    problems = selector_problems({"nodeSelectorTerms": listed}, "")
    return (
        aggregate_problems([replace(problem, text=problem.text.removeprefix(".")) for problem in problems])
        if problems
        else ""
    )


def _read_requirement(raw: Json) -> Json:
    values = None if raw.get("values") is None else list(get_strings(raw, "values"))
    return {"key": get_string(raw, "key"), "operator": get_string(raw, "operator"), "values": values}


def _binding_state(results: PathedObjects, reported: PathedObjects) -> BindingState:
    """Return the state of the devices: all binding conditions must be true, and no failure condition."""
    for result, path in results:
        binding_conditions = get_strings(result, "bindingConditions", path)
        if not binding_conditions:
            continue
        conditions = _device_conditions(result, reported)
        if conditions is None:
            return BindingState.WAITING
        if any(conditions.get(kind) == "True" for kind in get_strings(result, "bindingFailureConditions", path)):
            return BindingState.FAILED
        if any(conditions.get(kind) != "True" for kind in binding_conditions):
            return BindingState.WAITING
    return BindingState.READY


def _device_conditions(result: Json, reported: PathedObjects) -> dict[str, str] | None:
    """Return condition type -> status of the device in ``result``, ``None`` if its driver has reported none."""
    for device, path in reported:
        if all(device.get(key) == result.get(key) for key in ("driver", "pool", "device")):
            conditions = get_objects_and_paths(device, "conditions", path)
            # The first condition of a type counts.
            return {get_string(item, "type", at): get_string(item, "status", at) for item, at in reversed(conditions)}
    return None
