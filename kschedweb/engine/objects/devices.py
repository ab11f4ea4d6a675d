"""Devices and the ResourceSlices that list them, as the scheduler reads them (resource.k8s.io/v1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_boolean,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, parse_terms
from kschedweb.engine.objects.quantity import read_quantity
from kschedweb.engine.objects.taints import Taint, read_taint, read_taints
from kschedweb.engine.values import dataclass

# Name -> nano-units.
Amounts = dict[str, int]
# Counter set -> amounts.
Counters = dict[str, Amounts]
# (type, value).
Attribute = tuple[str, object]
ATTRIBUTE_TYPES = ("string", "int", "bool", "version")
UNKNOWN_TYPE: Attribute = ("", None)


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The nodes that devices are for: one by name, all, or those that match a selector."""

    name: str
    everywhere: bool
    # None if there is no selector.
    terms: tuple[NodeSelectorTerm, ...] | None
    # The JSON of the selector.
    selector: Json | None = field(compare=False, hash=False)

    @property
    def is_unset(self) -> bool:
        """True if it allows no node in any of the three ways."""
        return not (self.name or self.everywhere or self.terms is not None)

    @classmethod
    def from_json(cls, raw: Json, path: str) -> NodeChoice:
        selector = None if raw.get("nodeSelector") is None else get_mapping(raw, "nodeSelector", path)
        return cls(
            name=get_string(raw, "nodeName", path),
            everywhere=get_boolean(raw, "allNodes", path),
            terms=None if selector is None else parse_terms(selector, "nodeSelectorTerms", f"{path}nodeSelector."),
            selector=selector,
        )


@dataclass(frozen=True, slots=True)
class CapacityRequestPolicy:
    """The amounts of a capacity that a request may take, in nano-units."""

    # The amount of a request that states none.
    default: int | None
    # The only amounts allowed; empty if not restricted so.
    values: tuple[int, ...]
    # (minimum, maximum, step); None for each that is not set.
    span: tuple[int | None, int | None, int | None] | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device in nano-units."""

    value: int
    policy: CapacityRequestPolicy | None


@dataclass(frozen=True, eq=False)
class Device:
    """A device of a ResourceSlice."""

    name: str
    attributes: Json
    raw_capacity: Json
    capacity: dict[str, Capacity]
    # `allowMultipleAllocations`.
    shareable: bool | None
    taints: tuple[Taint, ...]
    # (counter set, (counter, nano-units)…) that the device takes of its pool's counters.
    consumes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    nodes: NodeChoice
    binds_to_node: bool
    binding_conditions: tuple[str, ...] | None
    failure_conditions: tuple[str, ...]
    # Equal for devices that the allocator can tell apart by their names and nodes only.
    content: str

    @cached_property
    def known_attributes(self) -> dict[str, Attribute]:
        """The attributes by name as written, with or without a domain."""
        return {name: _read_attribute(value) for name, value in self.attributes.items()}

    def get_attribute(self, name: str, driver: str) -> Attribute | None:
        """Return the attribute with a fully qualified name; attributes without a domain have the driver's."""
        value = self.known_attributes.get(name)
        if value is None:
            domain, slash, short = name.partition("/")
            value = self.known_attributes.get(short) if slash and domain == driver else None
        return value

    @classmethod
    def from_json(cls, raw: Json, path: str) -> Device:
        attributes, capacity = get_mapping(raw, "attributes", path), get_mapping(raw, "capacity", path)
        content = {key: value for key, value in raw.items() if key not in ("name", "nodeName", "nodeSelector")}
        return cls(
            name=get_string(raw, "name", path),
            attributes={name: get_mapping(attributes, name, f"{path}attributes.") for name in attributes},
            raw_capacity=capacity,
            capacity={name: _read_capacity(capacity, name, f"{path}capacity.") for name in capacity},
            shareable=None
            if raw.get("allowMultipleAllocations") is None
            else get_boolean(raw, "allowMultipleAllocations", path),
            taints=read_taints(raw, "taints", path),
            consumes=tuple(
                (get_string(item, "counterSet", at), tuple(_read_counters(item, at).items()))
                for item, at in get_objects_and_paths(raw, "consumesCounters", path)
            ),
            nodes=NodeChoice.from_json(raw, path),
            binds_to_node=get_boolean(raw, "bindsToNode", path),
            binding_conditions=None
            if raw.get("bindingConditions") is None
            else get_strings(raw, "bindingConditions", path),
            failure_conditions=get_strings(raw, "bindingFailureConditions", path),
            content=json.dumps(content, sort_keys=True),
        )


