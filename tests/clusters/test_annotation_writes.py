"""Writing annotations to a real HTTP server that is busy, forbids, forgets, and breaks off."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from kschedweb.clusters import annotation_writes
from kschedweb.clusters.annotation_writes import KINDS, METADATA_ONLY, Patch, annotations_read, annotations_write
from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.kinds import BY_NAME
from tests.clusters.conftest import OddServer, Request

NODE, DEPLOYMENT = BY_NAME["Node"], BY_NAME["Deployment"]
FAST = 1000.0  # requests a second


def connect(server: OddServer) -> Client:
    return Client.open(Secret(server=server.url, token="s3cret"))


def nodes(count: int) -> list[Patch]:
    return [Patch(NODE, f"/node-{number}", {"use": str(number)}) for number in range(count)]


def write(server: OddServer, changes: list[Patch], rate: float = FAST, seconds: float = 30.0) -> dict[str, Any]:
    with connect(server) as client:
        outcome = annotations_write(client, changes, rate=rate, seconds=seconds)
    return vars(outcome)


def count_requests(server: OddServer) -> Counter[str]:
    return Counter(request.path for request in server.requests)


def test_each_object_is_merged_into_once(odd_server: OddServer) -> None:
    outcome = write(odd_server, [*nodes(3), Patch(DEPLOYMENT, "shop/web", {"use": None})])
    assert outcome == {"patched": 4, "gone": 0, "left": 0, "failures": 0, "failed": []}
    assert {request.method for request in odd_server.requests} == {"PATCH"}
    assert {request.headers["Content-Type"] for request in odd_server.requests} == {"application/merge-patch+json"}
    bodies = {request.path: request.body for request in odd_server.requests}
    assert bodies["/api/v1/nodes/node-2"] == b'{"metadata": {"annotations": {"use": "2"}}}'
    assert bodies["/apis/apps/v1/namespaces/shop/deployments/web"] == b'{"metadata": {"annotations": {"use": null}}}'


@pytest.mark.parametrize("status", [409, 429, 500, 503, 504])
def test_what_may_pass_is_tried_again(odd_server: OddServer, status: int) -> None:
    odd_server.json(lambda request: (status if count_requests(odd_server)[request.path] <= 2 else 200, {}))
    assert write(odd_server, nodes(2))["patched"] == 2
    assert set(count_requests(odd_server).values()) == {3}


def test_what_does_not_pass_is_given_up_and_the_others_are_written(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (503 if request.path.endswith("-1") else 200, {}))
    outcome = write(odd_server, nodes(12))
    assert outcome["patched"] == 11
    assert outcome["failed"] == [
        {"object": "Node node-1", "reason": "The cluster answered /api/v1/nodes/node-1 with status 503."}
    ]
    assert count_requests(odd_server)["/api/v1/nodes/node-1"] == annotation_writes.ATTEMPTS


def test_what_is_invalid_is_not_tried_again(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (422, {}))
    assert write(odd_server, nodes(3))["failures"] == 3
    assert len(odd_server.requests) == 3


def test_what_went_away_is_skipped(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (404 if request.path.endswith(("-1", "-2")) else 200, {}))
    outcome = write(odd_server, nodes(4))
    assert (outcome["patched"], outcome["gone"], outcome["failures"]) == (2, 2, 0)


def test_the_forbidden_is_not_asked_for_again_and_does_not_hold_up_what_is_allowed(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (403 if "/nodes/" in request.path else 200, {}))
    web = Patch(DEPLOYMENT, "shop/web", {"use": "1"})
    outcome = write(odd_server, [*nodes(200), web])
    assert outcome["patched"] == 1
    assert 1 <= outcome["failures"] <= annotation_writes.WORKERS
    assert outcome["left"] == 200 - outcome["failures"]
    assert outcome["failed"][0]["reason"].startswith("The credentials may not change /api/v1/nodes/node-")


def test_a_server_that_stays_busy_is_left_alone(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (429, {}))
    outcome = write(odd_server, nodes(200))
    assert annotation_writes.GIVE_UP <= outcome["failures"] < annotation_writes.GIVE_UP + annotation_writes.WORKERS
    assert outcome["left"] == 200 - outcome["failures"]


def test_nobody_sends_faster_than_the_rate(odd_server: OddServer) -> None:
    times: list[float] = []

    def timed(request: Request) -> tuple[int, dict[str, Any]]:
        times.append(time.monotonic())
        return 200, {}

    odd_server.json(timed)
    write(odd_server, nodes(9), rate=20.0)
    assert max(times) - min(times) >= 8 / 20.0 - 0.06  # the first may have been a little late


def test_the_wait_that_a_server_asks_for_is_kept_by_all(odd_server: OddServer) -> None:
    times: list[float] = []

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        times.append(time.monotonic())
        return (429, {"Retry-After": "1"}, b"{}") if len(times) == 1 else (200, {}, b"{}")

    odd_server.answer = answer
    assert write(odd_server, nodes(10), rate=50.0)["patched"] == 10
    assert max(times) - times[0] >= 1.0


def test_time_that_runs_out_leaves_the_rest_for_later(odd_server: OddServer) -> None:
    outcome = write(odd_server, nodes(100), rate=20.0, seconds=0.5)
    assert 5 <= outcome["patched"] <= 20
    assert outcome["left"] == 100 - outcome["patched"]


def test_a_line_that_breaks_off_is_tried_again(odd_server: OddServer) -> None:
    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        broken = count_requests(odd_server)[request.path] == 1
        return 200, {"Content-Length": "100", "Connection": "close"} if broken else {}, b"{}"

    odd_server.answer = answer
    assert write(odd_server, nodes(2))["patched"] == 2


def test_only_metadata_is_asked_for(odd_server: OddServer) -> None:
    items = [
        {"metadata": {"name": "web", "namespace": "shop", "annotations": {"use": "1", "odd": 3}}},
        {"metadata": {"name": "bare", "namespace": "shop"}},
        {"metadata": {"name": "bent", "namespace": "shop", "annotations": [1]}},
        {},
    ]
    odd_server.json(lambda request: (200, {"metadata": {"resourceVersion": "7"}, "items": items}))
    with connect(odd_server) as client:
        assert annotations_read(client, DEPLOYMENT) == {"shop/web": {"use": "1"}, "shop/bare": {}, "shop/bent": {}}
    assert odd_server.requests[0].headers["Accept"] == METADATA_ONLY


def test_a_stop_ends_the_writing(odd_server: OddServer) -> None:
    def step(count: int, total: int) -> None:
        raise KeyboardInterrupt

    with connect(odd_server) as client, pytest.raises(KeyboardInterrupt):
        annotations_write(client, nodes(100), rate=50.0, seconds=30.0, step=step)
    assert len(odd_server.requests) < 20


def test_a_server_that_cannot_be_reached_is_not_asked_for_each_object(odd_server: OddServer) -> None:
    port = odd_server.port
    odd_server.server.server_close()
    with Client.open(Secret(server=f"http://127.0.0.1:{port}", token="x")) as client:
        outcome = annotations_write(client, nodes(200), rate=FAST, seconds=30.0)
        assert outcome.left > 180
        with pytest.raises(ClusterError):
            annotations_read(client, NODE)


def test_every_annotated_kind_is_one_that_snapshots_hold() -> None:
    assert [kind.name for kind in KINDS] == ["Node", "Deployment", "StatefulSet", "DaemonSet", "CloneSet"]
