"""Requests to the sandbox's API server, and its answers, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox import events
from kschedweb.engine.sandbox.selection import Selection
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import ADDED, DELETED, MODIFIED, Store, StoreChange
from kschedweb.engine.values import dataclass

PARTIAL = "PartialObjectMetadata"
# Clients that list by a watch wait for a bookmark with this annotation.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the API server."""

    method: str
    # Unquoted.
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    # Parsed JSON; ``None`` for no body.
    body: Any = None
    content: str = "application/json"
    accept: str = "application/json"


@dataclass(frozen=True, slots=True)
class ApiResponse:
    code: int
    body: Json


class Watch:
    """The changes of a selection after the version ``since``.

    With ``None`` the watch begins with all objects that exist now; ``listing`` has a bookmark say where they end.
    """

    def __init__(
        self,
        store: Store,
        selection: Selection,
        since: int | None,
        *,
        partial: bool,
        bookmarks: bool,
        listing: bool = False,
    ) -> None:
        self._store, self.selection, self._partial = store, selection, partial
        self.bookmarks = bookmarks
        if since is None:
            present = [raw for raw in store.all(selection.resource) if selection.matches(raw)]
            self.first = [self._event(ADDED, raw) for raw in present]
            self.first += [self.bookmark({INITIAL_EVENTS_END: "true"})] if bookmarks and listing else []
        else:
            changes = store.changes_since(since, selection.resource)
            self.first = [event for change in changes if (event := self.event(change)) is not None]

    def event(self, change: StoreChange) -> Json | None:
        """Return the watch's event for a change; ``None`` if the change is not about its selection."""
        if change.resource.key != self.selection.resource.key:
            return None
        # An object that begins or ceases to match a selector is added or deleted for this watch.
        was, is_now = self.selection.matches(change.old), self.selection.matches(change.new)
        if not (was or is_now):
            return None
        if was and is_now:
            return self._event(MODIFIED, change.last)
        return self._event(ADDED if is_now else DELETED, change.last)

    def bookmark(self, annotations: Json | None = None) -> Json:
        """Return an event that says that nothing else has changed up to now."""
        resource = self.selection.resource
        metadata: Json = {"resourceVersion": str(self._store.version)}
        metadata |= {"annotations": annotations} if annotations else {}
        body = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return {"type": "BOOKMARK", "object": body}

    @staticmethod
    def error(refusal: ApiRefusal) -> Json:
        return {"type": "ERROR", "object": refusal.body}

    def _event(self, kind: str, raw: Json) -> Json:
        resource = self.selection.resource
        return {
            "type": kind,
            "object": partial_metadata(raw) if self._partial else events.convert_for_resource(resource, raw),
        }


def partial_metadata(raw: Json) -> Json:
    """Return the object's metadata alone."""
    return {"kind": PARTIAL, "apiVersion": "meta.k8s.io/v1", "metadata": raw["metadata"]}


def strip_kind(items: Iterator[Json]) -> list[Json]:
    """Return the objects of a list, which have no kind of their own."""
    return [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]
