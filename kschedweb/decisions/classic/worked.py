"""What the arithmetic of a priority starts from and comes to, and the division of whole numbers that it shares."""

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
    """``plugin`` about the node at ``position``, which is feasible and stands at ``index`` of its ``column``."""

    case: ClassicCase
    position: int
    index: int
    plugin: Any
    column: ScoreColumn

    @cached_property
    def mapped(self) -> list[int]:
        """What each feasible node was mapped to."""
        found: list[int] = self.column.raw.tolist()
        return found

    @cached_property
    def labels(self) -> dict[str, str]:
        return self.case.snapshot.nodes[self.position].labels


@dataclass
class Worked:
    """``mapped`` and ``reduced`` are what the steps come to; ``reducing`` is the formula between them, "" for none."""

    about: str
    steps: list[Step] = field(default_factory=list)
    mapped: int = 0
    reduced: int = 0
    reducing: str = ""

    def step(self, label: str, formula: str, result: object) -> None:
        self.steps.append(Step(label, formula, str(result)))

    def unreduced(self, score: int) -> Worked:
        """With ``score``, which stays as it was mapped."""
        self.mapped = self.reduced = score
        return self


def cut(number: int, by: int) -> int:
    """Division of whole numbers, cut toward 0."""
    part = abs(number) // abs(by)
    return part if (number < 0) == (by < 0) else -part


def times(part: int, factor: int) -> int:
    """The product in 64 bits, where absurd amounts wrap round."""
    return (part * factor + SIGN) % (2 * SIGN) - SIGN


def scaled(worked: Worked, mapped: list[int], *, reverse: bool) -> Worked:
    """Reduce so that the highest becomes 10, or with ``reverse`` 0."""
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
