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

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox import events
from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.discovery import discover
from kschedweb.engine.sandbox.eviction import evict_pod
from kschedweb.engine.sandbox.patching import JSON_PATCH, MERGE, STRATEGIC
from kschedweb.engine.sandbox.requests import PARTIAL, ApiResponse, Request, Watch, partial_metadata, strip_kind
from kschedweb.engine.sandbox.resources import BY_PLACE, POD, Resource
from kschedweb.engine.sandbox.schema import DecodeError, decode_body
from kschedweb.engine.sandbox.selection import Selection, whole_number
from kschedweb.engine.sandbox.status_errors import (
    ApiRefusal,
    bad_request,
    expired,
    not_allowed,
    unknown_path,
    unsupported_media_type,
)

METRICS, REVIEWS = "metrics.k8s.io", "authorization.k8s.io"
# (``nodes`` or ``pods``, namespace or "") -> list of metrics
Metrics = Callable[[str, str], Json]
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class ApiServer:
    """The API server over ``objects``.

    ``metrics`` answers metrics.k8s.io: the list of ``nodes``, or of ``pods`` in a namespace ("" for all).
    """

    def __init__(self, objects: ApiObjects, metrics: Metrics) -> None:
        self.objects, self._metrics = objects, metrics

    def handle(self, request: Request) -> ApiResponse | Watch:
        """Answer a request; a refusal is an answer, too."""
        try:
            return self._route(request)
        except ApiRefusal as refusal:
            return ApiResponse(refusal.code, refusal.body)

    def _route(self, request: Request) -> ApiResponse | Watch:
        parts = [part for part in request.path.split("/") if part]
        discovery = discover(parts) if request.method == "GET" else None
        if discovery is not None:
            return ApiResponse(200, discovery)
        place = _parse_path(parts)
        if place is None:
            raise unknown_path()
        group, version, segments = place
        if group == REVIEWS and segments == ["selfsubjectaccessreviews"] and request.method == "POST":
            return ApiResponse(201, {**_json_body(request), "status": {"allowed": True}})
        namespace = ""
        # ``/namespaces/NAME/status`` is about the namespace itself, not about what is in it.
        if segments[:1] == ["namespaces"] and len(segments) > 2 and segments[2] not in ("status", "finalize"):
            namespace, segments = segments[1], segments[2:]
        if group == METRICS and request.method == "GET" and segments and segments[0] in ("nodes", "pods"):
            return ApiResponse(200, self._metrics(segments[0], namespace))
        resource = BY_PLACE.get((group, version, segments[0])) if segments else None
        if resource is None or (namespace and not resource.namespaced):
            raise unknown_path()
        if len(segments) == 1:
            return self._handle_collection(request, resource, namespace)
        if resource.namespaced and not namespace:
            raise unknown_path()
        return self._handle_object(request, resource, namespace, segments[1], "/".join(segments[2:]))

    # Collections ----------------------------------------------------------------------------------------------------

    def _handle_collection(self, request: Request, resource: Resource, namespace: str) -> ApiResponse | Watch:
        if request.method == "GET":
            selection = Selection.from_query(resource, namespace, request.query)
            watching = request.query.get("watch") in ("1", "true")
            return self._watch(request, selection) if watching else self._list_objects(request, selection)
        if request.method != "POST" or (resource.namespaced and not namespace):
            raise not_allowed()
        created = self.objects.create_object(
            resource, namespace, _json_body(request), dry_run=_is_dry_run(request.query)
        )
        return ApiResponse(201, events.convert_for_resource(resource, created))

    def _list_objects(self, request: Request, selection: Selection) -> ApiResponse:
        query, store, resource = request.query, self.objects.store, selection.resource
        limit, token = _parse_integer(query, "limit"), query.get("continue", "")
        after, version = _decode_continue(token) if token else (None, store.version)
        if token and version != store.version:
            # Raises ApiRefusal if the log does not reach back to the version of the first page.
            store.changes_since(version, resource)
        matching = (raw for raw in store.all(resource, selection.namespace) if selection.matches(raw))
        if after is not None:
            matching = (raw for raw in matching if _object_key(raw) > after)
        items = list(islice(matching, limit)) if limit else list(matching)
        metadata: Json = {"resourceVersion": str(version)}
        if limit and len(items) == limit and (remaining := sum(1 for _ in matching)):
            metadata["continue"] = _encode_continue(_object_key(items[-1]), version)
            # As in the API server, no count is given where a selector may skip objects.
            if not selection.fields and selection.labels.is_empty:
                metadata["remainingItemCount"] = remaining
        if f"as={PARTIAL}List" in request.accept.replace(" ", ""):
            body = {"kind": f"{PARTIAL}List", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
            return ApiResponse(200, {**body, "items": [partial_metadata(raw) for raw in items]})
        body = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
        return ApiResponse(
            200, {**body, "items": strip_kind(events.convert_for_resource(resource, raw) for raw in items)}
        )

    def _watch(self, request: Request, selection: Selection) -> Watch:
        requested_version = request.query.get("resourceVersion", "")
        since = whole_number(requested_version) or None
        if requested_version and whole_number(requested_version) is None:
            raise bad_request(f"Invalid value: {requested_version!r}: invalid resource version")
        store = self.objects.store
        if since is not None and since > store.version:
            raise expired(since, store.version)
        bookmarks = request.query.get("allowWatchBookmarks") in ("1", "true")
        listing = request.query.get("sendInitialEvents") in ("1", "true")
        since, parts = None if listing else since, f"as={PARTIAL}" in request.accept
        return Watch(store, selection, since, partial=parts, bookmarks=bookmarks, listing=listing)

    # Single objects -------------------------------------------------------------------------------------------------

    def _handle_object(self, request: Request, resource: Resource, namespace: str, name: str, sub: str) -> ApiResponse:
        if resource is POD and sub in ("binding", "eviction"):
            return self._pod_action(request, namespace, name, sub)
        if sub and not (sub == "status" and resource.status):
            raise unknown_path()
        objects = self.objects
        match request.method:
            case "GET":
                stored = objects.get_object(resource, namespace, name)
                if f"as={PARTIAL}" in request.accept:
                    return ApiResponse(200, partial_metadata(stored))
            case "PUT":
                stored, new = objects.replace_object(
                    resource, namespace, name, _json_body(request), sub, dry_run=_is_dry_run(request.query)
                )
                return ApiResponse(201 if new else 200, events.convert_for_resource(resource, stored))
            case "PATCH":
                content = request.content.partition(";")[0]
                if content not in (MERGE, STRATEGIC, JSON_PATCH):
                    raise unsupported_media_type()
                dry = _is_dry_run(request.query)
                stored = objects.patch_object(resource, namespace, name, request.body, content, sub, dry_run=dry)
            case "DELETE":
                return self._delete_object(request, resource, namespace, name)
            case _:
                raise not_allowed()
        return ApiResponse(200, events.convert_for_resource(resource, stored))

    def _delete_object(self, request: Request, resource: Resource, namespace: str, name: str) -> ApiResponse:
        options = _decode_options("DeleteOptions", request.body or {})
        if "gracePeriodSeconds" in request.query:
            options["gracePeriodSeconds"] = _parse_integer(request.query, "gracePeriodSeconds")
        if _is_dry_run(request.query) or options.get("dryRun") == ["All"]:
            return ApiResponse(200, self.objects.get_object(resource, namespace, name))
        deleted, is_removed = self.objects.delete_object(resource, namespace, name, options)
        if is_removed and resource is not POD:
            return ApiResponse(200, _deletion_status(resource, deleted))
        return ApiResponse(200, events.convert_for_resource(resource, deleted))

    def _pod_action(self, request: Request, namespace: str, name: str, sub: str) -> ApiResponse:
        if request.method != "POST":
            raise not_allowed()
        body = _decode_options("Binding" if sub == "binding" else "Eviction", _json_body(request))
        dry = _is_dry_run(request.query)
        if sub == "binding":
            self.objects.bind_pod(namespace, name, body, dry_run=dry)
        else:
            options = body.get("deleteOptions") or {}
            evict_pod(self.objects, namespace, name, options, dry_run=dry or options.get("dryRun") == ["All"])
        return ApiResponse(201, {**SUCCESS, "code": 201})


def _parse_path(parts: list[str]) -> tuple[str, str, list[str]] | None:
    """Return group, version, and the rest of an address."""
    if parts[:1] == ["api"] and len(parts) > 2:
        return "", parts[1], parts[2:]
    if parts[:1] == ["apis"] and len(parts) > 3:
        return parts[1], parts[2], parts[3:]
    return None


def _json_body(request: Request) -> Json:
    if not isinstance(request.body, dict):
        raise bad_request("the body of the request must be a JSON object")
    return request.body


def _decode_options(name: str, raw: Any) -> Json:
    """Decode a body that is not an object to be stored, such as DeleteOptions."""
    try:
        return decode_body(f"v1.{name}", raw)
    except DecodeError as error:
        raise bad_request(f"{name} cannot be decoded: {error}") from None


def _is_dry_run(query: Mapping[str, str]) -> bool:
    return query.get("dryRun") == "All"


def _parse_integer(query: Mapping[str, str], name: str) -> int:
    value = query.get(name) or "0"
    number = whole_number(value)
    if number is None:
        raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    return number


def _object_key(raw: Json) -> tuple[str, str]:
    return raw["metadata"].get("namespace") or "", raw["metadata"]["name"]


def _encode_continue(key: tuple[str, str], version: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([*key, version]).encode()).decode()


def _decode_continue(token: str) -> tuple[tuple[str, str], int]:
    try:
        namespace, name, version = json.loads(base64.urlsafe_b64decode(token))
        return (str(namespace), str(name)), int(version)
    except (ValueError, TypeError, OverflowError):
        raise bad_request("continue key is not valid") from None


def _deletion_status(resource: Resource, raw: Json) -> Json:
    metadata = raw["metadata"]
    details: Json = {"name": metadata["name"], "kind": resource.plural, "uid": metadata["uid"]}
    return SUCCESS | {"details": details | ({"group": resource.group} if resource.group else {})}
