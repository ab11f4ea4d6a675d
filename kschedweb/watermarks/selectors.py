"""Reads collected figures. Everyone who is signed in sees them.

- ``source_get(cluster)``: the settings, and how the last run went.
- ``current_watermarks(cluster, at=None)``: the engine's ``Watermarks`` as they were known at a time, now without one.
- ``daily_curves(cluster, at=None)``: the workloads' curves of the day, as known at a time.
- ``load_table(cluster, kind, at=None)``: the same for nodes or workloads with the age of every single value.
- ``load_history(cluster, kind, resource, statistic, start, end, points)``: one figure of all objects over time.
- ``load_collected(cluster, start, end)``: the engine's ``CollectedWatermarks``, all figures over time.
- ``load_freshness(cluster, now)``: how old the figures are, and what was wrong.
- ``figures_version(cluster, at=None)``: changes whenever ``current_watermarks`` may answer differently; for caches.

Times are seconds of the epoch. Nodes are in percent of allocatable, workloads in cores and bytes a pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from uuid import UUID

import numpy as np
from django.db.models import Max, QuerySet
from numpy.typing import NDArray

from kschedweb.clusters.models import Cluster
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.watermarks.collected_watermarks import MOST_TIMES, MOST_VALUES, CollectedWatermarks
from kschedweb.engine.state.watermarks.curves import learn_curves
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.watermarks.figures import KINDS, MAXIMA, NODE, NOW, STATISTICS, WORKLOAD, Figure
from kschedweb.watermarks.models import Resolution, Sample, Series, WatermarkSource
from kschedweb.watermarks.storage import combine_rows, names_of, unpack_values

# Seconds; a missing value is taken from samples up to this much older.
CARRIED = 900
# Workloads that a collection over time keeps in any case, before removed ones are left out.
MANY = 500
FINEST_FIRST = tuple(Resolution)
# The curves of the day are means of this figure over hours.
CURVE = Figure(WORKLOAD, "cpu", "15m")
# An eighth day would count less than a hundredth.
CURVE_DAYS = 7


def source_get(cluster: Cluster) -> WatermarkSource:
    """Return the source of ``cluster``; an unsaved one of kind ``none`` if there is none."""
    source = WatermarkSource.objects.select_related("cluster").filter(cluster=cluster).first()
    return source or WatermarkSource(cluster=cluster)


@dataclass(frozen=True)
class Table:
    """The figures of all nodes or all workloads at one time."""

    kind: str
    names: tuple[str, ...]
    # By (resource, statistic), a value for each object; NaN: unknown.
    figures: dict[tuple[str, str], Floats]
    # When each value was collected, in seconds of the epoch; NaN: unknown.
    times: dict[tuple[str, str], Floats]
    origin: str
    # The newest sample's time.
    at: float

    @property
    def updated(self) -> Floats:
        """The time of each object's oldest value; NaN without values. Shape [objects]."""
        oldest = np.full(len(self.names), np.inf)
        for times in self.times.values():
            oldest = np.fmin(oldest, times)
        return np.where(np.isinf(oldest), np.nan, oldest)


def load_table(cluster: Cluster, kind: str, at: float | None = None) -> Table | None:
    """Return the figures of the objects of ``kind`` at ``at`` (seconds of the epoch; ``None``: now).

    A missing value comes from a sample up to 15 minutes older, with that time. ``None`` if nothing was collected.
    """
    series = {row.pk: (row.resource, row.statistic) for row in Series.objects.filter(cluster=cluster, kind=kind)}
    for resolution in FINEST_FIRST:
        rows = Sample.objects.filter(series__in=series, resolution=resolution)
        if at is not None:
            rows = rows.filter(at__lte=int(at))
        newest = rows.aggregate(at=Max("at"))["at"]
        if newest is not None:
            return _build_table(kind, series, rows.filter(at__gt=newest - CARRIED), newest)
    return None


def _build_table(kind: str, series: dict[int, tuple[str, str]], rows: QuerySet[Sample], newest: int) -> Table:
    first = list(rows.filter(at=newest))
    members = first[0].members_id
    names = names_of(members)
    figures: dict[tuple[str, str], Floats] = {}
    times: dict[tuple[str, str], Floats] = {}
    for row in first:
        key = series[row.series_id]
        figures[key] = unpack_values(row.values).astype(np.float64)
        times[key] = np.where(np.isnan(figures[key]), np.nan, float(newest))
    lacking = len(figures) < len(series) or any(np.isnan(values).any() for values in figures.values())
    if lacking:
        for row in rows.filter(at__lt=newest).order_by("-at"):
            key = series[row.series_id]
            values = figures.setdefault(key, np.full(len(names), np.nan))
            moments = times.setdefault(key, np.full(len(names), np.nan))
            older = _align_values(unpack_values(row.values), row.members_id, members)
            filled = np.isnan(values) & ~np.isnan(older)
            values[filled] = older[filled]
            moments[filled] = row.at
    return Table(kind, names, figures, times, first[0].origin, float(newest))


