"""Which devices the CEL selectors of classes and requests accept; each device's content is asked once."""

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

MANY = 1 << 18  # answers remembered at most
Answer = bool | Exception
Kind = tuple[str, str]  # driver, the device's content


class UnknownError(Exception):
    """What kube-scheduler would do is not known; the text says what it depends on."""


class SelectorError(Exception):
    """A selector cannot be evaluated; the text is kube-scheduler's, without what has the selector."""


class Selectors:
    """Answers about selectors, kept while classes and slices stay. ``shares``: expressions see what can be shared."""

    def __init__(self, language: Language, *, shares: bool = True) -> None:
        self._language, self._shares = language, shares
        self._known: dict[tuple[str, Kind], Answer] = {}
        self._devices: dict[Kind, CelDevice] = {}

    def matches(self, expression: str, candidate: DeviceCandidate) -> bool:
        """Whether ``expression`` accepts the device. Raises SelectorError and UnknownError."""
        kind = candidate.id[0], candidate.device.content
        answer = self._known.get((expression, kind))
        if answer is None:
            if len(self._known) >= MANY:
                self._known.clear()
            answer = self._known[expression, kind] = self._evaluate(expression, kind, candidate)
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
    """The device as expressions see it."""
    device = candidate.device
    attributes = {name: parse_attribute(raw) for name, raw in device.attributes.items()}
    capacity = {name: to_quantity(str(raw.get("value", "0"))) for name, raw in device.raw_capacity.items()}
    return CelDevice(candidate.id[0], attributes, capacity, shares and bool(device.shareable))
