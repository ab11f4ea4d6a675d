"""Which devices the CEL selectors of classes and requests accept; each device's content is asked once."""

from __future__ import annotations

from kschedweb.engine.allocation.pools import Candidate
from kschedweb.engine.cel import Device as CelDevice
from kschedweb.engine.cel import EvaluationError, Language, Refused, attribute, compiled, quantity

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

    def matches(self, expression: str, one: Candidate) -> bool:
        """Whether ``expression`` accepts the device. Raises SelectorError and UnknownError."""
        kind = one.id[0], one.device.content
        answer = self._known.get((expression, kind))
        if answer is None:
            if len(self._known) >= MANY:
                self._known.clear()
            answer = self._known[expression, kind] = self._answer(expression, kind, one)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _answer(self, expression: str, kind: Kind, one: Candidate) -> Answer:
        try:
            program = compiled(expression, self._language)
            if kind not in self._devices:
                self._devices[kind] = as_seen(one, shares=self._shares)
            return program.matches(self._devices[kind])
        except Refused:
            return UnknownError(f"whether a device meets the selector {expression}")
        except EvaluationError as error:
            return SelectorError(str(error))


def as_seen(one: Candidate, *, shares: bool = True) -> CelDevice:
    """The device as expressions see it."""
    device = one.device
    attributes = {name: attribute(raw) for name, raw in device.attributes.items()}
    capacity = {name: quantity(str(raw.get("value", "0"))) for name, raw in device.raw_capacity.items()}
    return CelDevice(one.id[0], attributes, capacity, shares and bool(device.shareable))
