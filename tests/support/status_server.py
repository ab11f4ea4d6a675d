"""A git server's API for statuses of commits on this machine, in the forms that GitHub and GitLab document."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "status-t0ken"
# Form: the path of a repository, who a status is of, and the states that it may have.
FORMS = {
    "github": ("/repos/platform/policies", "context", {"error", "failure", "pending", "success"}),
    "gitlab": ("/api/v4/projects/42", "name", {"canceled", "failed", "pending", "running", "skipped", "success"}),
}


class StatusServer(ThreadingHTTPServer):
    """Keeps the statuses that it takes: (commit, who) to what was said last."""

    def __init__(self, form: str) -> None:
        self.path, self.who, self.states = FORMS[form]
        self.taken: dict[tuple[str, str], dict[str, Any]] = {}
        self.asked: list[str] = []
        self.unknown: set[str] = set()  # commits that were not pushed
        super().__init__(("127.0.0.1", 0), StatusHandler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.path}"

    def state(self, commit: str, context: str = "kschedweb/platform") -> str:
        return str(self.taken[commit, context]["state"])

    def judge(self, path: str, token: str, status: dict[str, Any]) -> int:
        """The status of the answer."""
        match = re.fullmatch(re.escape(self.path) + r"/statuses/([0-9a-f]{40})", path)
        if token != f"Bearer {TOKEN}":
            return 401
        if match is None or match[1] in self.unknown:
            return 404
        context = status.get(self.who, "default")
        earlier_status = self.taken.get((match[1], context), {})
        if status.get("state") not in self.states or len(status.get("description", "")) > 140:
            return 422
        if self.who == "name" and earlier_status.get("state") == status["state"]:
            return 400  # "Cannot transition status": GitLab before 18
        self.taken[match[1], context] = status
        return 201


class StatusHandler(BaseHTTPRequestHandler):
    server: StatusServer

    def do_POST(self) -> None:
        sent_status = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(self.path)
        # GitHub refuses whoever does not say what program it is.
        allowed = self.headers.get("User-Agent") and self.headers.get("Content-Type") == "application/json"
        status = self.server.judge(self.path, self.headers.get("Authorization", ""), sent_status) if allowed else 403
        body = json.dumps({"state": sent_status.get("state")} if status == 201 else {"message": "no"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


@contextmanager
def taking(form: str) -> Iterator[StatusServer]:
    """A server at work."""
    server = StatusServer(form)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
