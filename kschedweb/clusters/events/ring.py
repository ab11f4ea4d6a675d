"""The ring of Events of a cluster in the database: the newest ones, however many the cluster writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from datetime import datetime
from typing import TypeVar

from django.db import transaction

from kschedweb.clusters.events.collector import select_newest
from kschedweb.clusters.events.records import EventRecord
from kschedweb.clusters.models import Cluster, EventRow
from kschedweb.clusters.snapshots import BATCH, cluster_lock

Item = TypeVar("Item")
COLUMNS = [field.name for field in fields(EventRecord)]


def events_store(*, cluster: Cluster, events: Iterable[EventRecord]) -> None:
    """Add ``events`` to the ring of ``cluster``, in short transactions. Raises ``Conflict`` if it was deleted."""
    times_by_uid = dict(EventRow.objects.filter(cluster=cluster).values_list("uid", "last_at"))
    changed = [event for event in select_newest(events) if times_by_uid.get(event.uid) != event.last_at]
    for batch in _split(changed):
        rows = [EventRow(cluster=cluster, **asdict(event)) for event in batch]
        with transaction.atomic():
            cluster_lock(cluster)
            EventRow.objects.bulk_create(
                rows,
                update_conflicts=True,
                unique_fields=["cluster", "uid"],
                update_fields=[name for name in COLUMNS if name != "uid"],
            )
    if changed:
        _forget_older(cluster)


def events_replace(*, cluster: Cluster, events: Iterable[EventRecord]) -> datetime | None:
    """Keep ``events`` in place of all others of ``cluster``: those of files, which hold all that there are.

    Returns the time of the newest; ``None`` if there are none.
    """
    EventRow.objects.filter(cluster=cluster).delete()
    newest = select_newest(events)
    events_store(cluster=cluster, events=newest)
    return newest[0].last_at if newest else None


def _forget_older(cluster: Cluster) -> None:
    """Delete what is beyond the ring."""
    rows = EventRow.objects.filter(cluster=cluster)
    events = {row.pop("id"): EventRecord(**row) for row in rows.values("id", *COLUMNS)}
    newest_uids = {event.uid for event in select_newest(events.values())}
    forgotten = [key for key, event in events.items() if event.uid not in newest_uids]
    for keys in _split(forgotten):
        EventRow.objects.filter(pk__in=keys).delete()


def _split(items: list[Item]) -> Iterator[list[Item]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))
