"""A cluster as of a moment: a snapshot rebuilt from the flight recorder's lines, and stored for a while."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, datetime

from django.db.models import ProtectedError
from django.utils import timezone

from kschedweb.clusters.flight import selectors
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.clusters.snapshots import PreparedSnapshot
from kschedweb.engine.garbage import paused_collector
from kschedweb.web.errors import ApplicationError
from kschedweb.web.moments import read_moment
from kschedweb.web.own_stack import on_own_stack

# Rebuilt snapshots kept for each cluster.
MAX_REBUILT = 8
INVALID = "Write a moment such as 2026-11-22T03:12Z, with an offset such as Z or +09:00."
# A rebuild holds all objects in memory, so a process does one at a time.
_one_at_a_time = threading.Lock()


def moment_read(text: str, zone: str = "", path: str = "at") -> datetime:
    """Return the moment that ``text`` names. Raises ApplicationError at the field ``path``."""
    moment = read_moment(text, zone)
    if isinstance(moment, datetime):
        return moment
    raise ApplicationError.at(path, INVALID)


def snapshot_at(cluster: Cluster, at: datetime) -> Snapshot:
    """Return the snapshot of ``cluster`` as of ``at``, without its content.

    Raises NotFound for a moment that is not known; its message names moments that are.
    """
    # Raises for a moment in the future: a snapshot of it could never have been stored.
    if at > timezone.now():
        selectors.stretch_at(cluster, at)
    with _one_at_a_time, paused_collector():
        return _stored_snapshot(cluster, at) or _rebuild_snapshot(cluster, at)


def _stored_snapshot(cluster: Cluster, at: datetime) -> Snapshot | None:
    rows = Snapshot.objects.filter(cluster=cluster, moment=at, complete=True)
    return rows.defer("content", "resource_versions").first()


def _rebuild_snapshot(cluster: Cluster, at: datetime) -> Snapshot:
    """Rebuild the snapshot. Another process may do so at the same time; either result will do."""
    objects = selectors.objects_at(cluster, at)
    saved = on_own_stack(PreparedSnapshot.from_objects, cluster, objects, [], taken_at=at, moment=at).save()
    forget_rebuilt(cluster, keep=MAX_REBUILT)
    return Snapshot.objects.defer("content", "resource_versions").get(pk=saved.pk)


def forget_rebuilt(cluster: Cluster, *, keep: int) -> None:
    """Delete rebuilt snapshots except the ``keep`` last ones. Those that scenarios start from stay."""
    rows = Snapshot.objects.filter(cluster=cluster, moment__isnull=False).order_by("-rebuilt")
    for old in list(rows.values_list("pk", flat=True)[keep:]):
        with suppress(ProtectedError):
            Snapshot.objects.filter(pk=old).only("pk").delete()


def format_moment_param(moment: datetime) -> str:
    """Return ``moment`` as addresses have it, with microseconds only if it has any."""
    utc = moment.astimezone(UTC)
    finest = "microseconds" if utc.microsecond else "seconds"
    return utc.isoformat(timespec=finest).replace("+00:00", "Z")
