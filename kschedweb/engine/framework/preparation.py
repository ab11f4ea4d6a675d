"""Changes that have to be written to the cluster's claims so that a pod can be bound or finds a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SelectNode:
    """The annotation volume.kubernetes.io/selected-node on a claim whose volume has yet to be provisioned.

    It has taken effect once the claim is bound to a volume.
    """

    namespace: str
    claim: str
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class TakeVolume:
    """The claimRef of an existing volume that a claim gets. It has taken effect once the claim is bound."""

    volume: str
    namespace: str
    claim: str
    uid: str


@dataclass(frozen=True, slots=True)
class ReserveClaim:
    """The addition of a pod to status.reservedFor of a ResourceClaim that has its devices."""

    namespace: str
    claim: str


@dataclass(frozen=True, slots=True)
class AllocateClaim:
    """The allocation of devices to a ResourceClaim, with the pod in its reservedFor."""

    namespace: str
    claim: str
    # The claim's new status.allocation.
    allocation: Json = field(hash=False)
    # It has taken effect only once the devices are ready.
    waits: bool = False


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """The creation of a ResourceClaim, with its devices, for a pod's extended resources. The pod's status names it."""

    namespace: str
    # The claim's spec.devices.requests.
    requests: tuple[Json, ...] = field(hash=False)
    # The claim's status.allocation.
    allocation: Json = field(hash=False)
    # The pod's status.extendedResourceClaimStatus.requestMappings.
    mappings: tuple[Json, ...] = field(hash=False)
    # As in AllocateClaim.
    waits: bool = False


@dataclass(frozen=True, slots=True)
class FreeClaim:
    """The release of the devices of a ResourceClaim that no other pod uses: status.allocation, reservedFor and devices
    go.
    """

    namespace: str
    claim: str
    # The claim was generated for the pod's extended resources, and is deleted as a whole.
    is_generated: bool = False


Preparation = SelectNode | TakeVolume | ReserveClaim | AllocateClaim | MakeClaim


def merge_freed_claims(
    first: Mapping[str, tuple[FreeClaim, ...]], second: Mapping[str, tuple[FreeClaim, ...]]
) -> dict[str, tuple[FreeClaim, ...]]:
    """Merge two mappings of claims to free, by the pod's key."""
    return {pod: first.get(pod, ()) + second.get(pod, ()) for pod in {**first, **second}}
