"""A chart for each family of measures, of one run or of several policies together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from django.utils.translation import gettext

from kschedweb.engine.queueing.quota.amounts import UNLIMITED
from kschedweb.engine.simulation.quota_queues.reports import JobStep
from kschedweb.engine.studies.actors.queues.figures import count_waiting, find_log, sample_levels
from kschedweb.engine.studies.measure import overtime
from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.groups import FRAGMENTATION
from kschedweb.engine.studies.measure.occupancy import empty_nodes
from kschedweb.engine.studies.measure.registry import find_spec
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.playground.runs import charts
from kschedweb.playground.runs.charts import thin_positions
from kschedweb.playground.runs.comparisons import charts as comparison_charts
from kschedweb.playground.runs.families import ShownFamily, present_families
from kschedweb.playground.runs.measures import RunMeasure, format_amount
from kschedweb.playground.runs.time_scale import TimeScale
from kschedweb.web.durations import format_duration
from kschedweb.web.figures import ABOVE, Chart, line_style, make_figure
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Points of a line, and rows of a chart's table.
MOST_TIMES, MOST_LINES = 240, 12
# Columns of the table of waits; 0.5 and 0.99 are also in the sentence, by their positions.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
# Seconds; the beginning of a logarithmic axis, which has no zero.
INSTANT = 1e-4


@dataclass(frozen=True)
class ChartedRun:
    """A policy's run with its label and outcome."""

    label: str
    outcome: RunOutcome
    # Measures by name.
    measures: dict[str, RunMeasure]


@dataclass(frozen=True)
class StepSeries:
    """A step function: each value holds from its time to the next one."""

    label: str
    # Seconds in the simulation, ascending.
    times: Floats
    # nan is a gap.
    values: Floats
    # True for a secondary line.
    faint: bool = False
    # Position of the policy, or of the workload, which determines the style.
    side: int = 0
    # Mean over time, as the measure of the run has it.
    mean: float | None = None


@dataclass(frozen=True)
class FamilyChart:
    """A family of measures with its chart."""

    family: ShownFamily
    measures: list[RunMeasure]
    # None if there is nothing to draw.
    chart: Chart | None

    @property
    def follows(self) -> bool:
        """True if its axis is virtual time, so that the player can move a line over it."""
        return self.chart is not None and "scale" in self.chart.figure["layout"].get("meta", {})

    @property
    def nothing(self) -> str:
        """The text in place of an empty chart."""
        return _NOTHING.get(self.family.name) or gettext("There is nothing to show.")


def family_charts(listed: Sequence[ChartedRun], key: str = "cpu") -> list[FamilyChart]:
    """Return the families of the first run's measures, with their measures and charts.

    ``key`` is the shown resource, or "use-" and a resource; anything else means CPU.
    """
    first, key_resource = listed[0].measures, key.removeprefix("use-")
    resource = key_resource if key_resource in listed[0].outcome.resources else "cpu"
    return [
        FamilyChart(
            family,
            [measure for name, measure in first.items() if family.has_measure(name)],
            _CHARTS[family.name](listed, resource),
        )
        for family in present_families(first)
    ]


def resource_label(resource: str) -> str:
    """Return the name of a resource as it stands in a sentence."""
    return {"cpu": "CPU", "memory": gettext("memory")}.get(resource, resource)


