"""What of the allocation of devices depends on feature gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """Which features are on; the defaults are those of kube-scheduler 1.36."""

    admin: bool = True
    prioritized: bool = True
    partitionable: bool = True
    taints: bool = True
    binding_conditions: bool = True
    consumable: bool = True
    extended: bool = True

    @classmethod
    def of(cls, gates: Mapping[str, bool]) -> Features:
        """By the feature gates of Kubernetes; one that is not among ``gates`` is as in 1.36."""
        conditions = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
        return cls(
            admin=gates.get("DRAAdminAccess", True),
            prioritized=gates.get("DRAPrioritizedList", True),
            partitionable=gates.get("DRAPartitionableDevices", True),
            taints=gates.get("DRADeviceTaints", True),
            binding_conditions=all(gates.get(gate, True) for gate in conditions),
            consumable=gates.get("DRAConsumableCapacity", True),
            extended=gates.get("DRAExtendedResource", True),
        )


DEFAULTS = Features()
