"""Amounts of resources: milli-units to compare with, and quantities that know how they were written to show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kschedweb.engine.cel.errors import EvaluationError, Refused
from kschedweb.engine.cel.quantities import DECIMAL_EXPONENT, Quantity, quantity
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.quantity import MILLI, NANO, read_list
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.validation.golang import marshal

PODS, NODES = "pods", "nodes"
HUGE_PAGES = "hugepages-"
MILLI_UNIT = NANO // MILLI
Milli = dict[str, int]
"""Resource name to milli-units, which fit in 64 bits where nano-units would not."""
Shown = dict[str, Quantity]


def read_milli(raw: Json, key: str, path: str = "") -> Milli:
    """``raw[key]``; raises ObjectError."""
    return {name: amount // MILLI for name, amount in read_list(raw, key, path).items()}


def forms(raws: Iterable[Json]) -> dict[str, str]:
    """The form in which each resource is written first in lists of quantities."""
    found: dict[str, str] = {}
    for raw in raws:
        for name, value in raw.items():
            try:
                found.setdefault(name, quantity(str(value)).format)
            except (EvaluationError, Refused) as error:
                raise ObjectError(f"a quantity of {name}: {error}") from None
    return found


def shown(milli: Mapping[str, int], written: Mapping[str, str]) -> Shown:
    """Quantities of ``milli`` in the forms in which they were ``written``."""
    return {name: as_quantity(amount, written.get(name, "")) for name, amount in milli.items()}


def as_quantity(milli: int, form: str) -> Quantity:
    return Quantity(milli * MILLI, -9, format=form or quantity("0").format)


def count(number: int) -> Quantity:
    """A number of pods, in the form in which Karpenter has it."""
    return as_quantity(number * MILLI_UNIT, DECIMAL_EXPONENT)


def merged(*lists: Shown) -> Shown:
    """The sums of quantities; each has the form of the first that is not zero."""
    total: Shown = {}
    for one in lists:
        for name, amount in one.items():
            total[name] = total[name].plus(amount) if name in total else amount
    return total


def least(one: Shown, other: Shown) -> Shown:
    """The smaller amount of each resource that both have."""
    return {name: other[name] if other[name].compare(one[name]) < 0 else one[name] for name in one if name in other}


def most(one: Shown, other: Shown) -> Shown:
    """The larger amount of each resource that either has."""
    return one | {name: two for name, two in other.items() if name not in one or two.compare(one[name]) > 0}


def milli_of(amounts: Shown) -> Milli:
    return {name: amount.nano // MILLI for name, amount in amounts.items()}


def text_of(amounts: Shown) -> str:
    """A list of resources as Karpenter's messages have it."""
    return marshal({name: str(amounts[name]) for name in sorted(amounts)}) if amounts else "{}"


def added(one: Mapping[str, int], other: Mapping[str, int]) -> Milli:
    total = dict(one)
    for name, amount in other.items():
        total[name] = total.get(name, 0) + amount
    return total


def less(one: Mapping[str, int], other: Mapping[str, int]) -> Milli:
    """``one`` without ``other``, for the resources that ``one`` names."""
    return {name: amount - other.get(name, 0) for name, amount in one.items()}


def allocatable(capacity: Milli, overhead: Milli) -> Milli:
    """What is left for pods; huge pages are taken from memory."""
    left = less(capacity, overhead)
    for name, amount in capacity.items():
        if name.startswith(HUGE_PAGES):
            left[MEMORY] = max(left.get(MEMORY, 0) - amount, 0)
    return left


def ordered(amounts: Mapping[str, int]) -> tuple[int, int]:
    """What a queue of pods goes by: CPU and memory."""
    return amounts.get(CPU, 0), amounts.get(MEMORY, 0)
