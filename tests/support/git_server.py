"""A git repository of this machine, and git's own server for it over http."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from kschedweb.policies.repositories.models import Repository

SECRET = "s3cret-token"
GOOD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: {}\n"


@dataclass
class Work:
    """A repository in which a person works."""

    folder: Path
    names: list[str] = field(default_factory=list)

    def git(self, *arguments: str) -> str:
        identity = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com", "GIT_COMMITTER_NAME": "Ada"}
        env = {**os.environ, **identity, "GIT_COMMITTER_EMAIL": "ada@example.com", "GIT_CONFIG_GLOBAL": "/dev/null"}
        process = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=env, check=True, capture_output=True, text=True
        )
        return process.stdout.strip()

    def commit(self, subject: str, **files: str | None) -> str:
        """Write, or with ``None`` remove, policies/NAME.yaml, and commit; the commit's full name."""
        for name, text in files.items():
            path = self.folder / "policies" / f"{name}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text) if text is not None else path.unlink()
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")


def init_work(folder: Path) -> Work:
    folder.mkdir(parents=True)
    work = Work(folder)
    work.git("init", "--quiet", "--initial-branch=main")
    return work


def look() -> Repository:
    """Look at the one repository that is followed, now."""
    from kschedweb.policies.repositories import sync
    from kschedweb.policies.repositories.models import Repository

    Repository.objects.update(due_at=None)
    for due in sync.claim_due_repositories():
        sync.repository_look(due)
    return Repository.objects.get()


@contextmanager
def served(folder: Path, *, secret: str = "") -> Iterator[tuple[str, list[str]]]:
    """git's http server for what lies in ``folder``: its address, and the paths that it was asked for."""
    paths: list[str] = []
    expected = "Basic " + base64.b64encode(f"git:{secret}".encode()).decode()

    class GitHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _answer(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            paths.append(parts.path)
            if parts.path.startswith("/elsewhere"):
                self.send_response(302)
                self.send_header("Location", "http://127.0.0.1:1/repo/info/refs?service=git-upload-pack")
                self.end_headers()
                return
            if secret and self.headers.get("Authorization") != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic")
                self.end_headers()
                return
            env = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command, "PATH_INFO": parts.path, "QUERY_STRING": parts.query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            }  # fmt: skip
            process = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
            head, _, content = process.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
            self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", paths
    finally:
        server.shutdown()
        server.server_close()
