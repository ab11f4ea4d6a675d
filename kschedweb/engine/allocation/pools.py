"""Pools of devices as nodes see them: the slices of the newest generation that are for the node."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property

from kschedweb.engine.allocation.features import Features
from kschedweb.engine.objects.devices import Amounts, Counters, Device, NodeChoice, ResourceSlice
from kschedweb.engine.objects.resourceclaim import DeviceId
from kschedweb.engine.values import dataclass

# Driver and name.
PoolId = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DeviceCandidate:
    """A device with the slice that lists it."""

    device: Device
    id: DeviceId
    listed_in: ResourceSlice
    # False if it is for other nodes than the one that sees its slice.
    is_for_node: bool

    @property
    def nodes(self) -> NodeChoice:
        """The nodes that can use the device."""
        return self.device.nodes if self.listed_in.by_device else self.listed_in.nodes

    @property
    def excess_terms(self) -> int:
        """The number of terms of its node selector if these are more than an allocation can express, else 0."""
        terms = self.nodes.terms
        return 0 if terms is None or len(terms) < 2 else len(terms)


@dataclass(frozen=True, eq=False)
class DevicePool:
    """A pool as one or more nodes see it."""

    id: PoolId
    # In the order in which they are tried.
    devices: tuple[DeviceCandidate, ...] = ()
    # Devices of slices for other nodes, if they consume ``counters``.
    elsewhere: tuple[DeviceCandidate, ...] = ()
    counters: Counters | None = None
    # Requests for all devices fail on an incomplete or invalid pool, and as a rule none of its devices can be used.
    incomplete: bool = False
    invalid: bool = False
    # kube-scheduler's error for any request for its devices.
    problem: str = ""

    @property
    def is_usable(self) -> bool:
        return not (self.incomplete or self.invalid)

    @property
    def name(self) -> str:
        """Its name as kube-scheduler writes it."""
        return "/".join(self.id)

    @cached_property
    def has_binding_conditions(self) -> bool:
        """True if a device needs preparation; such pools are tried last."""
        return any(candidate.device.binding_conditions is not None for candidate in self.devices)

    @cached_property
    def consumes_counters(self) -> bool:
        """True if a device consumes counters."""
        return any(candidate.device.consumes for candidate in self.devices)

    @cached_property
    def content(self) -> Hashable:
        """A key that is equal for pools with the same devices, while none is in use."""
        devices = tuple(
            (candidate.device.content, candidate.is_for_node, candidate.excess_terms) for candidate in self.devices
        )
        return self.id[0], self.incomplete, self.invalid, devices


@dataclass(frozen=True, slots=True)
class VisibleSlice:
    """A slice that a node sees."""

    listed: ResourceSlice
    # For each device, if it is for the node.
    for_node: tuple[bool, ...]


def build_pool(
    visible_slices: list[VisibleSlice], everything: Iterable[ResourceSlice], features: Features
) -> DevicePool | None:
    """Build a pool of all its slices that a node sees; None if they are out of date.

    ``everything`` are all slices of the pool.
    """
    newest = max(visible_slice.listed.generation for visible_slice in visible_slices)
    visible_slices = [visible_slice for visible_slice in visible_slices if visible_slice.listed.generation == newest]
    visible_slices.sort(
        key=lambda visible_slice: (
            visible_slice.listed.has_binding_conditions and features.binding_last,
            visible_slice.listed.name,
        )
    )
    first = visible_slices[0].listed
    pool = first.driver, first.pool
    if features.node_local_pools:
        return _build_local_pool(pool, visible_slices)
    other_slices: list[ResourceSlice] = []
    if len(visible_slices) != first.count:
        of_pool = list(everything)
        # The newest generation may be on other nodes only.
        if any(resource_slice.generation > newest for resource_slice in of_pool):
            return None
        current = [resource_slice for resource_slice in of_pool if resource_slice.generation == newest]
        if len(current) != first.count:
            return DevicePool(pool, incomplete=True)
        names = {visible_slice.listed.name for visible_slice in visible_slices}
        other_slices = [resource_slice for resource_slice in current if resource_slice.name not in names]
    return _build_valid_pool(pool, visible_slices, other_slices, features) or DevicePool(pool, invalid=True)


def _build_local_pool(pool: PoolId, visible_slices: list[VisibleSlice]) -> DevicePool:
    """Build a pool of these slices only, complete or not."""
    incomplete, names = len(visible_slices) != visible_slices[0].listed.count, set[str]()
    for device in (device for visible_slice in visible_slices for device in visible_slice.listed.devices):
        if device.name in names:
            problem = f"pool {pool[1]} is invalid: duplicate device name {device.name}"
            return DevicePool(pool, incomplete=incomplete, invalid=True, problem=problem)
        names.add(device.name)
    return DevicePool(pool, _list_candidates(pool, visible_slices), incomplete=incomplete)


def _list_candidates(pool: PoolId, visible_slices: list[VisibleSlice]) -> tuple[DeviceCandidate, ...]:
    return tuple(
        DeviceCandidate(device, (*pool, device.name), visible_slice.listed, for_node)
        for visible_slice in visible_slices
        for device, for_node in zip(visible_slice.listed.devices, visible_slice.for_node, strict=True)
    )


def _build_valid_pool(
    pool: PoolId, visible_slices: list[VisibleSlice], other_slices: list[ResourceSlice], features: Features
) -> DevicePool | None:
    """Build the complete pool; None if its slices contradict each other."""
    counting = features.partitionable
    listing = [
        visible_slice for visible_slice in visible_slices if not (counting and visible_slice.listed.counter_sets)
    ]
    names = [device.name for visible_slice in listing for device in visible_slice.listed.devices]
    if len(set(names)) != len(names):
        return None
    devices = _list_candidates(pool, listing)
    if not counting:
        return DevicePool(pool, devices)
    listed = {visible_slice.listed.name: visible_slice.listed for visible_slice in visible_slices} | {
        resource_slice.name: resource_slice for resource_slice in other_slices
    }
    sets = [(name, counters) for resource_slice in listed.values() for name, counters in resource_slice.counter_sets]
    counters = dict(sets)
    if len(counters) != len(sets):
        return None
    consuming = [
        device
        for resource_slice in [*(visible_slice.listed for visible_slice in visible_slices), *other_slices]
        for device in resource_slice.devices
    ]
    if not all(_has_counters(device, counters) for device in consuming if device.consumes):
        return None
    elsewhere = tuple(
        DeviceCandidate(device, (*pool, device.name), resource_slice, False)
        for resource_slice in other_slices
        for device in resource_slice.devices
    )
    return DevicePool(pool, devices, elsewhere, counters)


def _has_counters(device: Device, counters: Counters) -> bool:
    """Return whether there is a counter for all that ``device`` consumes."""
    return all(
        name in counters and all(counter in counters[name] for counter, _ in amounts)
        for name, amounts in device.consumes
    )


def compute_available(counters: Counters, devices_in_use: Iterable[DeviceCandidate]) -> Counters:
    """Return what ``devices_in_use`` leave of the counters of a pool or slice; amounts can be negative."""
    remaining: Counters = {name: dict(amounts) for name, amounts in counters.items()}
    for candidate in devices_in_use:
        consume_counters(remaining, candidate.device, -1)
    return remaining


def consume_counters(counters: Counters, device: Device, by: int) -> None:
    """Add ``by`` times the consumption of ``device`` to those of ``counters`` that exist."""
    for name, amounts in device.consumes:
        counter_amounts: Amounts | None = counters.get(name)
        if counter_amounts is not None:
            for counter, amount in amounts:
                if counter in counter_amounts:
                    counter_amounts[counter] += by * amount
