"""A lock of an election in one object of the API server. It is overwritten only if it is as it was last read."""

from __future__ import annotations

import time
from typing import ClassVar
from urllib.parse import quote

from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.connecting.errors import status_error, status_text
from kschedweb.clusters.connecting.wire import WireResponse
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.election.elector import RENEW_SECONDS, Record
from kschedweb.live.schedulers.writing.recorder import election_event


class ObjectLock:
    """The object ``namespace``/``name``. Subclasses say where it holds the record; all else in it stays as it is.

    Each call takes at most ``seconds``, which is less than a term, since a call may hang. ``component`` is the source
    of the election's events.
    """

    # Group and version, such as coordination.k8s.io/v1.
    api: ClassVar[str]
    kind: ClassVar[str]
    resource: ClassVar[str]

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
        root = f"/apis/{self.api}" if "/" in self.api else f"/api/{self.api}"
        self._collection = f"{root}/namespaces/{quote(namespace, safe='')}/{self.resource}"
        self._path = f"{self._collection}/{quote(name, safe='')}"
        # The object as last read or written; its resource version guards the next write.
        self._found: Json | None = None

    def record_of(self, lock_object: Json) -> Record:
        """Return the record that the object holds."""
        raise NotImplementedError

    def with_record(self, lock_object: Json, record: Record) -> Json:
        """Return the object with its record replaced by ``record``."""
        raise NotImplementedError

    @property
    def exists(self) -> bool:
        """True if the object existed when it was last read or written."""
        return self._found is not None

    def get(self) -> Record | None:
        answer = self._client.send("GET", self._path, seconds=self._seconds)
        self._found = None if answer.code == 404 else self._read_answer(answer)
        return None if self._found is None else self.record_of(self._found)

    def create(self, record: Record) -> None:
        metadata = {"namespace": self._namespace, "name": self._name}
        lock_object = self.with_record({"apiVersion": self.api, "kind": self.kind, "metadata": metadata}, record)
        answer = self._client.send("POST", self._collection, lock_object, seconds=self._seconds)
        if answer.code == 404:
            detail = status_text(answer) or "no such resource"
            raise ClusterError(
                f"The cluster does not serve {self.resource}, or has no namespace {self._namespace}: choose another "
                f"lock or namespace ({detail}).",
                code=404,
            )
        self._found = self._read_answer(answer)

    def update(self, record: Record) -> None:
        """Write the object with the resource version that was read, so that the server refuses it after a change."""
        if self._found is None:
            raise ClusterError(f"The {self.kind} was not read yet.")
        self._found = self._read_answer(
            self._client.send("PUT", self._path, self.with_record(self._found, record), seconds=self._seconds)
        )

    def record_event(self, action: str) -> None:
        if self._found is not None:
            event = election_event(self._found, self._identity, action, self._component, time.time())
            path = f"/api/v1/namespaces/{quote(self._namespace, safe='')}/events"
            self._client.send("POST", path, event, seconds=self._seconds)

    def _read_answer(self, answer: WireResponse) -> Json:
        lock_object = answer.json() if answer.code < 300 else None
        if isinstance(lock_object, dict) and isinstance(lock_object.get("metadata"), dict):
            return lock_object
        place = f"{self.kind} {self._namespace}/{self._name}"
        if answer.code in (403, 404, 409, 422):
            raise ClusterError(status_text(answer) or f"The {place} cannot be written.", code=answer.code)
        raise status_error(answer.code, place)
