"""The sandbox's API server beside the real one: the same script of writes and watches to both."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import urllib3

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.apiserver import ApiServer
from kschedweb.engine.sandbox.requests import ApiResponse, Request, Watch
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.sandbox.world import admission
from tests.support.apiscript import PLAIN, Heard, play, script
from tests.support.tiers import NIGHTLY

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live

SEEDS = [int(seed) for seed in os.environ.get("SCRIPT_SEEDS", "1,2,3" if NIGHTLY else "1").split(",")]


class Real:
    """The real API server as the script asks it."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane, self._http = plane, urllib3.PoolManager(ca_cert_data=plane.ca)

    def call(self, method: str, path: str, body: Any, content: str) -> tuple[int, Json]:
        answer = self._ask(method, path, body, content)
        return answer.status, answer.json()

    def watch(self, path: str, version: str) -> list[Json]:
        query = f"watch=1&resourceVersion={version}&timeoutSeconds=2"
        return [json.loads(line) for line in self._ask("GET", f"{path}?{query}", None, PLAIN).data.splitlines()]

    def _ask(self, method: str, path: str, body: Any, content: str) -> urllib3.BaseHTTPResponse:
        headers = {"Authorization": f"Bearer {self._plane.tokens['admin']}", "Content-Type": content}
        data = None if body is None else json.dumps(body)
        return self._http.request(method, self._plane.url + path, body=data, headers=headers, retries=False, timeout=60)


class Ours:
    """The sandbox's API server, without the world behind it."""

    def __init__(self) -> None:
        store = Store(1)
        objects = ApiObjects(store, lambda: 1_764_000_000.0, Random(1), admission(store))
        self._server = ApiServer(objects, lambda kind, namespace: {})
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}}, PLAIN)

    def call(self, method: str, path: str, body: Any, content: str) -> tuple[int, Json]:
        answer = self._handle(method, path, body, content)
        assert isinstance(answer, ApiResponse)
        return answer.code, json.loads(json.dumps(answer.body))

    def watch(self, path: str, version: str) -> list[Json]:
        answer = self._handle("GET", f"{path}?watch=1&resourceVersion={version}", None, PLAIN)
        assert isinstance(answer, Watch)
        return answer.first

    def _handle(self, method: str, path: str, body: Any, content: str) -> ApiResponse | Watch:
        parts = urlsplit(path)
        query: Mapping[str, str] = dict(parse_qsl(parts.query, keep_blank_values=True))
        return self._server.handle(Request(method, parts.path, query, body, content))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sandbox_answers_as_the_api_server_does(control_plane: ControlPlane, seed: int) -> None:
    real, ours = Real(control_plane), Ours()
    _clean(real.call)
    different = list(differences(seed, play(seed, real.call, real.watch), play(seed, ours.call, ours.watch)))
    assert not different, "\n\n".join(different[:8]) + f"\n\n{len(different)} differ"


CORE, APPS = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
MAIN = {"containers": [{"name": "main", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": MAIN}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u", "controller": True}
MALFORMED: list[tuple[str, Json]] = [
    (f"{CORE}/pods", {"metadata": {"name": 1}}),
    (f"{CORE}/pods", {"metadata": {"name": "x", "labels": {"a": 1}}}),
    (f"{CORE}/pods", {"metadata": {"name": "x"}, "spec": []}),
    (f"{CORE}/pods", {"metadata": {"name": "x"}, "spec": {"containers": "main", "hostNetwork": "yes"}}),
    (f"{CORE}/pods", {"metadata": {"name": "x"}, "spec": {**MAIN, "terminationGracePeriodSeconds": 1.5}}),
    (f"{CORE}/pods", {"metadata": {"name": "x"}, "spec": {**MAIN, "volumes": [{"persistentVolumeClaim": 3}]}}),
    (f"{CORE}/pods", {"metadata": {"name": "x"}, "spec": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]}}),
    (f"{CORE}/pods", {"metadata": {"name": "x", "ownerReferences": [{"controller": True}]}, "spec": MAIN}),
    (f"{CORE}/pods", {"metadata": {"name": "x", "ownerReferences": [OWNER, {**OWNER, "uid": "v"}]}, "spec": MAIN}),
    (f"{CORE}/configmaps", {"metadata": {"name": "Not/A name"}}),
    (f"{CORE}/configmaps", {"metadata": {"name": "x"}, "binaryData": {"a": 5}}),
    (f"{CORE}/configmaps", {"metadata": {"name": "x", "labels": {"-": "b"}}}),
    (f"{CORE}/events", {"metadata": {"name": "x"}, "lastTimestamp": "not a time"}),
    (f"{CORE}/events", {"metadata": {"name": "x"}, "lastTimestamp": "2026-13-01T00:00:00Z"}),
    (f"{CORE}/events", {"metadata": {"name": "x"}, "lastTimestamp": 7}),
    (f"{APPS}/deployments", {"metadata": {"name": "x"}, "spec": {"replicas": 10**12, "template": TEMPLATE}}),
    (f"{APPS}/deployments", {"metadata": {"name": "x"}, "spec": {"strategy": {"rollingUpdate": {"maxSurge": []}}}}),
    (f"{APPS}/deployments", {"metadata": {"name": "x"}, "spec": {"template": {"metadata": 1}}}),
]


def test_the_sandbox_refuses_what_is_malformed_in_the_words_of_the_api_server(control_plane: ControlPlane) -> None:
    real, ours = Real(control_plane), Ours()
    for path, body in MALFORMED:
        theirs = real.call("POST", f"{path}?dryRun=All", body, PLAIN)
        code, answer = ours.call("POST", f"{path}?dryRun=All", body, PLAIN)
        assert (code, answer["message"]) == (theirs[0], theirs[1]["message"]), body
        assert answer["reason"] == theirs[1]["reason"]


def differences(seed: int, theirs: Heard, ours: Heard) -> Iterator[str]:
    """Every answer and event that is not the same, in words."""
    for number, (step, their_answer, our_answer) in enumerate(
        zip(script(seed), theirs.answers, ours.answers, strict=True)
    ):
        if their_answer != our_answer:
            yield f"{number}: {step}\n  theirs {their_answer}\n  ours   {our_answer}"
    for name, events in theirs.events.items():
        if events != ours.events[name]:
            both = zip_longest(events, ours.events[name])
            first = next(pair for pair in both if pair[0] != pair[1])
            yield f"events of {name}\n  theirs {first[0]}\n  ours   {first[1]}"


def _clean(call: Callable[[str, str, Any, str], tuple[int, Json]]) -> None:
    """Take away what an earlier script left outside its namespace."""
    for path in ("/api/v1/nodes", "/apis/scheduling.k8s.io/v1/priorityclasses"):
        for item in call("GET", path, None, PLAIN)[1]["items"]:
            name = item["metadata"]["name"]
            if not name.startswith("system-"):
                call("DELETE", f"{path}/{name}", None, PLAIN)
