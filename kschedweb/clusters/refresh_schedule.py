"""Reads connected clusters again at their intervals, one after the other rather than all at once."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.accounts.grants import MOST_LABELS, label_read
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED, refresh_start
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kschedweb.accounts.models import User

MOST_MINUTES = 24 * 60
# Clusters that are being read, or wait for it, before more are started.
AT_ONCE = 4


def is_due(cluster: Cluster, now: datetime) -> bool:
    """Return whether ``cluster`` should be read again, since it was last read or asked for.

    Each cluster has a moment of its own within its interval, so that the load is even.
    """
    interval = cluster.refresh_minutes * 60
    if not interval:
        return False
    last = max((at for at in (cluster.refreshed_at, cluster.refresh_asked_at) if at is not None), default=None)
    # A checksum of the id spreads the moments evenly, and is the same in every process.
    moment = zlib.crc32(cluster.pk.bytes) % interval
    return last is None or (now.timestamp() - moment) // interval > (last.timestamp() - moment) // interval


@transaction.atomic
def refresh_schedule(*, user: User | None, cluster: Cluster, minutes: int) -> Cluster:
    """Read ``cluster`` every ``minutes`` from now on; 0: only when somebody asks for it."""
    if cluster.source not in CONNECTED:
        raise Conflict(f"Cluster {cluster.name} is not connected: there is nothing to read it from again.")
    if not 0 <= minutes <= MOST_MINUTES:
        raise ApplicationError.at("refresh_minutes", f"Must be between 0 (never) and {MOST_MINUTES:,}.")
    cluster.refresh_minutes = minutes
    cluster.save(update_fields=["refresh_minutes"])
    audit.record(user, "cluster.scheduled", cluster, cluster.name, minutes=minutes)
    return cluster


@transaction.atomic
def cluster_label(*, user: User | None, cluster: Cluster, labels: Mapping[str, str]) -> Cluster:
    """Replace the labels of ``cluster``. Grants name clusters by them."""
    if len(labels) > MOST_LABELS:
        raise ApplicationError.at("labels", f"A cluster has at most {MOST_LABELS} labels.")
    for key, value in labels.items():
        label_read(f"{key}={value}", "labels")
    cluster.labels = dict(labels)
    cluster.save(update_fields=["labels"])
    audit.record(user, "cluster.labelled", cluster, cluster.name, labels=cluster.labels)
    return cluster


def refresh_due(*, now: datetime | None = None) -> Sequence[Job]:
    """Start jobs for clusters that are due, the longest waiting first, while few are being read."""
    now = now or timezone.now()
    room = AT_ONCE - Job.objects.filter(kind="clusters.refresh", state__in=UNFINISHED).count()
    if room <= 0:
        return []
    scheduled = Cluster.objects.filter(source__in=CONNECTED, refresh_minutes__gt=0)
    waiting = [
        cluster
        for cluster in scheduled.order_by(F("refresh_asked_at").asc(nulls_first=True), "name")
        if is_due(cluster, now)
    ]
    return [refresh_start(cluster=cluster, user=None) for cluster in waiting[:room]]
