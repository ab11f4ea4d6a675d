"""The lock of an election in a Lease (coordination.k8s.io), as kube-scheduler uses it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.election.elector import Record
from kschedweb.live.schedulers.election.objectlock import ObjectLock
from kschedweb.live.schedulers.writing.recorder import micro_time


class LeaseLock(ObjectLock):
    """A Lease, whose spec is the record."""

    api, kind, resource = "coordination.k8s.io/v1", "Lease", "leases"

    def record_of(self, lock_object: Json) -> Record:
        return record_of(lock_object)

    def with_record(self, lock_object: Json, record: Record) -> Json:
        return lock_object | {"spec": spec_of(record)}


def record_of(lease: Json) -> Record:
    """Return the record that a Lease holds; missing or malformed fields count as zero values."""
    spec = lease.get("spec") or {}
    return Record(
        holder=str(spec.get("holderIdentity") or ""),
        seconds=_parse_int(spec.get("leaseDurationSeconds")),
        acquired=_parse_time(spec.get("acquireTime")),
        renewed=_parse_time(spec.get("renewTime")),
        transitions=_parse_int(spec.get("leaseTransitions")),
    )


def spec_of(record: Record) -> Json:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": micro_time(record.acquired),
        "renewTime": micro_time(record.renewed),
        "leaseTransitions": record.transitions,
    }


def _parse_int(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _parse_time(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
