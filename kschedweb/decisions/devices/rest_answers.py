"""The devices of a node as REST represents them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.devices import words
from kschedweb.decisions.devices.inspection import inspect_devices
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamicresources.inspecting import PodInspection

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine.allocation.inspection import AllocationRefusal, ChoiceInspection, DeviceVerdict, Inspection
    from kschedweb.engine.objects.devicerequests import DeviceConstraint
    from kschedweb.engine.objects.resourceclaim import DeviceId


def devices_to_json(case: Case, node: int) -> Json:
    """Return the devices of the node at a position for the pod of ``case``."""
    inspection = inspect_devices(case, node) or PodInspection()
    searched = inspection.searched
    return {
        "node": case.snapshot.names[node],
        "problem": inspection.problem,
        "held": [
            {
                "claim": claim.claim,
                "devices": [{"request": request, **_device_id_to_json(device)} for request, device in claim.devices],
                "problem": words.describe_held_claim(claim),
            }
            for claim in inspection.held
        ],
        "found": None if searched is None else searched.has_devices,
        "failed": "" if searched is None else searched.failed,
        "unknown": "" if searched is None else searched.unknown,
        "refusals": [] if searched is None else [_refusal_to_json(refusal, searched) for refusal in searched.refusals],
        "constraints": []
        if searched is None
        else [_constraint_to_json(claim, constraint) for claim, constraint in searched.constraints],
        "unusable_pools": []
        if searched is None
        else [{"pool": pool, "state": state} for pool, state in searched.unusable],
        "requests": [] if searched is None else [_choice_to_json(choice) for choice in searched.choices],
    }


def _device_id_to_json(device: DeviceId) -> Json:
    return dict(zip(("driver", "pool", "device"), device, strict=True))


def _constraint_to_json(claim: str, constraint: DeviceConstraint) -> Json:
    return {
        "claim": claim,
        "kind": "distinctAttribute" if constraint.distinct else "matchAttribute",
        "attribute": constraint.attribute or "",
        "requests": sorted(constraint.requests),
    }


def _refusal_to_json(refusal: AllocationRefusal, inspection: Inspection) -> Json:
    return {
        "why": refusal.why,
        "claim": refusal.claim,
        "request": refusal.request,
        "constraint": None if refusal.constraint is None else _constraint_to_json(refusal.claim, refusal.constraint),
        "text": words.describe_refusal(refusal, inspection),
    }


def _choice_to_json(choice: ChoiceInspection) -> Json:
    return {
        "claim": choice.claim,
        "request": choice.name,
        "device_class": choice.device_class,
        "class_exists": choice.class_exists,
        "count": choice.count,
        "wanted": choice.required_count,
        "passing": choice.passing,
        "selectors": [{"of": source, "expression": expression} for expression, source in choice.selectors],
        "devices": [_device_to_json(device) for device in choice.devices],
    }


def _device_to_json(device: DeviceVerdict) -> Json:
    return {
        **_device_id_to_json(device.device),
        "selectors": [
            {"accepts": verdict.accepts, "problem": verdict.problem, "outside": verdict.outside}
            for verdict in device.selectors
        ],
        "objections": [
            {"why": objection.why, "text": words.describe_objection(objection, device)}
            for objection in device.objections
        ],
        "holders": device.holders,
        "compared": dict(device.compared),
        "passes": device.passes,
        "chosen": device.chosen,
        "chosen_for": device.chosen_for,
    }
