"""Devices for a pod on its node: chosen in Reserve, written into its claims in PreBind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from kschedweb.engine.allocation.allocated_claim import AllocatedClaim
from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.extended import ResourceUse
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.request_data import AllocationError
from kschedweb.engine.allocation.selectors import UnknownError
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.preparation import AllocateClaim, MakeClaim, Preparation, ReserveClaim
from kschedweb.engine.framework.status import OUTSIDE, SUCCESS, CycleError, Status, error, outside_simulation
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.devicerequests import DeviceRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.plugins.dynamicresources.verdicts import claims_to_allocate, resource_uses
from kschedweb.engine.state.devices.claims import EXTENDED_NAME, extended_key
from kschedweb.engine.state.devices.needs import ClaimError, DeviceNeeds, needs_of

EXTENDED, USES, CHOSEN = "DynamicResources.extended", "DynamicResources.uses", "DynamicResources.chosen"
# The API server lets this many pods share a claim: `ResourceClaimReservedForMaxSize`.
MAX_RESERVED = 256


def choose_devices(cycle: Cycle, node: str, features: Features) -> Status:
    """Choose devices for the pod's claims on ``node``. From then on they are in flight."""
    snapshot, pod = cycle.snapshot, cycle.pod
    try:
        needs = needs_of(snapshot, pod, features.list_resource_classes(snapshot.objects.devices))
    except ClaimError as problem:
        return error(str(problem))
    _share_in_flight(cycle, needs)
    row = snapshot.index.get(node)
    if not needs.needs_allocator or row is None:
        return SUCCESS
    for claims, nodes in claims_to_allocate(snapshot, pod, needs):
        if not nodes[row]:
            continue
        try:
            allocations = Allocator(snapshot, features).allocate_claims(claims, row)
        except AllocationError as problem:
            return error(str(problem))
        except UnknownError as unknown:
            return outside_simulation(str(unknown))
        if allocations is None:
            return error("claim allocation not found for node")
        for allocated in allocations:
            snapshot.resource_claims.add_in_flight(*_claim_key(cycle, allocated.claim), allocated.allocation, pod.uid)
        cycle.state[CHOSEN] = {allocated.claim.name: allocated for allocated in allocations}
        cycle.state[EXTENDED] = next((claim for claim in claims if claim.for_extended_resources), None)
        # Kept for PreBind: the mappings depend on the node, and later changes must not alter them.
        cycle.state[USES] = resource_uses(snapshot, pod, needs, row)
    return SUCCESS


def _claim_key(cycle: Cycle, claim: ResourceClaim) -> tuple[str, str]:
    has_name = claim.name != EXTENDED_NAME
    return (claim.namespace, claim.name) if has_name else extended_key(cycle.pod.namespace, cycle.pod.uid)


def _share_in_flight(cycle: Cycle, needs: DeviceNeeds) -> None:
    """Record that this pod, too, wants devices that are in flight for other pods of its group."""
    claims, uid = cycle.snapshot.resource_claims, cycle.pod.uid
    for claim in needs.claims:
        chosen = claims.in_flight(claim.namespace, claim.name)
        if chosen is not None and claim.allocation is chosen.allocation and uid not in chosen.uids:
            claims.add_in_flight(claim.namespace, claim.name, chosen.allocation, uid)


def give_back(cycle: Cycle) -> None:
    """Give back the pod's devices in flight, and its reservations."""
    pod, claims = cycle.pod, cycle.snapshot.resource_claims
    for claim in current_claims(cycle):
        claims.release_in_flight(claim.namespace, claim.name, pod.uid)
        if pod.uid in claim.reserved_for and claim.allocation is not None:
            remaining = tuple(other for other in claim.reserved_for if other != pod.uid)
            claims.update_claim(claim.with_reservations(remaining))
    extended_claim: ResourceClaim | None = cycle.state.get(EXTENDED)
    if extended_claim is not None:
        claims.pop_in_flight(*_claim_key(cycle, extended_claim), pod.uid)


def write_claims(cycle: Cycle, features: Features) -> Status:
    """Write the devices in flight into the pod's claims, and reserve the claims for the pod."""
    pod, claims = cycle.pod, cycle.snapshot.resource_claims
    for unreserved_claim in unreserved_claims(cycle):
        claim = claims.get(unreserved_claim.namespace, unreserved_claim.name) or unreserved_claim
        reserved, chosen = (*claim.reserved_for, pod.uid), claims.pop_in_flight(claim.namespace, claim.name, pod.uid)
        if refusal := _too_many(reserved, pod, features):
            doing = "add reservation" if chosen is None else "add allocation and reservation"
            return error(
                f'{doing} to claim {claim.key}: ResourceClaim.resource.k8s.io "{claim.name}" is invalid: '
                f"status.reservedFor{refusal}"
            )
        claims.update_claim((claim if chosen is None else claim.with_allocation(chosen)).with_reservations(reserved))
    return _write_extended(cycle)


