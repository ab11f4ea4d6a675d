"""Results of a sweep so far as plain data: the front, sensitivities, and curves of single dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from kschedweb.engine.studies.search.front import compute_distances, find_pareto_front, to_costs
from kschedweb.engine.studies.search.sensitivity import explained_share
from kschedweb.engine.studies.search.space import Dimension, is_same_value
from kschedweb.playground.runs.measures import RunMeasure, format_amount, format_difference, translate_measure
from kschedweb.playground.runs.rows import sort_rows
from kschedweb.playground.sweeps import selectors
from kschedweb.playground.sweeps.models import Origin, Sweep, Trial, TrialState

if TYPE_CHECKING:
    from numpy.typing import NDArray

# First columns of an exported table.
HEAD = ("trial", "origin", "state", "front")


@dataclass(frozen=True)
class TrialRow:
    """A finished trial."""

    trial: Trial
    # Mean of each objective over the seeds.
    values: list[float]
    # True if no other trial is better in every objective.
    front: bool
    # Distance from the best of every objective at once, 0 to 1; None outside the front.
    distance: float | None

    @property
    def number(self) -> int:
        return self.trial.number


@dataclass(frozen=True)
class Share:
    """The share of an objective's variance that a dimension explains."""

    # From 0 to 1; None with too few trials.
    value: float | None

    @property
    def text(self) -> str:
        return "–" if self.value is None else f"{100 * self.value:.0f} %"

    @property
    def width(self) -> str:
        return f"{100 * (self.value or 0.0):.1f}%"


@dataclass(frozen=True)
class DimensionCurve:
    """The objectives where one dimension is changed alone."""

    dimension: Dimension
    # Values of the dimension, in order.
    values: list[Any]
    # For each objective, its value at each value of the dimension.
    rows: list[list[float]]
    # Index of the base policy in ``values``.
    base: int | None


