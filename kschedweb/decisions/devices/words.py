"""Plain words for why a device cannot be used, and why a search for devices finds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.words import join_with_and
from kschedweb.engine.allocation.inspection import ObjectionReason, RefusalReason
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resourceclaim import BindingState
from kschedweb.web.units import format_count, format_memory

if TYPE_CHECKING:
    from kschedweb.engine.allocation.capacity import Lack
    from kschedweb.engine.allocation.inspection import (
        AllocationRefusal,
        ChoiceInspection,
        DeviceVerdict,
        Inspection,
        Objection,
    )
    from kschedweb.engine.objects.devicerequests import DeviceConstraint
    from kschedweb.engine.plugins.dynamicresources.inspecting import HeldClaim

FEATURES = {"bindingConditions": "binding conditions", "consumesCounters": "shared counters"}
OBJECTIONS = {
    ObjectionReason.ELSEWHERE: "it belongs to other nodes",
    ObjectionReason.IN_USE: "{} uses it",
    ObjectionReason.NOT_OFFERED: "the feature gate for {} is off",
    ObjectionReason.TAINTED: "the request does not tolerate its taint {}",
    ObjectionReason.ATTRIBUTE: "it lacks the attribute {}, which a constraint compares",
}
SHORT_OF = {
    ObjectionReason.COUNTERS: "the counters of its pool do not suffice: {}",
    ObjectionReason.CAPACITY: "its capacity does not suffice: {}",
}
READY = {
    BindingState.READY: "",
    BindingState.WAITING: "its devices are not ready yet",
    BindingState.FAILED: "its devices failed to become ready",
}


def format_amount(nano: int) -> str:
    """Return an amount in nano-units as a quantity."""
    return f"{nano / NANO:g}" if nano % NANO else format_memory(nano // NANO)


def describe_objection(objection: Objection, device: DeviceVerdict) -> str:
    """Return why the request cannot get the device."""
    if objection.lacks:
        return SHORT_OF[objection.why].format(_describe_lacks(objection.lacks))
    names = join_with_and([FEATURES.get(name, name) for name in objection.names] or list(device.holders))
    return OBJECTIONS[objection.why].format(names)


def _describe_lacks(lacks: tuple[Lack, ...]) -> str:
    return join_with_and(
        [
            f"{lack.name} would need {format_amount(lack.requested)}, {_describe_remaining(lack.available)}"
            for lack in lacks
        ]
    )


def _describe_remaining(nano: int) -> str:
    return f"{format_amount(nano)} is left" if nano > 0 else "none is left"


def describe_constraint(constraint: DeviceConstraint) -> str:
    """Return the condition of a constraint in words."""
    scope = f" of {join_with_and(sorted(constraint.requests))}" if constraint.requests else ""
    how = "no two devices{} may have the same value of {}" if constraint.distinct else "all devices{} have the same {}"
    return how.format(scope, constraint.attribute)


def describe_refusal(refusal: AllocationRefusal, inspection: Inspection) -> str:
    """Return why the search on the node finds nothing."""
    if refusal.constraint is not None:
        asks = describe_constraint(refusal.constraint)
        return f"the available devices do not meet a constraint of claim {refusal.claim}: {asks}"
    choices = [
        choice for choice in inspection.choices if (choice.claim, choice.request) == (refusal.claim, refusal.request)
    ]
    if refusal.why is RefusalReason.TOGETHER:
        return f"{_name_request(refusal)} finds devices, but not together with the requests before it"
    needs = join_with_and([f"{describe_count(choice)}, of which {choice.passing} available" for choice in choices])
    return f"{_name_request(refusal)} asks for {needs}"


def describe_count(choice: ChoiceInspection) -> str:
    """Return the number and class of devices that a choice asks for, in words."""
    if choice.count is None:
        return f"all {choice.required_count:,} devices of class {choice.device_class}"
    return f"{format_count(choice.count, 'devices')} of class {choice.device_class}"


def _name_request(refusal: AllocationRefusal) -> str:
    return f"request {refusal.request} of claim {refusal.claim}"


def describe_held_claim(claim: HeldClaim) -> str:
    """Return the problem of a claim that has its devices, "" if they can be used on the node."""
    return READY[claim.ready] or ("" if claim.usable else "its devices cannot be used on this node")
