"""The HTTP client for short calls to API servers, Prometheus, webhooks and extenders at checked addresses.

It connects only to the checked address, without redirects, retries and proxies. The size of an answer is limited. One
deadline covers the whole call, however slow; the timeouts of libraries cover single reads only. A scheduler writes two
small objects per pod: measured against the real server, such a call costs 0.1 ms of Python here and 0.7 ms with
urllib3, which would be most of the time of a decision.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import httptools

from kschedweb.clusters.connecting.addresses import CheckedEndpoint

# Bytes of the status line and all headers.
LARGEST_HEAD = 64 * 1024
# Bytes of a body.
LARGEST_ANSWER = 16 * 1024 * 1024
# Seconds; kube-apiserver closes connections after three idle minutes.
IDLE_SECONDS = 60.0
KEEP_ALIVE = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    # A peer that is gone is noticed within 45 s, as in client-go.
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
)


class Failure(Enum):
    """A reason why there is no answer."""

    UNREACHABLE = auto()
    CERTIFICATE = auto()
    TLS = auto()
    SLOW = auto()
    LARGE = auto()
    BROKEN = auto()


class WireError(Exception):
    """There is no answer; ``__cause__`` says why."""

    def __init__(self, reached: bool, code: int = 0) -> None:
        super().__init__("no answer")
        # Whether the server may have executed the request, and the status if it was received, else 0.
        self.reached, self.code = reached, code

    @property
    def failure(self) -> Failure:
        match self.__cause__:
            case ssl.SSLCertVerificationError():
                return Failure.CERTIFICATE
            case ssl.SSLError():
                return Failure.TLS
            case TimeoutError():
                return Failure.SLOW
            case LargeError():
                return Failure.LARGE
        return Failure.BROKEN if self.reached else Failure.UNREACHABLE


class LargeError(ValueError):
    """An answer that exceeds the limit."""


@dataclass(frozen=True, slots=True)
class WireResponse:
    """An answer."""

    # The HTTP status.
    code: int
    body: bytes
    # Names are in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def wait(self) -> float:
        """Seconds of Retry-After, at most 60; 0.0 if it is missing."""
        retry_after = self.headers.get("retry-after", "")
        return min(float(retry_after), 60.0) if retry_after.isdecimal() else 0.0

    def json(self) -> Any:
        """Return the body as JSON; ``None`` if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Wire:
    """Makes calls to the checked address of ``endpoint``. It is thread-safe; each call has its own connection.

    ``context`` is ``None`` for http; ``name`` must be in the server's certificate. ``headers`` are sent with every
    call; ``largest`` is the limit of an answer in bytes.
    """

    def __init__(
        self,
        endpoint: CheckedEndpoint,
        context: ssl.SSLContext | None,
        name: str,
        headers: Mapping[str, str],
        *,
        largest: int = LARGEST_ANSWER,
    ) -> None:
        self._endpoint, self._context, self._name, self._largest = endpoint, context, name, largest
        # The head is the same for every call, so it is built once.
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        self._head = f" HTTP/1.1\r\n{lines}Accept: application/json\r\n"
        self._idle: list[tuple[float, socket.socket]] = []
        self._lock = threading.Lock()

    def call(
        self, method: str, path: str, body: bytes = b"", content: str = "", *, connect: float, seconds: float
    ) -> WireResponse:
        """Make one call. ``connect`` and ``seconds`` limit connecting and the whole call. Raises WireError.

        ``path`` is appended to that of the endpoint, and is already quoted: in ASCII, without blanks.
        """
        deadline, path = time.monotonic() + seconds, f"{self._endpoint.path}{path}" or "/"
        if not (path.isascii() and path.isprintable()) or " " in path:
            raise WireError(reached=False) from ValueError("a path that no request can have")
        try:
            line = self._take_line(min(connect, seconds))
        except OSError as error:
            raise WireError(reached=False) from error
        reading = _Reading(line, deadline, self._largest)
        try:
            kind = f"Content-Type: {content}\r\n" if body else ""
            head = f"{method} {path}{self._head}{kind}Content-Length: {len(body)}\r\n\r\n"
            # A timeout of 0 would make the socket non-blocking.
            line.settimeout(max(deadline - time.monotonic(), 0.001))
            line.sendall(head.encode("latin-1") + body)
            answer, stays = reading.read_answer()
        except (OSError, ValueError) as error:
            line.close()
            raise WireError(reached=True, code=reading.code) from error
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
        """Close idle connections. Those in use are closed after their call."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, line in idle:
            line.close()

    def _take_line(self, seconds: float) -> socket.socket:
        """Return the most recently used open connection, or a new one."""
        while True:
            with self._lock:
                since, line = self._idle.pop() if self._idle else (0.0, None)
            if line is None:
                return self._connect(seconds)
            if time.monotonic() - since < IDLE_SECONDS and _is_quiet(line):
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


def _is_quiet(line: socket.socket) -> bool:
    """Return whether there is nothing to read. Data between two answers can only be the end of the connection."""
    line.settimeout(0.0)
    try:
        line.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False
    return False


class _Reading:
    """Parses one answer with llhttp, which calls the ``on_`` methods."""

    def __init__(self, line: socket.socket, deadline: float, largest: int) -> None:
        self._line, self._until, self._largest = line, deadline, largest
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._headers: dict[str, str] = {}
        # Bytes of the header and of the body so far.
        self._head = self._size = 0
        self._ended = self._stays = self._more = False
        # The status, set at the end of the header.
        self.code = 0

    def read_answer(self) -> tuple[WireResponse, bool]:
        """Return the answer, and whether the connection can be used again."""
        while not self._ended:
            if not (chunk := self._receive_chunk()):
                break
            try:
                self._parser.feed_data(chunk)
            except httptools.HttpParserError as error:
                if not self._ended:
                    raise ValueError("no answer of HTTP/1.1") from error
                # Bytes after the end of the answer: the answer is good, but the connection is not.
                self._more = True
            if self._head > LARGEST_HEAD or self._size > self._largest:
                raise LargeError("an answer larger than any object")
        return WireResponse(self.code, b"".join(self._body), self._headers), self._stays and not self._more

    def _receive_chunk(self) -> bytes:
        """Return the received bytes; b"" if the end of the connection ends the answer."""
        time_left = self._until - time.monotonic()
        if time_left <= 0:
            raise TimeoutError
        self._line.settimeout(time_left)
        chunk = self._line.recv(65536)
        if not chunk and (not self.code or self._headers.keys() & {"content-length", "transfer-encoding"}):
            raise ConnectionResetError("the server closed the connection")
        self._head += len(chunk)
        return chunk

    def on_message_begin(self) -> None:
        self._more = self._ended
        if not self._more:
            self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._more:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        # An answer such as 100 Continue is followed by the final one.
        if not self._more and self._parser.get_status_code() >= 200:
            self.code = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._size += len(body)
        # Counts headers only; this chunk is a part of the body.
        self._head = 0

    def on_message_complete(self) -> None:
        self._ended = self._ended or self._parser.get_status_code() >= 200
        self._stays = self._parser.should_keep_alive()
