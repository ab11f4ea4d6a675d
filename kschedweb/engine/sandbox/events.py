"""Events are one kind of object in two groups: stored as those of the core group, seen as either."""

from __future__ import annotations

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.resources import EVENT, Resource

# The field of the core group, and that of events.k8s.io.
FIELDS = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_SEEN, _STORED = dict(FIELDS), {later: core for core, later in FIELDS}


def seen_as(resource: Resource, raw: Json) -> Json:
    """The stored object as ``resource`` shows it."""
    if resource.kind != EVENT.kind or resource is EVENT:
        return raw
    return {_SEEN.get(key, key): value for key, value in raw.items()} | {"apiVersion": resource.api_version}


def stored_as(resource: Resource, raw: Json) -> Json:
    """What was sent to ``resource`` as it is stored."""
    if resource.kind != EVENT.kind:
        return raw
    stored = {_STORED.get(key, key): value for key, value in raw.items()} if resource is not EVENT else raw
    return {**stored, "apiVersion": EVENT.api_version}