def _align_values(values: NDArray[np.float32], members: UUID, target: UUID) -> Floats:
    """Return ``values`` of one set of objects in the order of another; NaN for objects that it does not have."""
    if members == target:
        return values.astype(np.float64)
    places = _member_positions(members, target)
    # A place of -1 takes the NaN at the end.
    padded = np.append(values.astype(np.float64), np.nan)
    return padded[places]


@lru_cache(maxsize=256)
def _member_positions(members: UUID, target: UUID) -> NDArray[np.int64]:
    """Return the index of each object of ``target`` in ``members``; -1 if it is missing."""
    position_by_name = {name: place for place, name in enumerate(names_of(members))}
    return np.array([position_by_name.get(name, -1) for name in names_of(target)], dtype=np.int64)


def current_watermarks(cluster: Cluster, at: float | None = None) -> Watermarks | None:
    """Return the figures for the engine, as known at ``at``; ``None`` if there are none.

    ``source`` is their origin. The nodes are those of the newest snapshot at the time of collection: use ``aligned``
    for another one. A node's ``updated`` is the time of its oldest figure.
    """
    nodes, workloads = load_tables(cluster, at)
    if nodes is None:
        return None
    figures = {key: values for key, values in nodes.figures.items() if key[1] != NOW}
    by_workload = _by_workload(workloads)
    return Watermarks(
        list(nodes.names), nodes.updated, figures, by_workload, nodes.origin, curves=daily_curves(cluster, at)
    )


def daily_curves(cluster: Cluster, at: float | None = None) -> Mapping[str, Floats]:
    """Return each workload's use per pod at each hour of the day, by the hours complete at ``at``: [24] in cores.

    It is the same mapping until another hour is complete. See ``daily_curves.of_days`` for the average over days.
    """
    rows = _figure_samples(cluster, CURVE).filter(resolution=Resolution.HOUR)
    if at is not None:
        rows = rows.filter(at__lte=int(at))
    newest = rows.aggregate(at=Max("at"))["at"]
    return {} if newest is None else _load_curves(cluster.pk, newest)


@lru_cache(maxsize=64)
def _load_curves(cluster: UUID, newest: int) -> Mapping[str, Floats]:
    first = newest - CURVE_DAYS * 24 * int(Resolution.HOUR)
    hourly = _figure_samples(Cluster(pk=cluster), CURVE).filter(
        resolution=Resolution.HOUR, at__gt=first, at__lte=newest
    )
    rows = list(hourly.order_by("at"))
    names, values = _merge_samples(rows)
    learnt = learn_curves([float(row.at) for row in rows], values.astype(np.float64))
    return {name: learnt[:, place] for place, name in enumerate(names) if not np.isnan(learnt[:, place]).all()}


def _figure_samples(cluster: Cluster, figure: Figure) -> QuerySet[Sample]:
    return Sample.objects.filter(
        series__cluster=cluster,
        series__kind=figure.kind,
        series__resource=figure.resource,
        series__statistic=figure.statistic,
    )


def load_tables(cluster: Cluster, at: float | None = None) -> tuple[Table | None, Table | None]:
    """Return the tables of nodes and workloads. Workloads a quarter of an hour older than the nodes are left out.

    Otherwise the figures of workloads would stay forever if the source stopped providing them.
    """
    nodes, workloads = load_table(cluster, NODE, at), load_table(cluster, WORKLOAD, at)
    if nodes and workloads and workloads.at <= nodes.at - CARRIED:
        workloads = None
    return nodes, workloads


def _by_workload(table: Table | None) -> dict[str, dict[str, dict[str, float]]]:
    """Return ``{"namespace/Kind/name": {"cpu": {"15m": cores}, "memory": {"15m": bytes}}}``."""
    by_name: dict[str, dict[str, dict[str, float]]] = {}
    for (resource, statistic), values in table.figures.items() if table else ():
        if statistic != NOW:
            for place in np.flatnonzero(~np.isnan(values)).tolist():
                workload = by_name.setdefault(table.names[place], {"cpu": {}, "memory": {}})  # type: ignore[union-attr]
                workload[resource][statistic] = float(values[place])
    return by_name


