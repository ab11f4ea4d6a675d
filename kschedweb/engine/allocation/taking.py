"""What a search has taken so far, beside what is in use: devices, shares of devices, and counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from kschedweb.engine.allocation.capacity import NOTHING, Lack, has_room, lacks
from kschedweb.engine.allocation.contents import counters_left
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import Candidate, Pool, consume
from kschedweb.engine.objects.devicerequests import DeviceChoice
from kschedweb.engine.objects.devices import Amounts, Counters
from kschedweb.engine.objects.resourceclaim import DeviceId
from kschedweb.engine.objects.taints import lets_in, tolerated
from kschedweb.engine.state.devices.use import DeviceUse
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Chosen:
    """A device that answers ``choice``, whose full name is ``request``; ``consumed`` is what a share of it takes.

    ``counting``: what the device consumes of its pool's counters is taken with it.
    """

    request: str
    choice: DeviceChoice
    pool: Pool
    one: Candidate
    shared: bool
    counting: bool
    consumed: Amounts


class Taking:
    """Devices are taken for claims, by their numbers, and given back in the reverse order."""

    def __init__(self, use: DeviceUse, features: Features) -> None:
        self._use, self._features = use, features
        self._held: Counter[tuple[DeviceId, int]] = Counter()
        self._holders: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._taking: dict[DeviceId, Amounts] = {}
        self._left: dict[Hashable, Counters] = {}
        self._consumed: dict[Hashable, Counters] = {}

    def in_use(self, device: DeviceId) -> bool:
        """Whether somebody has the device for itself."""
        if self._use.whole(device) or device in self._holders:
            return True
        return not self._features.consumable and self._use.taken(device)

    def held_for(self, device: DeviceId, claim: int) -> bool:
        """Whether the search has taken the device for this claim."""
        return (device, claim) in self._held

    def touched(self, device: DeviceId) -> bool:
        """Whether anybody has the device, or a share of it."""
        return self._use.taken(device) or device in self._holders or device in self._shares

    def has_room(self, one: Candidate, wanted: Mapping[str, int], *, unused: bool = False) -> bool:
        """Whether a request for capacities finds them in the device, or would if it were ``unused``."""
        if not self._features.consumable:
            return True
        if unused:
            return has_room(one.device, wanted, NOTHING, NOTHING, self._features.fractional)
        return has_room(one.device, wanted, *self._consumed_of(one), self._features.fractional)

    def lacking(self, one: Candidate, wanted: Mapping[str, int]) -> Iterator[Lack]:
        """The capacities that keep the device from having room."""
        if not self._features.consumable:
            return iter(())
        return lacks(one.device, wanted, *self._consumed_of(one), self._features.fractional)

    def _consumed_of(self, one: Candidate) -> tuple[Amounts, Amounts]:
        """What shares of the device consume: of those in use, and of those that the search has taken."""
        return self._use.consumed.get(one.id, NOTHING), self._taking.get(one.id, NOTHING)

    def shares(self, one: Candidate) -> bool:
        """Whether the device is given out by shares."""
        return self._features.consumable and bool(one.device.shareable)

    def can_be_had(self, claim: int, choice: DeviceChoice, one: Candidate) -> bool:
        """Whether the device is free for a claim, as far as users and features go."""
        if choice.admin:
            if not self.shares(one) and self.held_for(one.id, claim):
                return False
        elif self.in_use(one.id):
            return False
        return self._features.partitionable or not one.device.consumes

    def tolerated(self, choice: DeviceChoice, one: Candidate) -> bool:
        """Whether the device's taints let the request in."""
        if self._features.local:  # a taint keeps off whatever its effect is
            return not self._features.taints or all(tolerated(each, choice.tolerations) for each in one.device.taints)
        return not self._features.taints or lets_in(one.device.taints, choice.tolerations)

    def counts(self, one: Candidate) -> bool:
        """Whether the device's counters have to be there: not for another share of it."""
        if not one.device.consumes:
            return False
        in_use = self._use.shares if self._features.revised else self._use.consumed
        return not (self.shares(one) and (one.id in in_use or one.id in self._shares))

    def has_counters(self, pool: Pool, one: Candidate) -> bool:
        """Whether no counter of the pool is overdrawn with what the device consumes."""
        return not self.overdrawn(pool, one)

    def overdrawn(self, pool: Pool, one: Candidate) -> list[Lack]:
        """The counters of the pool, as set/counter, that are overdrawn with what the device consumes."""
        name = self._counters_of(pool, one)
        if name not in self._left:
            self._left[name] = counters_left(pool, one, self._use, of_slice=self._features.local)
            self._consumed[name] = {}
        used = self._consumed[name]
        for counter_set, wanted in one.device.consumes:
            counters = used.setdefault(counter_set, {})
            for counter, _ in wanted:
                counters.setdefault(counter, 0)
        consume(used, one.device, 1)
        found = [
            Lack(f"{counter_set}/{counter}", wants, left)
            for counter_set, counters in self._left[name].items()
            for counter, left in counters.items()
            if (wants := used.get(counter_set, NOTHING).get(counter, 0)) > left
        ]
        consume(used, one.device, -1)
        return found

    def _counters_of(self, pool: Pool, one: Candidate) -> Hashable:
        """Equal for what counts as one: before it was revised, kube-scheduler looked at the pool's name alone."""
        if self._features.local:
            return one.listed_in.name
        return pool.id if self._features.revised else pool.id[1]

    def take(self, claim: int, chosen: Chosen) -> None:
        self._change(claim, chosen, 1)

    def give_back(self, claim: int, chosen: Chosen) -> None:
        self._change(claim, chosen, -1)

    def _change(self, claim: int, chosen: Chosen, by: int) -> None:
        device = chosen.one.id
        if chosen.counting:
            consume(self._consumed[self._counters_of(chosen.pool, chosen.one)], chosen.one.device, by)
        if not chosen.shared:
            _count(self._held, (device, claim), by)
            _count(self._holders, device, by)
            return
        _count(self._shares, device, by)
        if device not in self._shares:
            del self._taking[device]
            return
        amounts = self._taking.setdefault(device, {})
        for name, amount in chosen.consumed.items():
            amounts[name] = amounts.get(name, 0) + by * amount


def _count(counter: Counter[Any], key: object, by: int) -> None:
    counter[key] += by
    if not counter[key]:
        del counter[key]
