"""The result of a search as it is written into a claim: devices, and the nodes on which they can be used."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from kschedweb.engine.allocation.allocated_claim import AllocatedClaim
from kschedweb.engine.allocation.request_data import AllocationError
from kschedweb.engine.allocation.taken_devices import ChosenDevice
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_objects, get_string, get_strings
from kschedweb.engine.objects.nodeselector import FIELD_NAME, parse_terms
from kschedweb.engine.objects.resourceclaim import AllocatedDevice, Allocation, ResourceClaim

KINDS = ("matchFields", "matchExpressions")


def build_allocation(claim: ResourceClaim, node: str, chosen: Sequence[ChosenDevice]) -> AllocatedClaim:
    """Return the allocation of the devices ``chosen`` for ``claim`` on ``node``. Raises AllocationError.

    Devices that need preparation count as prepared.
    """
    selector = create_node_selector(claim, node, chosen)
    allocation = Allocation(
        terms=None if selector is None else parse_terms(selector, "nodeSelectorTerms"),
        devices=tuple(_to_allocated_device(chosen_device) for chosen_device in chosen),
        has_timestamp=True,
    )
    return AllocatedClaim(claim, chosen, allocation, selector)


def _to_allocated_device(chosen_device: ChosenDevice) -> AllocatedDevice:
    consumed = tuple(chosen_device.consumed.items()) if chosen_device.consumed else None
    share = str(uuid.uuid4()) if chosen_device.shared else ""
    return AllocatedDevice(
        chosen_device.request, chosen_device.candidate.id, chosen_device.choice.admin, share, consumed
    )


def create_node_selector(claim: ResourceClaim, node: str, chosen: Sequence[ChosenDevice]) -> Json | None:
    """Return the node selector of nodes that can use all of ``chosen``; None for all. Raises AllocationError."""
    requirements_by_kind: dict[str, list[Json]] = {kind: [] for kind in KINDS}
    for chosen_device in chosen:
        nodes = chosen_device.candidate.nodes
        if nodes.name or chosen_device.candidate.device.binds_to_node:
            only = {"key": FIELD_NAME, "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [only]}]}
        if chosen_device.candidate.excess_terms:
            problem = f"unsupported ResourceSlice.NodeSelector with {chosen_device.candidate.excess_terms} terms"
            raise AllocationError(f"create NodeSelector for claim {claim.name}: {problem}")
        for term in get_objects(nodes.selector or {}, "nodeSelectorTerms"):
            for kind in KINDS:
                for requirement in get_objects(term, kind):
                    if not any(_is_same_requirement(requirement, other) for other in requirements_by_kind[kind]):
                        requirements_by_kind[kind].append(requirement)
    term = {kind: listed for kind, listed in requirements_by_kind.items() if listed}
    return {"nodeSelectorTerms": [term]} if term else None


def _is_same_requirement(requirement: Json, other: Json) -> bool:
    if any(get_string(requirement, key) != get_string(other, key) for key in ("key", "operator")):
        return False
    return set(get_strings(requirement, "values")) == set(get_strings(other, "values"))
