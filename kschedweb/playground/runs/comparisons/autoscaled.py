"""What autoscalers of nodes came to, side by side: nodes, money and evictions, each by the hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from kschedweb.playground.runs.measures import kept

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

    from kschedweb.playground.runs.comparisons.comparing import ComparedPolicy
    from kschedweb.playground.runs.models import Run

HOUR = 3600.0
Values = Mapping[str, float | None]
By = Callable[[Values, float], float | None]


@dataclass(frozen=True)
class ScaledRow:
    """A figure of each policy of ``sides``, the mean over its seeds; ``None`` where it is not known."""

    name: str
    label: StrPromise
    sides: list[str]
    values: list[float | None]

    @property
    def shown(self) -> list[tuple[str, str]]:
        told = ["–" if value is None else f"{value:,.2f}" for value in self.values]
        return list(zip(self.sides, told, strict=True))


def rows(sides: Sequence[ComparedPolicy]) -> list[ScaledRow]:
    """Empty until each policy has a run, and where none has an autoscaler of nodes."""
    runs = [list(side.runs.values()) for side in sides]
    if not runs or not all(runs) or not any("nodes_launched" in _values(one) for of in runs for one in of):
        return []
    labels = [side.label for side in sides]
    return [ScaledRow(name, label, labels, [_mean(of, by) for of in runs]) for name, label, by in FIGURES]


def _mean(runs: Sequence[Run], by: By) -> float | None:
    found = [by(_values(run), run.virtual_seconds / HOUR) for run in runs if run.virtual_seconds]
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known else None


def _values(run: Run) -> dict[str, float | None]:
    return {one.name: one.value for one in kept(run)}


def _hourly(name: str) -> By:
    def by(values: Values, hours: float) -> float | None:
        found = values.get(name)
        return None if found is None else found / hours

    return by


FIGURES: tuple[tuple[str, StrPromise, By], ...] = (
    ("nodes", gettext_lazy("Nodes, on average"), _hourly("node_hours")),
    ("cost", gettext_lazy("Money an hour, by the offerings' prices"), _hourly("node_cost")),
    ("evictions", gettext_lazy("Evictions an hour"), lambda values, hours: values.get("evictions_rate")),
    ("launched", gettext_lazy("Nodes launched an hour"), _hourly("nodes_launched")),
    ("removed", gettext_lazy("Nodes removed an hour"), _hourly("nodes_removed")),
)
