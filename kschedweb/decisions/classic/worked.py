"""The input and result of the arithmetic of a priority, and its integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.parts import Step

if TYPE_CHECKING:
    from kschedweb.decisions.case import ClassicCase
    from kschedweb.engine.framework.explanation import ScoreColumn

MOST = 10
SIGN = 1 << 63


@dataclass(frozen=True)
class ScoreContext:
    """The score of ``plugin`` for the feasible node at ``position``, which is at ``index`` of its ``column``."""

    case: ClassicCase
    position: int
    index: int
    plugin: Any
    column: ScoreColumn

    @cached_property
    def mapped(self) -> list[int]:
        """The mapped score of each feasible node."""
        found: list[int] = self.column.raw.tolist()
        return found

    @cached_property
    def labels(self) -> dict[str, str]:
        return self.case.snapshot.nodes[self.position].labels


@dataclass
class Worked:
    """``mapped`` and ``reduced`` are the results of the steps; ``reducing`` is the formula between them, or ""."""

    about: str
    steps: list[Step] = field(default_factory=list)
    mapped: int = 0
    reduced: int = 0
    reducing: str = ""

    def step(self, label: str, formula: str, result: object) -> None:
        self.steps.append(Step(label, formula, str(result)))

    def unreduced(self, score: int) -> Worked:
        """This with ``score`` as mapped and reduced score."""
        self.mapped = self.reduced = score
        return self


def cut(number: int, by: int) -> int:
    """Integer division truncated towards 0."""
    part = abs(number) // abs(by)
    return part if (number < 0) == (by < 0) else -part


def times(part: int, factor: int) -> int:
    """The product as a signed 64-bit integer, which wraps around."""
    return (part * factor + SIGN) % (2 * SIGN) - SIGN


def scaled(worked: Worked, mapped: list[int], *, reverse: bool) -> Worked:
    """Scale the scores so that the highest becomes 10, or 0 with ``reverse``."""
    highest, own = max(0, *mapped), worked.mapped
    if not highest:
        worked.reduced = MOST if reverse else own
        worked.reducing = "no feasible node has any: 10 for all" if reverse else "the highest is 0: as they are"
        return worked
    part = cut(MOST * own, highest)
    worked.reduced = MOST - part if reverse else part
    formula = f"{MOST} × {own} ÷ {highest} (the highest)"
    worked.reducing = f"{MOST} − {formula}" if reverse else formula
    return worked
