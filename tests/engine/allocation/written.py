"""Claims as JSON, with what the engine has made of them."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resourceclaim import AllocatedDevice, ResourceClaim


def written(raw: dict, claim: ResourceClaim | None) -> dict:
    """``raw`` with the devices and users of ``claim``; where the devices can be used is left out."""
    if claim is None or claim.allocation is None:
        return raw
    results = [result(one) for one in claim.allocation.devices]
    status: dict[str, Any] = {"allocation": {"devices": {"results": results}}}
    names = [condition.values[0] for term in claim.allocation.terms or () for condition in term.fields]
    if names:
        field = {"key": "metadata.name", "operator": "In", "values": names[:1]}
        status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    status["reservedFor"] = [{"resource": "pods", "name": uid, "uid": uid} for uid in claim.reserved_for]
    return raw | {"status": status}


def result(one: AllocatedDevice) -> dict:
    driver, pool, device = one.device
    found: dict[str, Any] = {"request": one.request, "driver": driver, "pool": pool, "device": device}
    if one.admin:
        found["adminAccess"] = True
    if one.share:
        found["shareID"] = one.share
    if one.consumed is not None:
        found["consumedCapacity"] = {name: str(amount // NANO) for name, amount in one.consumed}
    return found
