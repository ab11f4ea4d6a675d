"""What an autoscaler of nodes did in a run, as rows."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.engine.simulation.observer import LAUNCHED, REMOVED
from kschedweb.engine.studies.measure.paid import paid
from kschedweb.playground.runs.rows import Rows
from kschedweb.web.units import price

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


def sentence(outcome: Outcome) -> str:
    """How many nodes came and went, and what an hour costs then where there are prices; "" where none did."""
    if not outcome.deeds:
        return ""
    came, went = (sum(one[1] == what for one in outcome.deeds) for what in (LAUNCHED, REMOVED))
    said = gettext("Nodes that came: %(came)s; that went: %(went)s.") % {"came": f"{came:,}", "went": f"{went:,}"}
    costs = paid(outcome) if outcome.kinds.currency else None
    if costs is None or costs.first_hour is None or costs.hour is None:
        return said
    less = costs.first_hour - costs.hour
    amounts = {
        "end": f"{price(costs.hour)} {outcome.kinds.currency}", "begin": price(costs.first_hour),
        "change": price(abs(less)),
    }  # fmt: skip
    money = (
        gettext("At the end all nodes cost %(end)s an hour, %(change)s less than the %(begin)s at the beginning.")
        if less >= 0
        else gettext("At the end all nodes cost %(end)s an hour, %(change)s more than the %(begin)s at the beginning.")
    )
    return f"{said} {money % amounts}"