def figures_version(cluster: Cluster, at: float | None = None) -> str:
    """Return a version of the answer of ``current_watermarks(cluster, at)``; "" if there are no figures."""
    rows = Sample.objects.filter(series__cluster=cluster)
    if at is not None:
        rows = rows.filter(at__lte=int(at))
    for resolution in FINEST_FIRST:
        newest = rows.filter(resolution=resolution).aggregate(at=Max("at"))["at"]
        if newest is not None:
            return f"{int(resolution)}-{newest}"
    return ""


@dataclass(frozen=True)
class FigureHistory:
    """One figure of many objects over time."""

    # [times] seconds of the epoch, ascending: the end of each row's span.
    times: Floats
    names: tuple[str, ...]
    # [times, names]; NaN where nothing was collected.
    values: NDArray[np.float32]
    # The distinct origins of the values.
    origins: tuple[str, ...]
    # The least span of a row, in seconds.
    resolution: int


def load_history(
    cluster: Cluster, kind: str, resource: str, statistic: str, start: float, end: float, points: int = 300
) -> FigureHistory:
    """Return the values of a figure in (``start``, ``end``], in at most ``points`` rows of equal spans.

    They come from the finest samples with at most ``points`` rows; from coarser ones where those are deleted, and from
    finer ones where the newest are not rolled up yet. Spans without a sample have no row. The names are those of all
    objects with a sample, the newest set first.
    """
    series = Series.objects.filter(cluster=cluster, kind=kind, resource=resource, statistic=statistic).first()
    rows = _choose_samples(series, start, end, points) if series else []
    if not rows:
        return FigureHistory(np.empty(0), (), np.empty((0, 0), dtype=np.float32), (), int(Resolution.COLLECTED))
    times = np.array([row.at for row in rows], dtype=np.float64)
    names, values = _merge_samples(rows)
    width = max((end - start) / max(points, 1), 1.0)
    if len(times) > points:
        spans = np.ceil((times - start) / width).astype(np.int64)
        cuts = np.flatnonzero(np.diff(spans)) + 1
        groups = np.split(np.arange(len(times)), cuts)
        maximum = statistic in MAXIMA
        values = np.array([combine_rows(values[group], maximum=maximum) for group in groups], dtype=np.float32)
        times = times[[group[-1] for group in groups]]
    origins = tuple(dict.fromkeys(row.origin for row in rows))
    return FigureHistory(times, names, values, origins, int(max(row.resolution for row in rows)))


def _choose_samples(series: Series, start: float, end: float, points: int) -> list[Sample]:
    """Return the samples to draw from, by time: one resolution in the middle, coarser before it, finer after it."""
    fitting = [entry for entry in Resolution if (end - start) / int(entry) <= points]
    chosen = fitting[0] if fitting else Resolution.HOUR
    base = Sample.objects.filter(series=series, at__gt=int(start), at__lte=int(end)).order_by("at")
    rows = list(base.filter(resolution=chosen))
    for resolution in Resolution:
        if resolution > chosen:
            before = base.filter(resolution=resolution)
            rows = list(before.filter(at__lt=rows[0].at - int(chosen)) if rows else before) + rows
    for resolution in reversed(Resolution):
        if resolution < chosen:
            after = base.filter(resolution=resolution)
            rows += list(after.filter(at__gt=rows[-1].at) if rows else after)
    return rows


