"""Short JSON calls to one API server over connections that stay open: HTTP/1.1 with next to nothing around it.

A scheduler writes two small objects a pod. Measured against the real server, such a call costs 0.1 ms of Python here
and 0.7 ms with urllib3, which would be most of what there is for a whole decision.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httptools

from kschedweb.clusters.connecting.addresses import Endpoint

LARGEST_HEAD = 64 * 1024
LARGEST_ANSWER = 16 * 1024 * 1024
IDLE_SECONDS = 60.0  # kube-apiserver closes what was idle for three minutes
KEEP_ALIVE = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    # A peer that is gone is noticed in 45 s, as client-go does.
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
)


class WireError(Exception):
    """No answer. ``reached``: the server may have got the request, and done it. The cause is the ``__cause__``."""

    def __init__(self, reached: bool) -> None:
        super().__init__("no answer")
        self.reached = reached


@dataclass(frozen=True, slots=True)
class Answer:
    """``code`` is the HTTP status, ``wait`` the seconds of Retry-After (0.0: not said)."""

    code: int
    body: bytes
    wait: float = 0.0

    def json(self) -> Any:
        """The body; ``None`` where it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Wire:
    """Calls to the checked address of ``endpoint``, from any number of threads; each has a connection while it lasts.

    ``context`` is ``None`` for http. No redirect is followed, nothing is tried twice, no proxy is asked.
    """

    def __init__(
        self, endpoint: Endpoint, context: ssl.SSLContext | None, name: str, headers: Mapping[str, str]
    ) -> None:
        self._endpoint, self._context, self._name = endpoint, context, name
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        self._head = f" HTTP/1.1\r\n{lines}Accept: application/json\r\n"
        self._idle: list[tuple[float, socket.socket]] = []
        self._lock = threading.Lock()

    def call(self, method: str, path: str, body: bytes, content: str, *, connect: float, seconds: float) -> Answer:
        """One call; ``connect`` and ``seconds`` limit connecting and the whole. Raises WireError."""
        until = time.monotonic() + seconds
        try:
            line = self._line(min(connect, seconds))
        except OSError as error:
            raise WireError(reached=False) from error
        try:
            kind = f"Content-Type: {content}\r\n" if body else ""
            head = f"{method} {self._endpoint.path}{path}{self._head}{kind}Content-Length: {len(body)}\r\n\r\n"
            line.settimeout(seconds)
            line.sendall(head.encode("latin-1") + body)
            answer, stays = _Reading(line, until).answer()
        except (OSError, ValueError) as error:
            line.close()
            raise WireError(reached=True) from error
        except BaseException:
            line.close()
            raise
        if stays:
            with self._lock:
                self._idle.append((time.monotonic(), line))
        else:
            line.close()
        return answer

    def close(self) -> None:
        """End the idle connections; those in use end with their call."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, line in idle:
            line.close()

    def _line(self, seconds: float) -> socket.socket:
        """The connection used last, or a new one. One that the server has closed is not taken."""
        while True:
            with self._lock:
                since, line = self._idle.pop() if self._idle else (0.0, None)
            if line is None:
                return self._connect(seconds)
            if time.monotonic() - since < IDLE_SECONDS and _quiet(line):
                return line
            line.close()

    def _connect(self, seconds: float) -> socket.socket:
        line = socket.create_connection((self._endpoint.address, self._endpoint.port), timeout=seconds)
        try:
            for level, option, value in KEEP_ALIVE:
                line.setsockopt(level, option, value)
            return self._context.wrap_socket(line, server_hostname=self._name) if self._context else line
        except BaseException:
            line.close()
            raise


def _quiet(line: socket.socket) -> bool:
    """Whether nothing waits to be read: what comes between two answers can only be the end of the connection."""
    line.settimeout(0.0)
    try:
        line.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False
    return False


class _Reading:
    """One answer as it arrives; llhttp reads it and calls the ``on_`` methods."""

    def __init__(self, line: socket.socket, until: float) -> None:
        self._line, self._until = line, until
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._head = self._size = 0  # bytes
        self._wait = 0.0
        self._ended = self._stays = self._more = False

    def answer(self) -> tuple[Answer, bool]:
        """The answer, and whether the connection may be used again."""
        while not self._ended:
            chunk = self._received()
            try:
                self._parser.feed_data(chunk)
            except httptools.HttpParserError as error:
                if not self._ended:
                    raise ValueError("no answer of HTTP/1.1") from error
                self._more = True
            if self._head > LARGEST_HEAD or self._size > LARGEST_ANSWER:
                raise ValueError("an answer larger than any object")
        return Answer(self._parser.get_status_code(), b"".join(self._body), self._wait), self._stays and not self._more

    def _received(self) -> bytes:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._line.settimeout(left)
        chunk = self._line.recv(65536)
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        self._head += len(chunk)
        return chunk

    def on_message_begin(self) -> None:
        self._more = self._ended

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after" and value.isdigit():
            self._wait = min(float(value), 60.0)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._size += len(body)
        self._head = 0  # it has come to its end

    def on_message_complete(self) -> None:
        # After an answer like 100 Continue the very one follows.
        self._ended = self._ended or self._parser.get_status_code() >= 200
        self._stays = self._parser.should_keep_alive()