def pending_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw waiting pods over time: by queue for one policy, in total for several."""
    if len(listed) > 1:
        return comparison_charts.pending_chart([(charted.label, charted.outcome) for charted in listed])
    return charts.pending_chart(listed[0].outcome)


def waits_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw the share of pods that are bound within a time after their arrival."""
    data, rows, parts = [], [], []
    for place, charted in enumerate(listed):
        out = charted.outcome
        attempted = out.attempts > 0
        took = np.sort((out.bound - out.arrived)[attempted & ~np.isnan(out.bound)])
        # Pods that never got a node count, so that the line ends below 100 %.
        total = len(took) + len(out.pending)
        if not took.size:
            continue
        positions = thin_positions(len(took), MOST_TIMES)
        data.append(
            go.Scatter(
                name=charted.label,
                x=np.maximum(took[positions], INSTANT).round(6).tolist(),
                y=[round(100 * (position + 1) / total, 2) for position in positions],
                hovertemplate=gettext("%(share)s %% within %(seconds)s s") % {"share": "%{y}", "seconds": "%{x}"},
                **line_style(place, len(positions), shape="hv"),
            )
        )
        at = [took[max(0, int(np.ceil(share * len(took))) - 1)] for share in QUANTILES]
        rows.append([charted.label, *(format_duration(float(value)) for value in at), len(out.pending)])
        # Positions of 0.5 and 0.99 in QUANTILES.
        half, p99 = (format_duration(float(at[place])) for place in (2, 5))
        args = {"half": half, "most": p99, "never": f"{len(out.pending):,}"}
        text = gettext("half within %(half)s, 99 %% within %(most)s")
        if len(out.pending):
            text = gettext("half within %(half)s, 99 %% within %(most)s; %(never)s never have one")
        parts.append(_with_label(charted, listed, text % args))
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
    summary = gettext("Pods get their node: %(said)s.") % {"said": gettext("; ").join(parts)}
    return Chart(make_figure(data, layout), summary, head, rows)


def replicas_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw the pods that each scaled workload asks for, and those that are ready."""
    series, parts = [], []
    for place, charted in enumerate(listed):
        out = charted.outcome
        for number, name in enumerate(out.scaled):
            looks = out.looks.for_workload(number)
            positions = thin_positions(len(looks.time), MOST_TIMES)
            label = f"{name}{_under_label(charted.label, listed)}"
            times, side = looks.time[positions], place if len(listed) > 1 else number
            series.append(StepSeries(label, times, looks.replicas[positions].astype(np.float64), side=side))
            series.append(
                StepSeries(
                    gettext("%(label)s, ready") % {"label": label},
                    times,
                    looks.ready[positions].astype(np.float64),
                    True,
                    side,
                )
            )
            ends = {"label": label, "least": f"{looks.replicas.min():,}", "most": f"{looks.replicas.max():,}"}
            parts.append(gettext("%(label)s asks for %(least)s to %(most)s pods") % ends)
    return over_time(series, listed, gettext("pods"), _join_sentences(parts)) if series else None


def leaving_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw the pods that were forced to leave so far, and those beyond their disruption budgets."""
    series, parts = [], []
    for place, charted in enumerate(listed):
        forced, guards = charted.outcome.forced_moves.time, charted.outcome.guards
        series.append(
            _cumulative_series(charted, charted.label if len(listed) > 1 else gettext("had to leave"), forced, place)
        )
        text = gettext("%(pods)s pods had to leave") % {"pods": f"{len(forced):,}"}
        if charted.outcome.budgets:
            beyond = guards.time[guards.beyond > 0]
            label = gettext("beyond a budget")
            if len(listed) > 1:
                label = gettext("%(label)s, beyond a budget") % {"label": charted.label}
            series.append(_cumulative_series(charted, label, beyond, place, faint=True))
            both = {"pods": f"{len(forced):,}", "beyond": f"{len(beyond):,}"}
            text = gettext("%(pods)s pods had to leave, %(beyond)s beyond a budget") % both
        parts.append(_with_label(charted, listed, text))
    # Every line has a point at the beginning and at the end.
    if not any(len(line.times) > 2 for line in series):
        return None
    return over_time(series, listed, gettext("pods so far"), _join_sentences(parts))


def _cumulative_series(charted: ChartedRun, label: str, when: Floats, side: int, faint: bool = False) -> StepSeries:
    times = np.sort(when)
    positions = thin_positions(len(times), MOST_TIMES)
    counts = np.arange(1, len(times) + 1, dtype=np.float64)[positions]
    # The line begins at 0 and goes on to the end of the run.
    ends = [0.0, *times[positions].tolist(), charted.outcome.end], [0.0, *counts.tolist(), float(len(times))]
    return StepSeries(label, np.array(ends[0]), np.array(ends[1]), faint, side)


