"""The fault proxy before the real API server: what passes is unchanged, and each fault is what it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.support.controlplane import ControlPlane
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Delay, DropReply, Hang, Hold, HoldReply, Refuse, Sever, Truncate
from tests.support.processes import wait_until

PODS = "/api/v1/namespaces/default/pods"
Ask = Callable[..., urllib3.BaseHTTPResponse]


@pytest.fixture
def proxy(control_plane: ControlPlane, tmp_path: Path) -> Iterator[FaultProxy]:
    with FaultProxy(control_plane, tmp_path) as proxy:
        yield proxy
    control_plane.wipe()


@pytest.fixture
def ask(proxy: FaultProxy) -> Iterator[Ask]:
    """One call through the proxy, never tried twice."""
    with urllib3.PoolManager(ca_cert_data=proxy.ca) as http:

        def call(method: str, path: str, body: object = None, **options: Any) -> urllib3.BaseHTTPResponse:
            headers = {"Authorization": f"Bearer {proxy.plane.tokens['admin']}", "Content-Type": "application/json"}
            data = None if body is None else json.dumps(body)
            options = {"retries": False, "timeout": 5} | options
            return http.request(method, proxy.url + path, body=data, headers=headers, **options)

        yield call


def pod(name: str) -> dict[str, Any]:
    spec = {"schedulerName": "nobody", "containers": [{"name": "main", "image": "pause"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def binding(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "target": {"kind": "Node", "name": "one"}}


def node_of(plane: ControlPlane, name: str) -> str:
    return str(plane.call("GET", f"{PODS}/{name}")["spec"].get("nodeName", ""))


def test_what_passes_is_what_the_server_says(ask: Ask, proxy: FaultProxy) -> None:
    created = ask("POST", PODS, pod("a"))
    assert created.status == 201
    assert ask("GET", f"{PODS}/a").json() == proxy.plane.call("GET", f"{PODS}/a")
    assert ask("GET", f"{PODS}/none").status == 404
    assert [(call.method, call.status) for call in proxy.calls] == [("POST", 201), ("GET", 200), ("GET", 404)]


def test_watch_passes_events_as_they_come_and_is_cut_or_ended_with_an_error(ask: Ask, proxy: FaultProxy) -> None:
    version = ask("GET", f"{PODS}?limit=1").json()["metadata"]["resourceVersion"]
    path = f"{PODS}?watch=1&resourceVersion={version}"
    streams = [ask("GET", path, preload_content=False) for _ in range(3)]
    proxy.plane.call("POST", PODS, pod("a"))
    for stream in streams:
        assert json.loads(stream.readline())["object"]["metadata"]["name"] == "a"
    wait_until(lambda: len(proxy.streams) == 3, "three watches")

    assert proxy.end_watches(410) == 3
    for stream in streams:
        error = json.loads(stream.readline())
        assert (error["type"], error["object"]["code"]) == ("ERROR", 410)
        assert stream.read() == b""

    stream = ask("GET", path, preload_content=False)
    stream.readline()
    assert proxy.cut_watches("/pods") == 1
    with pytest.raises(urllib3.exceptions.ProtocolError):
        stream.read()


def test_refusals_come_from_the_proxy_as_often_as_asked(ask: Ask, proxy: FaultProxy) -> None:
    with proxy.fault("POST", r"/pods$", Refuse(429, retry_after=3), times=2) as fault:
        first = ask("POST", PODS, pod("a"))
        assert (first.status, first.headers["Retry-After"], first.json()["reason"]) == (429, "3", "TooManyRequests")
        assert [ask("POST", PODS, pod("a")).status for _ in range(2)] == [429, 201]
        assert len(fault.seen) == 2
    with proxy.fault("GET", "/pods/", Refuse(500), chance=0.5):
        assert {ask("GET", f"{PODS}/a").status for _ in range(40)} == {200, 500}


def test_held_binding_reaches_the_server_once_released_though_its_sender_gave_up(ask: Ask, proxy: FaultProxy) -> None:
    ask("POST", PODS, pod("a"))
    with proxy.fault("POST", "/binding$", Hold()) as hold:
        with pytest.raises(urllib3.exceptions.ReadTimeoutError):
            ask("POST", f"{PODS}/a/binding", binding("a"), timeout=0.3)
        hold.wait()
        assert node_of(proxy.plane, "a") == ""
    wait_until(lambda: node_of(proxy.plane, "a") == "one", "the binding arrives")


@pytest.mark.parametrize("fault", [DropReply, HoldReply])
def test_binding_whose_answer_is_lost_was_made(ask: Ask, proxy: FaultProxy, fault: Any) -> None:
    ask("POST", PODS, pod("a"))
    with proxy.fault("POST", "/binding$", fault()), pytest.raises(urllib3.exceptions.HTTPError):
        ask("POST", f"{PODS}/a/binding", binding("a"), timeout=2)
    assert node_of(proxy.plane, "a") == "one"


@pytest.mark.parametrize("fault", [Sever, Hang])
def test_call_that_never_arrives_changes_nothing(ask: Ask, proxy: FaultProxy, fault: Any) -> None:
    with proxy.fault("POST", "", fault()), pytest.raises(urllib3.exceptions.HTTPError):
        ask("POST", PODS, pod("a"), timeout=0.3)
    assert ask("GET", f"{PODS}/a").status == 404


def test_late_and_truncated_answers(ask: Ask, proxy: FaultProxy) -> None:
    with proxy.fault("GET", "", Delay(0.5)), pytest.raises(urllib3.exceptions.ReadTimeoutError):
        ask("GET", PODS, timeout=0.2)
    with proxy.fault("GET", "", Truncate(10)), pytest.raises(urllib3.exceptions.ProtocolError):
        ask("GET", PODS)


def test_truncated_event_ends_within_its_line(ask: Ask, proxy: FaultProxy) -> None:
    version = ask("GET", f"{PODS}?limit=1").json()["metadata"]["resourceVersion"]
    with proxy.fault("GET", "watch=1", Truncate(30)):
        stream = ask("GET", f"{PODS}?watch=1&resourceVersion={version}", preload_content=False)
        proxy.plane.call("POST", PODS, pod("a"))
        line = stream.read1(1000)
        assert len(line) == 30
        assert b"\n" not in line


def test_frozen_line_says_nothing_and_flows_again(ask: Ask, proxy: FaultProxy) -> None:
    proxy.freeze()
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        ask("GET", PODS, timeout=0.3)
    proxy.thaw()
    assert ask("GET", PODS).status == 200


def test_server_goes_away_and_comes_back(ask: Ask, proxy: FaultProxy) -> None:
    stream = ask("GET", f"{PODS}?watch=1", preload_content=False)
    proxy.down()
    with pytest.raises(urllib3.exceptions.HTTPError):
        stream.read()
    with pytest.raises(urllib3.exceptions.HTTPError):
        ask("GET", PODS)
    proxy.up()
    assert ask("GET", PODS).status == 200
