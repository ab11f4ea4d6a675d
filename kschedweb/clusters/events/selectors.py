"""The Events about one object, for its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.clusters.models import FIXED_SOURCES, ClusterSource, EventRow
from kschedweb.clusters.redaction import in_part

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from kschedweb.clusters.models import Cluster, Snapshot

# Events that a page shows. The others are behind its link.
MOST_SHOWN = 10


@dataclass(frozen=True)
class ShownEvent:
    """An Event on a page."""

    row: EventRow
    # Seconds before ``ObjectEvents.as_of``; 0 without.
    age: float


@dataclass(frozen=True)
class ObjectEvents:
    """The newest Events about one object."""

    rows: list[ShownEvent]
    # The moment to which their ages refer; None for now.
    as_of: datetime | None
    # True if there are more than ``rows``.
    has_more: bool
    # The REST address of all of them.
    address: str
    # Why there are none; "" if there are some.
    absence: str


def event_rows(cluster: Cluster) -> QuerySet[EventRow]:
    """Return the Events that are kept of ``cluster``, the newest first."""
    return EventRow.objects.filter(cluster=cluster)


def find_object_events(snapshot: Snapshot, kind: str, name: str, *, namespace: str = "", uid: str = "") -> ObjectEvents:
    """Return the newest Events about an object of ``snapshot``. With ``uid`` those of earlier objects of its name are
    left out.

    For a cluster as of a moment, they are those that had begun by then.
    """
    cluster = snapshot.cluster
    rows = event_rows(cluster).filter(kind=kind, namespace=namespace, name=name)
    if uid:
        rows = rows.filter(Q(object_uid=uid) | Q(object_uid=""))
    if snapshot.moment is not None:
        rows = rows.filter(first_at__lte=snapshot.moment)
    newest = list(rows[: MOST_SHOWN + 1])
    as_of = cluster.events_read_at if cluster.source in FIXED_SOURCES else None
    query = {"kind": kind, "namespace": namespace, "name": name}
    return ObjectEvents(
        rows=[ShownEvent(row, _age_of(row, as_of)) for row in newest[:MOST_SHOWN]],
        as_of=as_of,
        has_more=len(newest) > MOST_SHOWN,
        address=reverse("api:events", args=[cluster.name], query={key: value for key, value in query.items() if value}),
        absence="" if newest else _explain_absence(cluster, namespace),
    )


def _age_of(row: EventRow, as_of: datetime | None) -> float:
    return 0.0 if as_of is None else max(0.0, (as_of - row.last_at).total_seconds())


def _explain_absence(cluster: Cluster, namespace: str) -> str:
    if not namespace and in_part(cluster.pk):
        return gettext("Events of nodes may name pods of any namespace, so they need a grant for the whole cluster.")
    if cluster.source == ClusterSource.IMPORT:
        return gettext("The imported files have no Event about it.")
    if cluster.source == ClusterSource.DEMO:
        return gettext("The demo has no Event about it.")
    if cluster.events_problem:
        return gettext("Events could not be read: %(problem)s") % {"problem": gettext(cluster.events_problem)}
    if cluster.events_read_at is None:
        return gettext("Events are read at the next refresh.")
    return gettext("No Event about it is known. Most clusters keep Events for an hour.")
