"""What an autoscaler of nodes did in a run, as rows."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from kschedweb.playground.runs.rows import Rows

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import Outcome

HEAD = ("time", "what", "node", "text")


@dataclass(frozen=True)
class DeedRow:
    """At ``time`` (seconds) a node was asked for (launched), or deleted (removed); ``text`` says as what, or why."""

    time: float
    what: str
    node: str
    text: str

    def cells(self) -> tuple[object, ...]:
        return astuple(self)


class DeedList(Rows[DeedRow]):
    """The nodes that were asked for and deleted, in order."""

    def __init__(self, outcome: Outcome) -> None:
        self.rows = outcome.deeds

    def row(self, of: tuple[float, str, str, str]) -> DeedRow:
        time, *rest = of
        return DeedRow(round(time, 6), *rest)
