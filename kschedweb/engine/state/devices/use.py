"""Devices in use: the amounts that allocated claims take of them."""

from __future__ import annotations

from collections import Counter

from kschedweb.engine.objects.devices import Amounts
from kschedweb.engine.objects.resourceclaim import NO_AMOUNT, Allocation, DeviceId


class DeviceUse:
    """The devices that allocations take, as a whole or by shares."""

    def __init__(self) -> None:
        self._whole: Counter[DeviceId] = Counter()
        # Shares in use of each device.
        self.shares: Counter[DeviceId] = Counter()
        # Sums of the capacity that shares consume; only for devices with a share that states it.
        self.consumed: dict[DeviceId, Amounts] = {}
        # Shares that state the capacity they consume.
        self._measured_shares: Counter[DeviceId] = Counter()
        # Devices of which an allocation states that it takes a negative amount.
        self.negative = 0
        # Pools (driver, name) whose devices were taken or released; the allocator clears it.
        self.touched: set[tuple[str, str]] = set()

    def copy(self) -> DeviceUse:
        """Return an independent copy."""
        other = DeviceUse()
        other._whole, other.shares, other._measured_shares = (
            self._whole.copy(),
            self.shares.copy(),
            self._measured_shares.copy(),
        )
        other.consumed = {device: amounts.copy() for device, amounts in self.consumed.items()}
        other.touched, other.negative = self.touched.copy(), self.negative
        return other

    def is_exclusive(self, device: DeviceId) -> bool:
        """Return True if a claim has the whole device."""
        return device in self._whole

    def is_in_use(self, device: DeviceId) -> bool:
        """Return True if a claim has the device, or a share of it."""
        return device in self._whole or device in self.shares

    def add_allocation(self, allocation: Allocation) -> None:
        self._count_allocation(allocation, 1)

    def remove_allocation(self, allocation: Allocation) -> None:
        self._count_allocation(allocation, -1)

    def _count_allocation(self, allocation: Allocation, by: int) -> None:
        """Count an allocation's devices with ``by`` 1, or remove them with -1."""
        for allocated in allocation.devices:
            self.negative += by * (allocated.negative != NO_AMOUNT)
            # Admin access does not take a device from others.
            if allocated.admin:
                continue
            device = allocated.device
            self.touched.add(device[:2])
            if not allocated.share:
                _add_count(self._whole, device, by)
                continue
            _add_count(self.shares, device, by)
            if allocated.consumed is not None:
                _add_count(self._measured_shares, device, by)
                amounts = self.consumed.setdefault(device, {})
                for name, amount in allocated.consumed:
                    amounts[name] = amounts.get(name, 0) + by * amount
                if device not in self._measured_shares:
                    del self.consumed[device]


def _add_count(counter: Counter[DeviceId], device: DeviceId, by: int) -> None:
    counter[device] += by
    if not counter[device]:
        del counter[device]
