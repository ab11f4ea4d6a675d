"""Undo and redo in an editor whose form and text are one document.

The steps travel in the posted form, so that they need neither a script nor a session. Each step is the smallest edit
that turns one state into another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

# Steps that are kept; the oldest are forgotten first.
MOST_STEPS = 100
MOST_TEXT = 200_000
"""The characters that all steps may hold; the oldest ones are forgotten first."""


class DocumentState(NamedTuple):
    """The content of an editor."""

    document: str
    # The start options of kube-scheduler as fields of the form.
    process: Mapping[str, str]


class EditStep(NamedTuple):
    """A step from one state to another: replace the characters from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str
    # The start options of the new state; None if they do not change.
    process: dict[str, str] | None

    @classmethod
    def between_states(cls, now: DocumentState, target: DocumentState) -> EditStep:
        """Return the step from ``now`` to ``target``."""
        old, new = now.document, target.document
        start = _common_prefix_length(old, new)
        same = _common_prefix_length(old[start:][::-1], new[start:][::-1])
        process = None if now.process == target.process else dict(target.process)
        return cls(start, len(old) - same, new[start : len(new) - same], process)

    def apply_to(self, now: DocumentState) -> DocumentState:
        """Return the state that the step makes of ``now``."""
        document = now.document[: self.start] + self.text + now.document[self.end :]
        return DocumentState(document, now.process if self.process is None else self.process)


@dataclass(frozen=True)
class EditHistory:
    """The steps back and forth from the shown state."""

    # The start options of the shown state.
    process: Mapping[str, str]
    # The next step to take is the last of each.
    back: tuple[EditStep, ...] = ()
    forth: tuple[EditStep, ...] = ()

    @classmethod
    def from_json(cls, text: str, process: Mapping[str, str]) -> EditHistory:
        """Return the history in a posted field; one without steps if it cannot be read."""
        try:
            data = json.loads(text or "null")
            return cls(_parse_fields(data["process"]), _parse_steps(data["back"]), _parse_steps(data["forth"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            return cls(process)

    @property
    def text(self) -> str:
        """The JSON that :func:`from_json` reads."""
        return json.dumps({"process": dict(self.process), "back": self.back, "forth": self.forth})

    def after_change(self, document: str, now: DocumentState) -> EditHistory:
        """Return the history after ``document``, which was shown, changed to ``now``."""
        before = DocumentState(document, self.process)
        if before == now:
            return self
        # A change after an undo drops the steps forth, as in any editor.
        return EditHistory(now.process, _limit_steps((*self.back, EditStep.between_states(now, before))))

    def undo_step(self, now: DocumentState) -> tuple[DocumentState, EditHistory]:
        """Return the state before the last change of ``now``; ``now`` itself if there is none."""
        if not self.back:
            return now, self
        state = self.back[-1].apply_to(now)
        forth = _limit_steps((*self.forth, EditStep.between_states(state, now)))
        return state, EditHistory(state.process, self.back[:-1], forth)

    def redo_step(self, now: DocumentState) -> tuple[DocumentState, EditHistory]:
        """Return the state before the last undo."""
        if not self.forth:
            return now, self
        state = self.forth[-1].apply_to(now)
        back = _limit_steps((*self.back, EditStep.between_states(state, now)))
        return state, EditHistory(state.process, back, self.forth[:-1])


def _common_prefix_length(old: str, new: str) -> int:
    """Return the number of characters that both texts begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (first, other) in pairs if first != other), min(len(old), len(new)))


def _limit_steps(steps: tuple[EditStep, ...]) -> tuple[EditStep, ...]:
    steps = steps[-MOST_STEPS:]
    while steps and sum(len(step.text) for step in steps) > MOST_TEXT:
        steps = steps[1:]
    return steps


def _parse_steps(data: Any) -> tuple[EditStep, ...]:
    """Read the steps. Raises ValueError or TypeError for anything else."""
    return _limit_steps(tuple(_parse_step(*step) for step in data))


def _parse_step(start: object, end: object, text: object, process: object) -> EditStep:
    if not (type(start) is type(end) is int and isinstance(text, str) and 0 <= start <= end):
        raise ValueError("not a step")
    return EditStep(start, end, text, None if process is None else _parse_fields(process))


def _parse_fields(data: Any) -> dict[str, str]:
    fields = dict(data)
    if not all(isinstance(name, str) and isinstance(value, str) for name, value in fields.items()):
        raise ValueError("not fields")
    return fields
