"""Undo and redo in an editor whose form and text are one document.

The steps travel in the posted form, so that they need neither a script nor a session. Each is the least edit that makes
the other state of the one that it is applied to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_STEPS = 100
MOST_TEXT = 200_000
"""The characters that all steps may hold; the oldest ones are forgotten first."""


class State(NamedTuple):
    """What an editor shows: the document, and the start options of kube-scheduler as fields of the form."""

    document: str
    process: Mapping[str, str]


class Step(NamedTuple):
    """Makes a state of another one: ``text`` in place of what lies between ``start`` and ``end``.

    ``process`` are its start options; ``None`` where they are the same.
    """

    start: int
    end: int
    text: str
    process: dict[str, str] | None

    @classmethod
    def between(cls, now: State, wanted: State) -> Step:
        """The step that makes ``wanted`` of ``now``."""
        old, new = now.document, wanted.document
        start = _alike(old, new)
        same = _alike(old[start:][::-1], new[start:][::-1])
        process = None if now.process == wanted.process else dict(wanted.process)
        return cls(start, len(old) - same, new[start : len(new) - same], process)

    def applied(self, now: State) -> State:
        """The state that it makes of ``now``."""
        document = now.document[: self.start] + self.text + now.document[self.end :]
        return State(document, now.process if self.process is None else self.process)


@dataclass(frozen=True)
class History:
    """The steps back and forth from the shown state, the next one last; ``process`` is that of the shown state."""

    process: Mapping[str, str]
    back: tuple[Step, ...] = ()
    forth: tuple[Step, ...] = ()

    @classmethod
    def read(cls, text: str, process: Mapping[str, str]) -> History:
        """The history in a posted field; one without steps, and with ``process``, where there is none to be read."""
        try:
            data = json.loads(text or "null")
            return cls(_words(data["process"]), _steps(data["back"]), _steps(data["forth"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            return cls(process)

    @property
    def text(self) -> str:
        """What :func:`read` takes."""
        return json.dumps({"process": dict(self.process), "back": self.back, "forth": self.forth})

    def then(self, document: str, now: State) -> History:
        """The history after a change of ``document``, which was shown, to ``now``."""
        before = State(document, self.process)
        if before == now:
            return self
        return History(now.process, _bounded((*self.back, Step.between(now, before))))

    def undone(self, now: State) -> tuple[State, History]:
        """The state before the last change of ``now``; ``now`` itself where there is none."""
        if not self.back:
            return now, self
        found = self.back[-1].applied(now)
        forth = _bounded((*self.forth, Step.between(found, now)))
        return found, History(found.process, self.back[:-1], forth)

    def redone(self, now: State) -> tuple[State, History]:
        """The state before the last undo."""
        if not self.forth:
            return now, self
        found = self.forth[-1].applied(now)
        back = _bounded((*self.back, Step.between(found, now)))
        return found, History(found.process, back, self.forth[:-1])


def _alike(old: str, new: str) -> int:
    """How many characters the two begin with alike."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))


def _bounded(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    steps = steps[-MOST_STEPS:]
    while steps and sum(len(step.text) for step in steps) > MOST_TEXT:
        steps = steps[1:]
    return steps


def _steps(data: Any) -> tuple[Step, ...]:
    """Raises ValueError or TypeError for anything but steps."""
    return _bounded(tuple(_step(*one) for one in data))


def _step(start: object, end: object, text: object, process: object) -> Step:
    if not (type(start) is type(end) is int and isinstance(text, str) and 0 <= start <= end):
        raise ValueError("not a step")
    return Step(start, end, text, None if process is None else _words(process))


def _words(data: Any) -> dict[str, str]:
    found = dict(data)
    if not all(isinstance(name, str) and isinstance(value, str) for name, value in found.items()):
        raise ValueError("not fields")
    return found
