"""DynamicResources' verdicts on every node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kschedweb.engine.allocation.allocator import AllocationOutcome, Allocator
from kschedweb.engine.allocation.extended import ResourceUse, requests_and_uses
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.framework.interface import Verdicts
from kschedweb.engine.framework.status import SUCCESS, Status, error, outside_simulation, unresolvable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import Allocation, BindingState, ResourceClaim
from kschedweb.engine.state.columns import Codes, Ints, Mask
from kschedweb.engine.state.devices.needs import DeviceNeeds, extended_claim
from kschedweb.engine.state.nodematching import matches_any
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

NO_ACCESS = "no access"
UNAVAILABLE = unresolvable("resourceclaim not available on the node", fact=NO_ACCESS)
NO_RESOURCE = unresolvable("cannot fit resource")
STALE = unresolvable("cannot schedule extended resource claim")
# Codes of the verdicts in their fixed places; outcomes of the allocator follow them.
AVAILABLE_CODE, UNAVAILABLE_CODE, CLOCK_CODE, NO_RESOURCE_CODE = range(4)


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts on all nodes."""

    verdicts: Verdicts
    # int64[nodes]: score of the devices that would be chosen.
    worth: Ints


def judge_nodes(snapshot: Snapshot, pod: Pod, needs: DeviceNeeds, features: Features) -> Judged:
    """Return the verdict on every node."""
    size = len(snapshot)
    worth = np.zeros(size, dtype=np.int64)
    # A claim of an earlier cycle is stale: kube-scheduler deletes it in PostFilter before it tries again.
    if needs.earlier is not None and needs.earlier.requests:
        return Judged(Verdicts.uniform(size, STALE), worth)
    statuses = [SUCCESS, UNAVAILABLE, _clock_status(needs), NO_RESOURCE]
    codes = np.full(size, AVAILABLE_CODE, dtype=np.int32)
    if needs.claims:
        for claim in needs.all_claims:
            _add_allocated(codes, snapshot, claim, features)
    if needs.needs_allocator:
        allocator = Allocator(snapshot, features)
        for claims, nodes in claims_to_allocate(snapshot, pod, needs):
            outcome_codes, outcomes = allocator.find_outcomes(claims, nodes)
            _add_outcomes(codes, worth, statuses, outcome_codes, outcomes)
    for name in needs.extended:
        if name not in needs.classes:
            codes[~_lists_resource(snapshot, name)] = NO_RESOURCE_CODE
    return Judged(Verdicts(codes, statuses), worth)


def claims_to_allocate(snapshot: Snapshot, pod: Pod, needs: DeviceNeeds) -> Iterator[tuple[list[ResourceClaim], Mask]]:
    """Yield the claims that need devices, with a mask of the nodes where they are the ones; other nodes need none.

    Each node has its own claim for extended resources, for those without a device plugin there.
    """
    unallocated = [claim for claim in needs.claims if claim.allocation is None]
    if not needs.extends_anew:
        yield unallocated, np.ones(len(snapshot), dtype=np.bool_)
        return
    backed = [name for name in needs.extended if name in needs.classes]
    kinds = np.zeros(len(snapshot), dtype=np.int64)
    for place, name in enumerate(backed):
        # One bit per resource, set where the node has no device plugin for it: nodes with equal bits share a claim.
        kinds |= (snapshot.resource_row(snapshot.allocatable, name) == 0).astype(np.int64) << place
    for kind in np.unique(kinds).tolist():
        resources = [name for place, name in enumerate(backed) if kind >> place & 1]
        if resources or needs.claims:
            requests, _ = requests_and_uses(pod, resources, needs.classes)
            claim = replace(extended_claim(pod) if needs.earlier is None else needs.earlier, requests=requests)
            yield [*unallocated, claim], kinds == kind


def resource_uses(snapshot: Snapshot, pod: Pod, needs: DeviceNeeds, row: int) -> tuple[ResourceUse, ...]:
    """Return which container uses which request of the claim for extended resources on the node at a position."""
    backed = [
        name
        for name in needs.extended
        if name in needs.classes and not snapshot.resource_row(snapshot.allocatable, name)[row]
    ]
    return requests_and_uses(pod, backed, needs.classes)[1]


def _add_outcomes(
    codes: Codes, worth: Ints, statuses: list[Status], outcome_codes: Codes, outcomes: list[AllocationOutcome]
) -> None:
    """Add the outcomes of a search for devices. They take precedence over the usability of other claims on a node."""
    for place, outcome in enumerate(outcomes[1:], 1):
        if outcome.ok:
            if outcome.worth:
                worth[outcome_codes == place] = outcome.worth
        else:
            codes[outcome_codes == place] = len(statuses)
            statuses.append(_outcome_status(outcome))


def _outcome_status(outcome: AllocationOutcome) -> Status:
    if outcome.unknown:
        return outside_simulation(outcome.unknown)
    return error(outcome.failed) if outcome.failed else unresolvable(outcome.rejected)


def _add_allocated(codes: Codes, snapshot: Snapshot, claim: ResourceClaim, features: Features) -> None:
    """Reject the nodes where an allocated claim cannot be used, whatever the state of the other claims."""
    if claim.allocation is not None:
        waiting = features.binding_conditions and claim.allocation.binding is BindingState.WAITING
        if waiting and claim.allocation.has_timestamp:
            codes[codes == AVAILABLE_CODE] = CLOCK_CODE
        codes[~usable_nodes(snapshot, claim.allocation, features)] = UNAVAILABLE_CODE


def usable_nodes(snapshot: Snapshot, allocation: Allocation, features: Features) -> Mask:
    """Return a mask of the nodes on which the devices can be used."""
    if features.binding_conditions and allocation.binding is BindingState.FAILED:
        return np.zeros(len(snapshot), dtype=np.bool_)
    if allocation.terms is None:
        return np.ones(len(snapshot), dtype=np.bool_)
    return matches_any(snapshot, allocation.terms)


def _lists_resource(snapshot: Snapshot, resource: str) -> Mask:
    """Return a mask of the nodes whose allocatable lists the resource, even with 0."""
    mask: Mask = np.array([resource in node.allocatable for node in snapshot.nodes], dtype=np.bool_)
    return mask


def _clock_status(needs: DeviceNeeds) -> Status:
    waiting = [claim for claim in needs.claims if claim.allocation and claim.allocation.binding is BindingState.WAITING]
    names = " and ".join(f"resource claim {claim.key}" for claim in waiting)
    return outside_simulation(f"the time by which the devices of {names} have to be ready")
