"""Devices and the ResourceSlices that list them, as the scheduler reads them (resource.k8s.io/v1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

from kschedweb.engine.objects.json_access import (
    Json,
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

Amounts = dict[str, int]  # by name, in nano-units
Counters = dict[str, Amounts]  # by counter set
Attribute = tuple[str, object]  # type and value
ATTRIBUTE_TYPES = ("string", "int", "bool", "version")
UNKNOWN_TYPE: Attribute = ("", None)


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The nodes that devices are for: one by its name, all, or those that match; none of these where all are unset.

    ``terms`` is ``None`` where there is no selector, whose JSON is ``selector``.
    """

    name: str
    everywhere: bool
    terms: tuple[NodeSelectorTerm, ...] | None
    selector: Json | None = field(compare=False, hash=False)

    @property
    def is_unset(self) -> bool:
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
    """How much of a capacity a request can take: nano-units, ``None`` for what is not said.

    ``span`` is (least, most, step).
    """

    default: int | None
    values: tuple[int, ...]
    span: tuple[int | None, int | None, int | None] | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device in nano-units."""

    value: int
    policy: CapacityRequestPolicy | None


@dataclass(frozen=True, eq=False)
class Device:
    """One device. ``consumes`` is what it takes of its pool's counters.

    ``content`` is equal for devices that the allocator cannot tell apart but by their names and nodes.
    """

    name: str
    attributes: Json
    raw_capacity: Json
    capacity: dict[str, Capacity]
    shareable: bool | None  # allowMultipleAllocations
    taints: tuple[Taint, ...]
    consumes: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    nodes: NodeChoice
    binds_to_node: bool
    binding_conditions: tuple[str, ...] | None
    failure_conditions: tuple[str, ...]
    content: str

    @cached_property
    def known_attributes(self) -> dict[str, Attribute]:
        """The attributes by name as they are written there, with or without a domain."""
        return {name: _read_attribute(value) for name, value in self.attributes.items()}

    def get_attribute(self, name: str, driver: str) -> Attribute | None:
        """The attribute of a fully qualified name; those without a domain have the driver's."""
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
    """A part of the pool ``(driver, pool)``; ``count`` is how many slices of its generation make the pool."""

    name: str
    driver: str
    pool: str
    generation: int
    count: int
    nodes: NodeChoice
    by_device: bool | None  # perDeviceNodeSelection
    devices: tuple[Device, ...]
    counter_sets: tuple[tuple[str, Amounts], ...]

    @property
    def has_binding_conditions(self) -> bool:
        """Whether some device has to be made ready."""
        return any(device.binding_conditions is not None for device in self.devices)

    @classmethod
    def from_json(cls, raw: Json) -> ResourceSlice:
        """A v1 ResourceSlice; raises ObjectError where it cannot be understood."""
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
    """Taints the devices of a driver, of a pool of that name, and of that name: ``None`` stands for any.

    ``selects``: without a selector it taints none.
    """

    name: str
    selects: bool
    driver: str | None
    pool: str | None
    device: str | None
    taint: Taint

    def taints_device(self, listed: ResourceSlice, device: Device) -> bool:
        """Whether it taints ``device`` of the slice ``listed``."""
        pairs = ((self.driver, listed.driver), (self.pool, listed.pool), (self.device, device.name))
        return self.selects and all(selected is None or selected == actual for selected, actual in pairs)

    @classmethod
    def from_json(cls, raw: Json) -> DeviceTaintRule:
        """A v1 DeviceTaintRule; raises ObjectError where it cannot be understood."""
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
    """The slice with what ``rules`` add to the taints of its devices."""
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
    """``raw[key]`` in nano-units; what is missing is 0."""
    return 0 if raw.get(key) is None else read_quantity(raw[key], f"{path}{key}")