@dataclass(frozen=True, eq=False)
class ResourceSlice:
    """A part of the pool ``(driver, pool)``."""

    name: str
    driver: str
    pool: str
    generation: int
    # The number of slices of this generation that make up the pool.
    count: int
    nodes: NodeChoice
    # `perDeviceNodeSelection`.
    by_device: bool | None
    devices: tuple[Device, ...]
    counter_sets: tuple[tuple[str, Amounts], ...]

    @property
    def has_binding_conditions(self) -> bool:
        """True if a device has to be made ready on its node first."""
        return any(device.binding_conditions is not None for device in self.devices)

    @classmethod
    def from_json(cls, raw: Json) -> ResourceSlice:
        """Read a v1 ResourceSlice; raise ObjectError."""
        spec = get_mapping(raw, "spec")
        pool = get_mapping(spec, "pool", "spec.")
        return cls(
            name=get_string(get_mapping(raw, "metadata"), "name", "metadata."),
            driver=get_string(spec, "driver", "spec."),
            pool=get_string(pool, "name", "spec.pool."),
            generation=get_integer(pool, "generation", path="spec.pool.", bits=64),
            count=get_integer(pool, "resourceSliceCount", path="spec.pool.", bits=64),
            nodes=NodeChoice.from_json(spec, "spec."),
            by_device=None
            if spec.get("perDeviceNodeSelection") is None
            else get_boolean(spec, "perDeviceNodeSelection", "spec."),
            devices=tuple(Device.from_json(item, at) for item, at in get_objects_and_paths(spec, "devices", "spec.")),
            counter_sets=tuple(
                (get_string(item, "name", at), _read_counters(item, at))
                for item, at in get_objects_and_paths(spec, "sharedCounters", "spec.")
            ),
        )


@dataclass(frozen=True, slots=True)
class DeviceTaintRule:
    """A rule that taints devices by driver, pool and name; ``None`` stands for any."""

    name: str
    # False if it has no selector: then it taints no device.
    selects: bool
    driver: str | None
    pool: str | None
    device: str | None
    taint: Taint

    def taints_device(self, listed: ResourceSlice, device: Device) -> bool:
        """Return True if it taints ``device`` of the slice ``listed``."""
        pairs = ((self.driver, listed.driver), (self.pool, listed.pool), (self.device, device.name))
        return self.selects and all(selected is None or selected == actual for selected, actual in pairs)

    @classmethod
    def from_json(cls, raw: Json) -> DeviceTaintRule:
        """Read a v1 DeviceTaintRule; raise ObjectError."""
        spec = get_mapping(raw, "spec")
        selector, at = get_mapping(spec, "deviceSelector", "spec."), "spec.deviceSelector."
        driver, pool, device = (
            None if selector.get(key) is None else get_string(selector, key, at) for key in ("driver", "pool", "device")
        )
        return cls(
            name=get_string(get_mapping(raw, "metadata"), "name", "metadata."),
            selects=spec.get("deviceSelector") is not None,
            driver=driver,
            pool=pool,
            device=device,
            taint=read_taint(get_mapping(spec, "taint", "spec."), "spec.taint."),
        )


def apply_taint_rules(listed: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> ResourceSlice:
    """Return the slice with the taints that ``rules`` add to its devices."""
    devices = tuple(_taint_device(listed, device, rules) for device in listed.devices)
    same = all(device is other for device, other in zip(devices, listed.devices, strict=True))
    return listed if same else replace(listed, devices=devices)


def _taint_device(listed: ResourceSlice, device: Device, rules: Sequence[DeviceTaintRule]) -> Device:
    more = tuple(rule.taint for rule in rules if rule.taints_device(listed, device))
    if not more:
        return device
    return replace(device, taints=device.taints + more, content=f"{device.content} {more}")


def _read_attribute(raw: Json) -> Attribute:
    return next(((kind, raw[kind]) for kind in ATTRIBUTE_TYPES if raw.get(kind) is not None), UNKNOWN_TYPE)


def _read_counters(raw: Json, path: str) -> Amounts:
    listed = get_mapping(raw, "counters", path)
    return {
        name: read_amount(get_mapping(listed, name, f"{path}counters."), "value", f"{path}counters.{name}.")
        for name in listed
    }


def _read_capacity(listed: Json, name: str, path: str) -> Capacity:
    raw, at = get_mapping(listed, name, path), f"{path}{name}."
    return Capacity(read_amount(raw, "value", at), _read_policy(raw, at))


def _read_policy(raw: Json, path: str) -> CapacityRequestPolicy | None:
    """Read the requestPolicy of a capacity, None if it has none."""
    if raw.get("requestPolicy") is None:
        return None
    policy, at = get_mapping(raw, "requestPolicy", path), f"{path}requestPolicy."
    values = policy.get("validValues") or []
    if not isinstance(values, list):
        raise ObjectError(f"{at}validValues: must be a list")
    span = None
    if policy.get("validRange") is not None:
        limits = get_mapping(policy, "validRange", at)
        minimum, maximum, step = (_read_optional(limits, key, f"{at}validRange.") for key in ("min", "max", "step"))
        span = minimum, maximum, step
    listed = tuple(read_quantity(item, f"{at}validValues[{place}]") for place, item in enumerate(values))
    return CapacityRequestPolicy(_read_optional(policy, "default", at), listed, span)


def _read_optional(raw: Json, key: str, path: str) -> int | None:
    return None if raw.get(key) is None else read_amount(raw, key, path)


def read_amount(raw: Json, key: str, path: str) -> int:
    """Return ``raw[key]`` in nano-units, 0 if it is missing."""
    return 0 if raw.get(key) is None else read_quantity(raw[key], f"{path}{key}")
