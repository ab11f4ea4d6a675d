"""Events are one kind of object in two groups: stored as those of the core group, and shown as either."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import EVENT, Resource

# (field of the core group, field of events.k8s.io)
FIELDS = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_CORE_TO_EVENTS, _EVENTS_TO_CORE = dict(FIELDS), {later: core for core, later in FIELDS}


def convert_for_resource(resource: Resource, raw: Json) -> Json:
    """Return the stored object as ``resource`` shows it."""
    if resource.kind != EVENT.kind or resource is EVENT:
        return raw
    return {_CORE_TO_EVENTS.get(key, key): value for key, value in raw.items()} | {"apiVersion": resource.api_version}


def convert_to_stored(resource: Resource, raw: Json) -> Json:
    """Return what was sent to ``resource`` as it is stored."""
    if resource.kind != EVENT.kind:
        return raw
    stored = {_EVENTS_TO_CORE.get(key, key): value for key, value in raw.items()} if resource is not EVENT else raw
    return {**stored, "apiVersion": EVENT.api_version}
