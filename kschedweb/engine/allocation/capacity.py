"""How much of a shared device's capacity a request takes, and whether that is left. Amounts are nano-units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedweb.engine.objects.devices import Amounts, Capacity, CapacityRequestPolicy, Device
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.values import dataclass

NOTHING: Amounts = {}
MILLI = NANO // 1000
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Lack:
    """Of ``name`` there is ``available``; ``requested`` is more, or an amount that the device's policy forbids."""

    name: str
    requested: int
    available: int


def has_room(
    device: Device, requested: Mapping[str, int], in_use: Amounts, allocating: Amounts, fractional: bool = False
) -> bool:
    """Whether ``device`` has room for ``requested`` beside the amounts ``in_use`` and those now ``allocating``.

    A request for a capacity that the device does not have finds no room, nor does one against the device's policy.
    ``fractional``: see ``calculate_consumed_capacity``.
    """
    return next(find_lacks(device, requested, in_use, allocating, fractional), None) is None


def find_lacks(
    device: Device, requested: Mapping[str, int], in_use: Amounts, allocating: Amounts, fractional: bool = False
) -> Iterator[Lack]:
    """What ``device`` does not have, as for ``has_room``."""
    for name, amount in requested.items():
        if name not in device.capacity:
            yield Lack(name, amount, 0)
    for name, capacity in device.capacity.items():
        amount = calculate_consumed_capacity(requested.get(name), capacity, fractional)
        available = capacity.value - in_use.get(name, 0) - allocating.get(name, 0)
        if amount > available or _violates_policy(amount, capacity.policy, fractional):
            yield Lack(name, amount, available)


def all_consumed(device: Device, requested: Mapping[str, int], fractional: bool = False) -> Amounts:
    """What a request for ``requested`` takes of each capacity of ``device``."""
    return {
        name: calculate_consumed_capacity(requested.get(name), capacity, fractional)
        for name, capacity in device.capacity.items()
    }


def calculate_consumed_capacity(requested: int | None, capacity: Capacity, fractional: bool = False) -> int:
    """What a request for ``requested`` takes of ``capacity``: all of it where neither says how much.

    ``fractional``: steps of a range are counted in thousandths where those can express it, not in whole units.
    """
    policy = capacity.policy
    if requested is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested
    if policy.span is not None and policy.span[0] is not None:
        return _round_up_range(requested, policy.span[0], policy.span[2], _step_unit(policy, fractional))
    return next((value for value in policy.values if requested <= value), requested)


def _step_unit(policy: CapacityRequestPolicy, fractional: bool) -> int:
    """The nano-units in which the steps of a range are counted."""
    bounds = [amount for amount in policy.span or () if amount is not None]
    exact = all(amount % MILLI == 0 and abs(amount) <= LARGEST * MILLI for amount in bounds)
    return MILLI if fractional and exact else NANO


def _round_up_range(requested: int, minimum: int, step: int | None, unit: int) -> int:
    """At least ``minimum``, and whole steps above it."""
    if requested < minimum:
        return minimum
    if not step:
        return requested
    base, width = _count_units(minimum, unit), _count_units(step, unit)
    return (base + -(-(_count_units(requested, unit) - base) // width) * width) * unit


def _violates_policy(amount: int, policy: CapacityRequestPolicy | None, fractional: bool) -> bool:
    """Whether the device's policy does not allow ``amount``."""
    if policy is None or amount == policy.default:
        return False
    if policy.span is not None:
        minimum, maximum, step = policy.span
        if maximum is not None and amount > maximum:
            return True
        unit = _step_unit(policy, fractional)
        if step and unit == MILLI and amount % MILLI:
            return True
        return bool(step and (_count_units(amount, unit) - _count_units(minimum or 0, unit)) % _count_units(step, unit))
    return bool(policy.values) and amount not in policy.values


def _count_units(nano: int, unit: int) -> int:
    """How many of ``unit``, rounded up."""
    return -(-nano // unit)
