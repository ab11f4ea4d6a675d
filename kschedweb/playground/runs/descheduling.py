"""Rows of what the descheduler did in a run: its rounds, its evictions, and policies that undo each other's work."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from django.utils.translation import ngettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.measure.descheduling import find_fights, find_successors, workload_of
from kschedweb.engine.studies.moves.dry_run import LANDS, NOT_REPLACED, RETURNS, UNFIT
from kschedweb.playground.runs.rows import LazyRows
from kschedweb.playground.runs.sections import TIME_CELL, RunSection
from kschedweb.web.tables import Column, RowTable
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.studies.moves.repeated_cycles import Fight
    from kschedweb.engine.studies.play.outcome import RunOutcome


# Words for the fate of an evicted pod.
FATES = {
    LANDS: _("lands on %(node)s"),
    RETURNS: _("comes back to the node that it left"),
    UNFIT: _("gets no node"),
    NOT_REPLACED: _("is not replaced"),
}


@dataclass(frozen=True)
class EvictionRow:
    """An eviction by a plugin of the descheduler."""

    # Seconds in the simulation.
    time: float
    round: int
    pod: str
    workload: str
    node: str
    plugin: str
    profile: str
    # Key of FATES.
    fate: str
    # The first node of the pod that replaced it; "" for none.
    target: str

    @property
    def subject(self) -> str:
        return self.pod

    @property
    def words(self) -> str:
        """The fate in words."""
        return str(FATES[self.fate]) % {"node": self.target}


class EvictionList(LazyRows[EvictionRow]):
    """The evictions of the descheduler, in order."""

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome, self.heirs = outcome, find_successors(outcome)
        self.rows = range(len(outcome.evictions))

    def row(self, row: int) -> EvictionRow:
        """Return the eviction at this position of the log, with the fate of its pod."""
        out, log = self.outcome, self.outcome.evictions
        pod, node, heir = int(log.pod[row]), int(log.node[row]), int(self.heirs[row])
        # Positions of -1 stand for no pod and no node.
        place = int(out.node[heir]) if heir >= 0 else -1
        if heir < 0:
            fate = NOT_REPLACED
        elif place < 0:
            fate = UNFIT
        else:
            fate = RETURNS if place == node else LANDS
        return EvictionRow(
            round(float(log.time[row]), 6),
            int(log.round[row]),
            out.pods[pod],
            workload_of(out, pod),
            out.nodes[node] if node >= 0 else "",
            out.eviction_names[int(log.plugin[row])],
            out.eviction_names[int(log.profile[row])],
            fate,
            out.nodes[place] if place >= 0 else "",
        )


@dataclass(frozen=True)
class RoundRow:
    """A round of the descheduler."""

    round: int
    # Seconds in the simulation.
    time: float
    evicted: int
    # Evictions that a limit of the descheduler or a budget refused.
    refused: int
    # Why plugins did nothing.
    said: str


class RoundList(LazyRows[RoundRow]):
    """The rounds of the descheduler, in order."""

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome = outcome
        self.rows = range(len(outcome.rounds))

    def row(self, row: int) -> RoundRow:
        time, evicted, refused, message = self.outcome.rounds[row]
        return RoundRow(row + 1, round(time, 6), evicted, refused, message)


def fight_list(outcome: RunOutcome) -> list[Fight]:
    """Return pods that are evicted again and again, with the plugins that bring them back."""
    return find_fights(outcome) if outcome.rounds else []


def descheduling_json(outcome: RunOutcome) -> Json:
    """Return the rounds and the fights as plain data."""
    fighting = [{**asdict(fight), "sentence": fight.sentence} for fight in fight_list(outcome)]
    return {"rounds": [asdict(round_row) for round_row in RoundList(outcome)], "fights": fighting}


ROUNDS = RowTable(
    "rounds",
    "",
    (Column("round"), Column("time"), Column("evicted"), Column("refused"), Column("said")),
)
TABLE = RowTable(
    "evictions",
    _("Evictions by the descheduler"),
    (
        Column("time", _("Time"), cell=TIME_CELL, cell_css="nowrap"),
        Column("round", _("Round"), "number"),
        Column("pod", _("Pod")),
        Column("workload"),
        Column("node", _("Node")),
        Column("plugin", _("Plugin")),
        Column("profile"),
        Column("fate", _("What happens to it"), cell=lambda row: row.words),
        Column("target"),
    ),
    marks={"data-evicted": "pod"},
)


def describe_rounds(outcome: RunOutcome) -> list[str]:
    """Return what the rounds came to, and what plugins said in the last one."""
    rounds, refused = len(outcome.rounds), sum(entry[2] for entry in outcome.rounds)
    sentences = [
        ngettext(
            "It went through the cluster once, and evicted %(evicted)s pods.",
            "It went through the cluster %(rounds)s times, and evicted %(evicted)s pods.",
            rounds,
        )
        % {"rounds": f"{rounds:,}", "evicted": f"{len(outcome.evictions):,}"}
    ]
    if refused:
        sentences.append(
            ngettext(
                "%(refused)s eviction was refused, by a limit or a budget.",
                "%(refused)s evictions were refused, by limits or budgets.",
                refused,
            )
            % {"refused": f"{refused:,}"}
        )
    return [" ".join(sentences), *filter(None, [outcome.rounds[-1][-1]])]


SECTION = RunSection(
    _("The descheduler"),
    lambda outcome: bool(outcome.rounds),
    TABLE,
    EvictionList,
    describe_rounds,
    template="playground/runs/fights.html",
    context=lambda outcome: {"fights": fight_list(outcome)},
    files=((ROUNDS, RoundList, _("Rounds as CSV")),),
)
