"""The declaration of a measure: its names, what it counts over which time, and where pages list it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.values import MONEY
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.studies.measure.figures import RunFigures
    from kschedweb.engine.studies.play.outcome import RunOutcome

# Stands in a unit for the currency of the price table.
CURRENCY = "{currency}"
# Stands in names, labels and sentences for the member, such as the resource.
PLACE = "{}"
RESOURCE_WORDS = {CPU: "CPU", MEMORY: "memory"}
# Gets the RunFigures, and the member of its split if the measure exists once for each.
Compute = Callable[..., float | None]


@dataclass(frozen=True, slots=True, eq=False)
class MeasureSplit:
    """The members, such as resources, of which a template makes one measure each."""

    name: str
    # Returns the members that a run has, in order.
    list_members: Callable[[RunOutcome], Sequence[str]]
    # Words for readers in place of a member's own name.
    words: Mapping[str, str] = field(default_factory=dict)


BY_RESOURCE = MeasureSplit("resource", lambda outcome: outcome.resources, RESOURCE_WORDS)


@dataclass(frozen=True, slots=True)
class MeasureCondition:
    """A condition that a run must meet so that a measure has a value."""

    # What there must be, for readers; "" for nothing.
    label: str
    # Returns whether a run has the data for a measure of a member, "" for none; None for measures that are not
    # computed from one run.
    holds: Callable[[RunFigures, str], bool] | None
    # The part of a scenario document without which no run meets it; "" if no part decides that.
    part: str = ""


@dataclass(frozen=True, slots=True)
class SpecGroup:
    """A subject of measures, such as balance."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that share a chart and an explanation, and so one group."""

    name: str
    group: SpecGroup
    label: str
    # Explains its measures in a few sentences.
    help: str


class Population(StrEnum):
    """The things that a measure is taken over."""

    PODS = "all pods"
    BOUND_PODS = "pods that were tried and bound"
    NODES = "all nodes"
    OPEN_NODES = "nodes that are ready and open to any pod"
    NODES_IN_USE = "nodes with more than pods of DaemonSets and static pods"
    BUDGETS = "disruption budgets"
    WORKLOADS = "scaled workloads"
    JOBS = "jobs in quota queues"
    QUEUES = "quota queues"


class Window(StrEnum):
    """The time that a measure covers."""

    OVER_TIME = "mean over time"
    RUN = "the whole run"
    PEAK = "the highest at any time"
    END = "the end"


ALWAYS = MeasureCondition("", lambda run, resource: True)


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """One measure. Pages, REST, files, sweeps, comparisons and the gate take all they know about it from here."""

    # Name, label and sentence have PLACE in them if there is such a measure of each member of ``split``.
    name: str
    label: str
    # May contain CURRENCY.
    unit: str
    # Which value is better; "" for neither.
    direction: str
    # Explanation for people.
    sentence: str
    family: Family
    population: Population
    window: Window
    # None for measures that are not computed from one run.
    compute: Compute | None = None
    # What a run must have for the measure to say something.
    when: MeasureCondition = ALWAYS
    # Members that a template is for; None for all.
    resources: tuple[str, ...] | None = None
    # What a template makes measures of.
    split: MeasureSplit = BY_RESOURCE
    # The measure below which this one is folded, because it says nearly the same.
    like: str = ""
    # True if it counts events on the way, which depend on the order in which things happen.
    happens: bool = False
    # True if it also makes sense for a cluster that is placed at one moment, without time.
    in_placing: bool = False
    # Value under a policy that has nothing of the kind, such as no descheduler; None for no value.
    absent: float | None = None
    # The member of a measure that was made from a template.
    member: str = ""

    @property
    def group(self) -> SpecGroup:
        return self.family.group

    @property
    def is_template(self) -> bool:
        """True if there is one measure of each member."""
        return PLACE in self.name

    @property
    def is_money(self) -> bool:
        return CURRENCY in self.unit or self.unit == MONEY

    @property
    def is_standing(self) -> bool:
        """True if it makes sense for a cluster that is placed at one moment."""
        return self.in_placing or self.window is Window.END

    def for_member(self, member: str) -> MeasureSpec:
        """Return the measure of one member."""
        words = self.split.words.get(member, member)
        return replace(
            self,
            name=self.name.replace(PLACE, member),
            label=self.label.replace(PLACE, words),
            sentence=self.sentence.replace(PLACE, words),
            like=self.like.replace(PLACE, member),
            member=member,
        )

    def unit_in(self, currency: str) -> str:
        return self.unit.replace(CURRENCY, currency)

    def is_available(self, run: RunFigures) -> bool:
        """Return whether the run has the data that the measure needs."""
        return self.when.holds is not None and self.when.holds(run, self.member)

    def value(self, run: RunFigures) -> float | None:
        """Return the value in a run; ``None`` if there is nothing to measure."""
        if self.compute is None:
            return None
        return self.compute(run, self.member) if self.member else self.compute(run)
