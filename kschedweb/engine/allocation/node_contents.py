"""The contents of nodes: nodes are alike if their pools have the same devices, with the same in use."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from kschedweb.engine.allocation.inventory import Inventory
from kschedweb.engine.allocation.pools import DeviceCandidate, DevicePool, compute_available
from kschedweb.engine.objects.devices import Counters
from kschedweb.engine.state.columns import Codes
from kschedweb.engine.state.devices.use import DeviceUse

# The most contents remembered.
MANY = 1 << 16


class Contents:
    """Codes of the contents of nodes."""

    def __init__(self, inventory: Inventory, use: DeviceUse) -> None:
        self.inventory = inventory
        self._known: dict[Hashable, int] = {}
        # Codes of the inventory's places.
        self._code_of = np.zeros(len(inventory.places), dtype=np.int32)
        use.touched.clear()
        self._recompute_codes(use, range(len(inventory.places)))
        # int32[nodes]: equal for nodes on which the search for devices ends alike, names aside.
        self.codes: Codes = self._code_of[inventory.place_of]

    def follow(self, use: DeviceUse) -> None:
        """Apply the changes of ``use`` since the last call."""
        if not use.touched:
            return
        places = {place for pool in use.touched for place in self.inventory.places_of.get(pool, ())}
        use.touched.clear()
        self._recompute_codes(use, sorted(places))
        self.codes = self._code_of[self.inventory.place_of]

    def _recompute_codes(self, use: DeviceUse, places: Sequence[int]) -> None:
        states: dict[int, Hashable] = {}
        for place in places:
            pools = self.inventory.places[place]
            pool_codes = []
            for pool in pools:
                if id(pool) not in states:
                    states[id(pool)] = self._get_number((pool.content, compute_pool_state(pool, use)))
                pool_codes.append(states[id(pool)])
            self._code_of[place] = self._get_number((tuple(pool_codes), find_namesakes(pools)))

    def _get_number(self, key: Hashable) -> int:
        return self._known.setdefault(key, len(self._known))

    @property
    def is_overgrown(self) -> bool:
        """True if so many contents were seen that a new start is better."""
        return len(self._known) > MANY


def compute_pool_state(pool: DevicePool, use: DeviceUse) -> Hashable:
    """Return a key of what is in use of ``pool``."""
    whole = tuple([use.is_exclusive(candidate.id) for candidate in pool.devices])
    shares = tuple(
        (
            place,
            candidate.id in use.shares,
            tuple(sorted(use.consumed[candidate.id].items())) if candidate.id in use.consumed else None,
        )
        for place, candidate in enumerate(pool.devices)
        if candidate.id in use.shares
    )
    if not pool.consumes_counters:
        return whole, shares
    if pool.counters is None:
        return whole, shares, _by_slice(pool)
    return whole, shares, _to_sorted_tuples(compute_available(pool.counters, find_devices_in_use(pool, use)))


def _by_slice(pool: DevicePool) -> Hashable:
    """Return a key of the counters by slice and of the devices in each; what is left follows from those in use."""
    slices: dict[str, int] = {}
    places = tuple([slices.setdefault(candidate.listed_in.name, len(slices)) for candidate in pool.devices])
    counters = {
        candidate.listed_in.name: _to_sorted_tuples(dict(candidate.listed_in.counter_sets))
        for candidate in pool.devices
    }
    return places, tuple(counters.values())


def _to_sorted_tuples(counters: Counters) -> Hashable:
    return tuple((name, tuple(sorted(counters[name].items()))) for name in sorted(counters))


def find_devices_in_use(pool: DevicePool, use: DeviceUse) -> list[DeviceCandidate]:
    """Return the devices of ``pool`` in use, by shares or as a whole."""
    return [candidate for candidate in (*pool.devices, *pool.elsewhere) if use.is_in_use(candidate.id)]


def counters_left(pool: DevicePool, candidate: DeviceCandidate, use: DeviceUse, *, of_slice: bool) -> Counters:
    """Return what is left of the counters that the device consumes: those of its slice, or of its pool."""
    if not of_slice:
        return compute_available(pool.counters or {}, find_devices_in_use(pool, use))
    listed = candidate.listed_in
    return compute_available(
        dict(listed.counter_sets), (other for other in find_devices_in_use(pool, use) if other.listed_in is listed)
    )


def find_namesakes(pools: Sequence[DevicePool]) -> Hashable:
    """Return which pools of a node have the same name, because kube-scheduler adds their counters up as one."""
    counting = [pool.id[1] for pool in pools if pool.consumes_counters]
    if len(set(counting)) == len(counting):
        return None
    return tuple(counting.index(name) for name in counting)
