"""Locks of an election in an annotation of Endpoints or a ConfigMap, as older kube-schedulers used them.

The annotation holds client-go's LeaderElectionRecord as JSON, with times in whole seconds. A record that cannot
be read is an error, as in client-go: it may belong to another candidate.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from kschedweb.clusters.connecting.client import ClusterError
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.election.elector import Record
from kschedweb.live.schedulers.election.objectlock import ObjectLock

# client-go's LeaderElectionRecordAnnotationKey.
KEY = "control-plane.alpha.kubernetes.io/leader"


class AnnotationLock(ObjectLock):
    """An object that holds the record in an annotation. Without the annotation nobody holds the lock."""

    api = "v1"

    def record_of(self, lock_object: Json) -> Record:
        text = (lock_object["metadata"].get("annotations") or {}).get(KEY)
        try:
            return Record("", 0, 0.0, 0.0, 0) if text is None else parse_record(text)
        except (ValueError, TypeError, RecursionError) as error:
            place = f"{self.kind} {self._namespace}/{self._name}"
            raise ClusterError(
                f"Nobody can lead: the annotation {KEY} of {place} is no record of an election ({error}). "
                "Remove the annotation once nobody leads by it."
            ) from None

    def with_record(self, lock_object: Json, record: Record) -> Json:
        metadata: Json = lock_object["metadata"]
        annotations = (metadata.get("annotations") or {}) | {KEY: text_of(record)}
        return lock_object | {"metadata": metadata | {"annotations": annotations}}


class EndpointsLock(AnnotationLock):
    """A lock in Endpoints, which need not belong to a Service."""

    kind, resource = "Endpoints", "endpoints"


class ConfigMapLock(AnnotationLock):
    """A lock in a ConfigMap; its data are not touched."""

    kind, resource = "ConfigMap", "configmaps"


def parse_record(text: str) -> Record:
    """Return the record of an annotation. Missing and null members are zero values, as in Go; others are ignored.

    Raises ValueError or TypeError if the text is not a record.
    """
    raw = json.loads(text)
    if not isinstance(raw, dict | None):
        raise TypeError("it is no JSON object")
    members = {name: value for name, value in (raw or {}).items() if value is not None}
    return Record(
        holder=_read_member(members, "holderIdentity", str, "text") or "",
        seconds=_read_member(members, "leaseDurationSeconds", int, "whole number") or 0,
        acquired=_parse_time(members, "acquireTime"),
        renewed=_parse_time(members, "renewTime"),
        transitions=_read_member(members, "leaderTransitions", int, "whole number") or 0,
    )


def text_of(record: Record) -> str:
    """Return the record as client-go's JSON."""
    # The order of Go's struct, since encoding/json writes members in it.
    raw = {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": _format_time(record.acquired),
        "renewTime": _format_time(record.renewed),
        "leaderTransitions": record.transitions,
    }
    return json.dumps(raw, separators=(",", ":"), ensure_ascii=False)


def _read_member(members: Json, name: str, kind: type, type_name: str) -> Any:
    value = members.get(name)
    # bool is a subclass of int in Python; Go refuses a boolean where it expects a number.
    if name in members and type(value) is not kind:
        raise TypeError(f"{name} is no {type_name}")
    return value


def _parse_time(members: Json, name: str) -> float:
    text = _read_member(members, name, str, "time")
    if text is None:
        return 0.0
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} is no time") from None
    if at.tzinfo is None:
        raise ValueError(f"{name} has no time zone")
    return at.timestamp()


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
