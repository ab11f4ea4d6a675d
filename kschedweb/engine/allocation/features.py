"""What of the allocation of devices depends on feature gates."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.cel import ONLY_1_36, Language
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """Which features are on; the defaults are those of kube-scheduler 1.36.

    ``fractional``: steps of a capacity's range may be fractions. ``language`` is that of selectors.
    ``plainly``: an alternative that asks for capacity without the feature for it is refused by its request's name.
    ``early``: without the feature for capacity, requests for it are not refused, but their capacity is not looked at,
    constraints on distinct values are unknown, and so is to selectors whether a device can be shared; after the first
    device of an alternative that asks for all, the first alternative is asked for the others.
    ``local``: of a pool nothing counts but the slices that a node sees. It is incomplete where these are too few, and
    its devices can be had one by one all the same; a name that two devices have is an error; counters are those of a
    slice; a taint keeps claims off whatever its effect is; a constraint on distinct values compares devices.
    ``revised``: a configuration that applies to all requests of a claim names none; an error of a selector names the
    device; a constraint on distinct values counts every device of a request; counters are those of a driver's pool, and
    keep a pool from no other nodes; all devices are chosen whatever of their capacity is in use.
    """

    admin: bool = True
    prioritized: bool = True
    partitionable: bool = True
    taints: bool = True
    binding_conditions: bool = True
    consumable: bool = True
    extended: bool = True
    taint_rules: bool = False
    plainly: bool = False
    early: bool = False
    local: bool = False
    revised: bool = False
    heeds_status: bool = False
    fractional: bool = False
    language: Language = ONLY_1_36

    @classmethod
    def from_gates(cls, on: Callable[[str], bool], *, heeds_status: bool = False) -> Features:
        """By the feature gates of Kubernetes; ``on`` says whether one is on.

        ``heeds_status``: that the status of devices is on is reason enough to take another allocator.
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
            heeds_status=heeds_status and on("DRAResourceClaimDeviceStatus"),
        )

    @property
    def binding_last(self) -> bool:
        """Whether slices with devices that have to be made ready are the last ones of their pool."""
        return self.local or self.early

    @property
    def refuses_capacity(self) -> bool:
        """Whether a claim that asks for capacity is an error.

        kube-scheduler's stable allocator does not look at capacity. The one that does is taken where a feature that
        the stable one does not have is on.
        """
        return (self.binding_conditions or self.heeds_status) and not self.consumable


DEFAULTS = Features()
