"""Instance types with their offerings, in a format of our own or in that of Karpenter's kwok provider."""

from __future__ import annotations

import re

from kschedweb.engine.autoscaling.offers.amounts import (
    PODS,
    Milli,
    compute_allocatable,
    find_formats,
    read_milli,
    to_quantities,
)
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
    new_requirement,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_boolean,
    get_integer,
    get_mapping,
    get_number,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_strings,
)
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.values import dataclass

# Pods of a node if its capacity does not say, in milli-units.
DEFAULT_PODS = 110_000
# The overhead that the kwok provider assumes of every type, in milli-units.
KWOK_OVERHEAD: Milli = {CPU: 100, MEMORY: 10 * 1024 * 1024 * 1000}
# Names of AWS's form, of which the kwok provider takes the size.
_SIZED = re.compile(r"\w+\.(nano|micro|small|medium|large|\d*xlarge|metal)")


@dataclass(frozen=True, slots=True, eq=False)
class Offering:
    """A zone and capacity type in which an instance type is sold, with its price an hour."""

    requirements: Requirements
    price: float
    available: bool
    # Free slots of the reservation; 0 for another capacity type.
    reservation_capacity: int

    @property
    def zone(self) -> str:
        return self._get_value(ZONE)

    @property
    def capacity_type(self) -> str:
        return self._get_value(CAPACITY_TYPE)

    @property
    def reservation(self) -> str:
        return self._get_value(RESERVATION)

    @property
    def is_launchable(self) -> bool:
        """True if a node can be launched of it now; a full reservation is available, but launches nothing."""
        return self.available and (self.capacity_type != RESERVED or self.reservation_capacity > 0)

    def _get_value(self, key: str) -> str:
        requirement = self.requirements.get(key)
        return "" if requirement is None or requirement.complement else min(requirement.values, default="")


@dataclass(frozen=True, slots=True, eq=False)
class InstanceType:
    """An instance type, with amounts in milli-units."""

    name: str
    requirements: Requirements
    # In the order of the document; the first that matches gives the price.
    offerings: tuple[Offering, ...]
    capacity: Milli
    allocatable: Milli
    labels: dict[str, str]
    # The NodePools that see it; empty for all.
    pools: tuple[str, ...]

    def find_price(self, zone: str, capacity_type: str) -> float | None:
        """Return the price of the first offering there, available or not; None if there is none."""
        offerings = (
            offering for offering in self.offerings if offering.zone == zone and offering.capacity_type == capacity_type
        )
        return next((offering.price for offering in offerings), None)

    @classmethod
    def from_json(cls, raw: Json) -> InstanceType:
        """Read an instance type; raises ObjectError."""
        name = get_string(raw, "name")
        if not name:
            raise ObjectError("name: is missing")
        kwok = raw.get("capacity") is None and raw.get("resources") is not None
        key = "resources" if kwok else "capacity"
        capacity = {PODS: DEFAULT_PODS} | read_milli(raw, key)
        overhead = KWOK_OVERHEAD if kwok else read_milli(raw, "overhead")
        labels = get_string_map(raw, "labels") or (_kwok_labels(name, get_mapping(raw, "resources")) if kwok else {})
        offerings = tuple(
            _read_offering(raw_offering, at) for raw_offering, at in get_objects_and_paths(raw, "offerings")
        )
        if not offerings:
            raise ObjectError("offerings: is empty; say in which zones and capacity types it can be had, and its price")
        return cls(
            name=name,
            requirements=_build_requirements(raw, name, labels, offerings),
            offerings=offerings,
            capacity=capacity,
            allocatable=compute_allocatable(capacity, overhead),
            labels=labels,
            pools=get_strings(raw, "nodePools"),
        )


