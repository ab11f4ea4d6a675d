"""The HTTP server of the web process: where it listens, how it sends, and what it does with clients that never end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from kschedweb import server
from kschedweb.web import handler
from tests.support import loops
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

CALL = (
    b"POST /api/v1/policies/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_listens_where_it_is_told(host: str) -> None:
    with server.open_listener(host, 0) as listener:
        assert listener.getsockname()[1] > 0


def test_unknown_host_is_one_clear_error() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"cannot listen on nowhere\.invalid:8000"):
        server.open_listener("nowhere.invalid", 8000)


@pytest.fixture
def site() -> Iterator[tuple[server.Server, Callable[[], socket.socket]]]:
    """The server in a thread of this process, and what connects to it."""
    listener = server.open_listener("127.0.0.1", 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    running = server.make_server(patience=1)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    with contextlib.ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(listener.getsockname()[:2], timeout=30))

        wait_until(lambda: running.started, "the server listens")
        yield running, connect
        running.should_exit = True
    thread.join(10)


Running = tuple[server.Server, "Callable[[], socket.socket]"]


def receive_all(connection: socket.socket) -> bytes:
    """Receive everything until the other side closes."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_answers_are_sent_without_waiting_for_more(site: Running) -> None:
    """Nagle's algorithm kept each further answer of a connection back until the last one was acknowledged, 40 ms."""
    running, connect = site
    connect()
    wait_until(lambda: bool(running.server_state.connections), "the connection is accepted")
    (accepted_connection,) = running.server_state.connections
    own_socket: Any = accepted_connection.transport.get_extra_info("socket")
    assert own_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_head_that_does_not_end_is_answered_408(site: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_WITHIN", 0.2)
    begun = site[1]()
    begun.sendall(CALL[:30])
    assert receive_all(begun).startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_a_connection_on_which_nothing_comes_is_closed(site: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_WITHIN", 0.2)
    assert receive_all(site[1]()) == b""


def test_a_second_head_that_drips_is_answered_408(site: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = site[1]()
    connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: b"200 OK" in connection.recv(65536, socket.MSG_PEEK), "the first answer")
    monkeypatch.setattr(server, "HEAD_WITHIN", 0.5)

    def drip() -> None:
        with contextlib.suppress(OSError):
            for letter in CALL[:-1]:
                connection.sendall(bytes([letter]))
                if finished.wait(0.1):
                    return

    finished = threading.Event()
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        # Who writes to what was closed is answered by a reset, which may come before the end of what is read.
        status_line = b"HTTP/1.1 408 Request Timeout\r\n"
        wait_until(lambda: status_line in connection.recv(65536, socket.MSG_PEEK), "the head is answered 408")
    finally:
        finished.set()
        dripping.join()


def test_a_body_that_does_not_come_is_answered_408_as_problem_details(
    site: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "BODY_PAUSE", 0.2)
    begun = site[1]()
    begun.sendall(CALL + b"{")
    answer = receive_all(begun)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"application/problem+json" in answer


def test_a_body_that_drips_has_as_long_as_its_size_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never pauses for long still has to come to its end."""
    monkeypatch.setattr(handler, "BODY_PAUSE", 1.0)
    monkeypatch.setattr(handler, "BODY_RATE", 1_000_000)
    parts = 0

    async def receive() -> Any:
        nonlocal parts
        parts += 1
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    with pytest.raises(TimeoutError):
        loops.run(asyncio.wait_for(handler.Handler()._patient_body(receive), 30))
    assert parts > 1


def test_a_client_that_does_not_read_is_cut_off(site: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running, connect = site
    monkeypatch.setattr(server, "READ_WITHIN", 0.5)
    deaf = connect()
    # Answers that nobody reads fill the buffers of both sides.
    with contextlib.suppress(OSError):
        while running.server_state.connections:
            deaf.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
    wait_until(lambda: not running.server_state.connections, "the connection is cut")
