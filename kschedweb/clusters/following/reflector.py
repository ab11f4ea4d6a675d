"""Follows one kind of a cluster's objects: a list, then every change.

It works as client-go's reflector: a first list comes from the API server's cache, then a watch with bookmarks. If the
connection breaks, a new watch starts from the same resource version; if that version has expired, a new list is read.
Backoff comes in between.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import structlog

from kschedweb.clusters.connecting.client import Client, ClusterError, Stopped
from kschedweb.clusters.connecting.errors import ResourceExpired
from kschedweb.clusters.kinds import ObjectKind, reduce_object
from kschedweb.clusters.reader import object_key
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError

log = structlog.get_logger(__name__)


# Seconds, with jitter up to twice as long: client-go's backoff of a reflector.
FIRST_REST, FACTOR, LONGEST_REST, QUIET = 0.8, 2.0, 30.0, 120.0
# Seconds; the server ends a watch after a random time between these.
WATCH_SECONDS = (240.0, 360.0)
# Seconds; bookmarks come about once a minute, so longer silence means a dead connection.
IDLE_SECONDS = 90.0
# Seconds; a watch that ends sooner without an event is an error.
SHORT_SECONDS = 1.0
# Consecutive breaks without an event, after which a list is tried.
MOST_BREAKS = 5
# Statuses 403 and 404 may pass while a server starts.
MOST_REFUSALS = 3
# kube-scheduler leaves out finished pods, too; the watch reports them as deleted.
FIELD_SELECTORS: Mapping[str, str] = {"Pod": "status.phase!=Succeeded,status.phase!=Failed"}


class WatchState(TypedDict):
    """The state of a watch for the Live page."""

    age: float  # seconds since the last message
    relists: dict[str, int]  # by reason
    synced: bool
    problem: str


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of ``kind``; other known ones are gone."""

    kind: str
    items: list[Json]
    resource_version: str
    # Why the list was read: start, expired (resource version), broken (connection), or error.
    reason: str
    # The objects of earlier lists that are gone, as metadata only.
    removed: tuple[Json, ...] = ()
    # Why the kind cannot be read; then there are no objects. "" if it can.
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """An object that was added or changed."""

    kind: str
    raw: Json


@dataclass(frozen=True, slots=True)
class Removed:
    """An object that was deleted, in its last state."""

    kind: str
    raw: Json


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A message that nothing of ``kind`` changed up to ``resource_version``."""

    kind: str
    resource_version: str


Message = Listed | Changed | Removed | Bookmark


class Backoff:
    """Delays that double from 0.8 s to 30 s, with random jitter up to a factor of 2. Two quiet minutes reset them."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock, self._chance = clock, chance
        self._next, self._at = FIRST_REST, -QUIET

    def next_delay(self) -> float:
        """Return the next delay in seconds."""
        now = self._clock()
        if now - self._at > QUIET:
            self._next = FIRST_REST
        delay = self._next * (1 + self._chance())
        self._next, self._at = min(LONGEST_REST, self._next * FACTOR), now + delay
        return delay


