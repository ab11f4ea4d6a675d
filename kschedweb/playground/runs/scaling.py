"""The changes of scale of a run as rows."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from kschedweb.playground.runs.rows import LazyRows

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome

HEAD = ("time", "workload", "before", "after", "reason")


@dataclass(frozen=True)
class ScalingRow:
    """A change of the number of pods that a workload asks for."""

    # Seconds in the simulation.
    time: float
    workload: str
    before: int
    after: int
    reason: str

    def cells(self) -> tuple[object, ...]:
        return astuple(self)


class ScalingList(LazyRows[ScalingRow]):
    """The changes of scale, in order."""

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome = outcome
        self.rows = range(len(outcome.scalings.time))

    def row(self, row: int) -> ScalingRow:
        out, log = self.outcome, self.outcome.scalings
        return ScalingRow(
            round(float(log.time[row]), 6),
            out.scaled[int(log.workload[row])],
            int(log.before[row]),
            int(log.after[row]),
            out.reasons[int(log.reason[row])],
        )
