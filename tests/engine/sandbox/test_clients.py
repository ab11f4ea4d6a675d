"""Needs of API clients such as kubectl, beside the answers that are compared with the real API server."""

from __future__ import annotations

from random import Random

from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.apiserver import ApiServer
from kschedweb.engine.sandbox.requests import INITIAL_EVENTS_END, ApiResponse, Request, Watch
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.sandbox.world import admission

MAPS = "/api/v1/namespaces/default/configmaps"


def server() -> ApiServer:
    store = Store(1)
    api_server = ApiServer(
        ApiObjects(store, lambda: 1_764_000_000.0, Random(1), admission(store)), lambda kind, namespace: {}
    )
    api_server.handle(Request("POST", "/api/v1/namespaces", {}, {"metadata": {"name": "default"}}))
    for name in ("a", "b"):
        api_server.handle(Request("POST", MAPS, {}, {"metadata": {"name": name}}))
    return api_server


def watched(api_server: ApiServer, **query: str) -> list[tuple[str, str]]:
    answer = api_server.handle(Request("GET", MAPS, {"watch": "1", **query}))
    assert isinstance(answer, Watch)
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in answer.first]


def test_a_client_that_lists_by_a_watch_is_told_where_the_list_ends() -> None:
    api_server = server()
    listing = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    assert watched(api_server, **listing, allowWatchBookmarks="true") == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("BOOKMARK", ""),
    ]
    # Also where it names a version that it knows: all comes again.
    newest = str(api_server.objects.store.version)
    assert len(watched(api_server, **listing, allowWatchBookmarks="true", resourceVersion=newest)) == 3
    assert watched(api_server, resourceVersion=newest, allowWatchBookmarks="true") == []
    assert watched(api_server, allowWatchBookmarks="true") == [("ADDED", "a"), ("ADDED", "b")]
    end = api_server.handle(Request("GET", MAPS, {"watch": "1", **listing, "allowWatchBookmarks": "true"}))
    assert isinstance(end, Watch)
    metadata = end.first[-1]["object"]["metadata"]
    assert metadata == {"resourceVersion": newest, "annotations": {INITIAL_EVENTS_END: "true"}}


def test_short_names_are_told() -> None:
    answer = server().handle(Request("GET", "/apis/apps/v1"))
    assert isinstance(answer, ApiResponse)
    short = {resource["name"]: resource.get("shortNames") for resource in answer.body["resources"]}
    assert (short["deployments"], short["replicasets"], short["deployments/status"]) == (["deploy"], ["rs"], None)
