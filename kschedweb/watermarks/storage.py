"""Samples in the database: a row for each figure and time, with the values of all objects packed as float32.

A minute of 5,000 nodes is a row of 20 kB per figure, and a day of one figure is read without reading others. Completed
spans of 5 minutes and 1 hour are rolled up into their own rows: averages and deviations by the mean, maxima by the
maximum. A roll-up has the time of its end, so that no row contains later values.
"""

from __future__ import annotations

import hashlib
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Exists, Max, OuterRef
from numpy.typing import ArrayLike, NDArray

from kschedweb.clusters.models import Cluster
from kschedweb.watermarks.figures import MAXIMA, PEAK, Figure
from kschedweb.watermarks.models import Members, Resolution, Sample, Series
from kschedweb.web import bulk
from kschedweb.web.deletion import delete_batches

Values = NDArray[np.float32]

# Statistics that are rolled up by the maximum.
HIGHEST = {*MAXIMA, PEAK}
# Little-endian on every machine, so that the database can move.
PACKED = np.dtype("<f4")
# What only one sample has.
UNIQUE = ("series", "resolution", "at")
# The resolution that each one is rolled up from.
FINER = {Resolution.FIVE_MINUTES: Resolution.COLLECTED, Resolution.HOUR: Resolution.FIVE_MINUTES}
# Spans rolled up at once; after a long pause the rest follows with the next samples.
MOST_SPANS = 24


def pack_values(values: ArrayLike) -> bytes:
    """Return ``values`` as little-endian float32 bytes."""
    return np.ascontiguousarray(values, dtype=PACKED).tobytes()


def unpack_values(content: bytes | memoryview) -> Values:
    """Reverse ``pack_values``. The array is read-only."""
    return np.frombuffer(content, dtype=PACKED)


@lru_cache(maxsize=64)
def names_of(members: UUID) -> tuple[str, ...]:
    """Return the names of a set of objects. They are cached, because the id depends on them."""
    plain = zlib.decompress(Members.objects.values_list("names", flat=True).get(pk=members)).decode()
    return tuple(plain.split("\n")) if plain else ()


def members_of(cluster: Cluster, kind: str, names: Sequence[str]) -> Members:
    """Return the row of ``names`` in this order, created if needed."""
    plain = "\n".join(names).encode()
    # The id is a digest of the content, so that equal sets share a row without a search.
    id = UUID(bytes=hashlib.sha256(cluster.pk.bytes + kind.encode() + b"\n" + plain).digest()[:16])
    members = Members.objects.filter(pk=id).only("pk").first()
    return members or Members.objects.create(id=id, cluster=cluster, kind=kind, names=zlib.compress(plain))


def series_of(cluster: Cluster, figures: Iterable[Figure]) -> dict[Figure, Series]:
    """Return the series of ``figures``, created if needed."""
    requested = set(figures)

    def read_series() -> dict[Figure, Series]:
        rows = Series.objects.filter(cluster=cluster)
        return {Figure(row.kind, row.resource, row.statistic): row for row in rows}

    known_series = read_series()
    missing = sorted(requested - set(known_series))
    if missing:
        Series.objects.bulk_create(
            [
                Series(cluster=cluster, kind=entry.kind, resource=entry.resource, statistic=entry.statistic)
                for entry in missing
            ],
            ignore_conflicts=True,
        )
        # Read again: with ignored conflicts the created objects have no primary keys.
        known_series = read_series()
    return {figure: known_series[figure] for figure in sorted(requested)}


@transaction.atomic
def samples_store(
    *,
    cluster: Cluster,
    kind: str,
    names: Sequence[str],
    rows: Iterable[tuple[int, Mapping[Figure, ArrayLike]]],
    origin: str,
    resolution: int = Resolution.COLLECTED,
) -> None:
    """Store values of the objects ``names`` of ``kind`` at one or several times.

    ``rows`` are (seconds of the epoch, values by figure), with one value per name, NaN if missing. Existing values of
    the same time are replaced.
    """
    rows = list(rows)
    series = series_of(cluster, {figure for _, values in rows for figure in values})
    members = members_of(cluster, kind, names)
    samples = [
        {"series_id": series[figure].pk, "at": at, "values": pack_values(column)}
        for at, values in rows
        for figure, column in values.items()
    ]
    bulk.insert_rows(Sample, samples, unique_fields=UNIQUE, resolution=resolution, members_id=members.pk, origin=origin)


