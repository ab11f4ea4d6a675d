"""What REST tells of the devices of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.devices import words
from kschedweb.decisions.devices.inspecting import inspected
from kschedweb.engine.plugins.dynamicresources.inspecting import PodInspection

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine.allocation.inspecting import ChoiceInspection, DeviceVerdict, Inspection, Refusal
    from kschedweb.engine.objects.devicerequests import DeviceConstraint
    from kschedweb.engine.objects.resourceclaim import DeviceId

Told = dict[str, Any]


def devices(case: Case, node: int) -> Told:
    """The devices of the node at a position for the pod of ``case``."""
    told = inspected(case, node) or PodInspection()
    found = told.searched
    return {
        "node": case.snapshot.names[node],
        "problem": told.problem,
        "held": [
            {
                "claim": one.claim,
                "devices": [{"request": request, **_named(device)} for request, device in one.devices],
                "problem": words.held(one),
            }
            for one in told.held
        ],
        "found": None if found is None else found.found,
        "failed": "" if found is None else found.failed,
        "unknown": "" if found is None else found.unknown,
        "refusals": [] if found is None else [_refusal(one, found) for one in found.refusals],
        "constraints": [] if found is None else [_constraint(claim, one) for claim, one in found.constraints],
        "unusable_pools": [] if found is None else [{"pool": pool, "state": state} for pool, state in found.unusable],
        "requests": [] if found is None else [_request(one) for one in found.choices],
    }


def _named(device: DeviceId) -> Told:
    return dict(zip(("driver", "pool", "device"), device, strict=True))


def _constraint(claim: str, found: DeviceConstraint) -> Told:
    return {
        "claim": claim,
        "kind": "distinctAttribute" if found.distinct else "matchAttribute",
        "attribute": found.attribute or "",
        "requests": sorted(found.requests),
    }


def _refusal(found: Refusal, told: Inspection) -> Told:
    return {
        "why": found.why,
        "claim": found.claim,
        "request": found.request,
        "constraint": None if found.constraint is None else _constraint(found.claim, found.constraint),
        "text": words.refusal(found, told),
    }


def _request(found: ChoiceInspection) -> Told:
    return {
        "claim": found.claim,
        "request": found.name,
        "device_class": found.device_class,
        "class_exists": found.class_exists,
        "count": found.count,
        "wanted": found.wanted,
        "passing": found.passing,
        "selectors": [{"of": of, "expression": expression} for expression, of in found.selectors],
        "devices": [_device(one) for one in found.devices],
    }


def _device(found: DeviceVerdict) -> Told:
    return {
        **_named(found.device),
        "selectors": [
            {"accepts": one.accepts, "problem": one.problem, "outside": one.outside} for one in found.selectors
        ],
        "objections": [{"why": one.why, "text": words.objection(one, found)} for one in found.objections],
        "holders": found.holders,
        "compared": dict(found.compared),
        "passes": found.passes,
        "chosen": found.chosen,
        "chosen_for": found.chosen_for,
    }
