"""The instance types that a NodePool sees, as columns: a requirement is asked once of all of them.

Sets of types are masks over the catalogue (bool, one cell a type), offerings are columns over all types.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf
from random import Random
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kschedweb.engine.autoscaling.offers.instancetypes import InstanceType, Offering
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirement, Requirements, requirement

Mask: TypeAlias = npt.NDArray[np.bool_]
Column: TypeAlias = npt.NDArray[Any]
"""Milli-units of a resource: 64 bits, or Python's own whole numbers where an amount needs more."""
Prices: TypeAlias = npt.NDArray[np.float64]
NEVER = float(np.finfo(np.float64).max)
"""The price of what cannot be had, as Karpenter has it."""
LAUNCH_ORDER = tuple(requirement(CAPACITY_TYPE, IN, (one,)) for one in (RESERVED, SPOT, ON_DEMAND))
_LARGEST = np.iinfo(np.int64).max


def column(amounts: Sequence[int]) -> Column:
    fits = all(-_LARGEST <= amount <= _LARGEST for amount in amounts)
    return np.array(amounts, dtype=np.int64 if fits else object)


class Catalogue:
    """Instance types in their order. Whether a type meets requirements is kept by each requirement."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self.types = tuple(types)
        self.by_name = {one.name: one for one in self.types}
        self.everything: Mask = np.ones(len(self.types), dtype=np.bool_)
        offerings = [(place, one) for place, sold in enumerate(self.types) for one in sold.offerings]
        self._of_type = np.array([place for place, _ in offerings], dtype=np.int64)
        self._offerings = [one for _, one in offerings]
        self._available = np.array([one.available for one in self._offerings], dtype=np.bool_)
        self._launchable = np.array([one.launchable for one in self._offerings], dtype=np.bool_)
        self._prices = np.array([one.price for one in self._offerings], dtype=np.float64)
        self.reserves = any(one.capacity_type == RESERVED for one in self._offerings)
        self._keys = {key for sold in self.types for key in sold.requirements}
        self._offered_keys = {key for one in self._offerings for key in one.requirements}
        self._meeting: dict[Hashable, Mask] = {}
        self._meeting_offerings: dict[Hashable, Mask] = {}
        self._columns: dict[tuple[bool, str], Column] = {}
        self._sound = np.array([min(sold.allocatable.values(), default=0) >= 0 for sold in self.types], dtype=np.bool_)

    def names(self, mask: Mask) -> list[str]:
        return [self.types[place].name for place in np.flatnonzero(mask)]

    def meeting(self, wanted: Requirements) -> Mask:
        """The types whose own requirements can be met together with those ``wanted``."""
        found = self.everything
        for key in self._keys & wanted.keys():
            found = found & self._types_meeting(wanted[key])
        return found

    def offered(self, wanted: Requirements) -> Mask:
        """The types that have an available offering that meets what is ``wanted``."""
        return self._any(self._available & self._offerings_meeting(wanted))

    def fitting(self, requests: Mapping[str, int]) -> Mask:
        """The types on which ``requests`` (milli-units) fit."""
        found = self._sound
        for name, amount in requests.items():
            if amount > 0:
                found = found & (self._column(name) >= amount)
        return found

    def within(self, limits: Mapping[str, int]) -> Mask:
        """The types whose capacity is within ``limits`` (milli-units)."""
        found = self.everything
        for name, amount in limits.items():
            found = found & (self._column(name, capacity=True) <= amount)
        return found

    def largest(self, mask: Mask) -> dict[str, int]:
        """The largest capacity of each resource over the types of a mask, in milli-units."""
        names = {name for sold in self.types for name in sold.capacity}
        return {name: int(self._column(name, capacity=True)[mask].max(initial=0)) for name in names}

    def roomiest(self, mask: Mask, name: str) -> int:
        """The most that a type of a mask has for pods, in milli-units."""
        return int(self._column(name)[mask].max(initial=0))

    def reserved(self, mask: Mask, wanted: Requirements) -> tuple[list[int], bool]:
        """The available reserved offerings of the types of a mask, and whether there is any that is not reserved."""
        found = np.flatnonzero(self._available & mask[self._of_type] & self._offerings_meeting(wanted))
        reserved = [int(place) for place in found if self._offerings[place].capacity_type == RESERVED]
        return reserved, len(reserved) < len(found)

    def reservation(self, place: int) -> tuple[str, int]:
        """The reservation of an offering, and how many slots it has."""
        return self._offerings[place].reservation, self._offerings[place].reservation_capacity

    def cheapest(self, wanted: Requirements) -> Prices:
        """The lowest price at which each type can be launched; infinite where it cannot."""
        found = np.full(len(self.types), inf)
        usable = self._launchable & self._offerings_meeting(wanted)
        np.minimum.at(found, self._of_type[usable], self._prices[usable])
        return found

    def worst(self, wanted: Requirements) -> Prices:
        """The highest price of the capacity type that each type would be launched with; NEVER where it cannot be."""
        found = np.full(len(self.types), NEVER)
        usable, left = self._launchable & self._offerings_meeting(wanted), self.everything
        for kind in LAUNCH_ORDER:
            of_kind = usable & self._one_meeting(kind)
            here = left & self._any(of_kind)
            highest = np.full(len(self.types), -inf)
            np.maximum.at(highest, self._of_type[of_kind], self._prices[of_kind])
            found[here] = highest[here]
            left = left & ~here
        return found

    def by_price(self, mask: Mask, wanted: Requirements, chance: Random | None = None) -> list[int]:
        """The types of a mask from the cheapest on; ``chance`` decides between equal prices."""
        places = [int(place) for place in np.flatnonzero(mask)]
        if chance is not None:
            chance.shuffle(places)
        prices = self.cheapest(wanted)
        return sorted(places, key=lambda place: prices[place])

    def offers(self, places: Sequence[int], wanted: Requirements) -> list[tuple[str, Offering]]:
        """What can be launched of some types, the cheapest first, each with the name of its type."""
        usable = self._launchable & self._offerings_meeting(wanted) & self.mask(places)[self._of_type]
        found = [(self.types[int(self._of_type[at])].name, self._offerings[int(at)]) for at in np.flatnonzero(usable)]
        return sorted(found, key=lambda one: (one[1].price, one[0], one[1].zone))

    def mask(self, places: Iterable[int]) -> Mask:
        found = np.zeros(len(self.types), dtype=np.bool_)
        found[list(places)] = True
        return found

    def _types_meeting(self, wanted: Requirement) -> Mask:
        key = wanted.rule
        if key not in self._meeting:
            alone = Requirements({wanted.key: wanted})
            found = [sold.requirements.intersects(alone) for sold in self.types]
            self._meeting[key] = np.array(found, dtype=np.bool_)
        return self._meeting[key]

    def _offerings_meeting(self, wanted: Requirements) -> Mask:
        found = np.ones(len(self._offerings), dtype=np.bool_)
        for key in self._offered_keys & wanted.keys():
            found &= self._one_meeting(wanted[key])
        return found

    def _one_meeting(self, wanted: Requirement) -> Mask:
        key = wanted.rule
        if key not in self._meeting_offerings:
            alone = Requirements({wanted.key: wanted})
            found = [alone.intersects(one.requirements) for one in self._offerings]
            self._meeting_offerings[key] = np.array(found, dtype=np.bool_)
        return self._meeting_offerings[key]

    def _any(self, offerings: Mask) -> Mask:
        found = np.zeros(len(self.types), dtype=np.bool_)
        found[self._of_type[offerings]] = True
        return found

    def _column(self, name: str, *, capacity: bool = False) -> Column:
        key = capacity, name
        if key not in self._columns:
            amounts = [(sold.capacity if capacity else sold.allocatable).get(name, 0) for sold in self.types]
            self._columns[key] = column(amounts)
        return self._columns[key]
