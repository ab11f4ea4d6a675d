"""The seam to a cluster against a real HTTP server that behaves badly."""

from __future__ import annotations

import json
import ssl
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting import client as client_module
from kschedweb.clusters.connecting.access import permissions_review
from kschedweb.clusters.connecting.client import Client, ClusterError, Stopped
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.connecting.errors import ResourceExpired
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.clusters.reader import kind_list, kind_read
from tests.clusters.conftest import OddServer, Request, node
from tests.support.certificates import certificate

NODES = BY_NAME["Node"]


def connect(server: OddServer) -> Client:
    return Client.open(Secret(server=server.url, token="s3cret"))


def page(names: list[str], token: str = "", version: str = "7") -> dict[str, object]:
    return {"metadata": {"resourceVersion": version, "continue": token}, "items": [node(name) for name in names]}


def test_pages_are_followed_to_the_end(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (200, page(["b"]) if "continue=next" in request.path else page(["a"], "next")))
    with connect(odd_server) as client:
        collection = kind_list(client, NODES)
    assert list(collection.objects) == ["/a", "/b"]
    assert collection.resource_version == "7"
    assert odd_server.requests[0].path == "/api/v1/nodes?limit=500"
    assert odd_server.requests[0].headers["Authorization"] == "Bearer s3cret"
    assert odd_server.requests[0].headers["Host"] == f"127.0.0.1:{odd_server.port}"


def test_a_list_whose_place_was_forgotten_begins_anew(odd_server: OddServer) -> None:
    def answer(request: Request) -> tuple[int, dict[str, object]]:
        if "continue=old" in request.path:
            return 410, {"kind": "Status", "code": 410}
        return 200, page(["a", "b"]) if len(odd_server.requests) > 2 else page(["stale"], "old")

    odd_server.json(answer)
    with connect(odd_server) as client:
        assert list(kind_list(client, NODES).objects) == ["/a", "/b"]


def test_a_list_that_is_always_forgotten_ends_with_an_error(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (410, {}) if "continue" in request.path else (200, page(["a"], "next")))
    with connect(odd_server) as client, pytest.raises(ResourceExpired):
        kind_list(client, NODES)


def test_a_busy_server_is_asked_again(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (200, page(["a"])) if len(odd_server.requests) > 2 else (503, {}))
    with connect(odd_server) as client:
        assert list(kind_list(client, NODES).objects) == ["/a"]
    assert len(odd_server.requests) == 3


def test_the_wait_that_a_server_asks_for_is_kept(odd_server: OddServer) -> None:
    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        if len(odd_server.requests) == 1:
            return 429, {"Retry-After": "1"}, b"{}"
        return 200, {}, json.dumps(page(["a"])).encode()

    odd_server.answer = answer
    start_time = time.monotonic()
    with connect(odd_server) as client:
        kind_list(client, NODES)
    assert 1.0 <= time.monotonic() - start_time < 15


def test_a_server_that_stays_busy_is_given_up(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (429, {}))
    with connect(odd_server) as client, pytest.raises(ClusterError, match="too busy"):
        client.get("/version")
    assert len(odd_server.requests) == client_module.ATTEMPTS


def test_a_redirect_is_never_followed(odd_server: OddServer) -> None:
    other = OddServer()
    try:
        odd_server.answer = lambda request: (302, {"Location": f"{other.url}/api/v1/nodes"}, b"")
        with connect(odd_server) as client, pytest.raises(ClusterError, match="elsewhere"):
            client.get("/api/v1/nodes")
        assert other.requests == []
    finally:
        other.server.server_close()


