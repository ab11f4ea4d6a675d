"""Interchangeable devices: if one of them fails in a search, so do the others."""

from __future__ import annotations

from collections.abc import Hashable

from kschedweb.engine.allocation.claim_view import ClaimView
from kschedweb.engine.allocation.pools import DeviceCandidate
from kschedweb.engine.allocation.taken_devices import ChosenDevice, TakenDevices


class InterchangeableDevices:
    """Kinds of devices for the claims of ``sight``.

    Two unused devices of a kind can change places in any solution. So if one of them was tried in vain, a later one
    is in
    vain too: without it the search ends in the same way, only sooner.
    """

    def __init__(self, sight: ClaimView, taking: TakenDevices) -> None:
        self._sight, self._taking = sight, taking

    def device_kind(self, candidate: DeviceCandidate) -> Hashable:
        """Return a key that is equal for devices that can change places; None for a device like no other."""
        return None if self._taking.is_touched(candidate.id) else self._device_kind(candidate)

    def taken_kind(self, claim: int, chosen: ChosenDevice) -> Hashable:
        """Return a key of a device taken for a claim, equal for devices of a kind that nobody else can share."""
        candidate = chosen.candidate
        if chosen.shared or chosen.choice.admin:
            return claim, candidate.id, chosen.counting, tuple(sorted(chosen.consumed.items()))
        return claim, self._device_kind(candidate)

    def _device_kind(self, candidate: DeviceCandidate) -> Hashable:
        return self._sight.device_kind(candidate), candidate.id[1] if candidate.device.consumes else ""
