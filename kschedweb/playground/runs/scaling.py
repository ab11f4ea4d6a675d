"""The changes of scale of a run as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.playground.runs.rows import LazyRows
from kschedweb.playground.runs.sections import TIME_CELL, RunSection
from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome


@dataclass(frozen=True)
class ScalingRow:
    """A change of the number of pods that a workload asks for."""

    # Seconds in the simulation.
    time: float
    workload: str
    before: int
    after: int
    reason: str

    @property
    def subject(self) -> str:
        return self.workload


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


TABLE = RowTable(
    "scalings",
    _("Changes of scale"),
    (
        Column("time", _("Time"), cell=TIME_CELL, cell_css="nowrap"),
        Column("workload", _("Workload")),
        Column("before", _("Before"), "number"),
        Column("after", _("After"), "number"),
        Column("reason", _("Why"), cell_css="message"),
    ),
)


def _describe_calm(outcome: RunOutcome) -> str:
    return gettext("%(scaled)s: the number of pods stays the same.") % {"scaled": ", ".join(outcome.scaled)}


SECTION = RunSection(TABLE.title, lambda outcome: bool(outcome.scaled), TABLE, ScalingList, nothing=_describe_calm)