def samples_rollup(*, cluster: Cluster, now: int) -> int:
    """Roll up all spans that are complete at ``now``, oldest first. Returns their number."""
    spans = 0
    for resolution in FINER:
        # A coarser roll-up may only use what the finer one has completed.
        count, now = _roll_up(cluster, resolution, now)
        spans += count
    return spans


def _roll_up(cluster: Cluster, resolution: Resolution, now: int) -> tuple[int, int]:
    """Return the number of spans rolled up, and the time up to which none is left."""
    span = int(resolution)
    rows = Sample.objects.filter(series__cluster=cluster)
    source = rows.filter(resolution=FINER[resolution])
    last_end = rows.filter(resolution=resolution).aggregate(at=Max("at"))["at"] or 0
    pending = source.filter(at__gt=last_end, at__lte=now // span * span).values_list("at", flat=True).distinct()
    # The end of a sample's span: division rounded up.
    ends = sorted({-(-at // span) * span for at in pending.order_by()})
    for end in ends[:MOST_SPANS]:
        _roll_span(cluster, resolution, end)
    return len(ends[:MOST_SPANS]), ends[MOST_SPANS - 1] if len(ends) > MOST_SPANS else now


@transaction.atomic
def _roll_span(cluster: Cluster, resolution: Resolution, end: int) -> None:
    samples_by_series: dict[int, list[Sample]] = {}
    statistics = dict(Series.objects.filter(cluster=cluster).values_list("pk", "statistic"))
    rows = Sample.objects.filter(
        series__in=statistics, resolution=FINER[resolution], at__gt=end - int(resolution), at__lte=end
    )
    for row in rows.order_by("at"):
        samples_by_series.setdefault(row.series_id, []).append(row)
    rolled = []
    for series, samples in samples_by_series.items():
        last = samples[-1]
        # If the set of objects changed within the span, the samples of the newest set count.
        values = [unpack_values(row.values) for row in samples if row.members_id == last.members_id]
        rolled.append(
            {
                "series_id": series,
                "members_id": last.members_id,
                "origin": last.origin,
                "values": pack_values(combine_rows(values, maximum=statistics[series] in HIGHEST)),
            }
        )
    bulk.insert_rows(Sample, rolled, unique_fields=UNIQUE, resolution=resolution, at=end)


def combine_rows(rows: Sequence[NDArray[Any]] | NDArray[Any], *, maximum: bool) -> NDArray[np.float64]:
    """Return the mean or maximum of each object over several times; NaN if it has no value."""
    stacked = np.asarray(rows, dtype=np.float64)
    with warnings.catch_warnings():
        # A column without values gives NaN, and a warning that says so.
        warnings.simplefilter("ignore", RuntimeWarning)
        combined: NDArray[np.float64] = np.nanmax(stacked, axis=0) if maximum else np.nanmean(stacked, axis=0)
    return combined


def samples_prune(*, cluster: Cluster, keep: Mapping[Resolution, int], now: int) -> int:
    """Delete samples older than ``keep`` (seconds by resolution), and unused sets of objects."""
    series = list(Series.objects.filter(cluster=cluster).values_list("pk", flat=True))
    deleted = 0
    for resolution, seconds in keep.items():
        old = Sample.objects.filter(series__in=series, resolution=resolution, at__lt=now - seconds)
        deleted += delete_batches(old)
    used = Sample.objects.filter(members=OuterRef("pk"))
    Members.objects.filter(~Exists(used), cluster=cluster).delete()
    return deleted
