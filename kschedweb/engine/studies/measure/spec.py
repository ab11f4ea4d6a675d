"""The declaration of a measure: what it is called, what it counts over which time, and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.values import MONEY, When
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.studies.measure.figures import RunFigures

CURRENCY = "{currency}"  # a unit: that of the price table
PLACE = "{}"  # the place of the resource in names, labels and sentences
RESOURCE_WORDS = {CPU: "CPU", MEMORY: "memory"}
Compute = Callable[..., float | None]  # of RunFigures, and of the resource where there is one of each


@dataclass(frozen=True, slots=True)
class SpecGroup:
    """What measures are about, such as balance."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that share a chart and an explanation, and so one group."""

    name: str
    group: SpecGroup


class Population(StrEnum):
    """What a measure is taken over."""

    PODS = "all pods"
    BOUND_PODS = "pods that were tried and bound"
    NODES = "all nodes"
    OPEN_NODES = "nodes that are ready and open to any pod"
    NODES_IN_USE = "nodes with more than pods of DaemonSets and static pods"
    BUDGETS = "disruption budgets"
    WORKLOADS = "scaled workloads"


class Window(StrEnum):
    """The time that a measure is of."""

    OVER_TIME = "mean over time"
    RUN = "the whole run"
    PEAK = "the highest at any time"
    END = "the end"


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """One measure. All that pages, REST, files, sweeps, comparisons and the gate know of it follows from this.

    ``name``, ``label`` and ``sentence`` of one that there is of each resource have PLACE in them; ``resources`` are
    those that it can be of, ``None`` for all. ``unit`` may contain CURRENCY. ``like`` is the measure below which this
    one is folded, since it says nearly the same. ``happens``: it counts what happens on the way, which hangs on the
    order of things. ``in_placing``: it says something of a cluster that is placed at one moment, where time says
    nothing. ``absent`` is the value under a policy that has nothing of the kind, ``None`` for no value.
    """

    name: str
    label: str
    unit: str
    direction: str
    sentence: str
    family: Family
    population: Population
    window: Window
    compute: Compute | None = None
    when: When = When.ALWAYS
    resources: tuple[str, ...] | None = None
    like: str = ""
    happens: bool = False
    in_placing: bool = False
    absent: float | None = None
    resource: str = ""

    @property
    def group(self) -> SpecGroup:
        return self.family.group

    @property
    def is_template(self) -> bool:
        """Whether there is one of each resource."""
        return PLACE in self.name

    @property
    def is_money(self) -> bool:
        return CURRENCY in self.unit or self.unit == MONEY

    @property
    def is_standing(self) -> bool:
        """Whether it says something of a cluster that is placed at one moment."""
        return self.in_placing or self.window is Window.END

    def for_resource(self, resource: str) -> MeasureSpec:
        """The measure of one resource."""
        words = RESOURCE_WORDS.get(resource, resource)
        return replace(
            self,
            name=self.name.replace(PLACE, resource),
            label=self.label.replace(PLACE, words),
            sentence=self.sentence.replace(PLACE, words),
            like=self.like.replace(PLACE, resource),
            resource=resource,
        )

    def unit_in(self, currency: str) -> str:
        return self.unit.replace(CURRENCY, currency)

    def value(self, run: RunFigures) -> float | None:
        """The value in a run; ``None`` where there is nothing to measure."""
        if self.compute is None:
            return None
        return self.compute(run, self.resource) if self.resource else self.compute(run)