def load_collected(cluster: Cluster, start: float, end: float) -> CollectedWatermarks | None:
    """Return all figures of the nodes known at ``end``, and of all workloads, from ``start`` on; ``None`` without any.

    Spans are five minutes, or longer with very many objects, and have the values known at their ends. An hourly roll-up
    that began before ``start`` is included.
    """
    last = current_watermarks(cluster, end)
    if last is None:
        return None
    # A replay must not know at its beginning how the day goes on.
    last = replace(last, curves=daily_curves(cluster, start))
    rows = {
        (row.kind, row.resource, row.statistic): row
        for row in Series.objects.filter(cluster=cluster).order_by("kind", "resource", "statistic")
        if row.statistic in STATISTICS[row.kind]
    }
    if not rows:
        return None
    # Past and present workloads.
    max_workloads = max(len(last.workloads), MANY)
    objects = sum(len(last.names) if kind == NODE else max_workloads for kind, _, _ in rows)
    begin = start - int(Resolution.HOUR)
    spans = max(2, min(round((end - begin) / int(Resolution.FIVE_MINUTES)), MOST_TIMES, MOST_VALUES // objects))
    histories = {key: load_history(cluster, *key, begin, end, spans) for key in rows}
    width = (end - begin) / spans
    places = {key: np.ceil((history.times - begin) / width).astype(np.int64) for key, history in histories.items()}
    filled_spans = np.unique(np.concatenate(list(places.values())))
    owners = list(
        dict.fromkeys(name for key, history in histories.items() if key[0] == WORKLOAD for name in history.names)
    )[:max_workloads]
    columns = {
        key: _spread_history(
            history,
            np.searchsorted(filled_spans, places[key]),
            len(filled_spans),
            last.names if key[0] == NODE else owners,
        )
        for key, history in histories.items()
    }
    nodes, workloads = ({key[1:]: column for key, column in columns.items() if key[0] == kind} for kind in KINDS)
    return CollectedWatermarks.from_columns(end - (spans - filled_spans) * width, nodes, owners, workloads, last)


def _spread_history(history: FigureHistory, rows: NDArray[np.int64], times: int, names: Sequence[str]) -> Floats:
    """Return ``history`` as [times, names], each row at its place; of several at one place, the last known value."""
    places = {name: place for place, name in enumerate(history.names)}
    columns = np.array([places.get(name, len(places)) for name in names], dtype=np.int64)
    spread = np.full((times, len(names)), np.nan)
    for row, values in zip(rows, history.values, strict=True):
        row_values = np.append(values, np.float32(np.nan))[columns].astype(np.float64)
        spread[row] = np.where(np.isnan(row_values), spread[row], np.round(row_values, 6))
    return spread


def samples_matrix(
    cluster: Cluster, figure: Figure, resolution: Resolution, start: float, end: float, names: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return times [times] and values [times, names] of samples of one resolution in (``start``, ``end``]."""
    between = _figure_samples(cluster, figure).filter(resolution=resolution, at__gt=int(start), at__lte=int(end))
    rows = list(between.order_by("at"))
    sampled_names, values = _merge_samples(rows) if rows else ((), np.empty((0, 0), dtype=np.float32))
    if sampled_names != tuple(names):
        position_by_name = {name: place for place, name in enumerate(sampled_names)}
        places = [position_by_name.get(name, len(position_by_name)) for name in names]
        values = np.column_stack([values, np.full(len(rows), np.nan, dtype=np.float32)])[:, places]
    return np.array([row.at for row in rows], dtype=np.float64), values.astype(np.float64)


def _merge_samples(rows: list[Sample]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Return the names of all sets of objects, the newest set first, and the values as one matrix."""
    sets = list(dict.fromkeys(row.members_id for row in reversed(rows)))
    places: dict[str, int] = {}
    for members in sets:
        for name in names_of(members):
            places.setdefault(name, len(places))
    columns = {members: np.array([places[name] for name in names_of(members)], dtype=np.int64) for members in sets}
    # The usual case: no node came or went, so the rows are the matrix already.
    if len(sets) == 1:
        return tuple(places), np.array([unpack_values(row.values) for row in rows], dtype=np.float32)
    values = np.full((len(rows), len(places)), np.nan, dtype=np.float32)
    for index, row in enumerate(rows):
        values[index, columns[row.members_id]] = unpack_values(row.values)
    return tuple(places), values


@dataclass(frozen=True)
class Freshness:
    """The age of a cluster's figures."""

    # The kind of the source: none, prometheus or metrics.k8s.io.
    kind: str
    # The origin of the newest figures; "" if there are none.
    origin: str
    # When the newest figures were collected.
    updated: datetime | None
    # Seconds.
    age: float | None
    # True if older than three intervals of the source.
    stale: bool
    # The error of the last run; "" for none.
    error: str
    # Nodes with a figure.
    nodes: int
    workloads: int


def load_freshness(cluster: Cluster, now: float) -> Freshness:
    """Return the age of the figures of ``cluster`` at ``now`` (seconds of the epoch)."""
    source = source_get(cluster)
    nodes, workloads = load_tables(cluster, now)
    newest = max((table.at for table in (nodes, workloads) if table), default=None)
    first = nodes or workloads
    return Freshness(
        kind=source.kind,
        origin=first.origin if first else "",
        updated=datetime.fromtimestamp(newest, UTC) if newest is not None else None,
        age=max(now - newest, 0.0) if newest is not None else None,
        stale=newest is not None and now - newest > 3 * source.interval,
        error=source.error,
        nodes=_count_known(nodes),
        workloads=_count_known(workloads),
    )


def _count_known(table: Table | None) -> int:
    return int(np.count_nonzero(~np.isnan(table.updated))) if table else 0
