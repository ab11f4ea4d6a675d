"""Selects the newest Events, as many as a cluster keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

from kschedweb.clusters.events.records import EventRecord

# Events of a cluster: at most some 7 MiB in the database, and an hour of a cluster with 1,000 pods.
MOST_KEPT = 5_000
# Events of one object, so that a pod that fails each second leaves room for the others.
MOST_OF_OBJECT = 30


class EventCollector:
    """Collects the newest of any number of Events in bounded memory."""

    def __init__(self) -> None:
        self._events: dict[str, EventRecord] = {}

    def add(self, event: EventRecord) -> None:
        earlier = self._events.get(event.uid)
        if earlier is None or earlier.last_at <= event.last_at:
            self._events[event.uid] = event
        if len(self._events) >= 2 * MOST_KEPT:
            self._events = {event.uid: event for event in self.newest}

    @property
    def newest(self) -> list[EventRecord]:
        return select_newest(self._events.values())


def select_newest(events: Iterable[EventRecord]) -> list[EventRecord]:
    """Return those that a ring keeps of ``events``, the newest first."""
    counts, selected = Counter[tuple[str, str, str]](), list[EventRecord]()
    for event in sorted(events, key=attrgetter("last_at", "uid"), reverse=True):
        key = (event.kind, event.namespace, event.name)
        counts[key] += 1
        if counts[key] <= MOST_OF_OBJECT:
            selected.append(event)
        if len(selected) == MOST_KEPT:
            break
    return selected
