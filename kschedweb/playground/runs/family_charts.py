"""A chart for each family of measures, of one run or of several policies together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.engine.studies.measure import overtime
from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.occupancy import empty_nodes
from kschedweb.engine.studies.measure.registry import FRAGMENTATION, find_spec
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.playground.runs import charts
from kschedweb.playground.runs.charts import thinned
from kschedweb.playground.runs.comparisons import charts as comparison_charts
from kschedweb.playground.runs.families import ShownFamily, present
from kschedweb.playground.runs.measures import Measure, amount
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import ABOVE, Chart, figure, line_style
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_TIMES, MOST_LINES = 240, 12
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
INSTANT = 1e-4  # seconds; the beginning of a logarithmic axis


@dataclass(frozen=True)
class ChartedRun:
    """One policy's run: its label, its outcome, and its measures by name."""

    label: str
    outcome: Outcome
    measures: dict[str, Measure]


@dataclass(frozen=True)
class Series:
    """A step function: each of ``values`` holds from its time to the next; nan is a gap."""

    label: str
    times: Floats
    values: Floats
    faint: bool = False  # a secondary line
    side: int = 0  # the position of the policy, or of the workload, which determines the style
    mean: float | None = None  # over time, as the measure of the run says it


@dataclass(frozen=True)
class FamilyChart:
    family: ShownFamily
    measures: list[Measure]
    chart: Chart | None

    @property
    def follows(self) -> bool:
        """Whether the axis is virtual time."""
        return self.chart is not None and "scale" in self.chart.figure["layout"].get("meta", {})

    @property
    def nothing(self) -> str:
        """The text instead of an empty chart."""
        return _NOTHING.get(self.family.name) or gettext("There is nothing to show.")


def family_charts(listed: Sequence[ChartedRun], key: str = "cpu") -> list[FamilyChart]:
    """The families of the first run's measures, with their measures and charts.

    ``key`` is the shown resource, or "use-" and a resource; anything else means CPU.
    """
    first, named = listed[0].measures, key.removeprefix("use-")
    resource = named if named in listed[0].outcome.resources else "cpu"
    return [
        FamilyChart(
            family, [one for name, one in first.items() if family.holds(name)], _CHARTS[family.name](listed, resource)
        )
        for family in present(first)
    ]


def what(resource: str) -> str:
    """A resource in words."""
    return {"cpu": "CPU", "memory": gettext("memory")}.get(resource, resource)


