"""Units of nodes' figures: converts them to percent of allocatable, and checks whether the values fit the unit."""

from __future__ import annotations

import numpy as np
from django.utils.translation import gettext

from kschedweb.engine.state.columns import Floats
from kschedweb.watermarks.figures import DEVIATIONS, Figure
from kschedweb.watermarks.inventory import Inventory
from kschedweb.watermarks.models import Unit

# Percent; use above the first or memory below the second suggests another unit.
MOST_PERCENT, LEAST_PERCENT = 200.0, 1.0
# Ratios above this are rather percent: use may exceed 1 a little, but not by half.
MOST_RATIO = 1.5


def _of_machine(values: Floats, resource: str, unit: str, inventory: Inventory) -> Floats:
    """Return ``values`` as percent of the base of ``unit``: capacity or allocatable."""
    if unit in (Unit.CAPACITY_RATIO, Unit.ALLOCATABLE_RATIO):
        return values * 100
    if unit == Unit.ABSOLUTE:
        with np.errstate(divide="ignore", invalid="ignore"):
            return _finite_or_nan(values * 100 / inventory.capacity[resource])
    return values


def to_allocatable_percent(values: Floats, resource: str, unit: str, inventory: Inventory) -> Floats:
    """Return ``values`` [nodes] of ``unit`` as percent of allocatable; NaN if the node's size is unknown."""
    percent = _of_machine(values, resource, unit, inventory)
    if unit in (Unit.ALLOCATABLE_PERCENT, Unit.ALLOCATABLE_RATIO):
        return percent
    capacity, allocatable = inventory.capacity[resource], inventory.allocatable[resource]
    with np.errstate(divide="ignore", invalid="ignore"):
        if unit == Unit.ABSOLUTE:
            return _finite_or_nan(values * 100 / allocatable)
        # A node without capacity counts with its allocatable.
        return _finite_or_nan(percent * np.where(np.isnan(capacity), allocatable, capacity) / allocatable)


def _finite_or_nan(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def looks_like(values: Floats, figure: Figure, unit: str) -> str:
    """Return the apparent unit of ``values``, to compare with the chosen one; "" if unclear."""
    present = values[~np.isnan(values)]
    if unit == Unit.ABSOLUTE or figure.statistic in DEVIATIONS or not present.size or not present.any():
        return ""
    return "ratios (0-1)" if float(present.max()) <= MOST_RATIO else "percent"


def unit_problem(values: Floats, figure: Figure, unit: str, inventory: Inventory) -> tuple[str, str]:
    """Return the apparent unit of the values, and why they cannot be of ``unit``; both "" if nothing is wrong.

    A machine may idle below 1 % of its CPU, so an apparent unit without a reason is only a hint.
    """
    percent = _of_machine(values, figure.resource, unit, inventory)
    present = percent[~np.isnan(percent)]
    if not present.size:
        return "", ""
    ratio = unit in (Unit.CAPACITY_RATIO, Unit.ALLOCATABLE_RATIO)
    if float(np.median(present)) > MOST_PERCENT:
        guess = "percent" if ratio else gettext("absolute amounts (cores, bytes)")
        if unit == Unit.ABSOLUTE:
            guess = "millicores" if figure.resource == "cpu" else gettext("another unit than bytes")
    elif figure.statistic not in DEVIATIONS and 0 < float(present.max()) <= LEAST_PERCENT:
        guess = "ratios (0-1)" if not ratio and unit != Unit.ABSOLUTE else gettext("another unit")
        if figure.resource == "cpu":
            return (guess, "") if not ratio else ("", "")
    else:
        return "", ""
    example = float(values[~np.isnan(values)][0])
    unit_label = Unit(unit).label.lower()
    return guess, gettext(
        "The values look like %(guess)s, not %(said)s, for example %(example)s: choose the unit that fits."
    ) % {"guess": guess, "said": unit_label, "example": f"{example:g}"}
