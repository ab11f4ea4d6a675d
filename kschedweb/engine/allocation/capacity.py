"""How much of a shared device's capacity a request takes, and whether that is left. Amounts are nano-units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kschedweb.engine.objects.devices import Amounts, Capacity, Device, Policy
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.values import dataclass

NOTHING: Amounts = {}
MILLI = NANO // 1000
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Lack:
    """Of ``name`` there is ``left``, and ``wanted`` is more, or an amount that the device's policy does not allow."""

    name: str
    wanted: int
    left: int


def has_room(
    device: Device, wanted: Mapping[str, int], taken: Amounts, taking: Amounts, fractional: bool = False
) -> bool:
    """Whether ``device`` has what a request for ``wanted`` takes, beside what is ``taken``, and now being ``taking``.

    A request for a capacity that the device does not have finds no room, nor does one against the device's policy.
    ``fractional``: see ``consumed``.
    """
    return next(lacks(device, wanted, taken, taking, fractional), None) is None


def lacks(
    device: Device, wanted: Mapping[str, int], taken: Amounts, taking: Amounts, fractional: bool = False
) -> Iterator[Lack]:
    """What ``device`` does not have, as for ``has_room``."""
    for name, amount in wanted.items():
        if name not in device.capacity:
            yield Lack(name, amount, 0)
    for name, capacity in device.capacity.items():
        amount = consumed(wanted.get(name), capacity, fractional)
        left = capacity.value - taken.get(name, 0) - taking.get(name, 0)
        if amount > left or _against(amount, capacity.policy, fractional):
            yield Lack(name, amount, left)


def all_consumed(device: Device, wanted: Mapping[str, int], fractional: bool = False) -> Amounts:
    """What a request for ``wanted`` takes of each capacity of ``device``."""
    return {name: consumed(wanted.get(name), capacity, fractional) for name, capacity in device.capacity.items()}


def consumed(wanted: int | None, capacity: Capacity, fractional: bool = False) -> int:
    """What a request for ``wanted`` takes of ``capacity``: all of it where neither says how much.

    ``fractional``: steps of a range are counted in thousandths where those can express it, not in whole units.
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
    """How many of ``unit``, rounded up."""
    return -(-nano // unit)
