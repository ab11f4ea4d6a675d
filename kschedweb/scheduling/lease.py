"""The lock of an election as a Lease (coordination.k8s.io), which is what kube-scheduler uses."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kschedweb.clusters.client import Client, ClusterError
from kschedweb.clusters.failures import refusal, status_text
from kschedweb.clusters.wire import Answer
from kschedweb.scheduling.elector import RENEW_SECONDS, Record
from kschedweb.scheduling.facts import Json
from kschedweb.scheduling.recorder import election_event, micro_time

API = "coordination.k8s.io/v1"


class LeaseLock:
    """The Lease ``namespace``/``name``. Each call takes ``seconds`` at most: less than a term, for one may hang.

    ``component`` is who the events of the election come from.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        component: str = "kschedweb",
        seconds: float = RENEW_SECONDS / 3,
    ) -> None:
        self._client, self._identity, self._component, self._seconds = client, identity, component, seconds
        self._namespace, self._name = namespace, name
        self._collection = f"/apis/{API}/namespaces/{quote(namespace, safe='')}/leases"
        self._lease: Json | None = None

    def get(self) -> Record | None:
        answer = self._client.send("GET", f"{self._collection}/{quote(self._name, safe='')}", seconds=self._seconds)
        if answer.code == 404:
            self._lease = None
            return None
        self._lease = self._read(answer)
        return record_of(self._lease)

    def create(self, record: Record) -> None:
        metadata = {"namespace": self._namespace, "name": self._name}
        lease = {"apiVersion": API, "kind": "Lease", "metadata": metadata, "spec": spec_of(record)}
        self._lease = self._read(self._client.send("POST", self._collection, lease, seconds=self._seconds))

    def update(self, record: Record) -> None:
        if self._lease is None:
            raise ClusterError("The lease was not read yet.")
        lease = self._lease | {"spec": spec_of(record)}
        path = f"{self._collection}/{quote(self._name, safe='')}"
        self._lease = self._read(self._client.send("PUT", path, lease, seconds=self._seconds))

    def tell(self, what: str) -> None:
        if self._lease is not None:
            event = election_event(self._lease, self._identity, what, self._component, time.time())
            path = f"/api/v1/namespaces/{quote(self._namespace, safe='')}/events"
            self._client.send("POST", path, event, seconds=self._seconds)

    def _read(self, answer: Answer) -> Json:
        found = answer.json() if answer.code < 300 else None
        if isinstance(found, dict) and isinstance(found.get("metadata"), dict):
            return found
        lease = f"lease {self._namespace}/{self._name}"
        if answer.code in (403, 404, 409, 422):
            raise ClusterError(status_text(answer) or f"The {lease} cannot be written.", code=answer.code)
        raise refusal(answer.code, lease)


def record_of(lease: Json) -> Record:
    """The record that a Lease holds; what is missing or malformed counts as nothing."""
    spec = lease.get("spec") or {}
    return Record(
        holder=str(spec.get("holderIdentity") or ""),
        seconds=_whole(spec.get("leaseDurationSeconds")),
        acquired=_seconds(spec.get("acquireTime")),
        renewed=_seconds(spec.get("renewTime")),
        transitions=_whole(spec.get("leaseTransitions")),
    )


def spec_of(record: Record) -> Json:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": micro_time(record.acquired),
        "renewTime": micro_time(record.renewed),
        "leaseTransitions": record.transitions,
    }


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _seconds(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
