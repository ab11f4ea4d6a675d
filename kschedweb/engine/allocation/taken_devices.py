"""The devices, shares of devices and counters that a search has taken so far, beside those in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from kschedweb.engine.allocation.capacity import (
    NOTHING,
    CapacityError,
    Lack,
    all_consumed,
    find_lacks,
    has_room,
    spell_capacity,
    spell_requests,
)
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.node_contents import counters_left
from kschedweb.engine.allocation.pools import DeviceCandidate, DevicePool, consume_counters
from kschedweb.engine.objects.devicerequests import DeviceChoice
from kschedweb.engine.objects.devices import Amounts, Counters
from kschedweb.engine.objects.resourceclaim import DeviceId
from kschedweb.engine.objects.taints import has_no_untolerated, is_tolerated
from kschedweb.engine.state.devices.use import DeviceUse
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A device chosen for a request."""

    # The full name of `choice`.
    request: str
    choice: DeviceChoice
    pool: DevicePool
    candidate: DeviceCandidate
    # Only a share of the device is taken.
    shared: bool
    # What the device consumes of its pool's counters is taken with it.
    counting: bool
    # The capacity that the share takes, in nano-units.
    consumed: Amounts


class TakenDevices:
    """Devices taken for claims, by the claims' numbers; they are given back in reverse order."""

    def __init__(self, use: DeviceUse, features: Features) -> None:
        self._use, self._features = use, features
        self._held: Counter[tuple[DeviceId, int]] = Counter()
        self._holders: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._taking: dict[DeviceId, Amounts] = {}
        # What is left of counters, and what the search has taken of them, by `_counters_of`.
        self._remaining: dict[Hashable, Counters] = {}
        self._consumed: dict[Hashable, Counters] = {}

    def is_in_use(self, device: DeviceId) -> bool:
        """Return whether someone has the device exclusively."""
        if self._use.is_exclusive(device) or device in self._holders:
            return True
        return not self._features.consumable and self._use.is_in_use(device)

    def held_for(self, device: DeviceId, claim: int) -> bool:
        """Return whether the search has taken the device for this claim."""
        return (device, claim) in self._held

    def is_touched(self, device: DeviceId) -> bool:
        """Return whether anyone has the device or a share of it."""
        return self._use.is_in_use(device) or device in self._holders or device in self._shares

    def has_room(self, candidate: DeviceCandidate, requested: Mapping[str, int], *, unused: bool = False) -> bool:
        """Return whether the device has the requested capacities, or would have them if it were ``unused``."""
        if not self._features.consumable:
            return True
        requested = self._spell_requests(candidate, requested)
        in_use = (NOTHING, NOTHING) if unused else self._consumed_of(candidate)
        return has_room(candidate.device, requested, *in_use, self._features.fractional)

    def check_amounts(self, choice: DeviceChoice, candidate: DeviceCandidate, requested: Mapping[str, int]) -> None:
        """Raise CapacityError if a requested amount, or what comes of it, is negative.

        The device has to have all requested capacities.
        """
        device, driver = candidate.device, candidate.id[0]
        spelled = self._spell_requests(candidate, requested)
        if not choice.negative or not self._features.consumable or spelled.keys() - device.capacity.keys():
            return
        texts = {spell_capacity(device, driver, name): text for name, text in choice.negative}
        for name, amount in all_consumed(device, spelled, self._features.fractional).items():
            if self._features.unified_allocator and name in texts:
                full_name = name if "/" in name else f"{driver}/{name}"
                raise CapacityError(f'capacity "{full_name}": capacity value is negative: request {texts[name]}')
            if amount < 0 and self._features.revised_allocator:
                raise CapacityError(f'capacity "{name}": capacity value is negative')

    def consume_capacity(self, candidate: DeviceCandidate, requested: Mapping[str, int]) -> Amounts:
        """Return what a share of the device for ``requested`` takes of each of its capacities."""
        spelled = self._spell_requests(candidate, requested)
        return all_consumed(candidate.device, spelled, self._features.fractional)

    def _spell_requests(self, candidate: DeviceCandidate, requested: Mapping[str, int]) -> Mapping[str, int]:
        if not (requested and self._features.unified_allocator):
            return requested
        return spell_requests(candidate.device, candidate.id[0], requested)

    def find_lacking(self, candidate: DeviceCandidate, requested: Mapping[str, int]) -> Iterator[Lack]:
        """Yield the capacities that the device lacks."""
        if not self._features.consumable:
            return iter(())
        requested = self._spell_requests(candidate, requested)
        return find_lacks(candidate.device, requested, *self._consumed_of(candidate), self._features.fractional)

    def _consumed_of(self, candidate: DeviceCandidate) -> tuple[Amounts, Amounts]:
        """Return the consumption of the device's shares in use, and of those that the search has taken."""
        in_use = self._use.consumed.get(candidate.id, NOTHING)
        if in_use and self._features.unified_allocator:
            # What is stored may name the driver where the slice does not, and the other way round.
            amounts: Amounts = {}
            for name, amount in in_use.items():
                key = spell_capacity(candidate.device, candidate.id[0], name) or name
                amounts[key] = amounts.get(key, 0) + amount
            in_use = amounts
        return in_use, self._taking.get(candidate.id, NOTHING)

    def is_shareable(self, candidate: DeviceCandidate) -> bool:
        """Return whether the device is given out in shares."""
        return self._features.consumable and bool(candidate.device.shareable)

    def can_be_had(self, claim: int, choice: DeviceChoice, candidate: DeviceCandidate) -> bool:
        """Return whether the device is free for a claim, as far as its users and features decide."""
        if choice.admin:
            if not self.is_shareable(candidate) and self.held_for(candidate.id, claim):
                return False
        elif self.is_in_use(candidate.id) or self._is_still_shared(candidate):
            return False
        return self._features.partitionable or not candidate.device.consumes

    def _is_still_shared(self, candidate: DeviceCandidate) -> bool:
        """Return whether someone has a share of a device that is no longer given out in shares."""
        is_exclusive = self._features.unified_allocator and not self.is_shareable(candidate)
        return is_exclusive and self.is_touched(candidate.id)

    def is_tolerated(self, choice: DeviceChoice, candidate: DeviceCandidate) -> bool:
        """Return whether the request tolerates the device's taints."""
        # Without the revision, a taint repels claims whatever its effect.
        if self._features.node_local_pools:
            return not self._features.taints or all(
                is_tolerated(taint, choice.tolerations) for taint in candidate.device.taints
            )
        return not self._features.taints or has_no_untolerated(candidate.device.taints, choice.tolerations)

    def needs_counters(self, candidate: DeviceCandidate) -> bool:
        """Return whether the device's counters must be available; not for a further share of it."""
        if not candidate.device.consumes:
            return False
        in_use = self._use.shares if self._features.revised_allocator else self._use.consumed
        return not (self.is_shareable(candidate) and (candidate.id in in_use or candidate.id in self._shares))

    def has_counters(self, pool: DevicePool, candidate: DeviceCandidate) -> bool:
        """Return whether the pool's counters cover what the device consumes."""
        return not self.find_overdrawn(pool, candidate)

    def find_overdrawn(self, pool: DevicePool, candidate: DeviceCandidate) -> list[Lack]:
        """Return the counters, as set/counter, that would be overdrawn by what the device consumes."""
        name = self._counters_of(pool, candidate)
        if name not in self._remaining:
            self._remaining[name] = counters_left(pool, candidate, self._use, of_slice=self._features.node_local_pools)
            self._consumed[name] = {}
        used = self._consumed[name]
        for counter_set, amounts in candidate.device.consumes:
            counters = used.setdefault(counter_set, {})
            for counter, _ in amounts:
                counters.setdefault(counter, 0)
        # Added and taken back in place: a copy for every device tried would cost more.
        consume_counters(used, candidate.device, 1)
        shortfalls = [
            Lack(f"{counter_set}/{counter}", wants, remaining)
            for counter_set, counters in self._remaining[name].items()
            for counter, remaining in counters.items()
            if (wants := used.get(counter_set, NOTHING).get(counter, 0)) > remaining
        ]
        consume_counters(used, candidate.device, -1)
        return shortfalls

    def _counters_of(self, pool: DevicePool, candidate: DeviceCandidate) -> Hashable:
        """Return a key of counters that count as one: before the revision, kube-scheduler went by the pool's name
        only."""
        if self._features.node_local_pools:
            return candidate.listed_in.name
        return pool.id if self._features.revised_allocator else pool.id[1]

    def take_device(self, claim: int, chosen: ChosenDevice) -> None:
        self._apply_change(claim, chosen, 1)

    def give_back(self, claim: int, chosen: ChosenDevice) -> None:
        self._apply_change(claim, chosen, -1)

    def _apply_change(self, claim: int, chosen: ChosenDevice, by: int) -> None:
        device = chosen.candidate.id
        if chosen.counting:
            consume_counters(
                self._consumed[self._counters_of(chosen.pool, chosen.candidate)], chosen.candidate.device, by
            )
        if not chosen.shared:
            _add_count(self._held, (device, claim), by)
            _add_count(self._holders, device, by)
            return
        _add_count(self._shares, device, by)
        if device not in self._shares:
            del self._taking[device]
            return
        amounts = self._taking.setdefault(device, {})
        for name, amount in chosen.consumed.items():
            amounts[name] = amounts.get(name, 0) + by * amount


def _add_count(counter: Counter[Any], key: object, by: int) -> None:
    counter[key] += by
    if not counter[key]:
        del counter[key]
