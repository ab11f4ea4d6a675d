"""Faults that a proxy injects into calls to the API server."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass

REASONS = {
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


def status_json(code: int, message: str, reason: str = "") -> bytes:
    """A ``Status`` as the API server answers it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason or REASONS.get(code, ""),
        "code": code,
    }
    return json.dumps(body).encode() + b"\n"


@dataclass
class Call:
    """One request: ``at`` is when it reached the proxy (seconds of the epoch), ``status`` 0 until it is answered."""

    method: str
    path: str  # with its query
    agent: str
    body: bytes
    at: float
    audit_id: str  # the API server's audit log has the same
    forwarded: bool = False
    status: int = 0

    @property
    def watching(self) -> bool:
        return bool(re.search(r"[?&]watch=(1|true)", self.path))


class Cut(Exception):
    """The connection to the client ends here, without a word."""


class Fault:
    """Fault of the calls that match. ``before`` may answer, wait or cut; ``after`` has the server's answer."""

    def __init__(self) -> None:
        self.seen: list[Call] = []
        self.ended = threading.Event()
        self._news = threading.Condition()

    def met(self, call: Call) -> None:
        with self._news:
            self.seen.append(call)
            self._news.notify_all()

    def wait(self, count: int = 1, seconds: float = 120) -> list[Call]:
        """The first ``count`` calls that it met; ``TimeoutError`` where they do not come."""
        with self._news:
            if not self._news.wait_for(lambda: len(self.seen) >= count, seconds):
                raise TimeoutError(f"{len(self.seen)} of {count} calls met {type(self).__name__} in {seconds:g} s")
            return self.seen[:count]

    def release(self) -> None:
        """Let go whatever waits, and do nothing from now on."""
        self.ended.set()

    def before(self, call: Call) -> tuple[int, bytes, dict[str, str]] | None:
        """An answer that spares the server the call; ``None`` lets it pass."""
        return None

    def after(self, call: Call, body: bytes) -> bytes:
        """Return the part of the server's answer that the client gets; ``Cut`` where the connection ends."""
        return body


class Refuse(Fault):
    """The answer is an error; the server never hears of the call."""

    def __init__(self, code: int, message: str = "made up by the fault proxy", retry_after: int | None = None) -> None:
        super().__init__()
        self.code, self.message, self.retry_after = code, message, retry_after

    def before(self, call: Call) -> tuple[int, bytes, dict[str, str]]:
        more = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return self.code, status_json(self.code, self.message), more


class Delay(Fault):
    """The call reaches the server ``seconds`` later."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def before(self, call: Call) -> None:
        self.ended.wait(self.seconds)


class Hold(Fault):
    """The call does not reach the server before ``release``, and then does, though the client be dead."""

    def before(self, call: Call) -> None:
        self.ended.wait()


class Hang(Fault):
    """The call never reaches the server and is never answered."""

    def before(self, call: Call) -> None:
        self.ended.wait()
        raise Cut


class Sever(Fault):
    """The connection breaks before the server hears of the call."""

    def before(self, call: Call) -> None:
        raise Cut


class DropReply(Fault):
    """The server does what it is asked, and the connection breaks before its answer arrives."""

    def after(self, call: Call, body: bytes) -> bytes:
        raise Cut


class HoldReply(Fault):
    """The server does what it is asked; its answer arrives after ``release``."""

    def after(self, call: Call, body: bytes) -> bytes:
        self.ended.wait()
        return body


class Truncate(Fault):
    """Only the first ``size`` bytes of the answer's body, or of a stream's next event, arrive; then it breaks off."""

    def __init__(self, size: int = 20) -> None:
        super().__init__()
        self.size = size

    def after(self, call: Call, body: bytes) -> bytes:
        return body[: self.size]