class Reflector:
    """Follows ``kind`` in its own thread and sends messages to ``sink``: first a ``Listed``, then changes in order.

    ``open_client`` returns a client for each list, so that new credentials are used. ``broken`` is called with the kind
    and the problem when the connection of a watch is lost: until the next message, changes may come late. ``end`` stops
    it.
    """

    def __init__(
        self,
        open_client: Callable[[], Client],
        kind: ObjectKind,
        sink: Callable[[Message], object],
        *,
        idle_seconds: float = IDLE_SECONDS,
        watch_seconds: tuple[float, float] = WATCH_SECONDS,
        backoff: Backoff | None = None,
        broken: Callable[[str, str], object] = lambda *_: None,
    ) -> None:
        self.kind, self.relists = kind, Counter[str]()
        self.synced, self.problem = False, ""
        self._open, self._sink, self._broken = open_client, sink, broken
        self._idle, self._watch_seconds = idle_seconds, watch_seconds
        self._backoff = backoff or Backoff()
        self._selection = {"fieldSelector": selector} if (selector := FIELD_SELECTORS.get(kind.name)) else {}
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._client: Client | None = None
        self._version, self._unavailable = "", False
        # Uids by "namespace/name".
        self._known: dict[str, str] = {}
        self._refusals, self._reason = 0, "start"
        self._heard = time.monotonic()
        self._thread = threading.Thread(target=self.run, name=f"reflector-{kind.name}", daemon=True)

    @property
    def age(self) -> float:
        """Seconds since the last message of the server about this kind."""
        return time.monotonic() - self._heard

    @property
    def state(self) -> WatchState:
        return {
            "age": round(self.age, 1),
            "relists": dict(self.relists),
            "synced": self.synced,
            "problem": self.problem,
        }

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop, from any thread, even while it waits for the server. ``join`` waits for the end."""
        self._stop.set()
        with self._lock:
            if self._client is not None:
                self._client.interrupt()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def run(self) -> None:
        """Follow until ``end``."""
        while not self._stop.is_set():
            try:
                with self._open() as client:
                    self._use_client(client)
                    self._list_objects(client)
                    self._reason = self._watch(client)
                    continue
            except Stopped:
                return
            except ApplicationError as error:
                self._note_failure(error)
            finally:
                self._use_client(None)
            self._stop.wait(self._backoff.next_delay())

    def _use_client(self, client: Client | None) -> None:
        with self._lock:
            self._client = client
            if client is not None and self._stop.is_set():
                client.interrupt()

    def _note_failure(self, error: ApplicationError) -> None:
        self.problem, self._reason = error.detail, "error"
        self._broken(self.kind.name, error.detail)
        log.info("cannot follow", kind=self.kind.name, error=error.detail)
        code = error.code if isinstance(error, ClusterError) else 0
        self._refusals = self._refusals + 1 if code in (403, 404) else 0
        # Few clusters serve these, so one 404 is enough.
        enough = 1 if self.kind.optional and code == 404 else MOST_REFUSALS
        if self._refusals < enough or self.synced or self.kind.needed:
            return
        # The scheduler works without kinds that it may not read or that this cluster does not serve.
        self.synced = True
        words = "are not served by this cluster" if code == 404 else "may not be listed with these credentials"
        self._sink(Listed(self.kind.name, [], "", self._reason, problem=f"{self.kind.resource} {words}"))

    # Listing.

    def _list_objects(self, client: Client) -> None:
        try:
            items, version = self._read_list(client)
        except ClusterError as error:
            # The version has expired, or the server's cache is older (504): read from etcd.
            if not (isinstance(error, ResourceExpired) or error.code == 504) or not self._version:
                raise
            self._unavailable = True
            items, version = self._read_list(client)
        self._unavailable = False
        uid_by_key = dict(filter(None, map(_identity_of, items)))
        removed = tuple(_make_tombstone(key, uid) for key, uid in self._known.items() if uid_by_key.get(key) != uid)
        self._note_list(version, uid_by_key)
        self._send_list(items, version, removed)

    def _send_list(self, items: list[Json], version: str, removed: tuple[Json, ...] = ()) -> None:
        self._sink(Listed(self.kind.name, items, version, self._reason, removed))

    def _note_list(self, version: str, uid_by_key: dict[str, str]) -> None:
        """Note that the list was read, whose changes are watched from ``version`` on."""
        self.relists[self._reason] += 1
        self._known, self._version, self._heard = uid_by_key, version, time.monotonic()
        self.synced, self.problem, self._refusals = True, "", 0

    def _read_list(self, client: Client) -> tuple[list[Json], str]:
        at: dict[str, object] = {} if self._unavailable else {"resourceVersion": self._version or "0"}
        # Without a limit, the list comes from the API server's cache; only consistent reads are paged.
        limit = {} if self._unavailable else {"limit": 0}
        items: list[Json] = []
        version = ""
        for page in client.pages(self.kind.path, **limit, **at, **self._selection):  # type: ignore[arg-type]
            for item in page.items:
                if object_key(item) is not None:
                    item["apiVersion"], item["kind"] = self.kind.api_version, self.kind.name
                    items.append(reduce_object(item))
            version = page.resource_version
        return items, version

    # Watching.

    def _watch(self, client: Client) -> str:
        """Watch until a new list is needed. Returns the reason."""
        breaks = 0
        while not self._stop.is_set():
            start = time.monotonic()
            try:
                heard, error = self._follow_watch(client)
            except ResourceExpired:
                return "expired"
            if heard or time.monotonic() - start >= SHORT_SECONDS:
                breaks = 0
            elif not _is_busy(error):
                breaks += 1
            if breaks >= MOST_BREAKS:
                return "broken"
            rests = breaks or _is_busy(error) or (error is not None and error.code != 0)
            if rests and self._stop.wait(self._backoff.next_delay()):
                break
        raise Stopped

    def _follow_watch(self, client: Client) -> tuple[bool, ClusterError | None]:
        """Run one watch from the last resource version. Returns whether it had events, and its error."""
        heard = False
        try:
            for event in self._open_watch(client):
                self._take_event(event)
                heard = True
        except ClusterError as error:
            if not error.passing and error.code != 0:
                raise
            self.problem = error.detail
            self._broken(self.kind.name, error.detail)
            return heard, error
        self.problem = ""
        return heard, None

    def _open_watch(self, client: Client) -> Any:
        seconds = int(random.uniform(*self._watch_seconds))  # noqa: S311
        return client.watch(self.kind.path, self._version, seconds=seconds, idle=self._idle, **self._selection)

    def _take_event(self, event: Any) -> None:
        raw = event.get("object") if isinstance(event, dict) else None
        metadata = raw.get("metadata") if isinstance(raw, dict) else None
        if not isinstance(raw, dict) or not isinstance(metadata, dict):
            raise ClusterError("The server sends an event that is none.")
        self._heard = time.monotonic()
        self.problem = ""
        kind, event_type = self.kind.name, event.get("type")
        if event_type == "BOOKMARK":
            self._sink(Bookmark(kind, str(metadata.get("resourceVersion"))))
        elif (identity := _identity_of(raw)) is not None:
            reduce_object(raw)
            if event_type == "DELETED":
                self._known.pop(identity[0], None)
                self._sink(Removed(kind, raw))
            else:
                self._known.update((identity,))
                self._sink(Changed(kind, raw))
        self._version = str(metadata.get("resourceVersion") or self._version)


def _is_busy(error: ClusterError | None) -> bool:
    """Return whether the server is away or overloaded, so that a list would not help."""
    return error is not None and (error.code == 429 or not error.reached)


def _identity_of(raw: Json) -> tuple[str, str] | None:
    key = object_key(raw)
    return None if key is None else (key, str(raw["metadata"].get("uid") or ""))


def _make_tombstone(key: str, uid: str) -> Json:
    namespace, _, name = key.partition("/")
    return {"metadata": {"name": name, "uid": uid} | ({"namespace": namespace} if namespace else {})}