class Results:
    """The results of a sweep, computed from all of its trials when they are asked for."""

    def __init__(self, sweep: Sweep, trials: Sequence[Trial]) -> None:
        self.sweep, self.trials = sweep, list(trials)
        self.space = selectors.load_space(sweep)
        self.start = self.space.base_point

    @cached_property
    def measures(self) -> list[RunMeasure]:
        """The objectives as measures without values, in order, with the chosen directions."""
        described = {entry["name"]: entry for entry in self.sweep.measures}
        measures = []
        for objective in self.sweep.objectives:
            usual = selectors.get_objective(objective["measure"])
            # Until the base policy's trial is done, names and units come from the list of objectives.
            fields = described.get(objective["measure"]) or {
                "name": objective["measure"],
                "label": usual.label if usual else objective["measure"],
                "unit": usual.unit_in("") if usual else "",
                "sentence": usual.sentence if usual else "",
            }
            measures.append(
                translate_measure(RunMeasure(**{**fields, "direction": objective["direction"]}, value=None))
            )
        return measures

    @cached_property
    def rows(self) -> list[TrialRow]:
        """The finished trials, best first: by the objective, or with several objectives the front before the others."""
        finished = [
            (trial, selectors.objective_means(self.sweep, trial))
            for trial in self.trials
            if trial.state == TrialState.FINISHED
        ]
        scored = [(trial, values) for trial, values in finished if values is not None]
        if not scored:
            return []
        costs = self._turn_costs([values for _, values in scored])
        members = find_pareto_front(costs)
        far = compute_distances(costs, members)
        rows = [
            TrialRow(trial, values, bool(members[place]), None if np.isnan(far[place]) else float(far[place]))
            for place, (trial, values) in enumerate(scored)
        ]
        order = sorted(range(len(rows)), key=lambda at: (not rows[at].front, *costs[at].tolist(), rows[at].number))
        return [rows[place] for place in order]

    def list_rows(self, ordering: str) -> list[TrialRow]:
        """Return ``rows`` sorted by "trial", "distance", "objective-N" or "dimension-N", descending after a "-"."""
        key, down = ordering.removeprefix("-"), ordering.startswith("-")
        columns: dict[str, list[Any]] = {
            "trial": [row.number for row in self.rows],
            "distance": [row.distance for row in self.rows],
            **{f"objective-{at}": [row.values[at] for row in self.rows] for at in range(len(self.measures))},
            **{f"dimension-{at}": [row.trial.point[at] for row in self.rows] for at in range(len(self.start))},
        }
        # An unknown order comes from a hand-written address; the usual order is shown.
        if key not in columns:
            return self.rows
        by_number = dict(zip(columns["trial"], columns[key], strict=True))
        return sort_rows(self.rows, lambda row: by_number[row.number], down=down)

    def _turn_costs(self, values: list[list[float]]) -> NDArray[np.float64]:
        lower = [objective["direction"] == "lower" for objective in self.sweep.objectives]
        # Objectives where higher is better are negated, so that lower is better in every column.
        return to_costs(np.array(values, dtype=np.float64), lower)

    @cached_property
    def base(self) -> TrialRow | None:
        return next((row for row in self.rows if row.trial.origin == Origin.BASE), None)

    @property
    def front(self) -> list[TrialRow]:
        return [row for row in self.rows if row.front]

    @cached_property
    def best(self) -> TrialRow | None:
        """The recommended trial: that of the front with the smallest distance."""
        ranked = [row for row in self.front if row.distance is not None]
        return min(ranked, key=lambda row: (row.distance or 0.0, row.number), default=None)

    @cached_property
    def shares(self) -> list[list[Share]]:
        """The shares by dimension and objective, over all trials within the space."""
        # The base policy may lie outside the space, and would count as a value of its own.
        inside = [row for row in self.rows if self.space.can_hold(row.trial.point)]
        shape = len(inside), len(self.sweep.objectives)
        values = np.array([row.values for row in inside], dtype=np.float64).reshape(shape)
        return [
            [
                Share(
                    explained_share(
                        [row.trial.point[place] for row in inside], values[:, column], numeric=dimension.is_numeric
                    )
                )
                for column in range(values.shape[1])
            ]
            for place, dimension in enumerate(self.space.dimensions)
        ]

    @cached_property
    def curves(self) -> list[DimensionCurve]:
        """A curve for each dimension with at least two values."""
        # A curve needs two points.
        curves = (self._build_curve(place, dimension) for place, dimension in enumerate(self.space.dimensions))
        return [curve for curve in curves if len(curve.values) > 1]

    def _build_curve(self, place: int, dimension: Dimension) -> DimensionCurve:
        """Return the points that differ from the base policy in one dimension at most."""
        points: list[tuple[Any, list[float], bool]] = []
        for row in self.rows:
            # A point belongs to the curve if every other dimension is as in the base policy.
            other_places = (at for at in range(len(self.start)) if at != place)
            if all(is_same_value(row.trial.point[at], self.start[at]) for at in other_places):
                points.append((row.trial.point[place], row.values, row.trial.origin == Origin.BASE))
        points = [point for point in points if point[0] is not None]
        if dimension.is_numeric and all(isinstance(value, int | float) for value, _, _ in points):
            points.sort(key=lambda point: float(point[0]))
        else:
            order = {str(value): number for number, value in enumerate(dimension.values())}
            points.sort(key=lambda point: order.get(str(point[0]), -1))
        base = next((at for at, point in enumerate(points) if point[2]), None)
        columns = [[values[at] for _, values, _ in points] for at in range(len(self.measures))]
        return DimensionCurve(dimension, [value for value, _, _ in points], columns, base)

    def format_values(self, row: TrialRow) -> list[str]:
        return [format_amount(measure, value) for measure, value in zip(self.measures, row.values, strict=True)]

    def against_base(self, row: TrialRow) -> list[str]:
        """Return the change of each objective from the base policy; "" where it is unknown."""
        if self.base is None or row is self.base:
            return ["" for _ in self.measures]
        pairs = zip(self.measures, row.values, self.base.values, strict=True)
        return [format_difference(measure, value - before) for measure, value, before in pairs]

    def list_settings(self, row: TrialRow) -> list[tuple[str, bool]]:
        """Return the trial's value of each dimension, and whether it differs from the base policy's."""
        pairs = zip(row.trial.point, self.start, strict=True)
        return [
            ("–" if value is None else format_value(value), not is_same_value(value, before)) for value, before in pairs
        ]

    def sentence(self) -> str:
        """Return the result so far in one sentence."""
        if self.best is None or self.base is None:
            return ""
        args = {"policy": self.sweep.label, "count": len(self.front), "trials": len(self.rows)}
        if len(self.measures) == 1:
            measure = self.measures[0]
            args |= {"measure": measure.label[0].lower() + measure.label[1:], "best": self.best.number}
            args |= {
                "before": format_amount(measure, self.base.values[0]),
                "now": format_amount(measure, self.best.values[0]),
            }
            if self.base.front:
                return gettext("No trial is better than %(policy)s: %(measure)s stays at %(before)s") % args
            return gettext("Trial %(best)s brings %(measure)s from %(before)s to %(now)s") % args
        text = gettext("Best trade-offs: %(count)s of %(trials)s trials")
        if not self.base.front:
            return text % args
        return gettext("%(said)s; %(policy)s is one of them") % {**args, "said": text % args}


def format_value(value: Any) -> str:
    """Return a value of a dimension in readable form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def export_head(results: Results) -> list[str]:
    """Return the column names of an exported table."""
    return [
        *HEAD,
        *(dimension.path for dimension in results.space.dimensions),
        *(measure["name"] for measure in results.sweep.measures),
    ]


def export_rows(results: Results) -> list[list[object]]:
    """Return every trial by number, with its point and the mean of each measure over the seeds."""
    members = {row.number for row in results.front}
    rows: list[list[object]] = []
    for trial in results.trials:
        means: list[object] = []
        for measure in results.sweep.measures:
            values = [value for value in trial.values.get(measure["name"], ()) if value is not None]
            means.append(sum(values) / len(values) if values else None)
        rows.append([trial.number, trial.origin, trial.state, trial.number in members, *trial.point, *means])
    return rows
