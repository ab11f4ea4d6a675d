"""What has to be written to the cluster about claims: before a pod can be bound, or so that it finds a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SelectNode:
    """A claim for which a volume is still to be made: the annotation volume.kubernetes.io/selected-node.

    It has taken effect once the claim is bound to a volume.
    """

    namespace: str
    claim: str
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class TakeVolume:
    """A claim that gets a volume that is there: the volume's claimRef. It has taken effect once the claim is bound."""

    volume: str
    namespace: str
    claim: str
    uid: str


@dataclass(frozen=True, slots=True)
class ReserveClaim:
    """A ResourceClaim that has its devices: the pod is added to its status.reservedFor."""

    namespace: str
    claim: str


@dataclass(frozen=True, slots=True)
class AllocateClaim:
    """A ResourceClaim gets devices: ``allocation`` is its new status.allocation, and the pod is added to reservedFor.

    It has taken effect once the devices are ready, where it ``waits`` for that.
    """

    namespace: str
    claim: str
    allocation: Json = field(hash=False)
    waits: bool = False


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """A ResourceClaim is made for the pod's extended resources, with its devices, and the pod's status names it.

    ``requests`` and ``allocation`` are the claim's spec.devices.requests and status.allocation, ``mappings`` the
    pod's status.extendedResourceClaimStatus.requestMappings. It ``waits`` as an AllocateClaim does.
    """

    namespace: str
    requests: tuple[Json, ...] = field(hash=False)
    allocation: Json = field(hash=False)
    mappings: tuple[Json, ...] = field(hash=False)
    waits: bool = False


@dataclass(frozen=True, slots=True)
class FreeClaim:
    """A ResourceClaim that nobody else uses loses its devices: its status.allocation, reservedFor and devices go.

    One that was ``is_generated`` for the pod's extended resources goes altogether.
    """

    namespace: str
    claim: str
    is_generated: bool = False


Preparation = SelectNode | TakeVolume | ReserveClaim | AllocateClaim | MakeClaim


def merge_freed_claims(
    first: Mapping[str, tuple[FreeClaim, ...]], second: Mapping[str, tuple[FreeClaim, ...]]
) -> dict[str, tuple[FreeClaim, ...]]:
    """The claims to free for each pod, of two such answers."""
    return {pod: first.get(pod, ()) + second.get(pod, ()) for pod in {**first, **second}}
