"""Fixtures of the cluster tests: objects, certificates, an odd HTTP server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting import client
from kschedweb.engine.json_types import Json

Answer = Callable[["Request"], tuple[int, dict[str, str], bytes]]


def node(name: str = "node-1", **spec: Any) -> Json:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}


def pod(name: str = "pod-1", namespace: str = "default", **spec: Any) -> Json:
    containers = [{"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


class Request:
    """One request as the odd server got it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes = b"") -> None:
        self.method = handler.command
        self.path = handler.path
        self.headers = handler.headers
        self.body = body


class OddServer:
    """A real HTTP server on loopback that answers as a test says; ``requests`` holds what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: Answer = lambda request: (200, {}, b"{}")
        outer = self

        class OddHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PATCH(self) -> None:
                self.do_GET()

            def do_POST(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                request = Request(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                outer.requests.append(request)
                status, headers, body = outer.answer(request)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if headers.get("X-Trickle"):
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(0.05)
                else:
                    self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), OddHandler)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def json(self, answer: Callable[[Request], tuple[int, Json]]) -> None:
        def encode(request: Request) -> tuple[int, dict[str, str], bytes]:
            status, body = answer(request)
            return status, {"Content-Type": "application/json"}, json.dumps(body).encode()

        self.answer = encode


@pytest.fixture
def odd_server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[OddServer]:
    """Reachable by the allowlist, over plain http; it is asked again at once."""
    monkeypatch.setattr(client, "PAUSE_SECONDS", 0.02)
    settings.CLUSTER_ALLOW_INSECURE = True
    settings.CLUSTER_ALLOWLIST = ["127.0.0.0/8"]
    server = OddServer()
    thread = threading.Thread(target=server.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    thread.join()
