"""Devices that a search need not tell apart: where one of them leads nowhere, the others do not either."""

from __future__ import annotations

from collections.abc import Hashable

from kschedweb.engine.allocation.claim_view import ClaimView
from kschedweb.engine.allocation.pools import DeviceCandidate
from kschedweb.engine.allocation.taken_devices import ChosenDevice, TakenDevices


class InterchangeableDevices:
    """Kinds of devices for the claims that ``sight`` is of.

    Two devices of a kind that nobody uses can change places in any solution. So after one of them was tried in vain,
    the other, which comes later, is in vain too: the search ends in the same way without it, only sooner.
    """

    def __init__(self, sight: ClaimView, taking: TakenDevices) -> None:
        self._sight, self._taking = sight, taking

    def device_kind(self, candidate: DeviceCandidate) -> Hashable:
        """Equal for devices that can change places; ``None`` for one that is like no other."""
        return None if self._taking.is_touched(candidate.id) else self._device_kind(candidate)

    def taken_kind(self, claim: int, chosen: ChosenDevice) -> Hashable:
        """What a device counts as that was taken for a claim: equal for devices of a kind that nobody else can have."""
        candidate = chosen.candidate
        if chosen.shared or chosen.choice.admin:
            return claim, candidate.id, chosen.counting, tuple(sorted(chosen.consumed.items()))
        return claim, self._device_kind(candidate)

    def _device_kind(self, candidate: DeviceCandidate) -> Hashable:
        return self._sight.device_kind(candidate), candidate.id[1] if candidate.device.consumes else ""
