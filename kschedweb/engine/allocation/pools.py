"""Pools of devices as nodes see them: of a pool, the slices of its newest generation that are for the node."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property

from kschedweb.engine.allocation.features import Features
from kschedweb.engine.objects.devices import Amounts, Counters, Device, NodeChoice, ResourceSlice
from kschedweb.engine.objects.resourceclaim import DeviceId
from kschedweb.engine.values import dataclass

PoolId = tuple[str, str]  # driver, name


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device with the slice that lists it. Not ``here``: it is for other nodes than the one that sees its slice."""

    device: Device
    id: DeviceId
    listed_in: ResourceSlice
    here: bool

    @property
    def nodes(self) -> NodeChoice:
        """The nodes that can use it."""
        return self.device.nodes if self.listed_in.by_device else self.listed_in.nodes

    @property
    def split(self) -> int:
        """How many terms its node selector has, where these are more than an allocation can express, else 0."""
        terms = self.nodes.terms
        return 0 if terms is None or len(terms) < 2 else len(terms)


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool as one or more nodes see it.

    All devices of one that is ``incomplete`` or ``invalid`` cannot be asked for, and mostly none can be used.
    ``problem`` is kube-scheduler's error for whoever asks for any. ``devices`` are in the order in which they are
    tried; ``elsewhere`` are those of slices for other nodes, as far as they count for ``counters``.
    """

    id: PoolId
    devices: tuple[Candidate, ...] = ()
    elsewhere: tuple[Candidate, ...] = ()
    counters: Counters | None = None
    incomplete: bool = False
    invalid: bool = False
    problem: str = ""

    @property
    def usable(self) -> bool:
        return not (self.incomplete or self.invalid)

    @property
    def name(self) -> str:
        """As kube-scheduler writes it."""
        return "/".join(self.id)

    @cached_property
    def binds(self) -> bool:
        """Whether some device has to be made ready: such pools are tried last."""
        return any(one.device.binding_conditions is not None for one in self.devices)

    @cached_property
    def counts(self) -> bool:
        """Whether a device here consumes counters."""
        return any(one.device.consumes for one in self.devices)

    @cached_property
    def content(self) -> Hashable:
        """Equal for pools of whose devices the same can be had, while none is in use."""
        devices = tuple((one.device.content, one.here, one.split) for one in self.devices)
        return self.id[0], self.incomplete, self.invalid, devices


@dataclass(frozen=True, slots=True)
class Seen:
    """A slice that a node sees, with which of its devices are for the node."""

    listed: ResourceSlice
    here: tuple[bool, ...]


def build(seen: list[Seen], everything: Iterable[ResourceSlice], features: Features) -> Pool | None:
    """The pool of these slices, which are all that a node sees of it; ``None`` where they are out of date.

    ``everything`` are all slices of the pool.
    """
    newest = max(one.listed.generation for one in seen)
    seen = [one for one in seen if one.listed.generation == newest]
    seen.sort(key=lambda one: (one.listed.binds and features.binding_last, one.listed.name))
    first = seen[0].listed
    pool = first.driver, first.pool
    if features.local:
        return _local(pool, seen)
    others: list[ResourceSlice] = []
    if len(seen) != first.count:
        of_pool = list(everything)
        if any(one.generation > newest for one in of_pool):
            return None
        current = [one for one in of_pool if one.generation == newest]
        if len(current) != first.count:
            return Pool(pool, incomplete=True)
        names = {one.listed.name for one in seen}
        others = [one for one in current if one.name not in names]
    return _valid(pool, seen, others, features) or Pool(pool, invalid=True)


def _local(pool: PoolId, seen: list[Seen]) -> Pool:
    """The pool that these slices are, complete or not."""
    incomplete, names = len(seen) != seen[0].listed.count, set[str]()
    for device in (device for one in seen for device in one.listed.devices):
        if device.name in names:
            problem = f"pool {pool[1]} is invalid: duplicate device name {device.name}"
            return Pool(pool, incomplete=incomplete, invalid=True, problem=problem)
        names.add(device.name)
    return Pool(pool, _devices(pool, seen), incomplete=incomplete)


def _devices(pool: PoolId, seen: list[Seen]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(device, (*pool, device.name), one.listed, here)
        for one in seen
        for device, here in zip(one.listed.devices, one.here, strict=True)
    )


def _valid(pool: PoolId, seen: list[Seen], others: list[ResourceSlice], features: Features) -> Pool | None:
    """The complete pool; ``None`` where its slices contradict each other."""
    counting = features.partitionable
    listing = [one for one in seen if not (counting and one.listed.counter_sets)]
    names = [device.name for one in listing for device in one.listed.devices]
    if len(set(names)) != len(names):
        return None
    devices = _devices(pool, listing)
    if not counting:
        return Pool(pool, devices)
    listed = {one.listed.name: one.listed for one in seen} | {one.name: one for one in others}
    sets = [(name, counters) for one in listed.values() for name, counters in one.counter_sets]
    counters = dict(sets)
    if len(counters) != len(sets):
        return None
    consuming = [device for one in [*(each.listed for each in seen), *others] for device in one.devices]
    if not all(_counted(device, counters) for device in consuming if device.consumes):
        return None
    elsewhere = tuple(Candidate(device, (*pool, device.name), one, False) for one in others for device in one.devices)
    return Pool(pool, devices, elsewhere, counters)


def _counted(device: Device, counters: Counters) -> bool:
    """Whether there is a counter for all that ``device`` consumes."""
    return all(
        name in counters and all(counter in counters[name] for counter, _ in wanted) for name, wanted in device.consumes
    )


def available(counters: Counters, taken: Iterable[Candidate]) -> Counters:
    """What the devices ``taken`` leave of a pool's or a slice's counters; it can be less than nothing."""
    left: Counters = {name: dict(amounts) for name, amounts in counters.items()}
    for one in taken:
        consume(left, one.device, -1)
    return left


def consume(counters: Counters, device: Device, by: int) -> None:
    """Add ``by`` times what ``device`` consumes to those of ``counters`` that there are."""
    for name, wanted in device.consumes:
        found: Amounts | None = counters.get(name)
        if found is not None:
            for counter, amount in wanted:
                if counter in found:
                    found[counter] += by * amount
