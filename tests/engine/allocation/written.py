"""Claims as JSON, with what the engine has made of them."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resourceclaim import AllocatedDevice, ResourceClaim


def write_claim(raw: dict, claim: ResourceClaim | None) -> dict:
    """``raw`` with the devices and users of ``claim``; where the devices can be used is left out."""
    if claim is None or claim.allocation is None:
        return raw
    results = [write_result(allocated) for allocated in claim.allocation.devices]
    status: dict[str, Any] = {"allocation": {"devices": {"results": results}}}
    names = [condition.values[0] for term in claim.allocation.terms or () for condition in term.fields]
    if names:
        field = {"key": "metadata.name", "operator": "In", "values": names[:1]}
        status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    status["reservedFor"] = [{"resource": "pods", "name": uid, "uid": uid} for uid in claim.reserved_for]
    return raw | {"status": status}


def write_result(device_result: AllocatedDevice) -> dict:
    driver, pool, device = device_result.device
    fields: dict[str, Any] = {"request": device_result.request, "driver": driver, "pool": pool, "device": device}
    if device_result.admin:
        fields["adminAccess"] = True
    if device_result.share:
        fields["shareID"] = device_result.share
    if device_result.consumed is not None:
        fields["consumedCapacity"] = {name: str(amount // NANO) for name, amount in device_result.consumed}
    return fields
