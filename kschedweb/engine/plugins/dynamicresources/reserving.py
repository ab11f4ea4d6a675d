"""Devices for a pod on the node found: chosen in Reserve, written into its claims in PreBind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.asked import AllocationError
from kschedweb.engine.allocation.extended import ResourceUse
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.selecting import UnknownError
from kschedweb.engine.allocation.written import Allocated
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.preparation import AllocateClaim, MakeClaim, Preparation, ReserveClaim
from kschedweb.engine.framework.status import OUTSIDE, SUCCESS, CycleError, Status, error, outside
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.devicerequests import DeviceRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.plugins.dynamicresources.verdicts import claims_to_allocate, resource_uses
from kschedweb.engine.state.devices.claims import EXTENDED_NAME, extended_key
from kschedweb.engine.state.devices.needs import ClaimError, Needs, needs_of

EXTENDED, USES, CHOSEN = "DynamicResources.extended", "DynamicResources.uses", "DynamicResources.chosen"
MAX_RESERVED = 256  # pods that the API server lets share a claim


def choose(cycle: Cycle, node: str, features: Features) -> Status:
    """Choose devices for the pod's claims on ``node``: they are in flight from then on."""
    snapshot, pod = cycle.snapshot, cycle.pod
    try:
        needs = needs_of(snapshot, pod, extended=features.extended)
    except ClaimError as problem:
        return error(str(problem))
    _share(cycle, needs)
    row = snapshot.index.get(node)
    if not needs.searches or row is None:
        return SUCCESS
    for claims, nodes in claims_to_allocate(snapshot, pod, needs):
        if not nodes[row]:
            continue
        try:
            found = Allocator(snapshot, features).allocated(claims, row)
        except AllocationError as problem:
            return error(str(problem))
        except UnknownError as unknown:
            return outside(str(unknown))
        if found is None:
            return error("claim allocation not found for node")
        for one in found:
            snapshot.resource_claims.take_off(*_key(cycle, one.claim), one.allocation, pod.uid)
        cycle.state[CHOSEN] = {one.claim.name: one for one in found}
        cycle.state[EXTENDED] = next((claim for claim in claims if claim.for_extended_resources), None)
        cycle.state[USES] = resource_uses(snapshot, pod, needs, row)
    return SUCCESS


def _key(cycle: Cycle, claim: ResourceClaim) -> tuple[str, str]:
    named = claim.name != EXTENDED_NAME
    return (claim.namespace, claim.name) if named else extended_key(cycle.pod.namespace, cycle.pod.uid)


def _share(cycle: Cycle, needs: Needs) -> None:
    """Of devices in flight for other pods of the group, note that this pod wants them, too."""
    claims, uid = cycle.snapshot.resource_claims, cycle.pod.uid
    for claim in needs.claims:
        chosen = claims.in_flight(claim.namespace, claim.name)
        if chosen is not None and claim.allocation is chosen.allocation and uid not in chosen.uids:
            claims.take_off(claim.namespace, claim.name, chosen.allocation, uid)


def give_back(cycle: Cycle) -> None:
    """Give the pod's devices in flight back, and its reservations."""
    pod, claims = cycle.pod, cycle.snapshot.resource_claims
    for claim in current(cycle):
        claims.give_back(claim.namespace, claim.name, pod.uid)
        if pod.uid in claim.reserved_for and claim.allocation is not None:
            left = tuple(other for other in claim.reserved_for if other != pod.uid)
            claims.change(claim.reserved(left))
    made: ResourceClaim | None = cycle.state.get(EXTENDED)
    if made is not None:
        claims.land(*_key(cycle, made), pod.uid)


def write(cycle: Cycle, features: Features) -> Status:
    """Write the devices in flight into the pod's claims, and reserve the claims for the pod."""
    pod, claims = cycle.pod, cycle.snapshot.resource_claims
    for found in unreserved(cycle):
        claim = claims.get(found.namespace, found.name) or found
        reserved, chosen = (*claim.reserved_for, pod.uid), claims.land(claim.namespace, claim.name, pod.uid)
        if refusal := _too_many(reserved, pod, features):
            doing = "add reservation" if chosen is None else "add allocation and reservation"
            return error(
                f'{doing} to claim {claim.key}: ResourceClaim.resource.k8s.io "{claim.name}" is invalid: '
                f"status.reservedFor{refusal}"
            )
        claims.change((claim if chosen is None else claim.allocated(chosen)).reserved(reserved))
    return _write_extended(cycle)


