"""How many values a set of instance types leaves to choose from (minValues)."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.autoscaling.offers.catalogue import Catalogue
from kschedweb.engine.autoscaling.offers.labels import listed
from kschedweb.engine.autoscaling.offers.requirements import Requirements


def shortfall(catalogue: Catalogue, places: Iterable[int], wanted: Requirements) -> tuple[int, dict[str, int]]:
    """How many types, in their order, are needed for all minValues, and the keys that have too few, with how many."""
    counted = wanted.counted
    found: dict[str, set[str]] = {one.key: set() for one in counted}
    short: dict[str, int] = {}
    number = 0
    for number, place in enumerate(places if counted else (), 1):  # noqa: B007 - the last one counts
        sold = catalogue.types[place].requirements
        for one in counted:
            found[one.key].update(value for value in sold.allowed(one.key).values if one.has(value))
        short = {one.key: len(found[one.key]) for one in counted if len(found[one.key]) < (one.min_values or 0)}
        if not short:
            break
    return number, short


def said(short: dict[str, int]) -> str:
    """That there are too few values, in Karpenter's words; "" where there are enough."""
    return f"minValues requirement is not met for label(s) (label(s)={listed(sorted(short))})" if short else ""
