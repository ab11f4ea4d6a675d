"""What clients such as kubectl need of the API server, beside the answers that are compared with the real one."""

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
    made = ApiServer(ApiObjects(store, lambda: 1_764_000_000.0, Random(1), admission(store)), lambda what, where: {})
    made.handle(Request("POST", "/api/v1/namespaces", {}, {"metadata": {"name": "default"}}))
    for name in ("a", "b"):
        made.handle(Request("POST", MAPS, {}, {"metadata": {"name": name}}))
    return made


def watched(made: ApiServer, **query: str) -> list[tuple[str, str]]:
    answer = made.handle(Request("GET", MAPS, {"watch": "1", **query}))
    assert isinstance(answer, Watch)
    return [(one["type"], one["object"]["metadata"].get("name", "")) for one in answer.first]


def test_a_client_that_lists_by_a_watch_is_told_where_the_list_ends() -> None:
    made = server()
    listing = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    assert watched(made, **listing, allowWatchBookmarks="true") == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]
    # Also where it names a version that it knows: all comes again.
    newest = str(made.objects.store.version)
    assert len(watched(made, **listing, allowWatchBookmarks="true", resourceVersion=newest)) == 3
    assert watched(made, resourceVersion=newest, allowWatchBookmarks="true") == []
    assert watched(made, allowWatchBookmarks="true") == [("ADDED", "a"), ("ADDED", "b")]
    end = made.handle(Request("GET", MAPS, {"watch": "1", **listing, "allowWatchBookmarks": "true"}))
    assert isinstance(end, Watch)
    metadata = end.first[-1]["object"]["metadata"]
    assert metadata == {"resourceVersion": newest, "annotations": {INITIAL_EVENTS_END: "true"}}


def test_short_names_are_told() -> None:
    answer = server().handle(Request("GET", "/apis/apps/v1"))
    assert isinstance(answer, ApiResponse)
    short = {one["name"]: one.get("shortNames") for one in answer.body["resources"]}
    assert (short["deployments"], short["replicasets"], short["deployments/status"]) == (["deploy"], ["rs"], None)
