"""Changes of flight recorders: the switch, the process that records, and the end of the ring."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Now

from kschedweb.accounts import audit
from kschedweb.clusters.flight import selectors
from kschedweb.clusters.flight.models import FlightRecorder, Segment, Stretch
from kschedweb.clusters.flight.storage import HOLD_TIME
from kschedweb.clusters.services import CONNECTED
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster

# The limits of what a recorder may keep.
MOST_DAYS, LEAST_MIB, MOST_MIB = 366, 16, 1 << 20


@transaction.atomic
def recorder_set(
    *, user: User | None, cluster: Cluster, on: bool, days: int | None = None, limit_mib: int | None = None
) -> FlightRecorder:
    """Switch the flight recorder of ``cluster``, and set how much it keeps; ``None`` leaves that as it is.

    Raises ``Conflict`` for a cluster that is not connected. Recorded lines stay until the ring ends.
    """
    if on and cluster.source not in CONNECTED:
        raise Conflict.at("on", f"Cluster {cluster.name} is not connected: there is nothing to record.")
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise ApplicationError.at("days", f"Keep from 1 to {MOST_DAYS} days.")
    if limit_mib is not None and not LEAST_MIB <= limit_mib <= MOST_MIB:
        raise ApplicationError.at("limit_mib", f"Keep from {LEAST_MIB} to {MOST_MIB:,} MiB.")
    options = {"on": on, "days": days, "limit_mib": limit_mib}
    changes: dict[str, object] = {name: value for name, value in options.items() if value is not None}
    # The process that records notices that it lost the row.
    if not on:
        changes |= {"holder": "", "held_until": None, "problem": ""}
    recorder, _ = FlightRecorder.objects.update_or_create(cluster=cluster, defaults=changes)
    audit.record(user, "flight-recorder.set", cluster, cluster.name, on=on, days=recorder.days, mib=recorder.limit_mib)
    return recorder


def recorder_claim(*, recorder: FlightRecorder, holder: str) -> bool:
    """Return whether ``holder`` records for the next seconds: it did so before, or nobody does."""
    # Now() is the database's clock: those of two machines may differ.
    free = Q(holder=holder) | Q(holder="") | Q(held_until=None) | Q(held_until__lt=Now())
    rows = FlightRecorder.objects.filter(free, pk=recorder.pk, on=True)
    return rows.update(holder=holder, held_until=Now() + HOLD_TIME) == 1


def holder_leave(*, cluster: UUID, holder: str) -> None:
    """Let another process record at once."""
    FlightRecorder.objects.filter(pk=cluster, holder=holder).update(holder="", held_until=None)


def recorder_trouble(*, recorder: FlightRecorder, problem: str) -> None:
    """Store why nothing is recorded; "" if all is well."""
    FlightRecorder.objects.filter(pk=recorder.pk).exclude(problem=problem[:500]).update(problem=problem[:500])


def ring_end(now: float | None = None) -> int:
    """Delete whatever is older, or more, than each recorder keeps. Returns the number of segments."""
    deleted = 0
    for recorder in FlightRecorder.objects.select_related("cluster"):
        before = int(((now or time.time()) - recorder.days * 86_400) * 1e6)
        deleted += _empty_delete(recorder.cluster)
        deleted += _old_delete(recorder.cluster, before)
        deleted += _large_delete(recorder.cluster, recorder.limit_mib << 20)
    return deleted


def _empty_delete(cluster: Cluster) -> int:
    """Delete stretches that ended before anything in them was certain."""
    empty = Stretch.objects.filter(cluster=cluster, until__lt=F("began"))
    # The newest may be one that has just begun.
    newest = Stretch.objects.filter(cluster=cluster).values_list("pk").last()
    deleted, _ = empty.exclude(pk=newest[0]).delete() if newest else (0, {})
    return deleted


def _old_delete(cluster: Cluster, before: int) -> int:
    deleted = 0
    for stretch in selectors.list_stretches(cluster).filter(began__lt=before):
        if stretch.until < before:
            deleted += stretch.segments.count()
            stretch.delete()
            continue
        # Moments after the horizon are rebuilt from the last full segment before it, so that one stays.
        first = stretch.segments.filter(full=True, began__lte=before).last()
        deleted += _begin_with(stretch, first) if first is not None else 0
    return deleted


def _large_delete(cluster: Cluster, limit: int) -> int:
    deleted, over = 0, selectors.stored_size(cluster) - limit
    while over > 0 and (stretch := selectors.list_stretches(cluster).first()) is not None:
        first = next(iter(stretch.segments.filter(full=True)[1:2]), None)
        if first is None:
            if selectors.list_stretches(cluster).last() == stretch:
                # The newest stretch is the one that is being recorded.
                return deleted
            size = stretch.segments.aggregate(sum=Sum("stored"))["sum"] or 0
            deleted += stretch.segments.count()
            stretch.delete()
        else:
            size = stretch.segments.filter(number__lt=first.number).aggregate(sum=Sum("stored"))["sum"] or 0
            deleted += _begin_with(stretch, first)
        over -= size
    return deleted


@transaction.atomic
def _begin_with(stretch: Stretch, first: Segment) -> int:
    deleted, _ = stretch.segments.filter(number__lt=first.number).delete()
    if deleted:
        Stretch.objects.filter(pk=stretch.pk).update(began=first.began)
    return deleted
