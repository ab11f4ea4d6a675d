"""Changes that may help a pod that DynamicResources rejected."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    EventHint,
    ObjectChange,
)
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.state.devices.needs import ClaimError, claims_of


def list_hints(*, deletions: bool = False) -> list[EventHint]:
    """Return the events that the plugin listens to. ``deletions`` adds deleted claims."""
    changed = Action.ADD | Action.UPDATE
    of_claims = changed | Action.DELETE if deletions else changed
    return [
        EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL | Action.NODE_ALLOCATABLE)),
        EventHint(ClusterEvent(RESOURCE_CLAIM, of_claims), _after_claim),
        EventHint(ClusterEvent(POD, Action.POD_GENERATED_CLAIM), _after_own_update),
        EventHint(ClusterEvent(DEVICE_CLASS, changed)),
        EventHint(ClusterEvent(RESOURCE_SLICE, changed)),
    ]


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Queue if devices came free, or the status of one of the pod's claims changed."""
    if change.new is None:
        return _to_claim(change.old).allocation is not None
    try:
        used = claims_of(change.cluster.devices, pod)
    except ClaimError:
        return False
    old, new = _to_claim(change.old), _to_claim(change.new)
    # Freed devices may help any pod, not only those that use this claim.
    if old.allocation is not None and new.allocation is None:
        return True
    mine = any(claim.key == new.key for claim in used)
    return mine and (change.old is None or _claim_status(change.old) != _claim_status(change.new))


def _to_claim(claim: Any) -> ResourceClaim:
    return claim if isinstance(claim, ResourceClaim) else ResourceClaim.from_json(claim or {})


def _claim_status(claim: Any) -> Any:
    if isinstance(claim, ResourceClaim):
        return claim.reserved_for, claim.allocation
    return get_mapping(claim, "status")


def _after_own_update(pod: Pod, change: ObjectChange) -> bool:
    """Queue if all of the pod's own claims exist now."""
    if change.new.uid != pod.uid:
        return False
    try:
        claims_of(change.cluster.devices, change.new)
    except ClaimError:
        return False
    return True
