"""How much of a shared device's capacity a request takes, and whether that is left. Amounts are nano-units."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.allocation.selecting import UnknownError
from kschedweb.engine.objects.devices import Amounts, Capacity, Device, Policy
from kschedweb.engine.objects.quantity import NANO

NOTHING: Amounts = {}
MILLI = NANO // 1000
LARGEST = 2**63 - 1


def check(device: Device, wanted: Mapping[str, int], fractional: bool) -> None:
    """Raise UnknownError for an amount so large that kube-scheduler refuses it for good since 1.37."""
    for name, capacity in device.capacity.items() if wanted.keys() <= device.capacity.keys() else ():
        if name in wanted and consumed(wanted[name], capacity, fractional) > LARGEST * NANO:
            raise UnknownError(f"a request for more of {name} than kube-scheduler can count")


def has_room(
    device: Device, wanted: Mapping[str, int], taken: Amounts, taking: Amounts, fractional: bool = False
) -> bool:
    """Whether ``device`` has what a request for ``wanted`` takes, beside what is ``taken``, and now being ``taking``.

    A request for a capacity that the device does not have finds no room, nor does one against the device's policy.
    ``fractional``: see ``consumed``.
    """
    if any(name not in device.capacity for name in wanted):
        return False
    for name, capacity in device.capacity.items():
        amount = consumed(wanted.get(name), capacity, fractional)
        if _against(amount, capacity.policy, fractional):
            return False
        if amount + taken.get(name, 0) + taking.get(name, 0) > capacity.value:
            return False
    return True


def all_consumed(device: Device, wanted: Mapping[str, int], fractional: bool = False) -> Amounts:
    """What a request for ``wanted`` takes of each capacity of ``device``."""
    return {name: consumed(wanted.get(name), capacity, fractional) for name, capacity in device.capacity.items()}


def consumed(wanted: int | None, capacity: Capacity, fractional: bool = False) -> int:
    """What a request for ``wanted`` takes of ``capacity``: all of it where neither says how much.

    ``fractional``: the steps of a range are counted in thousandths where those can express it, not in whole units.
    """
    policy = capacity.policy
    if wanted is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return wanted
    if policy.span is not None and policy.span[0] is not None:
        return _rounded_up(wanted, policy.span[0], policy.span[2], _unit(policy, fractional))
    return next((value for value in policy.values if wanted <= value), wanted)


def _unit(policy: Policy, fractional: bool) -> int:
    """The nano-units in which the steps of a range are counted."""
    said = [amount for amount in policy.span or () if amount is not None]
    exact = all(amount % MILLI == 0 and abs(amount) <= LARGEST * MILLI for amount in said)
    return MILLI if fractional and exact else NANO


def _rounded_up(wanted: int, least: int, step: int | None, unit: int) -> int:
    """At least ``least``, and whole steps above it."""
    if wanted < least:
        return least
    if not step:
        return wanted
    base, width = _units(least, unit), _units(step, unit)
    return (base + -(-(_units(wanted, unit) - base) // width) * width) * unit


def _against(amount: int, policy: Policy | None, fractional: bool) -> bool:
    """Whether the device's policy does not allow ``amount``."""
    if policy is None or amount == policy.default:
        return False
    if policy.span is not None:
        least, most, step = policy.span
        if most is not None and amount > most:
            return True
        unit = _unit(policy, fractional)
        if step and unit == MILLI and amount % MILLI:
            return True
        return bool(step and (_units(amount, unit) - _units(least or 0, unit)) % _units(step, unit))
    return bool(policy.values) and amount not in policy.values


def _units(nano: int, unit: int) -> int:
    """Whole units, rounded up."""
    return -(-nano // unit)
