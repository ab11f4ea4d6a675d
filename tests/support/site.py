"""The site as its own processes, and a client that talks to it over HTTP as a person's browser or a program would."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests

from tests.support.once import made_once
from tests.support.processes import free_port, listens, wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "a-password-for-tests-only"


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without any setting of kschedweb, and with ``more``."""
    ours = ("KSCHEDWEB_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "PYTEST_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**inherited, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **more}


class Site:
    """A running site at ``url`` and the session of one person in it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = requests.Session()

    def answers(self, path: str) -> bool:
        with contextlib.suppress(requests.RequestException):
            return bool(requests.get(self.url + path, timeout=5).status_code == 200)
        return False

    def login(self, username: str, password: str) -> None:
        """Log in by the form; afterwards every call carries the session and its CSRF token."""
        address = urljoin(self.url, "/login/")
        tokens: list[str] = []

        def has_form() -> bool:
            page = self.session.get(address, timeout=120).text
            tokens.extend(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page))
            return bool(tokens)

        # A process that has only just begun on a busy machine answers once that it is not there yet.
        wait_until(has_form, "the login page has a form with a CSRF token", step=1.0)
        body = {"csrfmiddlewaretoken": tokens[-1], "username": username, "password": password}
        answer = self.session.post(address, data=body, headers={"Referer": address}, timeout=120)
        assert "sessionid" in self.session.cookies, (
            f"{answer.status_code}: {re.sub(r'<[^>]+>', ' ', answer.text)[:2000]}"
        )

    def call_rest(self, method: str, path: str, body: object = None, **options: Any) -> requests.Response:
        """One call to ``/api/v1/…``, any status."""
        headers = {
            "X-CSRFToken": self.session.cookies.get("csrftoken", ""),
            "Referer": self.url,
            **options.pop("headers", {}),
        }
        if body is not None:
            options["json"] = body
        return self.session.request(method, f"{self.url}/api/v1/{path}", headers=headers, timeout=120, **options)

    def ask(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        """One call that must succeed; the answer's JSON."""
        answer = self.call_rest(method, path, body, **options)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text[:2000]}"
        return answer.json() if answer.content else None

    def wait_for_job(self, job_id: str, seconds: float = 60) -> dict[str, Any]:
        """The job once it has ended; it must have succeeded."""
        job: dict[str, Any] = {}

        def ended() -> bool:
            job.update(self.ask("GET", f"jobs/{job_id}/"))
            return job["state"] in ("succeeded", "failed", "cancelled")

        wait_until(ended, f"job {job_id} ended", seconds=seconds, step=0.2)
        assert job["state"] == "succeeded", job
        return job


class MadeRun:
    """`make run`, or another ``command`` that starts the site, as a child process; ``output`` is what it printed."""

    command: Sequence[str] = ("make", "--silent", "run")
    cwd = ROOT

    def __init__(self, folder: Path, **settings: str) -> None:
        self.port = free_port()
        self.site = Site(f"http://127.0.0.1:{self.port}")
        self.log = folder / "make-run.log"
        # Examples would take the time of the machine while a test waits for something else.
        usual = {"KSCHEDWEB_EXAMPLES": "false", "KSCHEDWEB_PORT": str(self.port)}
        self.env = clean_environment(**usual | {"KSCHEDWEB_DATA_DIR": str(folder / "data"), **settings})
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def start(self, patience: float = 300) -> float:
        """Start and wait until the address is printed and answers; the seconds that took."""
        begun = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.cwd,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = self.process

        def ready() -> bool:
            assert process.poll() is None, self.output
            return "kschedweb is ready" in self.output and self.site.answers("/readyz")

        wait_until(ready, f"{' '.join(self.command)} is ready", seconds=patience)
        return time.monotonic() - begun

    def stop(self) -> tuple[int, float]:
        """Press Ctrl-C, which reaches the whole group: exit status and the seconds that took."""
        assert self.process is not None
        begun = time.monotonic()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return status, time.monotonic() - begun

    def kill(self) -> None:
        """SIGKILL to the whole group; its port is free again."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        wait_until(lambda: not listens(self.port), "the killed site's port is free")

    def first_login(self) -> tuple[str, str]:
        """The username and password that it printed."""
        match = re.search(r"^username: (\S+)\npassword: (\S+)$", self.output, re.MULTILINE)
        assert match, self.output
        return match[1], match[2]


def prepared() -> Path:
    """A data folder as the first `make run` leaves it, without a person."""
    return made_once("prepared", _prepare)


def _prepare(folder: Path) -> None:
    env = clean_environment(
        DJANGO_SETTINGS_MODULE="kschedweb.settings",
        KSCHEDWEB_DATA_DIR=str(folder),
        KSCHEDWEB_SECRET_KEY="for-this-command-only",
    )
    command = [sys.executable, "-c", "from kschedweb import runner; runner.prepare_database()"]
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, timeout=300)


@contextlib.contextmanager
def made_run(folder: Path, command: Sequence[str] = (), **settings: str) -> Iterator[MadeRun]:
    """A site started by `make run` on a copy of ``prepared`` under ``folder``, or there by ``command``."""
    run = MadeRun(folder, **settings)
    if command:
        run.command, run.cwd = command, folder
    shutil.copytree(prepared(), folder / "data")
    try:
        run.start()
        yield run
    finally:
        run.stop()


def admin_site(run: MadeRun, settings: Mapping[str, str] | None = None) -> Site:
    """``run``'s site, logged in as the admin whose password the settings gave."""
    run.site.login("admin", (settings or {}).get("KSCHEDWEB_ADMIN_PASSWORD", PASSWORD))
    return run.site
