"""A receiver of webhooks that listens on this machine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver(ThreadingHTTPServer):
    """Keeps what it gets, and answers with ``status``."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], str]] = []
        self.status = 204
        super().__init__(("127.0.0.1", 0), WebhookHandler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hooks/approvals"


class WebhookHandler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.status)
        if 300 <= self.server.status < 400:
            self.send_header("Location", self.server.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


@contextmanager
def listening() -> Iterator[Receiver]:
    """A receiver at work."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def signature(secret: str, headers: Mapping[str, str], body: str) -> str:
    """Compute the header ``webhook-signature`` as docs/approvals.md tells receivers."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
