"""Which devices are in use: what the claims that have devices take of them."""

from __future__ import annotations

from collections import Counter

from kschedweb.engine.objects.devices import Amounts
from kschedweb.engine.objects.resourceclaim import Allocation, DeviceId


class DeviceUse:
    """What allocations take. ``touched`` collects the pools (driver, name) of which something was taken or given back.

    A device is in use as a whole, or by shares: ``shares`` counts them, ``consumed`` sums up the capacity that those
    take which say how much, and has an entry only where one does.
    """

    def __init__(self) -> None:
        self._whole: Counter[DeviceId] = Counter()
        self.shares: Counter[DeviceId] = Counter()
        self.consumed: dict[DeviceId, Amounts] = {}
        self._measured_shares: Counter[DeviceId] = Counter()  # shares that say what they take
        self.touched: set[tuple[str, str]] = set()

    def copy(self) -> DeviceUse:
        """An independent copy."""
        other = DeviceUse()
        other._whole, other.shares, other._measured_shares = (
            self._whole.copy(),
            self.shares.copy(),
            self._measured_shares.copy(),
        )
        other.consumed = {device: amounts.copy() for device, amounts in self.consumed.items()}
        other.touched = self.touched.copy()
        return other

    def is_exclusive(self, device: DeviceId) -> bool:
        """Whether a claim has the device for itself."""
        return device in self._whole

    def is_in_use(self, device: DeviceId) -> bool:
        """Whether a claim has the device, or a share of it."""
        return device in self._whole or device in self.shares

    def add_allocation(self, allocation: Allocation) -> None:
        self._count_allocation(allocation, 1)

    def remove_allocation(self, allocation: Allocation) -> None:
        self._count_allocation(allocation, -1)

    def _count_allocation(self, allocation: Allocation, by: int) -> None:
        for allocated in allocation.devices:
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
