"""The moments of a cluster that are known, and its objects at one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

from django.db.models import F, QuerySet, Sum

from kschedweb.clusters.flight.models import FlightRecorder, Segment, Stretch
from kschedweb.clusters.flight.storage import segment_lines
from kschedweb.clusters.flight.track import CHANGED, REMOVED, WHOLE, Line, Replay, apply_patch, dump_json
from kschedweb.clusters.models import Cluster
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import NotFound

# Times that an error names.
MOST_TOLD = 3


# Compressed bytes that are read for the history of one object: some hours of a busy cluster, in a second or two.
MOST_STATE_BYTES = 16 << 20


@dataclass(frozen=True)
class ObjectState:
    """An object from a moment on; None if it was deleted then."""

    at: datetime
    raw: Json | None


@dataclass(frozen=True)
class Gap:
    """A time between two known ones."""

    start: datetime
    # None while the gap lasts.
    end: datetime | None
    reason: str


def to_micros(moment: datetime) -> int:
    """Return ``moment`` in microseconds of the epoch. Integer division keeps it exact."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def moment_of(micro: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micro)


def recorder_of(cluster: Cluster) -> FlightRecorder:
    """Return the recorder of ``cluster``; an unsaved one that is off if nobody ever set it."""
    return FlightRecorder.objects.filter(pk=cluster.pk).first() or FlightRecorder(cluster=cluster)


def active_recorders() -> QuerySet[FlightRecorder]:
    """Return the recorders that are on."""
    return FlightRecorder.objects.filter(on=True).select_related("cluster").order_by("pk")


def list_stretches(cluster: Cluster) -> QuerySet[Stretch]:
    """Return the times of ``cluster`` that are known, oldest first."""
    return Stretch.objects.filter(cluster=cluster, until__gte=F("began"))


def has_recording(cluster: Cluster) -> bool:
    """Return whether any moment of ``cluster`` is known."""
    return list_stretches(cluster).exists()


def stored_size(cluster: Cluster) -> int:
    """Return the number of bytes that the recorder of ``cluster`` keeps."""
    return Segment.objects.filter(stretch__cluster=cluster).aggregate(sum=Sum("stored"))["sum"] or 0


def list_gaps(cluster: Cluster) -> list[Gap]:
    """Return the times between the known ones, oldest first."""
    stretches = list(list_stretches(cluster))
    return [Gap(moment_of(before.until), moment_of(after.began), after.reason) for before, after in pairwise(stretches)]


def stretch_at(cluster: Cluster, at: datetime) -> Stretch:
    """Return the stretch that knows ``at``. Raises NotFound, whose message says which moments are known."""
    at_micros = to_micros(at)
    stretch = list_stretches(cluster).filter(began__lte=at_micros, until__gte=at_micros).last()
    if stretch is None:
        raise NotFound(_explain_unknown(cluster, at, at_micros))
    return stretch


def _explain_unknown(cluster: Cluster, at: datetime, at_micros: int) -> str:
    stretches = list(list_stretches(cluster))
    if not stretches:
        return f"Nothing of cluster {cluster.name} was recorded: switch its flight recorder on, on its page."
    message = f"It is not known how cluster {cluster.name} was at {_format_utc(at)}"
    if at_micros < stretches[0].began:
        return f"{message}: the recording begins at {_format_utc(moment_of(stretches[0].began))}."
    if at_micros > stretches[-1].until:
        return f"{message}: so far it is recorded up to {_format_utc(moment_of(stretches[-1].until))}."
    before, after = next(pair for pair in pairwise(stretches) if at_micros < pair[1].began)
    return (
        f"{message}: it is in a gap of the recording ({after.reason or 'nobody recorded'}). "
        f"The last moment before it is {_format_utc(moment_of(before.until))}, "
        f"the first after it {_format_utc(moment_of(after.began))}."
    )


def _format_utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"


def objects_at(cluster: Cluster, at: datetime) -> list[Json]:
    """Return the objects of ``cluster`` at ``at``, with everything that was heard up to then. Raises NotFound."""
    stretch, at_micros = stretch_at(cluster, at), to_micros(at)
    replay = Replay()
    for line in lines_between(stretch, at_micros, at_micros):
        replay.apply_line(line)
    return replay.objects


def object_states(cluster: Cluster, kind: str, key: str, first: datetime, last: datetime) -> Iterator[ObjectState]:
    """Yield the recorded states of one object from ``first`` to ``last``, the oldest first.

    Of a long recording only the newest MOST_STATE_BYTES are read.
    """
    first_micros, last_micros = to_micros(first), to_micros(last)
    stretches = list_stretches(cluster).filter(until__gte=first_micros, began__lte=last_micros)
    rows = Segment.objects.filter(stretch__in=stretches, began__lte=last_micros)
    sizes = list(rows.order_by("-stretch__began", "-number").values_list("pk", "stored"))
    sums = accumulate(size for _, size in sizes)
    newest = [pk for (pk, _), total in zip(sizes, sums, strict=True) if total <= MOST_STATE_BYTES]
    chosen = rows.filter(pk__in=newest).order_by("stretch__began", "number").values_list("content", flat=True)
    # Only lines of the object are decoded: all others would take seconds.
    marker, known = f",{dump_json(kind).decode()},{dump_json(key).decode()}".encode(), None
    for content in chosen.iterator(chunk_size=4):
        for text in segment_lines(content):
            # It stands near the beginning of a line; further on it is part of a value.
            if marker not in text[: len(marker) + 40]:
                continue
            at, how, _, _, *value = json.loads(text)
            if at > last_micros:
                return
            if how == CHANGED and known is None:
                # The whole object stands in a segment that was not read.
                continue
            known = None if how == REMOVED else value[0] if how == WHOLE else apply_patch(known, value[0])
            if at >= first_micros:
                yield ObjectState(moment_of(at), deepcopy(known))


def lines_between(stretch: Stretch, first: int, last: int) -> Iterator[Line]:
    """Yield the lines from the full segment before ``first`` on, up to ``last``."""
    segments = stretch.segments.filter(began__lte=last)
    full = segments.filter(full=True, began__lte=first).values_list("number", flat=True).last()
    if full is None:
        raise NotFound("What was recorded of this moment has just been deleted: it is older than what is kept.")
    rows = segments.filter(number__gte=full).values_list("number", "full", "content")
    # Few at a time, since segments can be large.
    for number, whole, content in rows.iterator(chunk_size=4):
        if whole and number != full:
            # Its lines repeat what the lines before have said already.
            continue
        for line in json.loads(b"[" + b",".join(segment_lines(content)) + b"]"):
            if line[0] > last:
                return
            yield line
