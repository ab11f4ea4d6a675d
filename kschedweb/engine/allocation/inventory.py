"""The pools that each node sees, computed once for the current slices and nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import DevicePool, PoolId, VisibleSlice, build_pool
from kschedweb.engine.objects.devices import NodeChoice, ResourceSlice, apply_taint_rules
from kschedweb.engine.objects.resourceclaim import selector_problem
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.state.nodematching import matches_any
from kschedweb.engine.state.snapshot import Snapshot


class Inventory:
    """The pools of all nodes. Pools without devices for a node are left out if they change nothing there."""

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self._features = snapshot, features
        # Slices with counters are only for their nodes.
        self._on_nodes = features.revised_allocator or features.node_local_pools
        # The name of a slice whose node selector cannot be parsed, "" for none.
        self.problem = ""
        by_pool: dict[PoolId, list[ResourceSlice]] = defaultdict(list)
        devices = snapshot.objects.devices
        rules = tuple(devices.taint_rules.values()) if features.taint_rules else ()
        for listed in devices.slices.values():
            by_pool[listed.driver, listed.pool].append(apply_taint_rules(listed, rules) if rules else listed)
        pools_by_node: dict[int, list[DevicePool]] = defaultdict(list)
        common: list[DevicePool] = []
        for pool in sorted(by_pool):
            self._add_pool(by_pool[pool], pools_by_node, common)
        # The different sequences of pools that nodes see, in the order in which they are tried.
        self.places: list[tuple[DevicePool, ...]] = []
        # int32[nodes]: the place of each node's pools.
        self.place_of: Codes = self._assign_places(pools_by_node, common)
        self.places_of: dict[PoolId, list[int]] = defaultdict(list)
        for place, pools in enumerate(self.places):
            for seen_pool in pools:
                self.places_of[seen_pool.id].append(place)

    def _assign_places(self, pools_by_node: dict[int, list[DevicePool]], common: list[DevicePool]) -> Codes:
        place_by_pools: dict[tuple[int, ...], int] = {}
        places = np.zeros(len(self._snapshot), dtype=np.int32)
        shared = _sort_pools(common)
        for node in range(len(self._snapshot)):
            pools = _sort_pools([*common, *pools_by_node[node]]) if node in pools_by_node else shared
            # Pools are shared objects, so that their ids tell the sequences apart.
            place = place_by_pools.setdefault(tuple(map(id, pools)), len(place_by_pools))
            if place == len(self.places):
                self.places.append(pools)
            places[node] = place
        return places

    def _add_pool(
        self, slices: list[ResourceSlice], pools_by_node: dict[int, list[DevicePool]], common: list[DevicePool]
    ) -> None:
        """Add the pool of ``slices`` to ``pools_by_node``, or to ``common`` if all nodes see the same."""
        relevant = [resource_slice for resource_slice in slices if self._is_relevant(resource_slice)]
        if not relevant:
            return
        # The usual case: drivers publish slices by node, and a mask for each would be nodes by nodes.
        if all(
            resource_slice.nodes.name and not (resource_slice.by_device or resource_slice.counter_sets)
            for resource_slice in relevant
        ):
            self._see_by_name(relevant, pools_by_node, slices)
            return
        masks = [self._compute_masks(resource_slice) for resource_slice in relevant]
        table = np.array([mask for own_masks in masks for mask in own_masks], dtype=np.bool_)
        # Nodes with equal columns see the same, so that each different pool is built once.
        pool_by_column: dict[bytes, DevicePool | None] = {}

        def seen_from(node: int) -> DevicePool | None:
            column = table[:, node]
            key = column.tobytes()
            if key not in pool_by_column:
                pool_by_column[key] = self._build_pool(relevant, masks, column, slices)
            return pool_by_column[key]

        varying = table[table.any(axis=1) & ~table.all(axis=1)]
        special: Mask = np.any(varying, axis=0)
        plain_nodes = np.flatnonzero(~special)
        plain = seen_from(int(plain_nodes[0])) if plain_nodes.size else None
        if plain is not None and plain_nodes.size == len(self._snapshot):
            common.append(plain)
            return
        for node in range(len(self._snapshot)) if plain is not None else np.flatnonzero(special).tolist():
            pool = seen_from(node) if special[node] else plain
            if pool is not None:
                pools_by_node[node].append(pool)

    def _is_relevant(self, listed: ResourceSlice) -> bool:
        """Return whether some node can see the slice."""
        features, has_nodes = self._features, not listed.nodes.is_unset
        if features.partitionable:
            return bool(listed.by_device or has_nodes or (listed.counter_sets and not self._on_nodes))
        return listed.by_device is None and has_nodes and (features.node_local_pools or not listed.counter_sets)

    def _see_by_name(
        self, relevant: list[ResourceSlice], pools_by_node: dict[int, list[DevicePool]], everything: list[ResourceSlice]
    ) -> None:
        by_node: dict[str, list[VisibleSlice]] = defaultdict(list)
        for resource_slice in relevant:
            by_node[resource_slice.nodes.name].append(
                VisibleSlice(resource_slice, (True,) * len(resource_slice.devices))
            )
        for name, visible_slices in by_node.items():
            if (node := self._snapshot.index.get(name)) is not None:
                pool = _worth_seeing(build_pool(visible_slices, everything, self._features))
                if pool is not None:
                    pools_by_node[node].append(pool)

    def _build_pool(
        self, slices: list[ResourceSlice], masks: list[list[Mask]], column: Mask, everything: Sequence[ResourceSlice]
    ) -> DevicePool | None:
        visible_slices, at = [], 0
        for listed, slice_masks in zip(slices, masks, strict=True):
            for_node = (
                column[at + 1 : at + len(slice_masks)].tolist() if listed.by_device else [True] * len(listed.devices)
            )
            if column[at]:
                visible_slices.append(VisibleSlice(listed, tuple(for_node)))
            at += len(slice_masks)
        return _worth_seeing(build_pool(visible_slices, everything, self._features)) if visible_slices else None

    def _compute_masks(self, listed: ResourceSlice) -> list[Mask]:
        """Return the nodes that see the slice, then those of each of its devices, if they have their own."""
        size = len(self._snapshot)
        devices = []
        if listed.by_device:
            devices = [self._compute_mask(device.nodes, listed) for device in listed.devices]
        # A pool cannot be used without its counters, so every node sees them.
        if listed.counter_sets and not self._on_nodes:
            whole = np.ones(size, dtype=np.bool_)
        elif not listed.nodes.is_unset:
            whole = self._compute_mask(listed.nodes, listed)
        elif devices:
            whole = np.logical_or.reduce(devices)
        else:
            whole = np.zeros(size, dtype=np.bool_)
        return [whole, *devices]

    def _compute_mask(self, choice: NodeChoice, listed: ResourceSlice) -> Mask:
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


def _worth_seeing(pool: DevicePool | None) -> DevicePool | None:
    """Return the pool, unless it offers a node nothing and keeps it from nothing."""
    return None if pool is not None and pool.is_usable and not pool.devices else pool


def _sort_pools(pools: list[DevicePool]) -> tuple[DevicePool, ...]:
    """Sort by driver and name, pools with devices that need preparation last."""
    return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def get_inventory(snapshot: Snapshot, features: Features) -> Inventory:
    """Return what the nodes of ``snapshot`` see now."""
    inventories: dict[Features, tuple[int, Inventory]] = snapshot.cached_by_nodes("device inventories", dict)
    version = snapshot.objects.devices.version
    entry = inventories.get(features)
    if entry is None or entry[0] != version:
        entry = inventories[features] = version, Inventory(snapshot, features)
    return entry[1]
