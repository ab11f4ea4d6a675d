"""Amounts of resources: milli-units for comparing, and quantities that keep their written form for printing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.quantities import DECIMAL_EXPONENT, Quantity, to_quantity
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.quantity import MILLI, NANO, read_quantities
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.validation.golang import marshal_json

PODS, NODES = "pods", "nodes"
HUGE_PAGES = "hugepages-"
MILLI_UNIT = NANO // MILLI
# Milli-units by resource name. They fit in 64 bits where nano-units would not.
Milli = dict[str, int]
Quantities = dict[str, Quantity]


def read_milli(raw: Json, key: str, path: str = "") -> Milli:
    """Read the quantities in ``raw[key]`` as milli-units; raises ObjectError."""
    return {name: amount // MILLI for name, amount in read_quantities(raw, key, path).items()}


def find_formats(raws: Iterable[Json]) -> dict[str, str]:
    """Return the format in which each resource is first written in lists of quantities."""
    formats: dict[str, str] = {}
    for raw in raws:
        for name, value in raw.items():
            try:
                formats.setdefault(name, to_quantity(str(value)).format)
            except (EvaluationError, ExpressionError) as error:
                raise ObjectError(f"a quantity of {name}: {error}") from None
    return formats


def to_quantities(milli: Mapping[str, int], formats: Mapping[str, str]) -> Quantities:
    """Return quantities of the amounts ``milli``, in ``formats`` by resource name."""
    return {name: as_quantity(amount, formats.get(name, "")) for name, amount in milli.items()}


def as_quantity(milli: int, form: str) -> Quantity:
    return Quantity(milli * MILLI, -9, format=form or to_quantity("0").format)


def count_quantity(number: int) -> Quantity:
    """Return a number of pods, in the format in which Karpenter prints it."""
    return as_quantity(number * MILLI_UNIT, DECIMAL_EXPONENT)


def sum_quantities(*lists: Quantities) -> Quantities:
    """Add up quantities; each sum has the format of the first summand that is not zero."""
    total: Quantities = {}
    for quantities in lists:
        for name, amount in quantities.items():
            total[name] = total[name].plus(amount) if name in total else amount
    return total


def min_quantities(first: Quantities, other: Quantities) -> Quantities:
    """Return the smaller amount of each resource that both have."""
    return {
        name: other[name] if other[name].compare(first[name]) < 0 else first[name] for name in first if name in other
    }


def max_quantities(first: Quantities, other: Quantities) -> Quantities:
    """Return the larger amount of each resource that either has."""
    return first | {name: two for name, two in other.items() if name not in first or two.compare(first[name]) > 0}


def milli_of(amounts: Quantities) -> Milli:
    return {name: amount.nano // MILLI for name, amount in amounts.items()}


def text_of(amounts: Quantities) -> str:
    """Format a list of resources as in Karpenter's messages."""
    return marshal_json({name: str(amounts[name]) for name in sorted(amounts)}) if amounts else "{}"


def add_amounts(first: Mapping[str, int], other: Mapping[str, int]) -> Milli:
    total = dict(first)
    for name, amount in other.items():
        total[name] = total.get(name, 0) + amount
    return total


def subtract_amounts(first: Mapping[str, int], other: Mapping[str, int]) -> Milli:
    """Subtract ``other`` from ``first``, for the resources that ``first`` names."""
    return {name: amount - other.get(name, 0) for name, amount in first.items()}


def compute_allocatable(capacity: Milli, overhead: Milli) -> Milli:
    """Return what is left for pods; huge pages are taken from memory."""
    remaining = subtract_amounts(capacity, overhead)
    for name, amount in capacity.items():
        if name.startswith(HUGE_PAGES):
            remaining[MEMORY] = max(remaining.get(MEMORY, 0) - amount, 0)
    return remaining


def queue_key(amounts: Mapping[str, int]) -> tuple[int, int]:
    """Return the key by which a queue of pods is sorted: CPU and memory."""
    return amounts.get(CPU, 0), amounts.get(MEMORY, 0)