def _build_requirements(raw: Json, name: str, labels: dict[str, str], offerings: tuple[Offering, ...]) -> Requirements:
    """Return the requirements of nodes of the type; all offerings count, available or not."""
    ids = {offering.reservation for offering in offerings if offering.reservation}
    requirements = Requirements.from_requirements(
        (
            new_requirement(INSTANCE_TYPE, IN, (name,)),
            new_requirement(ARCH, IN, (get_string(raw, "architecture") or "amd64",)),
            new_requirement(OS, IN, get_strings(raw, "operatingSystems") or ("linux",)),
            new_requirement(ZONE, IN, {offering.zone for offering in offerings}),
            new_requirement(CAPACITY_TYPE, IN, {offering.capacity_type for offering in offerings}),
            new_requirement(RESERVATION, IN if ids else DOES_NOT_EXIST, ids),
        )
    )
    requirements.add(new_requirement(key, IN, (value,)) for key, value in labels.items())
    return requirements


def _read_offering(raw: Json, path: str) -> Offering:
    if raw.get("Requirements") is not None:
        return _kwok_offering(raw, path)
    capacity_type = _capacity_type(get_string(raw, "capacityType", path), f"{path}capacityType")
    zone, identity = get_string(raw, "zone", path), get_string(raw, "reservationID", path)
    if not zone:
        raise ObjectError(f"{path}zone: is missing")
    if capacity_type == RESERVED and not identity:
        raise ObjectError(f"{path}reservationID: is missing; a reserved offering names its reservation")
    slots = get_integer(raw, "reservationCapacity", path=path)
    if slots < 0:
        raise ObjectError(f"{path}reservationCapacity: must not be negative")
    requirements = Requirements.from_requirements(
        (new_requirement(CAPACITY_TYPE, IN, (capacity_type,)), new_requirement(ZONE, IN, (zone,)))
    )
    reserved = capacity_type == RESERVED
    requirements.add([new_requirement(RESERVATION, IN if reserved else DOES_NOT_EXIST, [identity] * reserved)])
    available = True if raw.get("available") is None else get_boolean(raw, "available", path)
    return Offering(requirements, _read_price(raw, "price", path), available, slots)


def _kwok_offering(raw: Json, path: str) -> Offering:
    """Read an offering in the format of the kwok provider; all of them are available."""
    requirements = Requirements.from_requirements(
        new_requirement(
            get_string(expression, "key", at),
            get_string(expression, "operator", at),
            get_strings(expression, "values", at),
        )
        for expression, at in get_objects_and_paths(raw, "Requirements", path)
    )
    offering = Offering(
        requirements, _read_price(raw, "Price", path), True, get_integer(raw, "ReservationCapacity", path=path)
    )
    if not offering.zone:
        raise ObjectError(f"{path}Requirements: {ZONE} is missing")
    _capacity_type(offering.capacity_type, f"{path}Requirements: {CAPACITY_TYPE}")
    return offering


def _read_price(raw: Json, key: str, path: str) -> float:
    price = get_number(raw, key, path, 0.0)
    if price is None:
        raise ObjectError(f"{path}{key}: is missing")
    return price


def _capacity_type(name: str, path: str) -> str:
    if name not in CAPACITY_TYPES:
        raise ObjectError(f"{path}: must be one of {', '.join(CAPACITY_TYPES)}, is {name[:60]!r}")
    return name


def _kwok_labels(name: str, resources: Json) -> dict[str, str]:
    """Return the labels that the kwok provider derives from a name and from resources."""
    raw_amounts = {key: str(resources[key]) for key in (CPU, MEMORY) if key in resources}
    amounts = to_quantities(read_milli({"resources": raw_amounts}, "resources"), find_formats([raw_amounts]))
    cpu, memory = (str(amounts[key]) if key in amounts else "" for key in (CPU, MEMORY))
    sized = _SIZED.fullmatch(name)
    family, *more = re.split(r"[.-]", name, maxsplit=1)
    return {
        SIZE: sized[1] if sized else cpu,
        FAMILY: family if more else name[:1],
        INSTANCE_CPU: cpu,
        INSTANCE_MEMORY: memory,
    }
