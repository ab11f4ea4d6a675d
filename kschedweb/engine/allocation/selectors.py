"""The CEL selectors of classes and requests, each evaluated once for devices of the same content."""

from __future__ import annotations

from kschedweb.engine.allocation.pools import DeviceCandidate
from kschedweb.engine.cel import Device as CelDevice
from kschedweb.engine.cel import (
    EvaluationError,
    ExpressionError,
    Language,
    compile_expression,
    parse_attribute,
    to_quantity,
)

# The most answers remembered.
MANY = 1 << 18
Answer = bool | Exception
# The driver, and the device's content.
Kind = tuple[str, str]


class UnknownError(Exception):
    """It is unknown what kube-scheduler would do; the message says what that depends on."""


class SelectorError(Exception):
    """A selector cannot be evaluated; the message is kube-scheduler's, without the selector's owner."""


class Selectors:
    """Results of selectors, valid while classes and slices stay. ``shares``: expressions see if a device is
    shareable."""

    def __init__(self, language: Language, *, shares: bool = True) -> None:
        self._language, self._shares = language, shares
        self._known: dict[tuple[str, Kind], Answer] = {}
        self._devices: dict[Kind, CelDevice] = {}

    def matches(self, expression: str, candidate: DeviceCandidate) -> bool:
        """Return whether ``expression`` accepts the device. Raises SelectorError and UnknownError."""
        kind = candidate.id[0], candidate.device.content
        answer = self._known.get((expression, kind))
        if answer is None:
            if len(self._known) >= MANY:
                self._known.clear()
            answer = self._known[expression, kind] = self._evaluate(expression, kind, candidate)
        # Errors are answers too: they are remembered, and raised for every device of this content.
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _evaluate(self, expression: str, kind: Kind, candidate: DeviceCandidate) -> Answer:
        try:
            program = compile_expression(expression, self._language)
            if kind not in self._devices:
                self._devices[kind] = to_cel_device(candidate, shares=self._shares)
            return program.matches(self._devices[kind])
        except ExpressionError:
            return UnknownError(f"whether a device meets the selector {expression}")
        except EvaluationError as error:
            return SelectorError(str(error))


def to_cel_device(candidate: DeviceCandidate, *, shares: bool = True) -> CelDevice:
    """Return the device as expressions see it."""
    device = candidate.device
    attributes = {name: parse_attribute(raw) for name, raw in device.attributes.items()}
    capacity = {name: to_quantity(str(raw.get("value", "0"))) for name, raw in device.raw_capacity.items()}
    return CelDevice(candidate.id[0], attributes, capacity, shares and bool(device.shareable))
