"""Capacity of a device that a request takes. The numbers are those of kube-scheduler's own tests."""

from __future__ import annotations

import pytest

from kschedweb.engine.allocation.capacity import NOTHING, all_consumed, calculate_consumed_capacity, has_room
from kschedweb.engine.objects.devices import Capacity, CapacityRequestPolicy, Device
from kschedweb.engine.objects.quantity import NANO

SPAN = CapacityRequestPolicy(default=NANO, values=(), span=(NANO, 8 * NANO, 2 * NANO))
LIST = CapacityRequestPolicy(default=NANO, values=(NANO, 2 * NANO, 4 * NANO), span=None)


@pytest.mark.parametrize(
    ("requested", "policy", "consumed"),
    [
        (None, None, 10),  # a request that does not say takes all of it
        (None, SPAN, 1),
        (3, None, 3),
        (0, SPAN, 1),
        (2, SPAN, 3),  # whole steps above the least
        (3, SPAN, 3),
        (3, LIST, 4),
        (5, LIST, 5),  # and is then refused
    ],
)
def test_a_request_is_rounded_up_to_what_the_policy_allows(
    requested: int | None, policy: CapacityRequestPolicy | None, consumed: int
) -> None:
    assert (
        calculate_consumed_capacity(None if requested is None else requested * NANO, Capacity(10 * NANO, policy))
        == consumed * NANO
    )


def card(policy: CapacityRequestPolicy | None) -> Device:
    device = Device.from_json(
        {"name": "card", "allowMultipleAllocations": True, "capacity": {"m": {"value": "10"}}}, ""
    )
    device.capacity["m"] = Capacity(10 * NANO, policy)
    return device


def test_what_is_taken_and_being_taken_leaves_less_room() -> None:
    requested = {"m": 4 * NANO}
    assert has_room(card(None), requested, {"m": 3 * NANO}, {"m": 3 * NANO})
    assert not has_room(card(None), requested, {"m": 3 * NANO}, {"m": 4 * NANO})
    assert all_consumed(card(None), requested) == requested


def test_what_a_device_has_not_or_does_not_allow_finds_no_room() -> None:
    assert not has_room(card(None), {"other": NANO}, NOTHING, NOTHING)
    assert not has_room(card(LIST), {"m": 5 * NANO}, NOTHING, NOTHING)
    assert not has_room(card(SPAN), {"m": 9 * NANO}, NOTHING, NOTHING)
    assert has_room(card(SPAN), {"m": 6 * NANO}, NOTHING, NOTHING)


def test_steps_of_a_range_may_be_fractions() -> None:
    span = CapacityRequestPolicy(default=None, values=(), span=(NANO // 2, 8 * NANO, NANO // 4))
    capacity = Capacity(10 * NANO, span)
    assert calculate_consumed_capacity(NANO * 6 // 10, capacity, fractional=True) == NANO * 3 // 4
    assert has_room(card(span), {"m": NANO * 6 // 10}, NOTHING, NOTHING, fractional=True)
    # A thousandth of a step is the least; what is finer is counted in whole units.
    fine = Capacity(10 * NANO, CapacityRequestPolicy(default=None, values=(), span=(NANO, None, NANO + 1)))
    assert calculate_consumed_capacity(NANO * 3 // 2, fine, fractional=True) == calculate_consumed_capacity(
        NANO * 3 // 2, fine
    )
