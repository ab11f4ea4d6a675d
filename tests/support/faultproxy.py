"""A proxy in front of the API server that does to a client what networks and busy servers do, when a test says so.

It ends TLS with a certificate of its own, speaks HTTP/1.1 to both sides, and remembers every call that passed.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import re
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.certificates import certificate
from tests.support.faults import Call, Cut, Fault, status_json
from tests.support.processes import free_port

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "te", "trailer"})
CHUNK = 2**16


@dataclass
class Rule:
    """``fault`` for calls of ``method`` whose path ``pattern`` is found in, each with ``chance``, ``times`` at most."""

    method: str
    pattern: re.Pattern[str]
    fault: Fault
    times: int | None
    chance: float
    when: Callable[[Call], bool]

    def matches(self, call: Call) -> bool:
        if self.times == 0 or self.fault.ended.is_set():
            return False
        return self.method in ("", call.method) and bool(self.pattern.search(call.path)) and self.when(call)


@dataclass(eq=False)
class Stream:
    """A watch under way: bytes are written under ``lock``, whole events only where ``whole``."""

    call: Call
    write: Callable[[bytes], object]
    close: Callable[[], None]
    lock: threading.Lock = field(default_factory=threading.Lock)
    whole: bool = True


class FaultProxy:
    """Listens on ``url`` with the authority ``ca``; in ``with`` it runs. ``seed`` decides what chance decides."""

    def __init__(self, plane: ControlPlane, folder: Path, seed: int = 1) -> None:
        self.plane = plane
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.calls: list[Call] = []
        self.random = random.Random(seed)
        self.flowing = threading.Event()
        self.flowing.set()
        self.streams: set[Stream] = set()
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self._certificate = certificate(folder, "fault-proxy")
        self.ca = self._certificate.read_text()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self._certificate, self._certificate.with_suffix(".key"))

    # What a test says.

    @contextlib.contextmanager
    def fault(
        self,
        method: str,
        pattern: str,
        fault: Fault,
        *,
        times: int | None = None,
        chance: float = 1.0,
        when: Callable[[Call], bool] = lambda call: True,
    ) -> Iterator[Fault]:
        """In ``with``: ``fault`` meets the calls of ``method`` ("" for any) whose path with query has ``pattern``."""
        rule = Rule(method, re.compile(pattern), fault, times, chance, when)
        with self._lock:
            self._rules.append(rule)
        try:
            yield fault
        finally:
            with self._lock:
                self._rules.remove(rule)
            fault.release()

    def cut_watches(self, pattern: str = "") -> int:
        """Break the watches whose path has ``pattern``, now; how many there were."""
        return self._each_stream(pattern, lambda stream: None)

    def end_watches(self, code: int, message: str = "too old resource version", pattern: str = "") -> int:
        """Send an ERROR event of ``code`` down each watch and end it; how many there were."""
        event = b'{"type":"ERROR","object":' + status_json(code, message).strip() + b"}\n"
        return self._each_stream(pattern, lambda stream: stream.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)))

    def freeze(self) -> None:
        """Pass nothing on any more, yet break no connection: what a half-open line looks like."""
        self.flowing.clear()

    def thaw(self) -> None:
        self.flowing.set()

    def down(self) -> None:
        """Refuse connections and break those there are."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
        with self._lock:
            broken = list(self._connections)
        for connection in broken:
            _break(connection)

    def up(self) -> None:
        """Listen, on the same port as before."""
        server = _Server(self)
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.05,), name="fault proxy", daemon=True).start()

    def __enter__(self) -> FaultProxy:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        with self._lock:
            rules = list(self._rules)
        for rule in rules:
            rule.fault.release()
        self.down()

    # What the connections ask.

    def rules_for(self, call: Call) -> list[Fault]:
        """Remember ``call``; the faults that meet it, in the order in which the test set them."""
        with self._lock:
            self.calls.append(call)
            met = [rule for rule in self._rules if rule.matches(call)]
            met = [rule for rule in met if rule.chance >= 1 or self.random.random() < rule.chance]
            for rule in met:
                if rule.times is not None:
                    rule.times -= 1
        for rule in met:
            rule.fault.met(call)
        return [rule.fault for rule in met]

    @contextlib.contextmanager
    def connection(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)

    def _each_stream(self, pattern: str, last: Callable[[Stream], object]) -> int:
        chosen = [stream for stream in list(self.streams) if re.search(pattern, stream.call.path)]
        for stream in chosen:
            with stream.lock, contextlib.suppress(OSError):
                if stream.whole:
                    last(stream)
                stream.close()
        return len(chosen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", proxy.port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A broken line is what this proxy is for: not a word about it."""


class _Handler(BaseHTTPRequestHandler):
    """One client's connection, with one of its own to the API server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        # The handshake is made here and not where connections are accepted, so that a slow client delays none.
        self.request = self.server.proxy.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self) -> None:
        proxy = self.server.proxy
        trusted = ssl.create_default_context(cadata=proxy.plane.ca)
        self.upstream = http.client.HTTPSConnection("127.0.0.1", proxy.plane.port, context=trusted)
        with proxy.connection(self.request), contextlib.closing(self.upstream):
            with contextlib.suppress(Cut, OSError, http.client.HTTPException):
                super().handle()
            _break(self.request)

    def log_message(self, format: str, *values: object) -> None:
        """Calls are kept in ``FaultProxy.calls``."""

    def _pass(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        agent = self.headers.get("User-Agent", "")
        call = Call(self.command, self.path, agent, body, time.time(), str(uuid.uuid4()))
        faults = proxy.rules_for(call)
        proxy.flowing.wait()
        for fault in faults:
            made_up = fault.before(call)
            if made_up is not None:
                self._answer(call, *made_up)
                return
        self._forward(call, faults)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass

    def _forward(self, call: Call, faults: list[Fault]) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        call.forwarded = True
        self.upstream.request(call.method, call.path, call.body or None, headers | {"Audit-ID": call.audit_id})
        upstream = self.upstream.sock
        response = self.upstream.getresponse()
        reply_headers = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
        if call.watching and response.status == 200:
            self._stream(call, response, reply_headers, faults, upstream)
            return
        whole = response.read()
        altered = whole
        for fault in faults:
            altered = fault.after(call, altered)
        self.server.proxy.flowing.wait()
        self._answer(call, response.status, altered, reply_headers, len(whole))
        if len(altered) < len(whole):
            raise Cut

    def _answer(self, call: Call, code: int, body: bytes, headers: dict[str, str], size: int | None = None) -> None:
        call.status = code
        headers = {"Content-Type": "application/json"} | headers
        headers["Content-Length"] = str(len(body) if size is None else size)
        self.wfile.write(_head(code, headers) + body)

    def _stream(
        self,
        call: Call,
        response: http.client.HTTPResponse,
        headers: dict[str, str],
        faults: list[Fault],
        upstream: socket.socket,
    ) -> None:
        proxy = self.server.proxy
        call.status = response.status
        self.wfile.write(_head(response.status, headers | {"Transfer-Encoding": "chunked"}))
        stream = Stream(call, self.wfile.write, lambda: _break(self.request, upstream))
        proxy.streams.add(stream)
        try:
            while data := response.read1(CHUNK):
                altered = data
                for fault in faults:
                    altered = fault.after(call, altered)
                proxy.flowing.wait()
                with stream.lock:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(altered), altered))
                    stream.whole = altered.endswith(b"\n")
                if len(altered) < len(data):
                    raise Cut
            with stream.lock:
                self.wfile.write(b"0\r\n\r\n")
        finally:
            proxy.streams.discard(stream)


def _head(code: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} {http.client.responses.get(code, '')}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _break(*connections: socket.socket) -> None:
    """End connections under the eyes of the threads that read from them."""
    for connection in connections:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
