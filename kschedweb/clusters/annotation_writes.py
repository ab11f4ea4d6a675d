"""Reads annotations of nodes and workloads, and writes many of them at a limited rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from kschedweb.clusters.connecting.access import is_allowed, is_served
from kschedweb.clusters.connecting.client import JSON, Client, ClusterError, Stopped, retry_pause
from kschedweb.clusters.kinds import BY_NAME, ObjectKind
from kschedweb.clusters.reader import object_key

# Asks the API server for metadata alone: whole pods and nodes would be many times as large.
METADATA_ONLY = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# The kinds whose annotations this site reads and writes.
KINDS = tuple(BY_NAME[name] for name in ("Node", "Deployment", "StatefulSet", "DaemonSet", "CloneSet"))
# Threads that write at the same time; RequestPace limits their requests together.
WORKERS = 4
ATTEMPTS = 4
CONFLICT, NOT_FOUND, FORBIDDEN = 409, 404, 403
# After so many passing failures in a row the server is overloaded.
GIVE_UP = 8
# Failures that a report names one by one.
MOST_FAILURES = 100
# Annotations by "namespace/name"; "/name" for nodes.
AnnotationsByKey = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Patch:
    """The annotations to write on one object."""

    kind: ObjectKind
    # "namespace/name"; "/name" for a node.
    key: str
    # None removes the key.
    annotations: Mapping[str, str | None]

    @property
    def reference(self) -> str:
        return f"{self.kind.name} {self.key.removeprefix('/')}"

    @property
    def path(self) -> str:
        namespace, _, name = self.key.partition("/")
        return self.kind.object_path(namespace, name)


@dataclass
class WriteReport:
    """The result of writing, in numbers of objects."""

    patched: int = 0
    # Deleted in the meantime.
    gone: int = 0
    # Not tried any more.
    left: int = 0
    failures: int = 0
    # The first failures with their reasons.
    failed: list[dict[str, str]] = field(default_factory=list)

    def record_failure(self, reference: str, reason: str) -> None:
        self.failures += 1
        if len(self.failed) < MOST_FAILURES:
            self.failed.append({"object": reference, "reason": reason})


def annotations_read(client: Client, kind: ObjectKind) -> AnnotationsByKey:
    """Return the annotations of every object of ``kind``. The cluster sends only metadata.

    Raises ClusterError.
    """
    annotations_by_key: AnnotationsByKey = {}
    for page in client.pages(kind.path, accept=METADATA_ONLY):
        for item in page.items:
            if key := object_key(item):
                listed = item["metadata"].get("annotations")
                texts = listed.items() if isinstance(listed, dict) else ()
                annotations_by_key[key] = {name: text for name, text in texts if isinstance(text, str)}
    return annotations_by_key


def patch_permissions(client: Client) -> list[dict[str, object]]:
    """Return which annotated kinds these credentials may patch, as ``[{"resource": "nodes", "allowed": true}]``."""
    served = [kind for kind in KINDS if not kind.optional or is_served(client, kind)]
    return [{"resource": kind.resource, "allowed": is_allowed(client, kind, "patch")} for kind in served]


class RequestPace:
    """A limit of ``rate`` requests a second over all threads. If the server needs a rest, all wait."""

    def __init__(self, rate: float, stop: threading.Event) -> None:
        self._gap, self._stop = 1.0 / rate, stop
        self._lock, self._next = threading.Lock(), time.monotonic()

    def wait_turn(self) -> None:
        """Wait until the next request is allowed."""
        with self._lock:
            now = time.monotonic()
            at = max(self._next, now)
            # The slot is taken under the lock, but the waiting happens outside of it.
            self._next = at + self._gap
        self._stop.wait(at - now)

    def pause_all(self, seconds: float) -> None:
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


def annotations_write(
    client: Client,
    changes: Iterable[Patch],
    *,
    rate: float,
    seconds: float,
    step: Callable[[int, int], None] = lambda completed, total: None,
) -> WriteReport:
    """Write ``changes`` at no more than ``rate`` requests a second, for no longer than ``seconds``.

    A failure does not hold up the others. If the server is too busy, a write is tried again after growing pauses. If
    writing is forbidden, further objects of that kind and namespace are skipped. ``step(done, total)`` is called.
    """
    return _Writing(client, list(changes), rate, seconds).run(step)


class _Writing:
    """One run of ``annotations_write``, with the state that its threads share."""

    def __init__(self, client: Client, changes: list[Patch], rate: float, seconds: float) -> None:
        self._client, self._changes = client, changes
        self._pace, self._until = RequestPace(rate, client.stop), time.monotonic() + seconds
        self._lock, self._outcome = threading.Lock(), WriteReport()
        self._forbidden: set[tuple[str, str]] = set()
        self._in_a_row = 0

    def run(self, step: Callable[[int, int], None]) -> WriteReport:
        with ThreadPoolExecutor(WORKERS, thread_name_prefix="annotate") as pool:
            try:
                for completed, _ in enumerate(pool.map(self._write_change, self._changes), start=1):
                    step(completed, len(self._changes))
            except BaseException:
                self._client.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return self._outcome

    def _write_change(self, change: Patch) -> None:
        place = (change.kind.name, change.key.partition("/")[0])
        with self._lock:
            if place in self._forbidden or self._in_a_row >= GIVE_UP or time.monotonic() > self._until:
                self._outcome.left += 1
                return
        try:
            self._patch_object(change)
        except (ClusterError, Stopped) as error:
            self._record_failure(change, place, error)
        else:
            with self._lock:
                self._outcome.patched += 1
                self._in_a_row = 0

    def _patch_object(self, change: Patch) -> None:
        body = {"metadata": {"annotations": dict(change.annotations)}}
        for attempt in range(1, ATTEMPTS + 1):
            self._pace.wait_turn()
            try:
                return self._client.patch(change.path, body)
            except ClusterError as error:
                # A conflict passes as well: a merge patch without resourceVersion is simply sent again.
                worth_it = error.passing or error.code == CONFLICT
                if attempt == ATTEMPTS or not worth_it or time.monotonic() > self._until:
                    raise
                self._pace.pause_all(error.wait or retry_pause(attempt))
        raise AssertionError

    def _record_failure(self, change: Patch, place: tuple[str, str], error: ClusterError | Stopped) -> None:
        with self._lock:
            if isinstance(error, Stopped):
                self._outcome.left += 1
            elif error.code == NOT_FOUND:
                self._outcome.gone += 1
            else:
                self._in_a_row += error.passing
                if error.code == FORBIDDEN:
                    self._forbidden.add(place)
                self._outcome.record_failure(change.reference, error.detail)