def test_proxies_of_the_environment_are_not_asked(odd_server: OddServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    odd_server.json(lambda request: (200, {"gitVersion": "v1.36.3"}))
    with connect(odd_server) as client:
        assert client.fetch_version() == "v1.36.3"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[1", b"[]", b'{"metadata": 3}', b'{"metadata": {}, "items": 3}', b"[" * 100_000, b"\xff"]
)
def test_answers_that_are_no_list_are_refused(odd_server: OddServer, body: bytes) -> None:
    odd_server.answer = lambda request: (200, {}, body)
    with connect(odd_server) as client, pytest.raises(ClusterError):
        list(client.pages("/api/v1/nodes"))


def test_an_answer_without_end_is_cut_off(odd_server: OddServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "LARGEST_BODY", 100_000)
    odd_server.answer = lambda request: (200, {}, b"x" * 2_000_000)
    with connect(odd_server) as client, pytest.raises(ClusterError, match="larger than"):
        client.get("/api/v1/nodes")


def test_the_text_of_an_error_never_reaches_the_person(odd_server: OddServer) -> None:
    odd_server.answer = lambda request: (500, {}, b"internal secret of another service")
    odd_server.answer = lambda request: (418, {}, b"internal secret of another service")
    with connect(odd_server) as client, pytest.raises(ClusterError) as caught:
        client.get("/version")
    assert "internal secret" not in caught.value.detail
    assert "s3cret" not in caught.value.detail


def test_objects_without_a_name_are_listed_as_problems(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (200, {"metadata": {"resourceVersion": "1"}, "items": [node("a"), {}, 3, None]}))
    with connect(odd_server) as client:
        collection = kind_list(client, NODES)
    assert list(collection.objects) == ["/a"]
    assert len(collection.problems) == 3


def test_kinds_that_are_not_served_are_left_out_in_silence(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (404, {}))
    with connect(odd_server) as client:
        collection = kind_read(client, BY_NAME["DeviceClass"])
        assert (collection.objects, collection.problems, collection.served) == ({}, [], False)
        with pytest.raises(ClusterError):
            kind_read(client, NODES)


def test_a_closed_port_refuses_connections(odd_server: OddServer) -> None:
    port = odd_server.port
    odd_server.server.server_close()
    with (
        Client.open(Secret(server=f"http://127.0.0.1:{port}", token="x")) as client,
        pytest.raises(ClusterError, match="refuses connections"),
    ):
        client.get("/version")


@pytest.mark.parametrize("with_certificate", [True, False])
def test_a_client_certificate_that_is_refused_is_told_apart_from_tls_that_fails(
    tmp_path: Path, settings: Settings, with_certificate: bool
) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.0/8"]
    server_certificate, client_certificate = certificate(tmp_path, "server"), certificate(tmp_path, "client")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(server_certificate))
    context.load_cert_chain(server_certificate, server_certificate.with_suffix(".key"))
    context.verify_mode = ssl.CERT_REQUIRED
    pair = (
        (client_certificate.read_text(), client_certificate.with_suffix(".key").read_text())
        if with_certificate
        else ("", "")
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever)
        thread.start()
        secret = Secret(f"https://127.0.0.1:{server.server_port}", "x", server_certificate.read_text(), *pair)
        try:
            with Client.open(secret) as client, pytest.raises(ClusterError, match="client certificate"):
                client.get("/version")
        finally:
            server.shutdown()
            thread.join()


def test_an_answer_that_trickles_is_given_up(odd_server: OddServer) -> None:
    def trickle(request: Request) -> tuple[int, dict[str, str], bytes]:
        return 200, {"X-Trickle": "1"}, b"[" + b" " * 1000 + b"]"

    odd_server.answer = trickle
    start_time = time.monotonic()
    with (
        Client.open(Secret(server=odd_server.url, token="x"), patience=0.3) as client,
        pytest.raises(ClusterError, match="in time"),
    ):
        client.get("/version")
    assert time.monotonic() - start_time < 15


def test_patience_is_for_all_calls_together(odd_server: OddServer) -> None:
    odd_server.json(lambda request: (503, {}))
    with Client.open(Secret(server=odd_server.url, token="x"), patience=0.3) as client:
        for _ in range(20):
            with pytest.raises(ClusterError):
                client.get("/version")
    assert len(odd_server.requests) < 10 * client_module.ATTEMPTS


def test_what_is_stopped_asks_nothing_more(odd_server: OddServer) -> None:
    with connect(odd_server) as client:
        client.stop.set()
        with pytest.raises(Stopped):
            client.get("/version")
    assert odd_server.requests == []


def test_permissions_are_asked_for_kinds_that_the_cluster_has(odd_server: OddServer) -> None:
    def answer(request: Request) -> tuple[int, dict[str, object]]:
        if request.path == "/apis/apps.kruise.io/v1alpha1":
            return 404, {}
        if request.path == "/apis/resource.k8s.io/v1":
            return 200, {"resources": [{"name": "resourceclaims"}, {"name": "deviceclasses/status"}]}
        return 200, {"status": {"allowed": True}}

    odd_server.json(answer)
    with connect(odd_server) as client:
        resources = {permission["resource"] for permission in permissions_review(client)}
    assert {"nodes", "deployments", "resourceclaims"} < resources
    assert not resources & {"clonesets", "deviceclasses", "resourceslices"}
