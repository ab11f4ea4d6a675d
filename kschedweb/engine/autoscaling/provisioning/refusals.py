"""Refusals to place a pod. Their text is built on request, as most are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SchedulingRefusal:
    """The reason why a pod cannot be placed."""

    # Returns the text in Karpenter's words.
    say: Callable[[], str]
    # The pod waits for a reservation.
    reserved: bool = False
    # The pod claims devices.
    devices: bool = False

    @property
    def is_final(self) -> bool:
        return self.reserved or self.devices


def create_refusal(text: str, *, reserved: bool = False, devices: bool = False) -> SchedulingRefusal:
    """Create a refusal with a fixed text."""
    return SchedulingRefusal(lambda: text, reserved, devices)


def combine_refusals(refusals: Iterable[SchedulingRefusal]) -> SchedulingRefusal:
    """Join several refusals to one."""
    listed = tuple(refusals)
    reserved, devices = any(refusal.reserved for refusal in listed), any(refusal.devices for refusal in listed)
    return SchedulingRefusal(lambda: "; ".join(refusal.say() for refusal in listed), reserved, devices)
