"""Start real servers as child processes and end exactly those."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(true: Callable[[], bool], seconds: float, what: str, step: float = 0.1) -> None:
    """Poll until ``true()``; ``TimeoutError`` naming ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(step)


@contextlib.contextmanager
def running(
    command: Sequence[str],
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    patience: float = 10,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``command`` with its output in ``log``; at the end SIGTERM, and SIGKILL after ``patience`` seconds."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=env, cwd=cwd
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(patience)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(patience)
