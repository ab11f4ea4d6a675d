"""The results of a sweep so far as plain data: the front, sensitivities, one-at-a-time curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext, ngettext

from kschedweb.engine.studies.search.front import distances, front, turned
from kschedweb.engine.studies.search.sensitivity import share
from kschedweb.engine.studies.search.space import Dimension, same
from kschedweb.playground.runs.measures import Measure, amount, difference, shown
from kschedweb.playground.runs.rows import arranged
from kschedweb.playground.sweeps import selectors
from kschedweb.playground.sweeps.models import Origin, Sweep, Trial, TrialState

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAD = ("trial", "origin", "state", "front")


@dataclass(frozen=True)
class TrialRow:
    """A finished trial: ``values`` are the objectives' means over the seeds; ``distance`` is that of the front."""

    trial: Trial
    values: list[float]
    front: bool
    distance: float | None

    @property
    def number(self) -> int:
        return self.trial.number


@dataclass(frozen=True)
class Share:
    """The share of an objective's variance that a dimension explains; ``None`` with too few trials."""

    value: float | None

    @property
    def text(self) -> str:
        return "–" if self.value is None else f"{100 * self.value:.0f} %"

    @property
    def width(self) -> str:
        return f"{100 * (self.value or 0.0):.1f}%"


@dataclass(frozen=True)
class Curve:
    """One dimension changed alone: the objectives' values at each of its values."""

    dimension: Dimension
    values: list[Any]
    rows: list[list[float]]  # for each objective, its value at each value of the dimension
    base: int | None  # index of the base policy in ``values``


