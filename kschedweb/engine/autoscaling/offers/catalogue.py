"""The instance types that a NodePool sees, as columns: a requirement is evaluated once for all of them.

Sets of types are masks over the catalogue (bool, one cell a type); offerings are columns over all types.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf
from random import Random
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kschedweb.engine.autoscaling.offers.instance_types import InstanceType, Offering
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirement, Requirements, new_requirement

Mask: TypeAlias = npt.NDArray[np.bool_]
# Milli-units of a resource: int64, or Python's own integers if an amount does not fit.
Column: TypeAlias = npt.NDArray[Any]
Prices: TypeAlias = npt.NDArray[np.float64]
# The price of what cannot be launched; Karpenter uses math.MaxFloat64.
NEVER = float(np.finfo(np.float64).max)
# The order of capacity types in which Karpenter expects a node to be launched.
LAUNCH_ORDER = tuple(
    new_requirement(CAPACITY_TYPE, IN, (capacity_type,)) for capacity_type in (RESERVED, SPOT, ON_DEMAND)
)
_LARGEST = np.iinfo(np.int64).max


def to_column(amounts: Sequence[int]) -> Column:
    fits = all(-_LARGEST <= amount <= _LARGEST for amount in amounts)
    return np.array(amounts, dtype=np.int64 if fits else object)


class Catalogue:
    """Instance types in their order. Results are cached by requirement."""

    def __init__(self, types: Sequence[InstanceType]) -> None:
        self.types = tuple(types)
        self.by_name = {instance_type.name: instance_type for instance_type in self.types}
        self.everything: Mask = np.ones(len(self.types), dtype=np.bool_)
        offerings = [(place, offering) for place, sold in enumerate(self.types) for offering in sold.offerings]
        # Offerings of all types, one behind another; `_of_type` has the place of the type of each.
        self._of_type = np.array([place for place, _ in offerings], dtype=np.int64)
        self._offerings = [offering for _, offering in offerings]
        self._available = np.array([offering.available for offering in self._offerings], dtype=np.bool_)
        self._launchable = np.array([offering.is_launchable for offering in self._offerings], dtype=np.bool_)
        self._prices = np.array([offering.price for offering in self._offerings], dtype=np.float64)
        self.reserves = any(offering.capacity_type == RESERVED for offering in self._offerings)
        # Only these keys can exclude a type, so that others need not be evaluated.
        self._keys = {key for sold in self.types for key in sold.requirements}
        self._offered_keys = {key for offering in self._offerings for key in offering.requirements}
        self._meeting: dict[Hashable, Mask] = {}
        self._meeting_offerings: dict[Hashable, Mask] = {}
        self._columns: dict[tuple[bool, str], Column] = {}
        # A type with negative allocatable fits no pod.
        self._sound = np.array([min(sold.allocatable.values(), default=0) >= 0 for sold in self.types], dtype=np.bool_)

    def list_names(self, mask: Mask) -> list[str]:
        return [self.types[place].name for place in np.flatnonzero(mask)]

    def filter_compatible(self, requirements: Requirements) -> Mask:
        """Return the types whose own requirements are compatible with ``requirements``."""
        mask = self.everything
        for key in self._keys & requirements.keys():
            mask = mask & self._types_meeting(requirements[key])
        return mask

    def filter_offered(self, requirements: Requirements) -> Mask:
        """Return the types with an available offering that meets ``requirements``."""
        return self._any_by_type(self._available & self._offerings_meeting(requirements))

    def filter_fitting(self, requests: Mapping[str, int]) -> Mask:
        """Return the types on which ``requests`` (milli-units) fit."""
        mask = self._sound
        for name, amount in requests.items():
            if amount > 0:
                mask = mask & (self._get_column(name) >= amount)
        return mask

    def filter_within_limits(self, limits: Mapping[str, int]) -> Mask:
        """Return the types whose capacity is within ``limits`` (milli-units)."""
        mask = self.everything
        for name, amount in limits.items():
            mask = mask & (self._get_column(name, capacity=True) <= amount)
        return mask

    def find_largest(self, mask: Mask) -> dict[str, int]:
        """Return the largest capacity of each resource over the types of a mask, in milli-units."""
        names = {name for sold in self.types for name in sold.capacity}
        return {name: int(self._get_column(name, capacity=True)[mask].max(initial=0)) for name in names}

    def find_roomiest(self, mask: Mask, name: str) -> int:
        """Return the largest allocatable amount of a resource over the types of a mask, in milli-units."""
        return int(self._get_column(name)[mask].max(initial=0))

    def find_reserved(self, mask: Mask, requirements: Requirements) -> tuple[list[int], bool]:
        """Return the available reserved offerings of a mask's types, and whether there is one that is not reserved."""
        offerings = np.flatnonzero(self._available & mask[self._of_type] & self._offerings_meeting(requirements))
        reserved = [int(place) for place in offerings if self._offerings[place].capacity_type == RESERVED]
        return reserved, len(reserved) < len(offerings)

    def get_reservation(self, place: int) -> tuple[str, int]:
        """Return the reservation of an offering and its number of slots."""
        return self._offerings[place].reservation, self._offerings[place].reservation_capacity

    def find_cheapest(self, requirements: Requirements) -> Prices:
        """Return the lowest price at which each type can be launched; infinite if it cannot."""
        prices = np.full(len(self.types), inf)
        usable = self._launchable & self._offerings_meeting(requirements)
        # `minimum.at` and not fancy assignment: a type has several offerings.
        np.minimum.at(prices, self._of_type[usable], self._prices[usable])
        return prices

    def worst_launch_prices(self, requirements: Requirements) -> Prices:
        """Return the highest price of each type within the capacity type it would be launched with; NEVER if none."""
        prices = np.full(len(self.types), NEVER)
        usable, undecided = self._launchable & self._offerings_meeting(requirements), self.everything
        for kind in LAUNCH_ORDER:
            of_kind = usable & self._one_meeting(kind)
            decided = undecided & self._any_by_type(of_kind)
            highest = np.full(len(self.types), -inf)
            np.maximum.at(highest, self._of_type[of_kind], self._prices[of_kind])
            prices[decided] = highest[decided]
            undecided = undecided & ~decided
        return prices

    def by_price(self, mask: Mask, requirements: Requirements, chance: Random | None = None) -> list[int]:
        """Return the types of a mask, cheapest first; ``chance`` decides between equal prices."""
        places = [int(place) for place in np.flatnonzero(mask)]
        if chance is not None:
            chance.shuffle(places)
        prices = self.find_cheapest(requirements)
        return sorted(places, key=lambda place: prices[place])

    def list_offers(self, places: Sequence[int], requirements: Requirements) -> list[tuple[str, Offering]]:
        """Return the offerings that can be launched of some types, cheapest first, each with the name of its type."""
        usable = self._launchable & self._offerings_meeting(requirements) & self.to_mask(places)[self._of_type]
        offers = [(self.types[int(self._of_type[at])].name, self._offerings[int(at)]) for at in np.flatnonzero(usable)]
        return sorted(offers, key=lambda offer: (offer[1].price, offer[0], offer[1].zone))

    def to_mask(self, places: Iterable[int]) -> Mask:
        mask = np.zeros(len(self.types), dtype=np.bool_)
        mask[list(places)] = True
        return mask

    def _types_meeting(self, requirement: Requirement) -> Mask:
        key = requirement.rule
        if key not in self._meeting:
            alone = Requirements({requirement.key: requirement})
            meets = [sold.requirements.intersects(alone) for sold in self.types]
            self._meeting[key] = np.array(meets, dtype=np.bool_)
        return self._meeting[key]

    def _offerings_meeting(self, requirements: Requirements) -> Mask:
        mask = np.ones(len(self._offerings), dtype=np.bool_)
        for key in self._offered_keys & requirements.keys():
            mask &= self._one_meeting(requirements[key])
        return mask

    def _one_meeting(self, requirement: Requirement) -> Mask:
        key = requirement.rule
        if key not in self._meeting_offerings:
            alone = Requirements({requirement.key: requirement})
            meets = [alone.intersects(offering.requirements) for offering in self._offerings]
            self._meeting_offerings[key] = np.array(meets, dtype=np.bool_)
        return self._meeting_offerings[key]

    def _any_by_type(self, offerings: Mask) -> Mask:
        mask = np.zeros(len(self.types), dtype=np.bool_)
        mask[self._of_type[offerings]] = True
        return mask

    def _get_column(self, name: str, *, capacity: bool = False) -> Column:
        key = capacity, name
        if key not in self._columns:
            amounts = [(sold.capacity if capacity else sold.allocatable).get(name, 0) for sold in self.types]
            self._columns[key] = to_column(amounts)
        return self._columns[key]
