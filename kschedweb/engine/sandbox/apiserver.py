"""The sandbox's API server: requests in, answers out, in the forms and words of kube-apiserver.

It serves what clients of a cluster need here: discovery, lists, watches, writes with their preconditions, bindings,
evictions, status, access reviews and metrics. There is one user, who may do everything.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox import events
from kschedweb.engine.sandbox.discovery import discovered
from kschedweb.engine.sandbox.eviction import evict
from kschedweb.engine.sandbox.failures import Refusal, bad, expired, not_allowed, unknown_path, unsupported
from kschedweb.engine.sandbox.objects import Objects
from kschedweb.engine.sandbox.patching import JSON_PATCH, MERGE, STRATEGIC
from kschedweb.engine.sandbox.requests import PARTIAL, Answer, Request, Watch, partial, without_kind
from kschedweb.engine.sandbox.resources import BY_PLACE, POD, Resource
from kschedweb.engine.sandbox.schema import DecodeError, decode_body
from kschedweb.engine.sandbox.selection import Selection, whole_number

METRICS, REVIEWS = "metrics.k8s.io", "authorization.k8s.io"
Metrics = Callable[[str, str], Json]
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class ApiServer:
    """``metrics`` answers metrics.k8s.io: the list of ``nodes`` or ``pods`` of a namespace ("" for all)."""

    def __init__(self, objects: Objects, metrics: Metrics) -> None:
        self.objects, self._metrics = objects, metrics

    def handle(self, request: Request) -> Answer | Watch:
        """What the server answers; a refusal is an answer too."""
        try:
            return self._routed(request)
        except Refusal as refusal:
            return Answer(refusal.code, refusal.body)

    def _routed(self, request: Request) -> Answer | Watch:
        parts = [part for part in request.path.split("/") if part]
        found = discovered(parts) if request.method == "GET" else None
        if found is not None:
            return Answer(200, found)
        place = _place(parts)
        if place is None:
            raise unknown_path()
        group, version, rest = place
        if group == REVIEWS and rest == ["selfsubjectaccessreviews"] and request.method == "POST":
            return Answer(201, {**_body(request), "status": {"allowed": True}})
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        if group == METRICS and request.method == "GET" and rest and rest[0] in ("nodes", "pods"):
            return Answer(200, self._metrics(rest[0], namespace))
        resource = BY_PLACE.get((group, version, rest[0])) if rest else None
        if resource is None or (namespace and not resource.namespaced):
            raise unknown_path()
        if len(rest) == 1:
            return self._collection(request, resource, namespace)
        if resource.namespaced and not namespace:
            raise unknown_path()
        return self._one(request, resource, namespace, rest[1], "/".join(rest[2:]))

    # Collections ----------------------------------------------------------------------------------------------------

    def _collection(self, request: Request, resource: Resource, namespace: str) -> Answer | Watch:
        if request.method == "GET":
            selection = Selection.of(resource, namespace, request.query)
            watching = request.query.get("watch") in ("1", "true")
            return self._watch(request, selection) if watching else self._list(request, selection)
        if request.method != "POST" or (resource.namespaced and not namespace):
            raise not_allowed()
        made = self.objects.create(resource, namespace, _body(request), dry_run=_dry(request.query))
        return Answer(201, events.seen_as(resource, made))

    def _list(self, request: Request, selection: Selection) -> Answer:
        query, store, resource = request.query, self.objects.store, selection.resource
        limit, token = _number(query, "limit"), query.get("continue", "")
        after, version = _continued(token) if token else (None, store.version)
        if token and version != store.version:
            store.since(version, resource)  # refuses where the log does not reach back so far
        found = (raw for raw in store.all(resource, selection.namespace) if selection.has(raw))
        if after is not None:
            found = (raw for raw in found if _key(raw) > after)
        items = list(islice(found, limit)) if limit else list(found)
        metadata: Json = {"resourceVersion": str(version)}
        if limit and len(items) == limit and (left := sum(1 for _ in found)):
            metadata["continue"] = _token(_key(items[-1]), version)
            if not selection.fields and selection.labels.empty:
                metadata["remainingItemCount"] = left
        if f"as={PARTIAL}List" in request.accept.replace(" ", ""):
            body = {"kind": f"{PARTIAL}List", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
            return Answer(200, {**body, "items": [partial(raw) for raw in items]})
        body = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
        return Answer(200, {**body, "items": without_kind(events.seen_as(resource, raw) for raw in items)})

    def _watch(self, request: Request, selection: Selection) -> Watch:
        asked = request.query.get("resourceVersion", "")
        since = whole_number(asked) or None
        if asked and whole_number(asked) is None:
            raise bad(f"Invalid value: {asked!r}: invalid resource version")
        store = self.objects.store
        if since is not None and since > store.version:
            raise expired(since, store.version)
        bookmarks = request.query.get("allowWatchBookmarks") in ("1", "true")
        listing = request.query.get("sendInitialEvents") in ("1", "true")
        since, parts = None if listing else since, f"as={PARTIAL}" in request.accept
        return Watch(store, selection, since, partial=parts, bookmarks=bookmarks, listing=listing)

    # Single objects -------------------------------------------------------------------------------------------------

    def _one(self, request: Request, resource: Resource, namespace: str, name: str, sub: str) -> Answer:
        if resource is POD and sub in ("binding", "eviction"):
            return self._pod_action(request, namespace, name, sub)
        if sub and not (sub == "status" and resource.status):
            raise unknown_path()
        objects = self.objects
        match request.method:
            case "GET":
                found = objects.get(resource, namespace, name)
                if f"as={PARTIAL}" in request.accept:
                    return Answer(200, partial(found))
            case "PUT":
                found, new = objects.replace(
                    resource, namespace, name, _body(request), sub, dry_run=_dry(request.query)
                )
                return Answer(201 if new else 200, events.seen_as(resource, found))
            case "PATCH":
                content = request.content.partition(";")[0]
                if content not in (MERGE, STRATEGIC, JSON_PATCH):
                    raise unsupported()
                dry = _dry(request.query)
                found = objects.patch(resource, namespace, name, request.body, content, sub, dry_run=dry)
            case "DELETE":
                return self._delete(request, resource, namespace, name)
            case _:
                raise not_allowed()
        return Answer(200, events.seen_as(resource, found))

    def _delete(self, request: Request, resource: Resource, namespace: str, name: str) -> Answer:
        options = _decoded("DeleteOptions", request.body or {})
        if "gracePeriodSeconds" in request.query:
            options["gracePeriodSeconds"] = _number(request.query, "gracePeriodSeconds")
        if _dry(request.query) or options.get("dryRun") == ["All"]:
            return Answer(200, self.objects.get(resource, namespace, name))
        found, gone = self.objects.delete(resource, namespace, name, options)
        if gone and resource is not POD:
            return Answer(200, _deleted(resource, found))
        return Answer(200, events.seen_as(resource, found))

    def _pod_action(self, request: Request, namespace: str, name: str, sub: str) -> Answer:
        if request.method != "POST":
            raise not_allowed()
        body = _decoded("Binding" if sub == "binding" else "Eviction", _body(request))
        dry = _dry(request.query)
        if sub == "binding":
            self.objects.bind(namespace, name, body, dry_run=dry)
        else:
            options = body.get("deleteOptions") or {}
            evict(self.objects, namespace, name, options, dry_run=dry or options.get("dryRun") == ["All"])
        return Answer(201, {**SUCCESS, "code": 201})


def _place(parts: list[str]) -> tuple[str, str, list[str]] | None:
    """Group, version, and the rest of an address."""
    if parts[:1] == ["api"] and len(parts) > 2:
        return "", parts[1], parts[2:]
    if parts[:1] == ["apis"] and len(parts) > 3:
        return parts[1], parts[2], parts[3:]
    return None


def _body(request: Request) -> Json:
    if not isinstance(request.body, dict):
        raise bad("the body of the request must be a JSON object")
    return request.body


def _decoded(name: str, raw: Any) -> Json:
    """A body that is no object to be stored, such as DeleteOptions."""
    try:
        return decode_body(f"v1.{name}", raw)
    except DecodeError as error:
        raise bad(f"{name} cannot be decoded: {error}") from None


def _dry(query: Mapping[str, str]) -> bool:
    return query.get("dryRun") == "All"


def _number(query: Mapping[str, str], name: str) -> int:
    value = query.get(name) or "0"
    number = whole_number(value)
    if number is None:
        raise bad(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    return number


def _key(raw: Json) -> tuple[str, str]:
    return raw["metadata"].get("namespace") or "", raw["metadata"]["name"]


def _token(key: tuple[str, str], version: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([*key, version]).encode()).decode()


def _continued(token: str) -> tuple[tuple[str, str], int]:
    try:
        namespace, name, version = json.loads(base64.urlsafe_b64decode(token))
        return (str(namespace), str(name)), int(version)
    except (ValueError, TypeError, OverflowError):
        raise bad("continue key is not valid") from None


def _deleted(resource: Resource, raw: Json) -> Json:
    metadata = raw["metadata"]
    details: dict[str, Any] = {"name": metadata["name"], "kind": resource.plural, "uid": metadata["uid"]}
    return SUCCESS | {"details": details | ({"group": resource.group} if resource.group else {})}