def empty_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw empty nodes over time."""
    series = []
    for place, charted in enumerate(listed):
        if charted.outcome.nodes:
            times = _sample_times(charted.outcome, MOST_TIMES // 2)
            series.append(
                StepSeries(charted.label, times, empty_nodes(charted.outcome, times).astype(np.float64), side=place)
            )
    if not series:
        return None
    ends = [int(line.values[-1]) for line in series]
    counts_text = ", ".join(
        f"{count:,}{_under_label(line.label, listed)}" for count, line in zip(ends, series, strict=True)
    )
    summary = (
        gettext("Empty nodes at the end: %(said)s.") % {"said": counts_text}
        if any(ends)
        else gettext("At the end no node is empty.")
    )
    return over_time(series, listed, gettext("empty nodes"), summary)


def evenness_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw skew and spread of the requested share of a resource over the nodes."""
    series: list[StepSeries] = []
    for place, charted in enumerate(listed):
        if resource in charted.outcome.resources:
            times = _sample_times(charted.outcome)
            levels = 100.0 * charted.outcome.requested_shares(times, resource).astype(np.float64)
            series += _skew_and_spread(
                charted, place, listed, times, levels, (f"skew_{resource}", f"spread_{resource}")
            )
    return _evenness_figure(series, listed, gettext("requested %(resource)s") % {"resource": resource_label(resource)})


def use_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw skew and spread of real use: of memory if that is shown, or else of CPU."""
    series: list[StepSeries] = []
    resource = "memory" if resource == "memory" else "cpu"
    for place, charted in enumerate(listed):
        run = RunFigures(charted.outcome)
        if run.use_times.size:
            positions = thin_positions(len(run.use_times), MOST_TIMES)
            names = f"use_skew_{resource}", f"use_spread_{resource}"
            series += _skew_and_spread(
                charted, place, listed, run.use_times[positions], run.open_levels(resource)[positions], names
            )
    return _evenness_figure(series, listed, gettext("use of memory") if resource == "memory" else gettext("use of CPU"))


def _skew_and_spread(
    charted: ChartedRun, side: int, listed: Sequence[ChartedRun], times: Floats, levels: Floats, names: tuple[str, str]
) -> Iterator[StepSeries]:
    """Yield the lines of skew and spread, which are the measures ``names`` over time."""
    labels = gettext("skew"), gettext("spread")
    if len(listed) > 1:
        args = {"label": charted.label}
        labels = gettext("%(label)s, skew") % args, gettext("%(label)s, spread") % args
    skew, spread = (measure.value if (measure := charted.measures.get(name)) else None for name in names)
    yield StepSeries(labels[0], times, overtime.compute_skew(levels), mean=skew, side=side)
    yield StepSeries(labels[1], times, overtime.compute_spread(levels), faint=True, mean=spread, side=side)


def _evenness_figure(series: Sequence[StepSeries], listed: Sequence[ChartedRun], quantity: str) -> Chart | None:
    if all(np.isnan(line.values).all() for line in series):
        return None
    means = [f"{line.label} {line.mean:.1f}" for line in series if line.mean is not None]
    args = {"of": quantity, "said": gettext(", ").join(means)}
    summary = gettext("On average over time, in points of %(of)s: %(said)s.") % args
    return over_time(series, listed, gettext("percentage points"), summary)


def fragmentation_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw fragmentation at the end, by resource."""
    specs = [spec for name in listed[0].measures if (spec := find_spec(name)) and spec.family == FRAGMENTATION]
    names, resources = [spec.name for spec in specs], [resource_label(spec.member) for spec in specs]
    data: list[go.Bar | go.Scatter] = []
    rows: list[list[object]] = []
    for place, charted in enumerate(listed):
        measures = [charted.measures.get(name) for name in names]
        values = [None if measure is None else measure.value for measure in measures]
        data.append(
            go.Bar(
                orientation="h",
                name=charted.label,
                meta={"side": place},
                y=resources,
                x=[None if value is None else round(value, 2) for value in values],
                hovertemplate="%{y}: %{x} %",
            )
        )
        rows.append(
            [charted.label, *(format_amount(measure, measure.value) if measure else None for measure in measures)]
        )
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
        f"{resource} {_format_versus([charted.measures.get(name) for charted in listed])}"
        for name, resource in zip(names, resources, strict=True)
    ]
    head = [gettext("Policy"), *resources]
    return Chart(
        make_figure(data, layout),
        gettext("Free but unusable at the end: %(said)s.") % {"said": gettext("; ").join(parts)},
        head,
        rows,
    )


