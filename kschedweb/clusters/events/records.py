"""Events as they are kept: the fields of both APIs, of core v1 and of events.k8s.io, in one record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kschedweb.clusters.rows import parse_time
from kschedweb.engine.json_types import Json
from kschedweb.web.redaction import redact_text

API_VERSIONS = frozenset({"v1", "events.k8s.io/v1", "events.k8s.io/v1beta1"})
# Kinds that have no namespace. Their Events are in the namespace "default", which says nothing about them.
CLUSTER_SCOPED = frozenset({"Node", "NodeClaim", "NodePool", "PersistentVolume", "Namespace", "ClusterQueue", "Cohort"})
# Characters. The API server takes no longer message of events.k8s.io, and client libraries cut those of core.
LONGEST_MESSAGE = 1024
# A PositiveIntegerField.
LARGEST_COUNT = 2**31 - 1
# Years of times that are believed: Go's zero time is of the year 1.
YEARS = range(2000, 3000)


@dataclass(frozen=True)
class EventRecord:
    """The columns of an EventRow, without the cluster."""

    uid: str
    kind: str
    namespace: str
    name: str
    object_uid: str
    type: str
    reason: str
    message: str
    source: str
    count: int
    first_at: datetime
    last_at: datetime


def read_event(raw: Json) -> EventRecord | None:
    """Return the Event ``raw``; ``None`` if it names no object, or has no time."""
    metadata, series = _mapping(raw, "metadata"), _mapping(raw, "series")
    involved = _mapping(raw, "involvedObject") or _mapping(raw, "regarding")
    kind, name = _text(involved.get("kind"), 63), _text(involved.get("name"), 253)
    uid = _text(metadata.get("uid"), 320) or _text(f"{metadata.get('namespace')}/{metadata.get('name')}", 320)
    last_at = _read_time(series, "lastObservedTime") or _read_time(raw, "lastTimestamp", "deprecatedLastTimestamp")
    first_at = _read_time(raw, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime")
    first_at = first_at or _read_time(metadata, "creationTimestamp") or last_at
    last_at = last_at or first_at
    if not kind or not name or first_at is None or last_at is None:
        return None
    counts = (raw.get("count"), raw.get("deprecatedCount"), series.get("count"))
    return EventRecord(
        uid=uid,
        kind=kind,
        namespace="" if kind in CLUSTER_SCOPED else _text(involved.get("namespace"), 63),
        name=name,
        object_uid=_text(involved.get("uid"), 253),
        type=_text(raw.get("type"), 16) or "Normal",
        reason=_text(raw.get("reason"), 128),
        message=_text(redact_text(_first_text(raw, "message", "note")[: 2 * LONGEST_MESSAGE]), LONGEST_MESSAGE),
        source=_read_source(raw),
        count=max(1, *map(_read_count, counts)),
        first_at=min(first_at, last_at),
        last_at=last_at,
    )


def _read_source(raw: Json) -> str:
    source = _mapping(raw, "source") or _mapping(raw, "deprecatedSource")
    name = _first_text(raw, "reportingComponent", "reportingController") or source.get("component")
    return _text(name, 253)


def _read_time(raw: Json, *keys: str) -> datetime | None:
    times = (parse_time(raw.get(key)) for key in keys)
    return next((time for time in times if time is not None and time.year in YEARS), None)


def _read_count(value: Any) -> int:
    return min(value, LARGEST_COUNT) if isinstance(value, int) and not isinstance(value, bool) else 0


def _mapping(raw: Json, key: str) -> Json:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _first_text(raw: Json, *keys: str) -> str:
    return next((value for key in keys if isinstance(value := raw.get(key), str) and value), "")


def _text(value: Any, longest: int) -> str:
    """Return ``value`` cut to ``longest`` characters, without those that databases refuse; "" for anything but text."""
    if not isinstance(value, str):
        return ""
    return value.replace("\0", "").encode("utf-8", "replace").decode("utf-8")[:longest]
