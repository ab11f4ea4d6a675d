"""minValues: the number of values that a set of instance types leaves to choose from."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.autoscaling.offers.catalogue import Catalogue
from kschedweb.engine.autoscaling.offers.labels import format_list
from kschedweb.engine.autoscaling.offers.requirements import Requirements


def find_shortfall(
    catalogue: Catalogue, places: Iterable[int], requirements: Requirements
) -> tuple[int, dict[str, int]]:
    """Return how many types, in order, satisfy all minValues, and the keys with too few values, with their number."""
    counted = requirements.min_value_requirements
    values_by_key: dict[str, set[str]] = {requirement.key: set() for requirement in counted}
    short: dict[str, int] = {}
    number = 0
    for number, place in enumerate(places if counted else (), 1):  # noqa: B007 - the last one counts
        sold = catalogue.types[place].requirements
        for requirement in counted:
            values_by_key[requirement.key].update(
                value for value in sold.requirement_for(requirement.key).values if requirement.has(value)
            )
        short = {
            requirement.key: len(values_by_key[requirement.key])
            for requirement in counted
            if len(values_by_key[requirement.key]) < (requirement.min_values or 0)
        }
        if not short:
            break
    return number, short


def describe_shortfall(short: dict[str, int]) -> str:
    """Return that there are too few values, in Karpenter's words; "" if there are enough."""
    return f"minValues requirement is not met for label(s) (label(s)={format_list(sorted(short))})" if short else ""
