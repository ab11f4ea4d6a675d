"""The pools that each node sees: worked out once for the slices and nodes that there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import Pool, PoolId, Seen, build
from kschedweb.engine.objects.devices import NodeChoice, ResourceSlice, tainted
from kschedweb.engine.objects.resourceclaim import selector_problem
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.state.nodematching import matches_any
from kschedweb.engine.state.snapshot import Snapshot


class Inventory:
    """``place_of`` int32[nodes] indexes ``places``: the pools that a node sees, in the order in which they are tried.

    Pools without a device for a node are left out where they change nothing there. ``problem`` names a slice whose
    node selector cannot be parsed, "" where there is none.
    """

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self._features = snapshot, features
        self._on_nodes = features.revised or features.local  # slices with counters are for their nodes alone
        self.problem = ""
        by_pool: dict[PoolId, list[ResourceSlice]] = defaultdict(list)
        devices = snapshot.objects.devices
        rules = tuple(devices.taint_rules.values()) if features.taint_rules else ()
        for listed in devices.slices.values():
            by_pool[listed.driver, listed.pool].append(tainted(listed, rules) if rules else listed)
        own: dict[int, list[Pool]] = defaultdict(list)
        common: list[Pool] = []
        for pool in sorted(by_pool):
            self._see(by_pool[pool], own, common)
        self.places: list[tuple[Pool, ...]] = []
        self.place_of: Codes = self._placed(own, common)
        self.places_of: dict[PoolId, list[int]] = defaultdict(list)
        for place, pools in enumerate(self.places):
            for one in pools:
                self.places_of[one.id].append(place)

    def _placed(self, own: dict[int, list[Pool]], common: list[Pool]) -> Codes:
        known: dict[tuple[int, ...], int] = {}
        places = np.zeros(len(self._snapshot), dtype=np.int32)
        shared = _ordered(common)
        for node in range(len(self._snapshot)):
            pools = _ordered([*common, *own[node]]) if node in own else shared
            place = known.setdefault(tuple(map(id, pools)), len(known))
            if place == len(self.places):
                self.places.append(pools)
            places[node] = place
        return places

    def _see(self, slices: list[ResourceSlice], own: dict[int, list[Pool]], common: list[Pool]) -> None:
        """Add the pool of ``slices`` to those that nodes see on their ``own``, or to those ``common`` to all."""
        relevant = [one for one in slices if self._relevant(one)]
        if not relevant:
            return
        if all(one.nodes.name and not (one.by_device or one.counter_sets) for one in relevant):
            self._see_by_name(relevant, own, slices)
            return
        masks = [self._masks(one) for one in relevant]
        table = np.array([mask for own_masks in masks for mask in own_masks], dtype=np.bool_)
        known: dict[bytes, Pool | None] = {}

        def seen_from(node: int) -> Pool | None:
            column = table[:, node]
            key = column.tobytes()
            if key not in known:
                known[key] = self._pool(relevant, masks, column, slices)
            return known[key]

        varying = table[table.any(axis=1) & ~table.all(axis=1)]
        special: Mask = np.any(varying, axis=0)
        others = np.flatnonzero(~special)
        plain = seen_from(int(others[0])) if others.size else None
        if plain is not None and others.size == len(self._snapshot):
            common.append(plain)
            return
        for node in range(len(self._snapshot)) if plain is not None else np.flatnonzero(special).tolist():
            found = seen_from(node) if special[node] else plain
            if found is not None:
                own[node].append(found)

    def _relevant(self, listed: ResourceSlice) -> bool:
        """Whether some node can see the slice."""
        features, named = self._features, not listed.nodes.unset
        if features.partitionable:
            return bool(listed.by_device or named or (listed.counter_sets and not self._on_nodes))
        return listed.by_device is None and named and (features.local or not listed.counter_sets)

    def _see_by_name(
        self, relevant: list[ResourceSlice], own: dict[int, list[Pool]], everything: list[ResourceSlice]
    ) -> None:
        by_node: dict[str, list[Seen]] = defaultdict(list)
        for one in relevant:
            by_node[one.nodes.name].append(Seen(one, (True,) * len(one.devices)))
        for name, seen in by_node.items():
            if (node := self._snapshot.index.get(name)) is not None:
                pool = _worth_seeing(build(seen, everything, self._features))
                if pool is not None:
                    own[node].append(pool)

    def _pool(
        self, slices: list[ResourceSlice], masks: list[list[Mask]], column: Mask, everything: Sequence[ResourceSlice]
    ) -> Pool | None:
        seen, at = [], 0
        for listed, own in zip(slices, masks, strict=True):
            here = column[at + 1 : at + len(own)].tolist() if listed.by_device else [True] * len(listed.devices)
            if column[at]:
                seen.append(Seen(listed, tuple(here)))
            at += len(own)
        return _worth_seeing(build(seen, everything, self._features)) if seen else None

    def _masks(self, listed: ResourceSlice) -> list[Mask]:
        """The nodes that see the slice, and then the nodes of each of its devices where they have their own."""
        size = len(self._snapshot)
        devices = []
        if listed.by_device:
            devices = [self._mask(device.nodes, listed) for device in listed.devices]
        if listed.counter_sets and not self._on_nodes:  # a pool cannot be used without them
            whole = np.ones(size, dtype=np.bool_)
        elif not listed.nodes.unset:
            whole = self._mask(listed.nodes, listed)
        elif devices:
            whole = np.logical_or.reduce(devices)
        else:
            whole = np.zeros(size, dtype=np.bool_)
        return [whole, *devices]

    def _mask(self, choice: NodeChoice, listed: ResourceSlice) -> Mask:
        snapshot = self._snapshot
        if choice.name:
            mask = np.zeros(len(snapshot), dtype=np.bool_)
            if (row := snapshot.index.get(choice.name)) is not None:
                mask[row] = True
            return mask
        if choice.everywhere:
            return np.ones(len(snapshot), dtype=np.bool_)
        if choice.terms is None:
            return np.zeros(len(snapshot), dtype=np.bool_)
        if choice.selector is not None and selector_problem(choice.selector):
            self.problem = self.problem or listed.name
        return matches_any(snapshot, choice.terms)


def _worth_seeing(pool: Pool | None) -> Pool | None:
    """The pool, unless it has nothing for a node and keeps it from nothing."""
    return None if pool is not None and pool.usable and not pool.devices else pool


def _ordered(pools: list[Pool]) -> tuple[Pool, ...]:
    """By driver and name, those whose devices have to be made ready last."""
    return tuple(sorted(pools, key=lambda pool: (pool.binds, pool.id)))


def inventory(snapshot: Snapshot, features: Features) -> Inventory:
    """What the nodes of ``snapshot`` see now."""
    held: dict[Features, tuple[int, Inventory]] = snapshot.memo("device inventories", dict)
    version = snapshot.objects.devices.version
    found = held.get(features)
    if found is None or found[0] != version:
        found = held[features] = version, Inventory(snapshot, features)
    return found[1]