class Results:
    """The results of a sweep; ``trials`` has all of its trials."""

    def __init__(self, sweep: Sweep, trials: Sequence[Trial]) -> None:
        self.sweep, self.trials = sweep, list(trials)
        self.space = selectors.space(sweep)
        self.start = self.space.start

    @cached_property
    def measures(self) -> list[Measure]:
        """The objectives as measures without values, in order, with the chosen directions."""
        described = {one["name"]: one for one in self.sweep.measures}
        found = []
        for one in self.sweep.objectives:
            usual = selectors.objective(one["measure"])
            said = described.get(one["measure"]) or {
                "name": one["measure"],
                "label": usual.label if usual else one["measure"],
                "unit": usual.unit_in("") if usual else "",
                "sentence": usual.sentence if usual else "",
            }
            found.append(shown(Measure(**{**said, "direction": one["direction"]}, value=None)))
        return found

    @cached_property
    def rows(self) -> list[TrialRow]:
        """The finished trials, best first: by the objective, or, with several, the front before the others."""
        done = [(one, selectors.costs(self.sweep, one)) for one in self.trials if one.state == TrialState.DONE]
        known = [(trial, values) for trial, values in done if values is not None]
        if not known:
            return []
        costs = self._costs([values for _, values in known])
        members = front(costs)
        far = distances(costs, members)
        rows = [
            TrialRow(trial, values, bool(members[place]), None if np.isnan(far[place]) else float(far[place]))
            for place, (trial, values) in enumerate(known)
        ]
        order = sorted(range(len(rows)), key=lambda at: (not rows[at].front, *costs[at].tolist(), rows[at].number))
        return [rows[place] for place in order]

    def arranged(self, ordering: str) -> list[TrialRow]:
        """``rows`` sorted by "trial", "distance", "objective-N" or "dimension-N", descending after a "-"."""
        key, down = ordering.removeprefix("-"), ordering.startswith("-")
        columns: dict[str, list[Any]] = {
            "trial": [row.number for row in self.rows],
            "distance": [row.distance for row in self.rows],
            **{f"objective-{at}": [row.values[at] for row in self.rows] for at in range(len(self.measures))},
            **{f"dimension-{at}": [row.trial.point[at] for row in self.rows] for at in range(len(self.start))},
        }
        if key not in columns:
            return self.rows
        by_number = dict(zip(columns["trial"], columns[key], strict=True))
        return arranged(self.rows, lambda row: by_number[row.number], down=down)

    def _costs(self, values: list[list[float]]) -> NDArray[np.float64]:
        lower = [one["direction"] == "lower" for one in self.sweep.objectives]
        return turned(np.array(values, dtype=np.float64), lower)

    @cached_property
    def base(self) -> TrialRow | None:
        return next((row for row in self.rows if row.trial.origin == Origin.BASE), None)

    @property
    def front(self) -> list[TrialRow]:
        return [row for row in self.rows if row.front]

    @cached_property
    def best(self) -> TrialRow | None:
        """The recommended trial: the one of the front with the smallest distance."""
        known = [row for row in self.front if row.distance is not None]
        return min(known, key=lambda row: (row.distance or 0.0, row.number), default=None)

    @cached_property
    def shares(self) -> list[list[Share]]:
        """The shares by dimension and objective, over all trials within the space."""
        inside = [row for row in self.rows if self.space.holds(row.trial.point)]
        shape = len(inside), len(self.sweep.objectives)
        values = np.array([row.values for row in inside], dtype=np.float64).reshape(shape)
        return [
            [
                Share(share([row.trial.point[place] for row in inside], values[:, column], numeric=one.numeric))
                for column in range(values.shape[1])
            ]
            for place, one in enumerate(self.space.dimensions)
        ]

    @cached_property
    def curves(self) -> list[Curve]:
        """A curve for each dimension with at least two values."""
        found = (self._curve(place, one) for place, one in enumerate(self.space.dimensions))
        return [curve for curve in found if len(curve.values) > 1]

    def _curve(self, place: int, one: Dimension) -> Curve:
        points: list[tuple[Any, list[float], bool]] = []
        for row in self.rows:
            others = (at for at in range(len(self.start)) if at != place)
            if all(same(row.trial.point[at], self.start[at]) for at in others):
                points.append((row.trial.point[place], row.values, row.trial.origin == Origin.BASE))
        points = [point for point in points if point[0] is not None]
        if one.numeric and all(isinstance(value, int | float) for value, _, _ in points):
            points.sort(key=lambda point: float(point[0]))
        else:
            order = {str(value): number for number, value in enumerate(one.values())}
            points.sort(key=lambda point: order.get(str(point[0]), -1))
        base = next((at for at, point in enumerate(points) if point[2]), None)
        columns = [[values[at] for _, values, _ in points] for at in range(len(self.measures))]
        return Curve(one, [value for value, _, _ in points], columns, base)

    def text(self, row: TrialRow) -> list[str]:
        return [amount(measure, value) for measure, value in zip(self.measures, row.values, strict=True)]

    def against(self, row: TrialRow) -> list[str]:
        """The change of each objective from the base policy; "" if unknown."""
        if self.base is None or row is self.base:
            return ["" for _ in self.measures]
        pairs = zip(self.measures, row.values, self.base.values, strict=True)
        return [difference(measure, value - before) for measure, value, before in pairs]

    def settings(self, row: TrialRow) -> list[tuple[str, bool]]:
        """The trial's value of each dimension, and whether it differs from the base policy's."""
        pairs = zip(row.trial.point, self.start, strict=True)
        return [("–" if value is None else said(value), not same(value, before)) for value, before in pairs]

    def sentence(self) -> str:
        """The result so far in one sentence."""
        if self.best is None or self.base is None:
            return ""
        told = {"policy": self.sweep.label, "count": len(self.front), "trials": len(self.rows)}
        if len(self.measures) == 1:
            measure = self.measures[0]
            told |= {"measure": measure.label[0].lower() + measure.label[1:], "best": self.best.number}
            told |= {"before": amount(measure, self.base.values[0]), "now": amount(measure, self.best.values[0])}
            if self.base.front:
                return gettext("No trial is better than %(policy)s: %(measure)s stays at %(before)s") % told
            return gettext("Trial %(best)s brings %(measure)s from %(before)s to %(now)s") % told
        text = ngettext(
            "%(count)s of %(trials)s trials is on the front: no other trial is better in any objective",
            "%(count)s of %(trials)s trials are on the front: no other trial beats them in every objective",
            len(self.front),
        )
        if not self.base.front:
            return text % told
        return gettext("%(said)s; %(policy)s is one of them") % {**told, "said": text % told}


def said(value: Any) -> str:
    """A value of a dimension in readable form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def head(results: Results) -> list[str]:
    """The columns of an exported table."""
    return [*HEAD, *(one.path for one in results.space.dimensions), *(one["name"] for one in results.sweep.measures)]


def table(results: Results) -> list[list[object]]:
    """Every trial by number, with its point and the mean of each measure over the seeds."""
    members = {row.number for row in results.front}
    rows: list[list[object]] = []
    for trial in results.trials:
        means: list[object] = []
        for one in results.sweep.measures:
            values = [value for value in trial.values.get(one["name"], ()) if value is not None]
            means.append(sum(values) / len(values) if values else None)
        rows.append([trial.number, trial.origin, trial.state, trial.number in members, *trial.point, *means])
    return rows
