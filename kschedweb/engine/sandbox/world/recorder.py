"""Events of kubelets and controllers, as client-go's older recorder writes them: repetitions are counted."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import ApiObjects, format_timestamp
from kschedweb.engine.sandbox.resources import EVENT, Resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import StoreChange

NORMAL, WARNING = "Normal", "Warning"
# Real seconds, as long as the API server keeps events.
KEPT_SECONDS = 3600.0
# Of more events, the oldest go.
MAX_EVENTS = 2000
# Characters of a message.
LONGEST = 1024
# (uid of the object, reason, message, component): such events are counted as one.
EventIdentity = tuple[str, str, str, str]


class EventRecorder:
    """Records events. It also hears of changes, so that it forgets events that are gone."""

    def __init__(self, objects: ApiObjects) -> None:
        self._objects = objects
        # Names of the events in the store.
        self._names: dict[EventIdentity, str] = {}
        self._number = 0

    def on_change(self, change: StoreChange) -> None:
        if change.resource.key == EVENT.key and change.new is None:
            self._names.pop(_event_identity(change.last), None)

    def record_event(
        self,
        resource: Resource,
        raw: Json,
        reason: str,
        message: str,
        *,
        component: str,
        kind: str = NORMAL,
        host: str = "",
    ) -> None:
        """Record an event about an object; ``component`` is the one that reports it."""
        now = self._objects.clock()
        metadata, stamp = raw["metadata"], format_timestamp(now)
        namespace = metadata.get("namespace") or "default"
        identity = (metadata["uid"], reason, message[:LONGEST], component)
        store = self._objects.store
        existing = store.get(EVENT, namespace, self._names.get(identity, ""))
        if existing is not None:
            store.put(EVENT, {**existing, "count": int(existing.get("count") or 1) + 1, "lastTimestamp": stamp})
            return
        self._number += 1
        name = f"{metadata['name']}.{int(now * 1e9) + self._number:x}"
        involved = {"kind": resource.kind, "apiVersion": resource.api_version, "name": metadata["name"]}
        involved |= {field: metadata[field] for field in ("namespace", "uid", "resourceVersion") if metadata.get(field)}
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message[:LONGEST],
            "source": {"component": component, **({"host": host} if host else {})},
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": host,
        }
        try:
            self._objects.create_object(EVENT, namespace, body)
        except ApiRefusal:
            # The event's namespace is gone, or going.
            return
        self._names[identity] = name

    def delete_old_events(self) -> None:
        """Delete events that are too old, or too many."""
        store, oldest = self._objects.store, format_timestamp(self._objects.clock() - KEPT_SECONDS)
        events = sorted(store.all(EVENT), key=_last_time)
        for place, raw in enumerate(events):
            if _last_time(raw) >= oldest and len(events) - place <= MAX_EVENTS:
                break
            store.remove(EVENT, raw)


def _last_time(raw: Json) -> str:
    """Return when the event happened last; times of one form have the order of their texts, to the second."""
    series = (raw.get("series") or {}).get("lastObservedTime")
    times = (raw.get("lastTimestamp"), series, raw.get("eventTime"), raw["metadata"].get("creationTimestamp"))
    return max(str(time) for time in times if time)


def _event_identity(raw: Json) -> EventIdentity:
    uid = (raw.get("involvedObject") or {}).get("uid") or ""
    return uid, raw.get("reason") or "", raw.get("message") or "", (raw.get("source") or {}).get("component") or ""