def _write_extended(cycle: Cycle) -> Status:
    """Make the claim for extended resources whose devices are in flight."""
    pod, claims = cycle.pod, cycle.snapshot.resource_claims
    made: ResourceClaim | None = cycle.state.get(EXTENDED)
    chosen = None if made is None else claims.land(*_key(cycle, made), pod.uid)
    if made is None or chosen is None:
        return SUCCESS
    named = replace(made, name=f"{pod.name}-extended-resources-{pod.uid}") if made.name == EXTENDED_NAME else made
    claims.change(named.allocated(chosen).reserved((*named.reserved_for, pod.uid)))
    if not made.requests:
        # kube-scheduler makes a claim even for resources that the node's device plugin has, and then fails on it.
        return error(_not_mapped(pod))
    return SUCCESS


def to_prepare(cycle: Cycle, features: Features) -> list[Preparation]:
    """What has to be written for the same where others write. Raises CycleError."""
    objects = cycle.snapshot.objects
    chosen: dict[str, Allocated] = cycle.state.get(CHOSEN, {})
    classes = {raw["metadata"]["name"]: raw for raw in objects.all("DeviceClass")} if chosen else {}
    found: list[Preparation] = []
    for claim in unreserved(cycle):
        one = chosen.get(claim.name)
        if one is None or claim.allocation is not None:
            found.append(ReserveClaim(claim.namespace, claim.name))
        else:
            raw = objects.get("ResourceClaim", claim.namespace, claim.name) or {}
            found.append(AllocateClaim(claim.namespace, claim.name, one.written(raw, classes, features), one.waits))
    made: ResourceClaim | None = cycle.state.get(EXTENDED)
    return found if made is None else [*found, _to_make(cycle, made, chosen[made.name], classes, features)]


def _to_make(
    cycle: Cycle, made: ResourceClaim, chosen: Allocated, classes: Mapping[str, Json], features: Features
) -> MakeClaim:
    """The claim for extended resources. Raises CycleError."""
    pod = cycle.pod
    if made.name != EXTENDED_NAME:
        raise CycleError(f"{OUTSIDE}ResourceClaim {made.key}, which was made for extended resources and asks for none")
    if not made.requests:
        raise CycleError(_not_mapped(pod))
    uses: tuple[ResourceUse, ...] = cycle.state[USES]
    requests = tuple(map(_request, made.requests))
    raw = {"spec": {"devices": {"requests": list(requests)}}}
    mappings = tuple(
        {"containerName": one.container, "resourceName": one.resource, "requestName": one.request} for one in uses
    )
    return MakeClaim(pod.namespace, requests, chosen.written(raw, classes, features), mappings, chosen.waits)


def _request(request: DeviceRequest) -> Json:
    (choice,) = request.choices
    exactly = {"deviceClassName": choice.device_class, "allocationMode": choice.mode, "count": choice.count}
    return {"name": request.name, "exactly": exactly}


def _not_mapped(pod: Pod) -> str:
    return f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"


def unreserved(cycle: Cycle) -> list[ResourceClaim]:
    """The pod's claims that are not reserved for it yet."""
    return [claim for claim in current(cycle) if cycle.pod.uid not in claim.reserved_for]


def current(cycle: Cycle) -> list[ResourceClaim]:
    """The pod's claims as they are now."""
    claims = cycle.snapshot.resource_claims
    found = [
        claims.get(cycle.pod.namespace, item.claim) for item in cycle.pod.resource_claims if item.claim is not None
    ]
    return [claim for claim in found if claim is not None]


def _too_many(reserved: tuple[str, ...], pod: Pod, features: Features) -> str:
    """The API server's objection to this list; "" if there is none."""
    if len(reserved) > MAX_RESERVED:
        return f": Too many: {len(reserved)}: must have at most {MAX_RESERVED} items"
    if reserved[-1] in reserved[:-1]:
        whole = json.dumps({"resource": "pods", "name": pod.name, "uid": pod.uid}, separators=(",", ":"))
        duplicate = whole if features.revised else f'"{pod.uid}"'
        return f"[{len(reserved) - 1}]: Duplicate value: {duplicate}"
    return ""
