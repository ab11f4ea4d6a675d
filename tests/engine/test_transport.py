"""Extenders asked over HTTP, from the command line too."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.extender import TransportError
from kschedweb.engine.transport import transport
from tests.engine.builders import CONFIGURATION, node, pod


class Keeper(BaseHTTPRequestHandler):
    """Keeps pods off node a, and likes node c best; /never answers only when all is over."""

    over = threading.Event()

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/never":
            self.over.wait()
        names = question["NodeNames"]
        answer: Any = {"NodeNames": [name for name in names if name != "a"], "FailedNodes": {"a": "is mine"}}
        if self.path == "/prioritize":
            answer = [{"Host": name, "Score": 10 * (name == "c")} for name in names]
        body = json.dumps(answer).encode()
        self.send_response(200 if self.headers["Content-Type"] == "application/json" else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Keeper)
    Keeper.over.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Keeper.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


def scenario(url: str, **fields: Any) -> str:
    extender = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 100,
        "nodeCacheCapable": True,
    }
    config = {**CONFIGURATION, "extenders": [extender | fields]}
    return json.dumps({"name": "s", "config": config, "objects": [node(name) for name in "abc"], "pending": [pod("p")]})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """``run(text, *arguments)``: exit status, the only answer, stderr."""

    def run(text: str, *arguments: str) -> tuple[int, dict, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        status = main(list(arguments))
        out, err = capsys.readouterr()
        return status, json.loads(out or "{}"), err

    return run


def test_an_extender_is_asked_where_that_is_wanted(run, address: str) -> None:
    _, answer, _ = run(scenario(address), "schedule", "--extenders")
    # Both nodes left, and one that was spoken against.
    assert answer["placements"] == [{"pod": "default/p", "node": "c", "evaluated": 3, "feasible": 2}]


def test_an_explanation_says_what_the_extender_said(run, address: str) -> None:
    _, answer, _ = run(scenario(address), "explain", "--extenders")
    (explained,) = answer["pods"]
    assert explained["rejected"] == {"a": {"plugin": "Extender", "code": "Unschedulable", "reasons": ["is mine"]}}
    assert explained["scores"]["Extender"]["raw"] == {"b": 0, "c": 10 * 100 * 10}
    assert explained["chosen"] == "c"
    assert "extendersNotAsked" not in explained


def test_without_being_asked_to_nothing_is_made_up(run, address: str) -> None:
    status, answer, _ = run(scenario(address), "schedule")
    assert status == 0
    (placement,) = answer["placements"]
    assert placement["message"] == f"outside the simulation: extender {address}/filter is to be asked"
    assert "node" not in placement
    _, answer, _ = run(scenario(address), "explain")
    assert answer["pods"][0]["extendersNotAsked"] == [address]
    status, _, err = run(scenario(address), "schedule", "--summary")
    assert (status, err) == (
        2,
        f"kschedweb.engine: line 1: s: config: extender {address} would be asked, which was not allowed\n",
    )


def test_an_extender_that_is_not_there_ends_the_cycle(run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        _, answer, _ = run(scenario(f"http://{where}/x/"), "schedule", "--extenders")
    said = f'Post "http://{where}/x/filter": dial tcp {where}: connect: connection refused'
    assert answer["placements"][0]["message"] == said


def test_nobody_waits_longer_than_configured(address: str) -> None:
    with pytest.raises(TransportError, match="context deadline exceeded"):
        transport([])(f"{address}/never", b'{"NodeNames": []}', 0.05)


def test_only_http_is_spoken() -> None:
    with pytest.raises(TransportError, match='unsupported protocol scheme "ftp"'):
        transport([])("ftp://extender.example/filter", b"", 1.0)