def _format_versus(values: Sequence[RunMeasure | None]) -> str:
    return gettext(" against ").join(format_amount(measure, measure.value) if measure else "–" for measure in values)


def waiting_jobs_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw the jobs that wait for quota over time: by queue for one policy, in total for several."""
    series, parts = [], []
    for place, charted in enumerate(listed):
        log = find_log(charted.outcome)
        if log is None or not log.jobs:
            continue
        names = sorted(log.queues) if len(listed) == 1 else [""]
        for number, name in enumerate(names):
            times, counts = count_waiting(log, name)
            side = number if len(listed) == 1 else place
            series.append(_step_line(charted, name or charted.label, times, counts.astype(np.float64), side))
            peak = f"{int(counts.max(initial=0)):,}"
            parts.append(gettext("%(label)s: at most %(most)s jobs") % {"label": name or charted.label, "most": peak})
    if not series:
        return None
    summary = gettext("Jobs that wait for quota. %(said)s.") % {"said": gettext("; ").join(parts)}
    return over_time(series, listed, gettext("jobs"), summary)


def evicted_jobs_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw the jobs that lost their quota so far."""
    series, parts = [], []
    for place, charted in enumerate(listed):
        log = find_log(charted.outcome)
        if log is None:
            continue
        times = log.time[log.step == JobStep.EVICTED]
        label = charted.label if len(listed) > 1 else gettext("lost their quota")
        series.append(_cumulative_series(charted, label, times, place))
        text = gettext("%(jobs)s times a job lost its quota") % {"jobs": f"{len(times):,}"}
        parts.append(_with_label(charted, listed, text))
    if not any(len(line.times) > 2 for line in series):
        return None
    return over_time(series, listed, gettext("jobs so far"), _join_sentences(parts))


def quota_chart(listed: Sequence[ChartedRun], resource: str) -> Chart | None:
    """Draw the used quota of a resource over time, and the nominal: by queue for one policy, in total for several."""
    series, parts = [], []
    for place, charted in enumerate(listed):
        log = find_log(charted.outcome)
        if log is None or resource not in log.resources:
            continue
        lines = np.flatnonzero((log.line_resource == log.resources.index(resource)) & (log.nominal < UNLIMITED))
        times, levels = sample_levels(log)
        queues = sorted({int(code) for code in log.line_queue[lines]}, key=lambda code: log.queues[code])
        groups = [(log.queues[code], lines[log.line_queue[lines] == code]) for code in queues]
        if len(listed) > 1:
            groups = [(charted.label, lines)]
        for number, (label, rows) in enumerate(groups):
            side = number if len(listed) == 1 else place
            used, nominal = levels[:, rows].sum(axis=1), int(log.nominal[rows].sum())
            amounts = [_write_quota(resource, amount) for amount in (int(used.max(initial=0)), nominal)]
            series.append(_step_line(charted, label, times, _scale_quota(resource, used), side))
            faint = gettext("%(label)s, nominal") % {"label": label}
            whole = _scale_quota(resource, np.full(2, nominal))
            series.append(StepSeries(faint, np.array([0.0, charted.outcome.end]), whole, True, side))
            values = {"label": label, "used": amounts[0], "nominal": amounts[1]}
            parts.append(gettext("%(label)s: at most %(used)s of %(nominal)s") % values)
    if not series:
        return None
    words = {"resource": resource_label(resource), "said": gettext("; ").join(parts)}
    unit = {"cpu": gettext("cores"), "memory": "GiB"}.get(resource, resource)
    return over_time(series, listed, unit, gettext("Used quota of %(resource)s. %(said)s.") % words)


def _scale_quota(resource: str, amounts: NDArray[np.int64]) -> Floats:
    """Return amounts of quota in the unit of a chart."""
    divisor = {"cpu": 1000.0, "memory": float(1 << 30)}.get(resource, 1.0)
    scaled: Floats = amounts / divisor
    return scaled


