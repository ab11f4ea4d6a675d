"""What a search found, as it is written into a claim: devices, and the nodes on which they can be used."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from kschedweb.engine.allocation.asked import AllocationError
from kschedweb.engine.allocation.taking import Chosen
from kschedweb.engine.allocation.written import Allocated
from kschedweb.engine.objects.access import Json, objects, text, texts
from kschedweb.engine.objects.nodeselector import FIELD_NAME, terms
from kschedweb.engine.objects.resourceclaim import AllocatedDevice, Allocation, ResourceClaim

KINDS = ("matchFields", "matchExpressions")


def allocated(claim: ResourceClaim, node: str, chosen: Sequence[Chosen]) -> Allocated:
    """The devices ``chosen`` for ``claim`` on ``node``. Raises AllocationError.

    Devices that have to be made ready are taken to be.
    """
    selector = node_selector(claim, node, chosen)
    allocation = Allocation(
        terms=None if selector is None else terms(selector, "nodeSelectorTerms"),
        devices=tuple(_device(one) for one in chosen),
        dated=True,
    )
    return Allocated(claim, chosen, allocation, selector)


def _device(one: Chosen) -> AllocatedDevice:
    consumed = tuple(one.consumed.items()) if one.consumed else None
    share = str(uuid.uuid4()) if one.shared else ""
    return AllocatedDevice(one.request, one.one.id, one.choice.admin, share, consumed)


def node_selector(claim: ResourceClaim, node: str, chosen: Sequence[Chosen]) -> Json | None:
    """The nodes on which all of ``chosen`` can be used, ``None`` for all. Raises AllocationError."""
    found: dict[str, list[Json]] = {kind: [] for kind in KINDS}
    for one in chosen:
        nodes = one.one.nodes
        if nodes.name or one.one.device.binds_to_node:
            only = {"key": FIELD_NAME, "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [only]}]}
        if one.one.split:
            problem = f"unsupported ResourceSlice.NodeSelector with {one.one.split} terms"
            raise AllocationError(f"create NodeSelector for claim {claim.name}: {problem}")
        for term in objects(nodes.selector or {}, "nodeSelectorTerms"):
            for kind in KINDS:
                for requirement in objects(term, kind):
                    if not any(_same(requirement, other) for other in found[kind]):
                        found[kind].append(requirement)
    term = {kind: listed for kind, listed in found.items() if listed}
    return {"nodeSelectorTerms": [term]} if term else None


def _same(one: Json, other: Json) -> bool:
    if any(text(one, key) != text(other, key) for key in ("key", "operator")):
        return False
    return set(texts(one, "values")) == set(texts(other, "values"))
