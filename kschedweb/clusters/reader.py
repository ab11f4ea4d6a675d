"""Reads a cluster: first every kind in pages, later only changes by a watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from kschedweb.clusters.connecting.client import PAGE, Client, ClusterError
from kschedweb.clusters.connecting.errors import ResourceExpired
from kschedweb.clusters.kinds import KINDS, ObjectKind, reduce_object
from kschedweb.clusters.rows import Problem, snapshot_problem
from kschedweb.engine.json_types import Json

Step = Callable[[str, int, int], None]

# Kinds that are read at the same time: more would burden a small API server.
WORKERS = 4
LIST_ATTEMPTS = 3
# Seconds: the API server sends its last bookmark two seconds before a watch ends, so an idle watch is complete after
# one.
WATCH_SECONDS = 3


@dataclass
class Collection:
    """The objects of one kind as of one resource version."""

    # By "namespace/name".
    objects: dict[str, Json] = field(default_factory=dict)
    resource_version: str = ""
    problems: list[Problem] = field(default_factory=list)
    # False if the cluster does not serve the kind.
    served: bool = True
    # True if it was updated by a watch, and not listed again.
    watched: bool = False

    def add(self, kind: ObjectKind, item: Any) -> None:
        key = object_key(item)
        if key is None:
            self.problems.append(snapshot_problem(kind.name, "the server sent an object without a name", left_out=True))
            return
        item["apiVersion"], item["kind"] = kind.api_version, kind.name
        self.objects[key] = reduce_object(item)


def object_key(item: Any) -> str | None:
    """Return ``namespace/name`` (``/name`` without a namespace); ``None`` without a name."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        return None
    return f"{metadata.get('namespace') or ''}/{name}"


def collections_of(objects: list[Json], resource_versions: dict[str, str]) -> dict[str, Collection]:
    """Return the collections of an earlier reading by kind, to continue from."""
    by_kind = {kind: Collection(resource_version=version) for kind, version in resource_versions.items()}
    for item in objects:
        if (key := object_key(item)) and item.get("kind") in by_kind:
            by_kind[item["kind"]].objects[key] = item
    return by_kind


def cluster_read(client: Client, step: Step, previous: dict[str, Collection] | None = None) -> dict[str, Collection]:
    """Read every kind of ``KINDS`` from the cluster, by kind name; ``step(text, done, total)`` gets the progress.

    A kind that cannot be read, or is not served, is an empty collection with a problem. Raises ``ClusterError`` if
    nodes or pods cannot be read or the cluster stops answering, because half a cluster would be wrong.
    """
    previous = previous or {}
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="cluster-read") as pool:
        futures = {pool.submit(kind_read, client, kind, previous.get(kind.name)): kind for kind in KINDS}
        try:
            return dict(_gather_collections(futures, step))
        except BaseException:
            # The other threads must not go on waiting for a server that nobody needs any more.
            client.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _gather_collections(futures: dict[Future[Collection], ObjectKind], step: Step) -> Iterator[tuple[str, Collection]]:
    waiting, objects = set(futures), 0
    step("Reading objects", 0, len(futures))
    while waiting:
        finished, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in finished:
            collection = future.result()
            objects += len(collection.objects)
            yield futures[future].name, collection
        step(f"Read {objects:,} objects", len(futures) - len(waiting), len(futures))


def kind_read(client: Client, kind: ObjectKind, previous: Collection | None = None) -> Collection:
    """Return all objects of ``kind``. Up to one page is listed again; larger collections are updated by a watch."""
    try:
        if previous and previous.resource_version and len(previous.objects) > PAGE:
            try:
                return kind_watch(client, kind, previous)
            except ResourceExpired:
                pass
        return kind_list(client, kind)
    except ClusterError as error:
        if error.code == 404 and kind.former_version:
            return kind_read(client, replace(kind, version=kind.former_version, former_version=""), previous)
        if kind.needed or error.code not in (403, 404):
            raise _needed_error(error, kind) if kind.needed else error from None
        collection = Collection(served=error.code != 404)
        if collection.served:
            reason = f"may not be listed with these credentials. Without it, {kind.costs}."
            collection.problems.append(snapshot_problem(kind.resource, reason, left_out=True))
        return collection


def _needed_error(error: ClusterError, kind: ObjectKind) -> ClusterError:
    if error.code != 403:
        return error
    return ClusterError(f"The credentials may not list {kind.resource}. Without it, {kind.costs}.", code=403)


def kind_list(client: Client, kind: ObjectKind) -> Collection:
    """Return all objects of ``kind``, read in pages. Starts again if the continue token expires."""
    for attempt in range(1, LIST_ATTEMPTS + 1):
        collection = Collection()
        try:
            for page in client.pages(kind.path):
                for item in page.items:
                    collection.add(kind, item)
                collection.resource_version = page.resource_version
            return collection
        except ResourceExpired:
            if attempt == LIST_ATTEMPTS:
                raise
    raise AssertionError


def kind_watch(client: Client, kind: ObjectKind, previous: Collection, *, seconds: int = WATCH_SECONDS) -> Collection:
    """Return ``previous`` updated by later events. Raises ``ResourceExpired`` if these are no longer available."""
    # A list of one object tells the current resource version, which the watch has to reach.
    target = next(client.pages(kind.path, limit=1)).resource_version
    collection = Collection(dict(previous.objects), previous.resource_version, watched=True)
    if is_reached(collection.resource_version, target):
        return collection
    for event in client.watch(kind.path, collection.resource_version, seconds=seconds):
        item = event.get("object")
        if event.get("type") == "DELETED":
            collection.objects.pop(object_key(item) or "", None)
        elif event.get("type") in ("ADDED", "MODIFIED"):
            collection.add(kind, item)
        metadata = item.get("metadata") if isinstance(item, dict) else None
        collection.resource_version = str((metadata or {}).get("resourceVersion") or collection.resource_version)
        if is_reached(collection.resource_version, target):
            break
    if not is_reached(collection.resource_version, target):
        # The server closed the watch before it had caught up, so a list is needed.
        raise ResourceExpired(f"Watching {kind.resource} did not catch up.", code=410)
    return collection


def is_reached(version: str, target: str) -> bool:
    """Return whether ``version`` is at or after ``target``. Resource versions of one kind are increasing numbers."""
    return version.isdigit() and target.isdigit() and int(version) >= int(target)


def has_changed(before: dict[str, Collection] | None, now: dict[str, Collection]) -> bool:
    """Return whether any object was added, deleted or changed."""

    def versions_of(collections: dict[str, Collection]) -> dict[str, dict[str, object]]:
        return {
            name: {key: item["metadata"].get("resourceVersion") for key, item in collection.objects.items()}
            for name, collection in collections.items()
            if collection.objects
        }

    return before is None or versions_of(before) != versions_of(now)
