"""What a cloud sells: instance types with their offerings, in a form of our own or as kwok's provider has them."""

from __future__ import annotations

import re

from kschedweb.engine.autoscaling.offers.amounts import PODS, Milli, allocatable, forms, read_milli, shown
from kschedweb.engine.autoscaling.offers.labels import (
    ARCH,
    CAPACITY_TYPE,
    CAPACITY_TYPES,
    FAMILY,
    INSTANCE_CPU,
    INSTANCE_MEMORY,
    INSTANCE_TYPE,
    OS,
    RESERVATION,
    RESERVED,
    SIZE,
)
from kschedweb.engine.autoscaling.offers.requirements import (
    DOES_NOT_EXIST,
    IN,
    Requirements,
    requirement,
)
from kschedweb.engine.objects.access import (
    Json,
    ObjectError,
    boolean,
    each,
    integer,
    mapping,
    number,
    string_map,
    text,
    texts,
)
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

DEFAULT_PODS = 110_000  # milli
KWOK_OVERHEAD: Milli = {CPU: 100, MEMORY: 10 * 1024 * 1024 * 1000}
_SIZED = re.compile(r"\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)")


@dataclass(frozen=True, slots=True, eq=False)
class Offering:
    """Where and how an instance type can be had, and for how much an hour."""

    requirements: Requirements
    price: float
    available: bool
    reservation_capacity: int

    @property
    def zone(self) -> str:
        return self._one(ZONE)

    @property
    def capacity_type(self) -> str:
        return self._one(CAPACITY_TYPE)

    @property
    def reservation(self) -> str:
        return self._one(RESERVATION)

    @property
    def launchable(self) -> bool:
        """Whether a node can come of it now; a full reservation is available, but no node comes of it."""
        return self.available and (self.capacity_type != RESERVED or self.reservation_capacity > 0)

    def _one(self, key: str) -> str:
        found = self.requirements.get(key)
        return "" if found is None or found.complement else min(found.values, default="")


@dataclass(frozen=True, slots=True, eq=False)
class InstanceType:
    """``capacity`` and ``allocatable`` in milli-units; ``pools`` are the NodePools that see it, all where empty."""

    name: str
    requirements: Requirements
    offerings: tuple[Offering, ...]
    capacity: Milli
    allocatable: Milli
    labels: dict[str, str]
    pools: tuple[str, ...]

    def price(self, zone: str, capacity_type: str) -> float | None:
        """The price of the first offering there, be it available or not; ``None`` where there is none."""
        found = (one for one in self.offerings if one.zone == zone and one.capacity_type == capacity_type)
        return next((one.price for one in found), None)

    @classmethod
    def read(cls, raw: Json) -> InstanceType:
        """Raises ObjectError."""
        name = text(raw, "name")
        if not name:
            raise ObjectError("name: is missing")
        kwok = raw.get("capacity") is None and raw.get("resources") is not None
        key = "resources" if kwok else "capacity"
        capacity = {PODS: DEFAULT_PODS} | read_milli(raw, key)
        overhead = KWOK_OVERHEAD if kwok else read_milli(raw, "overhead")
        labels = string_map(raw, "labels") or (_kwok_labels(name, mapping(raw, "resources")) if kwok else {})
        offerings = tuple(_offering(one, at) for one, at in each(raw, "offerings"))
        if not offerings:
            raise ObjectError("offerings: is empty; say in which zones and capacity types it can be had, and its price")
        return cls(
            name=name,
            requirements=_requirements(raw, name, labels, offerings),
            offerings=offerings,
            capacity=capacity,
            allocatable=allocatable(capacity, overhead),
            labels=labels,
            pools=texts(raw, "nodePools"),
        )


def _requirements(raw: Json, name: str, labels: dict[str, str], offerings: tuple[Offering, ...]) -> Requirements:
    """What its nodes can be: all offerings count, available or not."""
    ids = {one.reservation for one in offerings if one.reservation}
    found = Requirements.of(
        (
            requirement(INSTANCE_TYPE, IN, (name,)),
            requirement(ARCH, IN, (text(raw, "architecture") or "amd64",)),
            requirement(OS, IN, texts(raw, "operatingSystems") or ("linux",)),
            requirement(ZONE, IN, {one.zone for one in offerings}),
            requirement(CAPACITY_TYPE, IN, {one.capacity_type for one in offerings}),
            requirement(RESERVATION, IN if ids else DOES_NOT_EXIST, ids),
        )
    )
    found.add(requirement(key, IN, (value,)) for key, value in labels.items())
    return found


def _offering(raw: Json, path: str) -> Offering:
    if raw.get("Requirements") is not None:
        return _kwok_offering(raw, path)
    capacity_type = _capacity_type(text(raw, "capacityType", path), f"{path}capacityType")
    zone, identity = text(raw, "zone", path), text(raw, "reservationID", path)
    if not zone:
        raise ObjectError(f"{path}zone: is missing")
    if capacity_type == RESERVED and not identity:
        raise ObjectError(f"{path}reservationID: is missing; a reserved offering names its reservation")
    slots = integer(raw, "reservationCapacity", path=path)
    if slots < 0:
        raise ObjectError(f"{path}reservationCapacity: must not be negative")
    wanted = Requirements.of((requirement(CAPACITY_TYPE, IN, (capacity_type,)), requirement(ZONE, IN, (zone,))))
    reserved = capacity_type == RESERVED
    wanted.add([requirement(RESERVATION, IN if reserved else DOES_NOT_EXIST, [identity] * reserved)])
    available = True if raw.get("available") is None else boolean(raw, "available", path)
    return Offering(wanted, _price(raw, "price", path), available, slots)


def _kwok_offering(raw: Json, path: str) -> Offering:
    """An offering as the file of kwok's provider has it, in which all are available."""
    wanted = Requirements.of(
        requirement(text(one, "key", at), text(one, "operator", at), texts(one, "values", at))
        for one, at in each(raw, "Requirements", path)
    )
    found = Offering(wanted, _price(raw, "Price", path), True, integer(raw, "ReservationCapacity", path=path))
    if not found.zone:
        raise ObjectError(f"{path}Requirements: {ZONE} is missing")
    _capacity_type(found.capacity_type, f"{path}Requirements: {CAPACITY_TYPE}")
    return found


def _price(raw: Json, key: str, path: str) -> float:
    price = number(raw, key, path, 0.0)
    if price is None:
        raise ObjectError(f"{path}{key}: is missing")
    return price


def _capacity_type(name: str, path: str) -> str:
    if name not in CAPACITY_TYPES:
        raise ObjectError(f"{path}: must be one of {', '.join(CAPACITY_TYPES)}, is {name[:60]!r}")
    return name


def _kwok_labels(name: str, resources: Json) -> dict[str, str]:
    """The labels that kwok's provider makes of a name and of the resources."""
    written = {key: str(resources[key]) for key in (CPU, MEMORY) if key in resources}
    amounts = shown(read_milli({"resources": written}, "resources"), forms([written]))
    cpu, memory = (str(amounts[key]) if key in amounts else "" for key in (CPU, MEMORY))
    sized = _SIZED.fullmatch(name)
    family, *more = re.split(r"[.-]", name, maxsplit=1)
    return {
        SIZE: sized[1] if sized else cpu,
        FAMILY: family if more else name[:1],
        INSTANCE_CPU: cpu,
        INSTANCE_MEMORY: memory,
    }
