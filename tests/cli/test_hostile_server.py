"""Whatever a server answers: a command ends with one line, and the MCP server goes on."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from kschedweb.cli import main, mcp, rest
from kschedweb.cli.exits import Exit
from kschedweb.cli.session import NOT_UNDERSTOOD, CliSession

DEEP = "[" * 100_000 + "]" * 100_000
ANSWERS = [
    "null", "[]", "{}", "7", '"text"', "[1]", DEEP, "9" * 10_000, "<html>", "\ud800",
    '{"results": 3, "next": null}', '{"results": [null], "next": 7}', '{"results": [{}], "next": "x"}',
    '{"id": [], "results": [[]], "next": null}',
]  # fmt: skip
COMMANDS = [
    ["clusters"], ["clusters", "show", "x"], ["explain", "shop/web-1", "--cluster", "x"], ["runs"],
    ["runs", "show", "1"], ["approvals"], ["approvals", "approve", "web-1"], ["compare", "a", "b", "--cluster", "x"],
]  # fmt: skip
TOOLS: dict[str, dict[str, Any]] = {
    "list_clusters": {},
    "list_pending": {"cluster": "x"},
    "explain_pod": {"cluster": "x", "pod": "shop/web-1"},
    "compare_policies": {"cluster": "x", "baseline": "a", "policy": "b", "pod": "shop/web-1"},
    "capacity": {"cluster": "x", "requests": {}},
    "list_approvals": {},
}


class Hostile(BaseHTTPRequestHandler):
    status, body = 200, ""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = self.body.encode("utf-8", "surrogatepass")
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hostile]]:
    class HostileOfTest(Hostile):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), HostileOfTest)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("KSCHEDWEB_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("KSCHEDWEB_TOKEN", "ksw_token")
    yield HostileOfTest
    server.shutdown()
    server.server_close()


def ends_with_a_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    status = main.main(command)
    out, err = capsys.readouterr()
    assert status in set(Exit), (command, status)
    assert err.count("\n") <= 1
    assert all(character.isprintable() or character == "\n" for character in out + err)
    return err


@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_a_command_ends_with_a_line(hostile: type[Hostile], capsys: pytest.CaptureFixture[str], body: str) -> None:
    hostile.body = body
    for command in COMMANDS:
        ends_with_a_line(command, capsys)
    for hostile.status in (202, 302, 401, 500):
        ends_with_a_line(["explain", "shop/web-1", "--cluster", "x"], capsys)


def test_it_says_that_the_server_is_another_one(hostile: type[Hostile], capsys: pytest.CaptureFixture[str]) -> None:
    hostile.body = "{}"
    assert NOT_UNDERSTOOD in ends_with_a_line(["clusters"], capsys)


def test_names_steer_no_terminal(hostile: type[Hostile], capsys: pytest.CaptureFixture[str]) -> None:
    name = "\x1b]0;x\x07\x9b2J\u202e\u2028"
    cluster = {"name": name, "source": name, "server": name, "release": name, "counts": None, "taken_at": None}
    hostile.body = json.dumps(cluster)
    for form in ("table", "json", "yaml"):
        ends_with_a_line(["clusters", "show", "x", "-o", form], capsys)
    hostile.status, hostile.body = 500, json.dumps({"detail": name * 10_000})
    assert len(ends_with_a_line(["clusters"], capsys)) < 20 * rest.LONGEST


@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_the_mcp_server_goes_on(hostile: type[Hostile], body: str) -> None:
    hostile.body = body
    requests = [
        {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(TOOLS.items())
    ]
    output = io.StringIO()
    mcp.serve_messages(
        CliSession(os.environ), io.StringIO("".join(f"{json.dumps(request)}\n" for request in requests)), output
    )
    answers = [json.loads(line) for line in output.getvalue().split("\n") if line]
    assert [answer["id"] for answer in answers] == list(range(len(TOOLS)))


def test_an_answer_that_comes_drop_by_drop_ends(
    hostile: type[Hostile], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "SECONDS", 0.5)

    def drops(self: Hostile) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b" ")
            self.wfile.flush()
            rest.time.sleep(0.1)

    monkeypatch.setattr(hostile, "do_GET", drops)
    assert "did not come to its end" in ends_with_a_line(["clusters"], capsys)
