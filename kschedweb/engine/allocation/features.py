"""The features on which the allocation of devices depends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kschedweb.engine.cel import LANGUAGE_1_36, Language
from kschedweb.engine.state.devices.claims import Devices
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """The features that are on; the defaults are those of kube-scheduler 1.36."""

    admin: bool = True
    prioritized: bool = True
    partitionable: bool = True
    taints: bool = True
    binding_conditions: bool = True
    consumable: bool = True
    extended: bool = True
    taint_rules: bool = False
    # An alternative that requests capacity while the feature is off is refused by the name of its request.
    capacity_error_by_request: bool = False
    # While the capacity feature is off, requests for capacity are not refused, but ignored; constraints on distinct
    # values are unknown, and so is `allowMultipleAllocations` in selectors. After the first device of an alternative
    # that requests all devices, the others are chosen by the first alternative.
    early_allocator: bool = False
    # Only the slices that a node sees count of a pool. It is incomplete if these are too few, but its devices can still
    # be had one by one. Two devices of the same name are an error. Counters are those of a slice. A taint repels claims
    # whatever its effect. A constraint on distinct values compares devices.
    node_local_pools: bool = False
    # A configuration for all requests of a claim names none. An error of a selector names the device. A constraint on
    # distinct values counts every device of a request. Counters are those of a driver's pool, and matter only on the
    # nodes of their slice. A request for all devices takes them whatever of their capacity is in use.
    revised_allocator: bool = False
    # A name of a capacity may leave out the driver. A negative amount is an error. Versions are equal that differ in
    # build metadata only; an attribute of an unknown type under a constraint is an error. A request for all devices
    # passes over a node with a pool that is not complete or not valid. A device that is shared is not given away alone.
    # A class keeps its implicit extended resource if another one provides the one that it names.
    unified_allocator: bool = False
    # The status of devices being on is enough for kube-scheduler to pick another allocator.
    capacity_error_with_status: bool = False
    # Steps of a capacity's range may be fractions.
    fractional: bool = False
    # The language of selectors.
    language: Language = LANGUAGE_1_36

    @classmethod
    def from_gates(cls, on: Callable[[str], bool], *, capacity_error_with_status: bool = False) -> Features:
        """Create features from the feature gates of Kubernetes; ``on`` returns whether a gate is on.

        With ``capacity_error_with_status``, the gate of the status of devices alone selects another allocator.
        """
        conditions = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
        return cls(
            admin=on("DRAAdminAccess"),
            prioritized=on("DRAPrioritizedList"),
            partitionable=on("DRAPartitionableDevices"),
            taints=on("DRADeviceTaints"),
            binding_conditions=all(map(on, conditions)),
            consumable=on("DRAConsumableCapacity"),
            extended=on("DRAExtendedResource"),
            taint_rules=on("DRADeviceTaintRules"),
            fractional=on("DRAFractionalCapacityRange"),
            capacity_error_with_status=capacity_error_with_status and on("DRAResourceClaimDeviceStatus"),
        )

    def list_resource_classes(self, devices: Devices) -> Mapping[str, str]:
        """Return the DeviceClass that provides each extended resource on nodes without a device plugin for it."""
        return devices.list_resource_classes(self.unified_allocator) if self.extended else {}

    @property
    def binding_last(self) -> bool:
        """True if slices with devices that need preparation come last in their pool."""
        return self.node_local_pools or self.early_allocator

    @property
    def refuses_capacity(self) -> bool:
        """True if a claim that requests capacity is an error.

        kube-scheduler's stable allocator ignores capacity. The allocator that does not is used only if a feature is
        on that the stable one does not have.
        """
        return (self.binding_conditions or self.capacity_error_with_status) and not self.consumable


DEFAULTS = Features()
