"""Calls over kept connections, against a server that does what servers do and what they must not do."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from kschedweb.clusters.connecting.addresses import CheckedEndpoint
from kschedweb.clusters.connecting.wire import Failure, Wire, WireError
from tests.support.processes import free_port

Script = Callable[[int, bytes], bytes]


class ScriptedServer:
    """Answers each request with what ``script`` (number, request) gives; b"" closes the connection."""

    def __init__(self) -> None:
        self.script: Script = lambda number, request: answer(b"{}")
        self.connections = 0
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, contextlib.suppress(ConnectionError):
            buffer = b""
            while True:
                while b"\r\n\r\n" not in buffer:
                    chunk = line.recv(4096)
                    if not chunk:
                        return
                    buffer += chunk
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                while len(buffer) < length:
                    buffer += line.recv(4096)
                self.requests.append(head + b"\n" + buffer[:length])
                buffer = buffer[length:]
                response = self.script(len(self.requests), head)
                if not response:
                    return
                line.sendall(response)
                if response.startswith(b"HTTP/1.0"):
                    return

    def close(self) -> None:
        self._listener.close()


def answer(body: bytes, code: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {code}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    running = ScriptedServer()
    yield running
    running.close()


@pytest.fixture
def wire(server: ScriptedServer) -> Iterator[Wire]:
    endpoint = CheckedEndpoint("http", "127.0.0.1", server.port, "127.0.0.1", "/base")
    plain_wire = Wire(endpoint, None, "127.0.0.1", {"Host": "here", "Authorization": "Bearer abc"})
    yield plain_wire
    plain_wire.close()


def call(wire: Wire, body: bytes = b"", seconds: float = 2.0, method: str = "POST") -> bytes:
    return wire.call(method, "/path", body, "application/json", connect=1.0, seconds=seconds).body


def test_a_connection_is_used_again(wire: Wire, server: ScriptedServer) -> None:
    for number in range(3):
        assert call(wire, b"%d" % number) == b"{}"
    assert server.connections == 1
    assert server.requests[2].startswith(b"POST /base/path HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer abc\r\n")
    assert server.requests[2].endswith(b"\n2")


def test_each_thread_has_a_connection_while_it_calls(wire: Wire, server: ScriptedServer) -> None:
    gate = threading.Barrier(3, timeout=120)

    def script(number: int, request: bytes) -> bytes:
        gate.wait()
        return answer(b"{}")

    server.script = script
    threads = [threading.Thread(target=call, args=(wire,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert server.connections == 3


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"after"), b"after"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (answer(b"last", more="Connection: close\r\n"), b"last"),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end"),
    ],
    ids=["chunked", "continue", "nothing", "close", "old"],
)
def test_answers_of_every_shape_are_read(wire: Wire, server: ScriptedServer, response: bytes, body: bytes) -> None:
    server.script = lambda number, request: response if number == 1 else answer(b"next")
    assert call(wire) == body
    assert call(wire) == b"next"


def test_the_servers_wish_to_wait_is_heard(wire: Wire, server: ScriptedServer) -> None:
    server.script = lambda number, request: answer(b"", "429 Too Many Requests", "Retry-After: 7\r\n")
    response = wire.call("GET", "/path", b"", "", connect=1.0, seconds=2.0)
    assert (response.code, response.wait) == (429, 7.0)


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n\r\nno length",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"x" * 70_000,
    ],
    ids=["closed", "short", "no length", "not http", "huge", "no size", "endless"],
)
def test_what_is_no_answer_is_an_error_that_may_have_done_it(
    wire: Wire, server: ScriptedServer, response: bytes
) -> None:
    server.script = lambda number, request: response
    with pytest.raises(WireError) as caught:
        call(wire, seconds=0.5)
    assert caught.value.reached
    server.script = lambda number, request: answer(b"fine")
    assert call(wire) == b"fine"


def test_a_server_that_is_not_there_was_not_reached() -> None:
    wire = Wire(CheckedEndpoint("http", "127.0.0.1", free_port(), "127.0.0.1", ""), None, "127.0.0.1", {})
    with pytest.raises(WireError) as caught:
        call(wire)
    assert not caught.value.reached
    assert caught.value.failure is Failure.UNREACHABLE


@pytest.mark.parametrize(
    ("response", "failure", "code"),
    [
        (b"HTTP/1.0 201 Created\r\nContent-Length: 9\r\n\r\nshort", Failure.BROKEN, 201),
        (b"HTTP/1.0 ", Failure.BROKEN, 0),
        (answer(b"x" * 101), Failure.LARGE, 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Failure.SLOW, 200),
        (b"HTTP/1.1 200 OK\r\n", Failure.SLOW, 0),
    ],
    ids=["short", "nothing", "large", "slow", "slow head"],
)
def test_what_was_wrong_is_told_with_the_status_that_came(
    server: ScriptedServer, response: bytes, failure: Failure, code: int
) -> None:
    server.script = lambda number, request: response
    endpoint = CheckedEndpoint("http", "127.0.0.1", server.port, "127.0.0.1", "")
    with pytest.raises(WireError) as caught:
        call(Wire(endpoint, None, "127.0.0.1", {}, largest=100), seconds=0.5)
    assert (caught.value.failure, caught.value.code) == (failure, code)


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/é"])
def test_a_path_that_would_say_more_than_a_path_is_not_sent(wire: Wire, server: ScriptedServer, path: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.call("GET", path, connect=1.0, seconds=1.0)
    assert not caught.value.reached
    assert not server.requests


def test_a_connection_that_the_server_has_closed_is_not_used_again(wire: Wire, server: ScriptedServer) -> None:
    call(wire)
    _, line = wire._idle[0]
    line.shutdown(socket.SHUT_RDWR)
    assert call(wire) == b"{}"
    assert server.connections == 2