def _write_extended(cycle: Cycle) -> Status:
    """Create the claim for extended resources whose devices are in flight."""
    pod, claims = cycle.pod, cycle.snapshot.resource_claims
    extended_claim: ResourceClaim | None = cycle.state.get(EXTENDED)
    chosen = None if extended_claim is None else claims.pop_in_flight(*_claim_key(cycle, extended_claim), pod.uid)
    if extended_claim is None or chosen is None:
        return SUCCESS
    named_claim = (
        replace(extended_claim, name=f"{pod.name}-extended-resources-{pod.uid}")
        if extended_claim.name == EXTENDED_NAME
        else extended_claim
    )
    claims.update_claim(named_claim.with_allocation(chosen).with_reservations((*named_claim.reserved_for, pod.uid)))
    if not extended_claim.requests:
        # kube-scheduler makes a claim even for resources that the node's device plugin has, and then fails on it.
        return error(_not_mapped(pod))
    return SUCCESS


def list_preparations(cycle: Cycle, features: Features) -> list[Preparation]:
    """Return the same changes as preparations, where others write to the cluster. Raises CycleError."""
    objects = cycle.snapshot.objects
    chosen: dict[str, AllocatedClaim] = cycle.state.get(CHOSEN, {})
    classes = {raw["metadata"]["name"]: raw for raw in objects.all("DeviceClass")} if chosen else {}
    preparations: list[Preparation] = []
    for claim in unreserved_claims(cycle):
        allocated = chosen.get(claim.name)
        if allocated is None or claim.allocation is not None:
            preparations.append(ReserveClaim(claim.namespace, claim.name))
        else:
            raw = objects.get("ResourceClaim", claim.namespace, claim.name) or {}
            preparations.append(
                AllocateClaim(claim.namespace, claim.name, allocated.to_json(raw, classes, features), allocated.waits)
            )
    extended_claim: ResourceClaim | None = cycle.state.get(EXTENDED)
    return (
        preparations
        if extended_claim is None
        else [
            *preparations,
            _create_claim_preparation(cycle, extended_claim, chosen[extended_claim.name], classes, features),
        ]
    )


def _create_claim_preparation(
    cycle: Cycle, extended_claim: ResourceClaim, chosen: AllocatedClaim, classes: Mapping[str, Json], features: Features
) -> MakeClaim:
    """Return the preparation that creates the claim for extended resources. Raises CycleError."""
    pod = cycle.pod
    if extended_claim.name != EXTENDED_NAME:
        raise CycleError(
            f"{OUTSIDE}ResourceClaim {extended_claim.key}, which was made for extended resources and asks for none"
        )
    if not extended_claim.requests:
        raise CycleError(_not_mapped(pod))
    uses: tuple[ResourceUse, ...] = cycle.state[USES]
    requests = tuple(map(_request_to_json, extended_claim.requests))
    raw = {"spec": {"devices": {"requests": list(requests)}}}
    mappings = tuple(
        {"containerName": use.container, "resourceName": use.resource, "requestName": use.request} for use in uses
    )
    return MakeClaim(pod.namespace, requests, chosen.to_json(raw, classes, features), mappings, chosen.waits)


def _request_to_json(request: DeviceRequest) -> Json:
    (choice,) = request.choices
    exactly = {"deviceClassName": choice.device_class, "allocationMode": choice.mode, "count": choice.count}
    return {"name": request.name, "exactly": exactly}


def _not_mapped(pod: Pod) -> str:
    return f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"


def unreserved_claims(cycle: Cycle) -> list[ResourceClaim]:
    """Return the pod's claims that are not reserved for it yet."""
    return [claim for claim in current_claims(cycle) if cycle.pod.uid not in claim.reserved_for]


def current_claims(cycle: Cycle) -> list[ResourceClaim]:
    """Return the pod's claims in their current state."""
    claims = cycle.snapshot.resource_claims
    pod_claims = [
        claims.get(cycle.pod.namespace, item.claim) for item in cycle.pod.resource_claims if item.claim is not None
    ]
    return [claim for claim in pod_claims if claim is not None]


def _too_many(reserved: tuple[str, ...], pod: Pod, features: Features) -> str:
    """Return the API server's objection to this list; "" if there is none."""
    if len(reserved) > MAX_RESERVED:
        return f": Too many: {len(reserved)}: must have at most {MAX_RESERVED} items"
    if reserved[-1] in reserved[:-1]:
        whole = json.dumps({"resource": "pods", "name": pod.name, "uid": pod.uid}, separators=(",", ":"))
        duplicate = whole if features.revised_allocator else f'"{pod.uid}"'
        return f"[{len(reserved) - 1}]: Duplicate value: {duplicate}"
    return ""