def pending(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Waiting pods over time: by queue for one policy, in total for several."""
    if len(listed) > 1:
        return comparison_charts.pending([(one.label, one.outcome) for one in listed])
    return charts.pending(listed[0].outcome)


def waits(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """The share of pods that are bound within a time after their arrival."""
    data, rows, said = [], [], []
    for place, one in enumerate(listed):
        out = one.outcome
        tried = out.attempts > 0
        took = np.sort((out.bound - out.arrived)[tried & ~np.isnan(out.bound)])
        wanted = len(took) + len(out.pending)
        if not took.size:
            continue
        kept = thinned(len(took), MOST_TIMES)
        data.append(
            go.Scatter(
                name=one.label,
                x=np.maximum(took[kept], INSTANT).round(6).tolist(),
                y=[round(100 * (position + 1) / wanted, 2) for position in kept],
                hovertemplate=gettext("%(share)s %% within %(seconds)s s") % {"share": "%{y}", "seconds": "%{x}"},
                **line_style(place, len(kept), shape="hv"),
            )
        )
        at = [took[max(0, int(np.ceil(share * len(took))) - 1)] for share in QUANTILES]
        rows.append([one.label, *(format_duration(float(value)) for value in at), len(out.pending)])
        half, most = (format_duration(float(at[place])) for place in (2, 5))
        told = {"half": half, "most": most, "never": f"{len(out.pending):,}"}
        text = gettext("half within %(half)s, 99 %% within %(most)s")
        if len(out.pending):
            text = gettext("half within %(half)s, 99 %% within %(most)s; %(never)s never have one")
        said.append(_of(one, listed, text % told))
    if not data:
        return None
    layout = go.Layout(
        height=300,
        legend=ABOVE,
        hovermode="closest",
        showlegend=len(data) > 1,
        xaxis={"type": "log", "title": {"text": gettext("time from arrival to a node (seconds)")}, "dtick": 1},
        yaxis={"title": {"text": gettext("%% of pods") % {}}, "range": [0, 102], "automargin": True},
        margin={"t": 40 if len(data) > 1 else 12, "b": 50},
    )
    head = [
        gettext("Policy"),
        *(gettext("%(share)s %% of those placed") % {"share": f"{100 * share:g}"} for share in QUANTILES),
        gettext("Without a node (pods)"),
    ]
    summary = gettext("Pods get their node: %(said)s.") % {"said": gettext("; ").join(said)}
    return Chart(figure(data, layout), summary, head, rows)


def replicas(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """The pods that each scaled workload asks for, and those that are ready."""
    series, said = [], []
    for place, one in enumerate(listed):
        out = one.outcome
        for number, name in enumerate(out.scaled):
            looks = out.looks.of(number)
            kept = thinned(len(looks.time), MOST_TIMES)
            label = f"{name}{_under(one.label, listed)}"
            times, side = looks.time[kept], place if len(listed) > 1 else number
            series.append(Series(label, times, looks.replicas[kept].astype(np.float64), side=side))
            series.append(
                Series(
                    gettext("%(label)s, ready") % {"label": label},
                    times,
                    looks.ready[kept].astype(np.float64),
                    True,
                    side,
                )
            )
            ends = {"label": label, "least": f"{looks.replicas.min():,}", "most": f"{looks.replicas.max():,}"}
            said.append(gettext("%(label)s asks for %(least)s to %(most)s pods") % ends)
    return over_time(series, listed, gettext("pods"), _whole(said)) if series else None


def leaving(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Pods that were forced to leave so far, and those beyond their disruption budgets."""
    series, said = [], []
    for place, one in enumerate(listed):
        forced, guards = one.outcome.forced.time, one.outcome.guards
        series.append(_counted(one, one.label if len(listed) > 1 else gettext("had to leave"), forced, place))
        text = gettext("%(pods)s pods had to leave") % {"pods": f"{len(forced):,}"}
        if one.outcome.budgets:
            beyond = guards.time[guards.beyond > 0]
            named = gettext("beyond a budget")
            if len(listed) > 1:
                named = gettext("%(label)s, beyond a budget") % {"label": one.label}
            series.append(_counted(one, named, beyond, place, faint=True))
            both = {"pods": f"{len(forced):,}", "beyond": f"{len(beyond):,}"}
            text = gettext("%(pods)s pods had to leave, %(beyond)s beyond a budget") % both
        said.append(_of(one, listed, text))
    if not any(len(one.times) > 2 for one in series):
        return None
    return over_time(series, listed, gettext("pods so far"), _whole(said))


def _counted(one: ChartedRun, label: str, when: Floats, side: int, faint: bool = False) -> Series:
    times = np.sort(when)
    kept = thinned(len(times), MOST_TIMES)
    counts = np.arange(1, len(times) + 1, dtype=np.float64)[kept]
    ends = [0.0, *times[kept].tolist(), one.outcome.end], [0.0, *counts.tolist(), float(len(times))]
    return Series(label, np.array(ends[0]), np.array(ends[1]), faint, side)


def empty(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Empty nodes over time."""
    series = []
    for place, one in enumerate(listed):
        if one.outcome.nodes:
            times = _times(one.outcome, MOST_TIMES // 2)
            series.append(Series(one.label, times, empty_nodes(one.outcome, times).astype(np.float64), side=place))
    if not series:
        return None
    ends = [int(one.values[-1]) for one in series]
    said = ", ".join(f"{count:,}{_under(one.label, listed)}" for count, one in zip(ends, series, strict=True))
    summary = (
        gettext("Empty nodes at the end: %(said)s.") % {"said": said}
        if any(ends)
        else gettext("At the end no node is empty.")
    )
    return over_time(series, listed, gettext("empty nodes"), summary)


def evenness(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Skew and spread over the nodes of the requested share of a resource."""
    series: list[Series] = []
    for place, one in enumerate(listed):
        if resource in one.outcome.resources:
            times = _times(one.outcome)
            levels = 100.0 * one.outcome.loads(times, resource).astype(np.float64)
            series += _even(one, place, listed, times, levels, (f"skew_{resource}", f"spread_{resource}"))
    return _evenness(series, listed, gettext("requested %(resource)s") % {"resource": what(resource)})


def use(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Skew and spread of real use, of CPU or, if that is shown, memory."""
    series: list[Series] = []
    resource = "memory" if resource == "memory" else "cpu"
    for place, one in enumerate(listed):
        run = RunFigures(one.outcome)
        if run.use_times.size:
            kept = thinned(len(run.use_times), MOST_TIMES)
            names = f"use_skew_{resource}", f"use_spread_{resource}"
            series += _even(one, place, listed, run.use_times[kept], run.open_levels(resource)[kept], names)
    return _evenness(series, listed, gettext("use of memory") if resource == "memory" else gettext("use of CPU"))


def _even(
    one: ChartedRun, side: int, listed: Sequence[ChartedRun], times: Floats, levels: Floats, names: tuple[str, str]
) -> Iterator[Series]:
    """The lines of skew and spread, which are the measures ``names`` over time."""
    labels = gettext("skew"), gettext("spread")
    if len(listed) > 1:
        told = {"label": one.label}
        labels = gettext("%(label)s, skew") % told, gettext("%(label)s, spread") % told
    skew, spread = (found.value if (found := one.measures.get(name)) else None for name in names)
    yield Series(labels[0], times, overtime.skew(levels), mean=skew, side=side)
    yield Series(labels[1], times, overtime.spread(levels), faint=True, mean=spread, side=side)


def _evenness(series: Sequence[Series], listed: Sequence[ChartedRun], of: str) -> Chart | None:
    if all(np.isnan(one.values).all() for one in series):
        return None
    means = [f"{one.label} {one.mean:.1f}" for one in series if one.mean is not None]
    told = {"of": of, "said": gettext(", ").join(means)}
    summary = gettext("On average over time, in points of %(of)s: %(said)s.") % told
    return over_time(series, listed, gettext("percentage points"), summary)


def fragmentation(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Fragmentation at the end, by resource."""
    specs = [spec for name in listed[0].measures if (spec := find_spec(name)) and spec.family == FRAGMENTATION]
    names, resources = [spec.name for spec in specs], [what(spec.resource) for spec in specs]
    data: list[go.Bar | go.Scatter] = []
    rows: list[list[object]] = []
    for place, one in enumerate(listed):
        known = [one.measures.get(name) for name in names]
        values = [None if found is None else found.value for found in known]
        data.append(
            go.Bar(
                orientation="h",
                name=one.label,
                meta={"side": place},
                y=resources,
                x=[None if value is None else round(value, 2) for value in values],
                hovertemplate="%{y}: %{x} %",
            )
        )
        rows.append([one.label, *(amount(found, found.value) if found else None for found in known)])
    if all(value is None for trace in data for value in trace["x"]):
        return None
    layout = go.Layout(
        height=90 + 22 * len(names) * len(listed),
        barmode="group",
        legend={**ABOVE, "traceorder": "normal"},
        showlegend=len(listed) > 1,
        hovermode="closest",
        xaxis={"title": {"text": gettext("%% of what is free at the end") % {}}, "range": [0, 100]},
        yaxis={"autorange": "reversed", "automargin": True, "type": "category"},
        margin={"t": 40 if len(listed) > 1 else 12},
    )
    parts = [
        f"{resource} {_versus([one.measures.get(name) for one in listed])}"
        for name, resource in zip(names, resources, strict=True)
    ]
    head = [gettext("Policy"), *resources]
    return Chart(
        figure(data, layout),
        gettext("Free but unusable at the end: %(said)s.") % {"said": gettext("; ").join(parts)},
        head,
        rows,
    )


def _versus(values: Sequence[Measure | None]) -> str:
    return gettext(" against ").join(amount(one, one.value) if one else "–" for one in values)


def over_time(series: Sequence[Series], listed: Sequence[ChartedRun], unit: str, summary: str) -> Chart:
    """Lines over virtual time; the table has their values at MOST_LINES times."""
    end = max(one.outcome.end for one in listed)
    scale = TimeScale.of(end)
    data = []
    for one in series:
        data.append(
            go.Scatter(
                name=one.label,
                x=np.round(one.times / scale.seconds, 4).tolist(),
                y=[None if np.isnan(value) else round(float(value), 2) for value in one.values],
                hovertemplate="%{y}",
                **line_style(one.side, len(one.times), secondary=one.faint, shape="hv"),
            )
        )
    layout = go.Layout(
        height=300,
        hovermode="x unified",
        legend=ABOVE,
        showlegend=len(series) > 1,
        xaxis={**scale.axis(), "range": [0, end / scale.seconds or 1]},
        yaxis={"title": {"text": unit}, "rangemode": "tozero", "automargin": True},
        margin={"t": 60 if len(series) > 1 else 12, "b": 50},
        meta={"scale": scale.seconds},
    )
    at = np.linspace(0.0, end, MOST_LINES)
    rows: list[list[object]] = [[format_duration(time), *(_value(one, time) for one in series)] for time in at.tolist()]
    return Chart(figure(data, layout), summary, [gettext("Time"), *(f"{one.label} ({unit})" for one in series)], rows)


def _value(series: Series, time: float) -> float | None:
    place = int(np.searchsorted(series.times, time + 1e-9, side="right")) - 1
    if place < 0 or np.isnan(series.values[place]):
        return None
    return round(float(series.values[place]), 2)


def _times(outcome: Outcome, most: int = MOST_TIMES) -> Floats:
    return np.linspace(0.0, outcome.end, most)


def _of(one: ChartedRun, listed: Sequence[ChartedRun], text: str) -> str:
    """``text``, with the policy before it where there are several."""
    return gettext("%(label)s: %(text)s") % {"label": one.label, "text": text} if len(listed) > 1 else text


def _whole(said: Sequence[str]) -> str:
    """The parts as one sentence. It begins with a number or a name, which stays as it is."""
    return gettext("%(said)s.") % {"said": gettext("; ").join(said)}


def _under(label: str, listed: Sequence[ChartedRun]) -> str:
    return gettext(" under %(policy)s") % {"policy": label} if len(listed) > 1 else ""


_NOTHING = {
    "wait": _("No pod had to be scheduled."),
    "leaving": _("No pod had to leave its node."),
    "use": _("The scenario names no source of use, so nobody knows what nodes really use."),
}
_CHARTS: dict[str, Callable[[Sequence[ChartedRun], str], Chart | None]] = {
    "pending": pending,
    "wait": waits,
    "scaling": replicas,
    "leaving": leaving,
    "nodes": empty,
    "fragmentation": fragmentation,
    "requests": evenness,
    "use": use,
}
