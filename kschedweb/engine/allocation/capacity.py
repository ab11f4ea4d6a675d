"""The capacity that a request takes of a shared device, and if that is left. Amounts are in nano-units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedweb.engine.objects.devices import Amounts, Capacity, CapacityRequestPolicy, Device
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.values import dataclass

NOTHING: Amounts = {}
# Nano-units of a thousandth.
MILLI = NANO // 1000
# The largest int64.
LARGEST = 2**63 - 1


class CapacityError(Exception):
    """An amount of capacity that ends the search; the message is kube-scheduler's, without the device."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A capacity that a device lacks for a request."""

    name: str
    # More than is available, or an amount that the device's policy forbids.
    requested: int
    available: int


def spell_capacity(device: Device, driver: str, name: str) -> str:
    """Return ``name`` as the device's slice writes it, with or without its driver; "" if it has no such capacity."""
    if name in device.capacity:
        return name
    domain, slash, short = name.partition("/")
    other = f"{driver}/{name}" if not slash else short if domain == driver else ""
    return other if other in device.capacity else ""


def spell_requests(device: Device, driver: str, requested: Mapping[str, int]) -> dict[str, int]:
    """Return ``requested`` by names as the device's slice writes them, others as they are (`resolveCapacityRequests`).

    Raises CapacityError if two names are the same.
    """
    spelled: dict[str, int] = {}
    for name, amount in requested.items():
        key = spell_capacity(device, driver, name) or name
        if key in spelled:
            short = name.removeprefix(f"{driver}/")
            other = short if short != name else f"{driver}/{name}"
            raise CapacityError(f'capacity "{short}" requested both as "{name}" and as "{other}"')
        spelled[key] = amount
    return spelled


def has_room(
    device: Device, requested: Mapping[str, int], in_use: Amounts, allocating: Amounts, fractional: bool = False
) -> bool:
    """Return whether ``device`` has room for ``requested`` beside the amounts ``in_use`` and ``allocating``.

    It has none for a capacity that it does not list, or for an amount that its policy forbids. For ``fractional`` see
    ``calculate_consumed_capacity``.
    """
    return next(find_lacks(device, requested, in_use, allocating, fractional), None) is None


def find_lacks(
    device: Device, requested: Mapping[str, int], in_use: Amounts, allocating: Amounts, fractional: bool = False
) -> Iterator[Lack]:
    """Yield the capacities that ``device`` lacks, by the rules of ``has_room``."""
    for name, amount in requested.items():
        if name not in device.capacity:
            yield Lack(name, amount, 0)
    for name, capacity in device.capacity.items():
        amount = calculate_consumed_capacity(requested.get(name), capacity, fractional)
        available = capacity.value - in_use.get(name, 0) - allocating.get(name, 0)
        if amount > available or _violates_policy(amount, capacity.policy, fractional):
            yield Lack(name, amount, available)


def all_consumed(device: Device, requested: Mapping[str, int], fractional: bool = False) -> Amounts:
    """Return what a request for ``requested`` takes of each capacity of ``device``."""
    return {
        name: calculate_consumed_capacity(requested.get(name), capacity, fractional)
        for name, capacity in device.capacity.items()
    }


def calculate_consumed_capacity(requested: int | None, capacity: Capacity, fractional: bool = False) -> int:
    """Return what a request for ``requested`` takes of ``capacity``; all of it if neither gives an amount.

    With ``fractional``, the steps of a range count thousandths where these are exact, otherwise whole units.
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
    """Return the nano-units in which the steps of a range are counted."""
    bounds = [amount for amount in policy.span or () if amount is not None]
    exact = all(amount % MILLI == 0 and abs(amount) <= LARGEST * MILLI for amount in bounds)
    return MILLI if fractional and exact else NANO


def _round_up_range(requested: int, minimum: int, step: int | None, unit: int) -> int:
    """Round up to ``minimum`` or to whole steps above it."""
    if requested < minimum:
        return minimum
    if not step:
        return requested
    base, width = _count_units(minimum, unit), _count_units(step, unit)
    return (base + -(-(_count_units(requested, unit) - base) // width) * width) * unit


def _violates_policy(amount: int, policy: CapacityRequestPolicy | None, fractional: bool) -> bool:
    """Return whether the device's policy forbids ``amount``."""
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
    """Return ``nano`` in ``unit``, rounded up."""
    return -(-nano // unit)
