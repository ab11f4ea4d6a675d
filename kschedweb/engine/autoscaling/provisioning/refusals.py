"""Why a pod cannot be placed. The words are made when someone asks, as most refusals are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class SchedulingRefusal:
    """``reserved``: the pod waits for a reservation, ``devices``: it claims devices; it then gives up no preference."""

    say: Callable[[], str]
    reserved: bool = False
    devices: bool = False

    @property
    def is_final(self) -> bool:
        return self.reserved or self.devices


def create_refusal(text: str, *, reserved: bool = False, devices: bool = False) -> SchedulingRefusal:
    """A refusal whose words are there already."""
    return SchedulingRefusal(lambda: text, reserved, devices)


def combine_refusals(refusals: Iterable[SchedulingRefusal]) -> SchedulingRefusal:
    """Several refusals as one."""
    listed = tuple(refusals)
    reserved, devices = any(refusal.reserved for refusal in listed), any(refusal.devices for refusal in listed)
    return SchedulingRefusal(lambda: "; ".join(refusal.say() for refusal in listed), reserved, devices)
