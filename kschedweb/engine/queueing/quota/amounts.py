"""Amounts of quota: whole numbers of 64 bits that saturate, and how Kueue writes them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.quantity import format_binary, format_decimal, parse_quantity, round_to_unit

# `resources.Unlimited`; no bounded amount is as large.
UNLIMITED = 2**63 - 1
_LOWEST = -(2**63)
CPU = "cpu"
PODS = "pods"
_BINARY = frozenset({"memory", "ephemeral-storage"})
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3

# Resource name -> milli-CPU or whole units, in the order of `order_resources`.
Requests = dict[str, int]


class FlavorResource(NamedTuple):
    """The key by which quota is counted: a resource in a flavor."""

    flavor: str
    resource: str


Quantities = dict[FlavorResource, int]


def clamp(amount: int) -> int:
    if _LOWEST <= amount <= UNLIMITED:
        return amount
    return UNLIMITED if amount > 0 else _LOWEST


def add_amounts(amount: int, other: int) -> int:
    """Return the sum, as `Amount.Add`: what is unlimited stays so."""
    if amount == UNLIMITED or other == UNLIMITED:
        return UNLIMITED
    return clamp(amount + other)


def subtract_amounts(amount: int, other: int) -> int:
    """Return the difference, as `Amount.Sub`."""
    if amount == UNLIMITED:
        return 0 if other == UNLIMITED else UNLIMITED
    return _LOWEST if other == UNLIMITED else clamp(amount - other)


def divide_amount(amount: int, divisor: int) -> int:
    """Return the quotient as Go divides: towards 0."""
    quotient = abs(amount) // abs(divisor)
    return quotient if (amount < 0) == (divisor < 0) else -quotient


def read_amount(resource: str, raw: object) -> int:
    """Return a quantity of quota or usage in JSON, in milli-CPU or whole units."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ObjectError(f"{resource}: must be a quantity, such as 500m, 2 or 1.5Gi")
    return round_to_unit(resource, parse_quantity(raw if isinstance(raw, str) else repr(raw)))


def read_amounts(raw: Json) -> Requests:
    return order_resources({name: read_amount(name, quantity) for name, quantity in raw.items()})


@lru_cache(maxsize=4096)
def hash_resource(name: str) -> int:
    """Return the 64-bit FNV-1a hash of ``name``."""
    digest = _FNV_OFFSET
    for byte in name.encode():
        digest = ((digest ^ byte) * _FNV_PRIME) % 2**64
    return digest


def order_resources(requests: Requests) -> Requests:
    """Return ``requests`` in Kueue's order, that of the names' hashes (`SliceRequests`).

    The order decides which resource group is tried, and fails, first.
    """
    return {name: requests[name] for name in sorted(requests, key=lambda name: (hash_resource(name), name))}


def add_requests(requests: Requests, other: Requests) -> Requests:
    total = dict(requests)
    for name, amount in other.items():
        total[name] = clamp(total.get(name, 0) + amount)
    return order_resources(total)


def scale_requests(requests: Requests, factor: int) -> Requests:
    return {name: clamp(amount * factor) for name, amount in requests.items()}


def divide_requests(requests: Requests, divisor: int) -> Requests:
    """Return ``requests`` of one of ``divisor`` pods; 0 of 0 pods stays 0."""
    return {name: divide_amount(amount, divisor) if divisor else amount for name, amount in requests.items()}


def format_amount(resource: str, amount: int) -> str:
    """Return ``amount`` as Kueue writes it (`ResourceFormatter.AmountQuantityString`)."""
    if amount == UNLIMITED:
        return "<unlimited>"
    if resource == CPU:
        return format_decimal(amount, -1)
    if resource in _BINARY or resource.startswith("hugepages-"):
        return format_binary(amount)
    return format_decimal(amount, 0)
