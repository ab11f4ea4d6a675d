"""Plain words for why a device cannot be had, and why a search for devices finds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.words import listed
from kschedweb.engine.allocation.inspecting import Refused, Why
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resourceclaim import BindingState
from kschedweb.web.units import counted, memory

if TYPE_CHECKING:
    from kschedweb.engine.allocation.capacity import Lack
    from kschedweb.engine.allocation.inspecting import ChoiceInspection, DeviceVerdict, Inspection, Objection, Refusal
    from kschedweb.engine.objects.devicerequests import DeviceConstraint
    from kschedweb.engine.plugins.dynamicresources.inspecting import HeldClaim

FEATURES = {"bindingConditions": "binding conditions", "consumesCounters": "shared counters"}
OBJECTIONS = {
    Why.ELSEWHERE: "it belongs to other nodes",
    Why.IN_USE: "{} uses it",
    Why.NOT_OFFERED: "the feature gate for {} is off",
    Why.TAINTED: "the request does not tolerate its taint {}",
    Why.ATTRIBUTE: "it lacks the attribute {}, which a constraint compares",
}
SHORT_OF = {
    Why.COUNTERS: "the counters of its pool do not suffice: {}",
    Why.CAPACITY: "its capacity does not suffice: {}",
}
READY = {
    BindingState.READY: "",
    BindingState.WAITING: "its devices are not ready yet",
    BindingState.FAILED: "its devices failed to become ready",
}


def amount(nano: int) -> str:
    """An amount in nano-units, as a quantity."""
    return f"{nano / NANO:g}" if nano % NANO else memory(nano // NANO)


def objection(found: Objection, device: DeviceVerdict) -> str:
    """Why the device cannot be had for the request."""
    if found.lacks:
        return SHORT_OF[found.why].format(_lacks(found.lacks))
    named = listed([FEATURES.get(one, one) for one in found.names] or list(device.holders))
    return OBJECTIONS[found.why].format(named)


def _lacks(lacks: tuple[Lack, ...]) -> str:
    return listed([f"{one.name} would need {amount(one.wanted)}, {_left(one.left)}" for one in lacks])


def _left(nano: int) -> str:
    return f"{amount(nano)} is left" if nano > 0 else "none is left"


def constraint(found: DeviceConstraint) -> str:
    """What a constraint asks for."""
    of = f" of {listed(sorted(found.requests))}" if found.requests else ""
    how = "no two devices{} may have the same value of {}" if found.distinct else "all devices{} have the same {}"
    return how.format(of, found.attribute)


def refusal(found: Refusal, told: Inspection) -> str:
    """Why the search on the node finds nothing."""
    if found.constraint is not None:
        asks = constraint(found.constraint)
        return f"the available devices do not meet a constraint of claim {found.claim}: {asks}"
    of = [one for one in told.choices if (one.claim, one.request) == (found.claim, found.request)]
    if found.why is Refused.TOGETHER:
        return f"{_request(found)} finds devices, but not together with the requests before it"
    needs = listed([f"{wants(one)}, of which {one.passing} available" for one in of])
    return f"{_request(found)} asks for {needs}"


def wants(found: ChoiceInspection) -> str:
    """How many devices a choice asks for."""
    if found.count is None:
        return f"all {found.wanted:,} devices of class {found.device_class}"
    return f"{counted(found.count, 'devices')} of class {found.device_class}"


def _request(found: Refusal) -> str:
    return f"request {found.request} of claim {found.claim}"


def held(found: HeldClaim) -> str:
    """What is to be said of a claim that has its devices; "" if they can be used on the node."""
    return READY[found.ready] or ("" if found.usable else "its devices cannot be used on this node")
