"""Results of node autoscalers side by side: nodes, money and evictions, each by the hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from kschedweb.playground.runs.measures import list_measures

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

    from kschedweb.playground.runs.comparisons.measure_rows import ComparedPolicy
    from kschedweb.playground.runs.models import Run

# Seconds.
HOUR = 3600.0
Values = Mapping[str, float | None]
By = Callable[[Values, float], float | None]


@dataclass(frozen=True)
class ScaledRow:
    """A figure of each policy, the mean over its seeds."""

    name: str
    label: StrPromise
    # Labels of the policies.
    sides: list[str]
    # A value for each policy; None where it is unknown.
    values: list[float | None]

    @property
    def cells(self) -> list[tuple[str, str]]:
        texts = ["–" if value is None else f"{value:,.2f}" for value in self.values]
        return list(zip(self.sides, texts, strict=True))


def scaled_rows(sides: Sequence[ComparedPolicy]) -> list[ScaledRow]:
    """Return the figures; none until each policy has a run, and none if no policy has an autoscaler of nodes."""
    runs = [list(side.runs.values()) for side in sides]
    if (
        not runs
        or not all(runs)
        or not any("nodes_launched" in _measure_values(run) for side_runs in runs for run in side_runs)
    ):
        return []
    labels = [side.label for side in sides]
    return [
        ScaledRow(name, label, labels, [_mean_figure(side_runs, by) for side_runs in runs])
        for name, label, by in FIGURES
    ]


def _mean_figure(runs: Sequence[Run], by: By) -> float | None:
    """Return the mean over the seeds of which the figure is known."""
    figures = [by(_measure_values(run), run.virtual_seconds / HOUR) for run in runs if run.virtual_seconds]
    measured = [figure for figure in figures if figure is not None]
    return sum(measured) / len(measured) if measured else None


def _measure_values(run: Run) -> dict[str, float | None]:
    return {measure.name: measure.value for measure in list_measures(run)}


def _per_hour(name: str) -> By:
    def compute_rate(values: Values, hours: float) -> float | None:
        value = values.get(name)
        return None if value is None else value / hours

    return compute_rate


FIGURES: tuple[tuple[str, StrPromise, By], ...] = (
    ("nodes", gettext_lazy("Nodes, on average"), _per_hour("node_hours")),
    ("cost", gettext_lazy("Money an hour, by the offerings' prices"), _per_hour("node_cost")),
    ("evictions", gettext_lazy("Evictions an hour"), lambda values, hours: values.get("evictions_rate")),
    ("launched", gettext_lazy("Nodes launched an hour"), _per_hour("nodes_launched")),
    ("removed", gettext_lazy("Nodes removed an hour"), _per_hour("nodes_removed")),
)
