"""Nodes that are alike: those whose pools have the same devices, of which the same are in use."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from kschedweb.engine.allocation.inventory import Inventory
from kschedweb.engine.allocation.pools import Candidate, Pool, available
from kschedweb.engine.objects.devices import Counters
from kschedweb.engine.state.columns import Codes
from kschedweb.engine.state.devices.use import DeviceUse

MANY = 1 << 16  # contents remembered at most


class Contents:
    """``codes`` int32[nodes] are equal for nodes on which the search for devices ends alike, but for names.

    ``code_of`` int[places] are those of the inventory's places.
    """

    def __init__(self, inventory: Inventory, use: DeviceUse) -> None:
        self.inventory = inventory
        self._known: dict[Hashable, int] = {}
        self._code_of = np.zeros(len(inventory.places), dtype=np.int32)
        use.touched.clear()
        self._recode(use, range(len(inventory.places)))
        self.codes: Codes = self._code_of[inventory.place_of]

    def follow(self, use: DeviceUse) -> None:
        """Take in what of ``use`` has changed."""
        if not use.touched:
            return
        places = {place for pool in use.touched for place in self.inventory.places_of.get(pool, ())}
        use.touched.clear()
        self._recode(use, sorted(places))
        self.codes = self._code_of[self.inventory.place_of]

    def _recode(self, use: DeviceUse, places: Sequence[int]) -> None:
        states: dict[int, Hashable] = {}
        for place in places:
            pools = self.inventory.places[place]
            found = []
            for pool in pools:
                if id(pool) not in states:
                    states[id(pool)] = self._number((pool.content, state(pool, use)))
                found.append(states[id(pool)])
            self._code_of[place] = self._number((tuple(found), namesakes(pools)))

    def _number(self, key: Hashable) -> int:
        return self._known.setdefault(key, len(self._known))

    @property
    def overgrown(self) -> bool:
        """Whether so many contents were seen that it is better to begin anew."""
        return len(self._known) > MANY


def state(pool: Pool, use: DeviceUse) -> Hashable:
    """What is in use of ``pool``."""
    whole = tuple([use.whole(one.id) for one in pool.devices])
    shares = tuple(
        (place, one.id in use.shares, tuple(sorted(use.consumed[one.id].items())) if one.id in use.consumed else None)
        for place, one in enumerate(pool.devices)
        if one.id in use.shares
    )
    if not pool.counts:
        return whole, shares
    if pool.counters is None:
        return whole, shares, _by_slice(pool)
    return whole, shares, _written(available(pool.counters, taken(pool, use)))


def _by_slice(pool: Pool) -> Hashable:
    """The counters of each slice, and which devices are in it: what is left of them follows from those in use."""
    slices: dict[str, int] = {}
    places = tuple([slices.setdefault(one.listed_in.name, len(slices)) for one in pool.devices])
    counters = {one.listed_in.name: _written(dict(one.listed_in.counter_sets)) for one in pool.devices}
    return places, tuple(counters.values())


def _written(counters: Counters) -> Hashable:
    return tuple((name, tuple(sorted(counters[name].items()))) for name in sorted(counters))


def taken(pool: Pool, use: DeviceUse) -> list[Candidate]:
    """The devices of ``pool`` that are in use, by shares or as a whole."""
    return [one for one in (*pool.devices, *pool.elsewhere) if use.taken(one.id)]


def counters_left(pool: Pool, one: Candidate, use: DeviceUse, *, of_slice: bool) -> Counters:
    """What is left of the counters that the device consumes: those of its slice, or of its pool."""
    if not of_slice:
        return available(pool.counters or {}, taken(pool, use))
    listed = one.listed_in
    return available(dict(listed.counter_sets), (each for each in taken(pool, use) if each.listed_in is listed))


def namesakes(pools: Sequence[Pool]) -> Hashable:
    """Which pools of a node have the same name: kube-scheduler counts their counters as one."""
    counting = [pool.id[1] for pool in pools if pool.counts]
    if len(set(counting)) == len(counting):
        return None
    return tuple(counting.index(name) for name in counting)
