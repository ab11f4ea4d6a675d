"""Reads the Events of connected clusters: a list at each refresh, and a watch while the flight recorder runs."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from django.utils import timezone

from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.errors import ClusterError
from kschedweb.clusters.events.collector import EventCollector
from kschedweb.clusters.events.records import read_event
from kschedweb.clusters.events.ring import events_store
from kschedweb.clusters.following.reflector import Changed, Listed, Reflector
from kschedweb.clusters.kinds import EVENT
from kschedweb.clusters.models import Cluster
from kschedweb.engine.marking import gettext_noop
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kschedweb.clusters.events.records import EventRecord
    from kschedweb.clusters.following.reflector import Message

# Events of one reading: 40 pages, some 30 MB of a cluster that writes far more than others. The rest is not read.
MOST_READ = 20_000
# Seconds of one reading. The snapshot is stored already, and its job should end.
PATIENCE = 30.0
FORBIDDEN = gettext_noop("The credentials may not list events; docs/rbac.yaml allows it.")


def events_read(*, cluster: Cluster) -> None:
    """Read the Events of the connected ``cluster`` into its ring. An error is stored with the cluster, not raised."""
    collector, problem = EventCollector(), ""
    try:
        try:
            problem = _collect(cluster, collector)
        finally:
            events_store(cluster=cluster, events=collector.newest)
    except ApplicationError as error:
        is_forbidden = isinstance(error, ClusterError) and error.code == 403
        problem = FORBIDDEN if is_forbidden else error.detail
    Cluster.objects.filter(pk=cluster.pk).update(events_read_at=timezone.now(), events_problem=problem[:500])


def _collect(cluster: Cluster, collector: EventCollector) -> str:
    """Read pages of Events into ``collector``. Returns what was left out; "" if nothing was."""
    secret, count = sources.secret_of(cluster), 0
    endpoint = sources.endpoint_of(cluster.source, secret)
    with Client.open(secret, endpoint=endpoint, patience=PATIENCE) as client:
        for page in client.pages(EVENT.path):
            for item in page.items:
                if isinstance(item, dict) and (event := read_event(item)) is not None:
                    collector.add(event)
            count += len(page.items)
            if count >= MOST_READ and page.next_token:
                return f"The cluster has more than {MOST_READ:,} Events: only the first of them were read."
    return ""


class EventReflector(Reflector):
    """A reflector that hands its list over page by page: all Events of a large cluster would take much memory."""

    def _list_objects(self, client: Client) -> None:
        count, version = 0, ""
        for page in client.pages(self.kind.path):
            self._send_list([item for item in page.items if isinstance(item, dict)], page.resource_version)
            count, version = count + len(page.items), page.resource_version
            if count >= MOST_READ:
                break
        self._note_list(version, {})


class EventFollower:
    """Follows the Events of a cluster in a thread of its own; ``store`` writes those since the last time."""

    def __init__(self, cluster: Cluster, open_client: Callable[[], Client]) -> None:
        self._cluster, self._collector, self._lock = cluster, EventCollector(), Lock()
        self.reflector = EventReflector(open_client, EVENT, self.take_message)

    def take_message(self, message: Message) -> None:
        # What the cluster deletes stays in the ring: most clusters forget Events after an hour.
        items = message.items if isinstance(message, Listed) else [message.raw] if isinstance(message, Changed) else []
        self._collect(filter(None, map(read_event, items)))

    def _collect(self, events: Iterable[EventRecord]) -> None:
        with self._lock:
            for event in events:
                self._collector.add(event)

    def store(self) -> None:
        """Write the new Events to the ring. They wait here if the database is away."""
        with self._lock:
            events, self._collector = self._collector.newest, EventCollector()
        if not events:
            return
        try:
            events_store(cluster=self._cluster, events=events)
        except BaseException:
            self._collect(events)
            raise
