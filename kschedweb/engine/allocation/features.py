"""What of the allocation of devices depends on feature gates and on the release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """Which features are on, and whether devices are chosen as since 1.37 (``revised``).

    The defaults are those of the current release. ``fractional``: steps of a capacity's range may be fractions.
    """

    admin: bool = True
    prioritized: bool = True
    partitionable: bool = True
    taints: bool = True
    binding_conditions: bool = True
    consumable: bool = True
    extended: bool = True
    fractional: bool = True
    revised: bool = True

    @classmethod
    def of(cls, on: Callable[[str], bool], *, revised: bool) -> Features:
        """By the feature gates of Kubernetes, of which ``on`` says whether one is on."""
        conditions = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
        return cls(
            admin=on("DRAAdminAccess"),
            prioritized=on("DRAPrioritizedList"),
            partitionable=on("DRAPartitionableDevices"),
            taints=on("DRADeviceTaints"),
            binding_conditions=all(map(on, conditions)),
            consumable=on("DRAConsumableCapacity"),
            extended=on("DRAExtendedResource"),
            fractional=on("DRAFractionalCapacityRange"),
            revised=revised,
        )


DEFAULTS = Features()
