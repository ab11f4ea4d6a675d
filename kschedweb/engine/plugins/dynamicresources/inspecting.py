"""A pod's claims on one node: those with devices, and every verdict on the devices for the others."""

from __future__ import annotations

from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.inspection import Inspection, inspect_node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import BindingState, DeviceId
from kschedweb.engine.plugins.dynamicresources.verdicts import claims_to_allocate, usable_nodes
from kschedweb.engine.state.devices.needs import ClaimError, needs_of
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim that has its devices."""

    claim: str
    # (request, device) of each.
    devices: tuple[tuple[str, DeviceId], ...]
    # The devices can be used on the node.
    usable: bool
    # Progress of the devices that have to be prepared.
    ready: BindingState


@dataclass(frozen=True, slots=True)
class PodInspection:
    """The inspection of a pod's claims on one node."""

    # The reason why the claims cannot be inspected.
    problem: str = ""
    held: tuple[HeldClaim, ...] = ()
    # ``None`` if no claim needs devices.
    searched: Inspection | None = None

    @property
    def empty(self) -> bool:
        """True if the pod asks for no devices."""
        return not (self.problem or self.held or self.searched)


def inspect_pod(snapshot: Snapshot, pod: Pod, node: str, features: Features) -> PodInspection:
    """Return the claims of ``pod`` on ``node``, which is one of the snapshot's."""
    try:
        needs = needs_of(snapshot, pod, features.list_resource_classes(snapshot.objects.devices))
    except ClaimError as problem:
        return PodInspection(str(problem))
    row = snapshot.index[node]
    allocated = tuple(
        HeldClaim(
            claim.key,
            tuple((device.request, device.device) for device in claim.allocation.devices),
            bool(usable_nodes(snapshot, claim.allocation, features)[row]),
            claim.allocation.binding,
        )
        for claim in needs.all_claims
        if claim.allocation is not None
    )
    if not needs.needs_allocator:
        return PodInspection(held=allocated)
    to_allocate = next((claims for claims, nodes in claims_to_allocate(snapshot, pod, needs) if nodes[row]), [])
    if not to_allocate:
        return PodInspection(held=allocated)
    allocator, holders = Allocator(snapshot, features), snapshot.resource_claims.claims_by_device()
    return PodInspection(held=allocated, searched=inspect_node(allocator, to_allocate, row, holders))
