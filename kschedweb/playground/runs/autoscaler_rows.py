"""Rows of what an autoscaler of nodes did in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.engine.simulation.autoscaling.context import LAUNCHED, REMOVED
from kschedweb.engine.studies.measure.costs import compute_costs
from kschedweb.playground.runs.rows import LazyRows
from kschedweb.playground.runs.sections import TIME_CELL, RunSection
from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_price

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome


@dataclass(frozen=True)
class ActionRow:
    """A node that was requested or deleted."""

    # Seconds in the simulation.
    time: float
    # LAUNCHED or REMOVED.
    action: str
    node: str
    # The instance type of a launched node, or why a node was removed.
    text: str

    @property
    def subject(self) -> str:
        return self.node


class ActionList(LazyRows[ActionRow]):
    """The nodes that were requested and deleted, in order."""

    def __init__(self, outcome: RunOutcome) -> None:
        self.rows = outcome.autoscaler_actions

    def row(self, record: tuple[float, str, str, str]) -> ActionRow:
        time, *fields = record
        return ActionRow(round(time, 6), *fields)


def describe_actions(outcome: RunOutcome) -> str:
    """Return how many nodes came and went, and with prices the change of an hour's cost; "" if no node did."""
    if not outcome.autoscaler_actions:
        return ""
    launched, removed = (
        sum(action == kind for _, action, *_ in outcome.autoscaler_actions) for kind in (LAUNCHED, REMOVED)
    )
    summary = gettext("Nodes that came: %(came)s; that went: %(went)s.") % {
        "came": f"{launched:,}",
        "went": f"{removed:,}",
    }
    costs = compute_costs(outcome) if outcome.kinds.currency else None
    if costs is None or costs.first_hour is None or costs.hour is None:
        return summary
    less = costs.first_hour - costs.hour
    amounts = {
        "end": f"{format_price(costs.hour)} {outcome.kinds.currency}", "begin": format_price(costs.first_hour),
        "change": format_price(abs(less)),
    }  # fmt: skip
    money = (
        gettext("At the end all nodes cost %(end)s an hour, %(change)s less than the %(begin)s at the beginning.")
        if less >= 0
        else gettext("At the end all nodes cost %(end)s an hour, %(change)s more than the %(begin)s at the beginning.")
    )
    return f"{summary} {money % amounts}"


_ACTIONS = {LAUNCHED: _("asked for"), REMOVED: _("deleted")}
TABLE = RowTable(
    "deeds",
    _("Nodes that came and went"),
    (
        Column("time", _("Time"), cell=TIME_CELL, cell_css="nowrap"),
        Column("what", _("What happened"), value="action", cell=lambda row: _ACTIONS[row.action]),
        Column("node", _("Node")),
        Column("text", _("As what, or why"), cell_css="message"),
    ),
    marks={"data-deed": "action"},
)
SECTION = RunSection(
    TABLE.title,
    lambda outcome: outcome.prices.size > 0,
    TABLE,
    ActionList,
    lambda outcome: [sentence for sentence in (describe_actions(outcome),) if sentence],
    lambda outcome: gettext("The autoscaler left the nodes as they were."),
)
