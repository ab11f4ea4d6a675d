"""Why a pod cannot be placed. The words are made when someone asks, as most refusals are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """``reserved``: the pod waits for a reservation, ``devices``: it claims devices; it then gives up no preference."""

    say: Callable[[], str]
    reserved: bool = False
    devices: bool = False

    @property
    def final(self) -> bool:
        return self.reserved or self.devices


def refused(text: str, *, reserved: bool = False, devices: bool = False) -> Refusal:
    """A refusal whose words are there already."""
    return Refusal(lambda: text, reserved, devices)


def all_of(refusals: Iterable[Refusal]) -> Refusal:
    """Several refusals as one."""
    listed = tuple(refusals)
    reserved, devices = any(one.reserved for one in listed), any(one.devices for one in listed)
    return Refusal(lambda: "; ".join(one.say() for one in listed), reserved, devices)
