"""Constraints on the devices of one claim together, updated as the search adds and removes devices."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from kschedweb.engine.objects.devicerequests import DeviceConstraint
from kschedweb.engine.objects.devices import UNKNOWN_TYPE, Attribute, Device


class Constraint(Protocol):
    """A constraint. ``request`` is the name of a request, ``full`` that of an alternative with its request."""

    def add(self, request: str, full: str, device: Device, driver: str) -> bool:
        """Add the device if the constraint allows it; return whether it does."""

    def remove(self, request: str, full: str) -> None:
        """Remove a device that was added."""

    @property
    def state(self) -> Hashable:
        """A key of what the constraint remembers of its devices."""


class UnsupportedValueError(Exception):
    """The value of a device's attribute is of an unknown type; the message is kube-scheduler's, without the device."""


class _OnAttribute:
    def __init__(self, constraint: DeviceConstraint, checks_types: bool = False) -> None:
        """``checks_types``: values of unknown type are errors, and versions are compared as such."""
        assert constraint.attribute is not None
        self._concerns, self._attribute = constraint.concerns_request, constraint.attribute
        self._checks_types = checks_types

    def _get_value(self, device: Device, driver: str) -> Attribute | None:
        value = device.get_attribute(self._attribute, driver)
        if value is None or not self._checks_types:
            return value
        if value is UNKNOWN_TYPE:
            raise UnsupportedValueError(f"unsupported attribute value for {self._attribute}")
        kind, content = value
        # Build metadata does not count where versions are compared.
        return (kind, str(content).partition("+")[0]) if kind == "version" else value


class MatchAttribute(_OnAttribute):
    """The constraint that all devices have the same value."""

    def __init__(self, constraint: DeviceConstraint, checks_types: bool = False) -> None:
        super().__init__(constraint, checks_types)
        self._value: Attribute | None = None
        self._devices = 0

    def add(self, request: str, full: str, device: Device, driver: str) -> bool:
        if not self._concerns(request, full):
            return True
        value = self._get_value(device, driver)
        if value is None:
            return False
        if not self._devices:
            self._value = value
        elif value is UNKNOWN_TYPE or value != self._value:
            return False
        self._devices += 1
        return True

    def remove(self, request: str, full: str) -> None:
        if self._concerns(request, full):
            self._devices -= 1

    @property
    def state(self) -> Hashable:
        return self._devices, self._value if self._devices else None


class DistinctAttribute(_OnAttribute):
    """The constraint that no two devices have the same value.

    As in kube-scheduler 1.36, only the last of several devices of one request counts, and none once one was removed.
    """

    def __init__(self, constraint: DeviceConstraint, checks_types: bool = False) -> None:
        super().__init__(constraint, checks_types)
        self._values: dict[str, Hashable] = {}
        self._devices = 0

    def add(self, request: str, full: str, device: Device, driver: str) -> bool:
        if not self._concerns(request, full):
            return True
        value = self._get_value(device, driver)
        if value is None or (self._devices and not self._is_distinct(value, device)):
            return False
        self._values[request] = self._comparison_key(value, device)
        self._devices += 1
        return True

    def _is_distinct(self, value: Attribute, device: Device) -> bool:
        known_values = self._values.values()
        return not known_values or (
            value is not UNKNOWN_TYPE and self._comparison_key(value, device) not in known_values
        )

    def _comparison_key(self, value: Attribute, device: Device) -> Hashable:
        return value

    def remove(self, request: str, full: str) -> None:
        if self._concerns(request, full):
            self._values.pop(request, None)
            self._devices -= 1

    @property
    def state(self) -> Hashable:
        return self._devices, frozenset(self._values.items())


class DistinctDevices(DistinctAttribute):
    """The constraint as kube-scheduler 1.34 has it: it compares pointers to values, so that devices always differ."""

    def _comparison_key(self, value: Attribute, device: Device) -> Hashable:
        return id(device)


class AllDistinct(_OnAttribute):
    """The constraint that no two devices have the same value."""

    def __init__(self, constraint: DeviceConstraint, checks_types: bool = False) -> None:
        super().__init__(constraint, checks_types)
        self._values: list[Attribute] = []

    def add(self, request: str, full: str, device: Device, driver: str) -> bool:
        if not self._concerns(request, full):
            return True
        value = self._get_value(device, driver)
        if value is None or (self._values and (value is UNKNOWN_TYPE or value in self._values)):
            return False
        self._values.append(value)
        return True

    def remove(self, request: str, full: str) -> None:
        if self._concerns(request, full):
            # The search removes devices in reverse order of adding them.
            self._values.pop()

    @property
    def state(self) -> Hashable:
        return frozenset(self._values)


def create_constraint(
    constraint: DeviceConstraint,
    *,
    count_all_devices: bool = False,
    compare_devices: bool = False,
    checks_types: bool = False,
) -> Constraint:
    """Create the constraint of a claim, without devices.

    With ``count_all_devices``, a constraint on distinct values counts every device. With ``compare_devices``, it
    compares devices instead of values. ``checks_types``: see ``_OnAttribute``.
    """
    if not constraint.distinct:
        return MatchAttribute(constraint, checks_types)
    if compare_devices:
        return DistinctDevices(constraint)
    return AllDistinct(constraint, checks_types) if count_all_devices else DistinctAttribute(constraint)
