"""The input and result of the arithmetic of a priority, and its integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.page_parts import ArithmeticStep

if TYPE_CHECKING:
    from kschedweb.decisions.case import ClassicCase
    from kschedweb.engine.framework.explanation import ScoreColumn

# Scores of priorities are 0 to 10, unlike those of today's plugins, which go up to 100.
MAX_PRIORITY = 10
# 2^63, for products that overflow as Go's int64 does.
SIGN = 1 << 63


@dataclass(frozen=True)
class ScoreContext:
    """The score of ``plugin`` for one feasible node."""

    case: ClassicCase
    # The position of the node in the snapshot, and its index among the feasible nodes of ``column``.
    position: int
    index: int
    plugin: Any
    column: ScoreColumn

    @cached_property
    def mapped(self) -> list[int]:
        """Return the mapped score of each feasible node."""
        scores: list[int] = self.column.raw.tolist()
        return scores

    @cached_property
    def labels(self) -> dict[str, str]:
        return self.case.snapshot.nodes[self.position].labels


@dataclass
class ScoreCalculation:
    """The shown steps of a score, with their result."""

    description: str
    steps: list[ArithmeticStep] = field(default_factory=list)
    # Results of the steps; tests compare them with the engine's.
    mapped: int = 0
    reduced: int = 0
    # The formula from ``mapped`` to ``reduced``, "" if they are equal.
    reducing: str = ""

    def add_step(self, label: str, formula: str, result: object) -> None:
        self.steps.append(ArithmeticStep(label, formula, str(result)))

    def with_score(self, score: int) -> ScoreCalculation:
        """Set ``score`` as mapped and reduced score, and return the calculation."""
        self.mapped = self.reduced = score
        return self


def truncate_divide(number: int, by: int) -> int:
    """Divide as Go does, which truncates towards 0; Python's // rounds down."""
    part = abs(number) // abs(by)
    return part if (number < 0) == (by < 0) else -part


def multiply_int64(part: int, factor: int) -> int:
    """Multiply as Go's int64, which wraps around."""
    return (part * factor + SIGN) % (2 * SIGN) - SIGN


def normalize_reduce(calculation: ScoreCalculation, mapped: list[int], *, reverse: bool) -> ScoreCalculation:
    """Scale the scores so that the highest becomes 10, or 0 with ``reverse``, as `NormalizeReduce`."""
    highest, mapped_score = max(0, *mapped), calculation.mapped
    if not highest:
        calculation.reduced = MAX_PRIORITY if reverse else mapped_score
        calculation.reducing = "no feasible node has any: 10 for all" if reverse else "the highest is 0: as they are"
        return calculation
    part = truncate_divide(MAX_PRIORITY * mapped_score, highest)
    calculation.reduced = MAX_PRIORITY - part if reverse else part
    formula = f"{MAX_PRIORITY} × {mapped_score} ÷ {highest} (the highest)"
    calculation.reducing = f"{MAX_PRIORITY} − {formula}" if reverse else formula
    return calculation
