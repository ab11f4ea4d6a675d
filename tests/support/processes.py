"""Start real servers as child processes and end exactly those."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import SystemRandom

CHANCE = SystemRandom()  # hypothesis begins the other one at the same number in every process


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listened on a moment ago, below those that connections are given."""
    while True:
        port = CHANCE.randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def listens(port: int) -> bool:
    """Return whether something listens on a port of 127.0.0.1; a killed process does so for a moment yet."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False


PATIENCE = 120.0  # seconds; what has not come by then on a busy machine does not come


def wait_until(true: Callable[[], bool], expectation: str, *, seconds: float = PATIENCE, step: float = 0.1) -> None:
    """Poll until ``true()``; ``TimeoutError`` naming ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {expectation}")
        time.sleep(step)


class Server:
    """A child process that can be killed, paused and started again; its output goes to ``log``."""

    def __init__(
        self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.command, self.log, self.env, self.cwd = list(command), log, env, cwd
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.env,
                cwd=self.cwd,
            )

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait(10)

    def stop(self, patience: float = 10) -> None:
        """SIGTERM, and SIGKILL after ``patience`` seconds; whether paused or not."""
        if self.process is None:
            return
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()


@contextlib.contextmanager
def running(
    command: Sequence[str],
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    patience: float = 10,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``command`` with its output in ``log``; at the end SIGTERM, and SIGKILL after ``patience`` seconds."""
    server = Server(command, log, env, cwd)
    server.start()
    assert server.process is not None
    try:
        yield server.process
    finally:
        server.stop(patience)