def _write_quota(resource: str, amount: int) -> str:
    value = float(_scale_quota(resource, np.array([amount]))[0])
    return f"{value:,.1f}".removesuffix(".0")


def _step_line(charted: ChartedRun, label: str, times: Floats, values: Floats, side: int) -> StepSeries:
    """Return a line from the beginning of the run to its end, thinned."""
    positions = thin_positions(len(times), MOST_TIMES)
    begins = not len(times) or times[0] > 0.0
    at = [*([0.0] if begins else []), *times[positions].tolist(), charted.outcome.end]
    levels = [*([0.0] if begins else []), *values[positions].tolist(), float(values[-1]) if len(values) else 0.0]
    return StepSeries(label, np.array(at), np.array(levels), side=side)


def over_time(series: Sequence[StepSeries], listed: Sequence[ChartedRun], unit: str, summary: str) -> Chart:
    """Draw lines over virtual time; the table has their values at MOST_LINES times."""
    end = max(charted.outcome.end for charted in listed)
    scale = TimeScale.for_end(end)
    data = []
    for line in series:
        data.append(
            go.Scatter(
                name=line.label,
                x=np.round(line.times / scale.seconds, 4).tolist(),
                y=[None if np.isnan(value) else round(float(value), 2) for value in line.values],
                hovertemplate="%{y}",
                **line_style(line.side, len(line.times), secondary=line.faint, shape="hv"),
            )
        )
    layout = go.Layout(
        height=300,
        hovermode="x unified",
        legend=ABOVE,
        showlegend=len(series) > 1,
        xaxis={**scale.axis_layout(), "range": [0, end / scale.seconds or 1]},
        yaxis={"title": {"text": unit}, "rangemode": "tozero", "automargin": True},
        margin={"t": 60 if len(series) > 1 else 12, "b": 50},
        meta={"scale": scale.seconds},
    )
    at = np.linspace(0.0, end, MOST_LINES)
    rows: list[list[object]] = [
        [format_duration(time), *(_value_at(line, time) for line in series)] for time in at.tolist()
    ]
    return Chart(
        make_figure(data, layout), summary, [gettext("Time"), *(f"{line.label} ({unit})" for line in series)], rows
    )


def _value_at(series: StepSeries, time: float) -> float | None:
    # The small addend makes up for times that linspace rounds down.
    place = int(np.searchsorted(series.times, time + 1e-9, side="right")) - 1
    if place < 0 or np.isnan(series.values[place]):
        return None
    return round(float(series.values[place]), 2)


def _sample_times(outcome: RunOutcome, limit: int = MOST_TIMES) -> Floats:
    return np.linspace(0.0, outcome.end, limit)


def _with_label(charted: ChartedRun, listed: Sequence[ChartedRun], text: str) -> str:
    """Return ``text``, with the policy before it if there are several."""
    return gettext("%(label)s: %(text)s") % {"label": charted.label, "text": text} if len(listed) > 1 else text


def _join_sentences(parts: Sequence[str]) -> str:
    """Join the parts to one sentence. It begins with a number or a name, which stays as it is."""
    return gettext("%(said)s.") % {"said": gettext("; ").join(parts)}


def _under_label(label: str, listed: Sequence[ChartedRun]) -> str:
    return gettext(" under %(policy)s") % {"policy": label} if len(listed) > 1 else ""


_NOTHING = {
    "wait": _("No pod had to be scheduled."),
    "leaving": _("No pod had to leave its node."),
    "queue_wait": _("No job had to queue."),
    "queue_evictions": _("No job lost its quota."),
    "quota": _("No queue has a quota of this resource."),
    "use": _("The scenario names no source of use, so nobody knows what nodes really use."),
}
_CHARTS: dict[str, Callable[[Sequence[ChartedRun], str], Chart | None]] = {
    "pending": pending_chart,
    "wait": waits_chart,
    "scaling": replicas_chart,
    "leaving": leaving_chart,
    "nodes": empty_chart,
    "fragmentation": fragmentation_chart,
    "requests": evenness_chart,
    "queue_wait": waiting_jobs_chart,
    "queue_evictions": evicted_jobs_chart,
    "quota": quota_chart,
    "use": use_chart,
}
