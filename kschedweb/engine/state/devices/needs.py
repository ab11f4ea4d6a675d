"""A pod's needs for devices: resource claims, and extended resources that a DeviceClass provides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from kschedweb.engine.objects.devicerequests import DeviceRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import IMPLICIT_PREFIX, PodClaim, ResourceClaim
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.state.devices.claims import EXTENDED_NAME, ClaimUse, Devices, extended_key
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


class ClaimError(ValueError):
    """A claim of the pod cannot be used; the text is kube-scheduler's."""


@dataclass(frozen=True, slots=True)
class DeviceNeeds:
    """A pod's needs for devices."""

    claims: tuple[ResourceClaim, ...] = ()
    # Extended resources that devices provide on nodes without a device plugin for them.
    extended: tuple[str, ...] = ()
    # The claim that an earlier attempt to bind the pod made for those resources.
    earlier: ResourceClaim | None = None
    # Resource name -> the DeviceClass that provides it.
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.claims and not self.extended

    @property
    def all_claims(self) -> tuple[ResourceClaim, ...]:
        return self.claims if self.earlier is None else (*self.claims, self.earlier)

    @property
    def extends_anew(self) -> bool:
        """True if the claim for the extended resources does not exist yet, or has no devices yet."""
        return bool(self.extended) and (self.earlier is None or self.earlier.allocation is None)

    @property
    def needs_allocator(self) -> bool:
        """True if kube-scheduler runs its allocator, even if there is nothing to allocate."""
        return self.extends_anew or any(claim.allocation is None for claim in self.claims)


def needs_of(snapshot: Snapshot, pod: Pod, classes: Mapping[str, str]) -> DeviceNeeds:
    """Return the pod's needs for devices; raise ClaimError. Devices in flight for it count as allocated.

    ``classes`` are the DeviceClasses that provide extended resources.
    """
    claim_use = snapshot.resource_claims
    resources = _extended_resources(pod, classes)
    earlier = claim_use.for_extended_resources(pod.name, pod.uid) if resources else None
    if (
        resources
        and earlier is None
        and (chosen := claim_use.in_flight(*extended_key(pod.namespace, pod.uid))) is not None
    ):
        earlier = replace(extended_claim(pod), allocation=chosen.allocation)
    claims = []
    for claim in claims_of(claim_use, pod):
        chosen = claim_use.in_flight(claim.namespace, claim.name)
        usable = chosen is not None and claim.allocation is None and claim_use.may_use(chosen, pod.uid)
        claims.append(replace(claim, allocation=chosen.allocation) if usable and chosen is not None else claim)
    return DeviceNeeds(tuple(claims), resources, earlier, classes)


def extended_claim(pod: Pod, requests: tuple[DeviceRequest, ...] = ()) -> ResourceClaim:
    """Return the claim for the pod's extended resources, before it has a name."""
    return ResourceClaim(
        namespace=pod.namespace,
        name=EXTENDED_NAME,
        terminating=False,
        owners=((pod.name, pod.uid),),
        for_extended_resources=True,
        requests=requests,
        constraints=(),
        reserved_for=(),
        allocation=None,
    )


def claims_of(claims: Devices | ClaimUse, pod: Pod) -> tuple[ResourceClaim, ...]:
    """Return the claims that the pod uses, in its order; raise ClaimError."""
    return tuple(claim for item in pod.resource_claims if (claim := _resolve_claim(claims, pod, item)) is not None)


def _resolve_claim(claims: Devices | ClaimUse, pod: Pod, entry: PodClaim) -> ResourceClaim | None:
    """Return the claim for an entry of the pod's ``resourceClaims``; ``None`` if the entry needs none."""
    if entry.generated and not entry.created:
        raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')
    if entry.claim is None:
        if entry.generated:
            return None
        raise ClaimError(f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set')
    claim = claims.get(pod.namespace, entry.claim)
    if claim is None:
        raise ClaimError(f'could not find ResourceClaim "{pod.namespace}/{entry.claim}"')
    if claim.terminating:
        raise ClaimError(f'resourceclaim "{claim.name}" is being deleted')
    if entry.generated and not claim.made_for(pod.uid):
        raise ClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
    return claim


def _extended_resources(pod: Pod, classes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the extended resources that the pod requests, if a DeviceClass provides one of them."""
    if not classes:
        return ()
    requested = tuple(name for name, amount in pod.requests.items() if amount and may_be_extended(name))
    return requested if any(name in classes for name in requested) else ()


def release_claims(claims: ClaimUse, pod: Pod) -> list[tuple[ResourceClaim, ResourceClaim]]:
    """Release the resource claims of ``pod``, which is gone; return (before, after) of each changed claim.

    The claim that was made for its extended resources is deleted.
    """
    names = [item.claim for item in pod.resource_claims if item.claim is not None]
    changes = claims.release_claims(pod.namespace, names, pod.uid)
    if any(may_be_extended(name) for name in pod.requests):
        generated_claim = claims.for_extended_resources(pod.name, pod.uid)
        if generated_claim is not None:
            claims.delete_claim(generated_claim)
            changes.append((generated_claim, generated_claim.without_allocation()))
    return changes


def may_be_extended(name: str) -> bool:
    """Return True if a DeviceClass may provide the resource ``name``."""
    return "/" in name and (is_extended(name) or name.startswith(IMPLICIT_PREFIX))
