"""The sandbox of this process. It starts with the site, and is set up anew if it does not answer."""

from __future__ import annotations

import sqlite3
from threading import Lock
from typing import TYPE_CHECKING

import structlog

from kschedweb.sandbox.running.process import Sandbox

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from kschedweb.engine.simulation.recording import UseRecording

FILE = "sandbox.sqlite3"
logger = structlog.get_logger(__name__)
# At most one.
_hosts: list[SandboxHost] = []


def install_host(host: SandboxHost | None) -> None:
    """Make ``host`` that of this process."""
    _hosts[:] = [] if host is None else [host]


def get_host() -> SandboxHost | None:
    """Return the host of this process; ``None`` if the site runs without a sandbox, or in several processes."""
    return _hosts[0] if _hosts else None


class SandboxHost:
    """Keeps the sandbox in ``folder``. ``listen`` takes a port of the loopback interface, 0 for any."""

    def __init__(
        self,
        folder: Path,
        listen: Callable[[int], socket.socket],
        token: str,
        site: str = "",
        recording: UseRecording | None = None,
    ) -> None:
        self._path, self._listen, self._token = folder / FILE, listen, token
        self.site, self._recording = site, recording
        self._listener = listen(0)
        # The port stays the same when the sandbox is set up anew, so that clients find it again.
        self._port = self._listener.getsockname()[1]
        self._sandbox: Sandbox | None = None
        self._trouble = ""
        self._lock = Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def trouble(self) -> str:
        """The reason why it does not run, or cannot keep changes; "" if all is well."""
        return self._trouble or (self._sandbox.trouble if self._sandbox is not None else "")

    def start(self) -> bool:
        """Start the sandbox. Returns False if that fails, and ``trouble`` says why."""
        try:
            self._sandbox = Sandbox(self._path, self._listener, self._token, self.site, self._recording)
            self._sandbox.start()
        except sqlite3.Error as error:
            self._trouble = f"Its file {FILE} in the data folder cannot be used: {error}."
        except Exception as error:
            logger.exception("sandbox_not_started")
            self._trouble = f"It does not start ({type(error).__name__}): the log says why."
        else:
            self._trouble = ""
            return True
        self._sandbox = None
        self._listener.close()
        return False

    def set_up_anew(self) -> bool:
        """Forget everything in it and begin again, at the same address. Returns False if that fails."""
        with self._lock:
            self.stop()
            for suffix in ("", "-wal", "-shm", "-journal"):
                self._path.with_name(FILE + suffix).unlink(missing_ok=True)
            self._listener = self._listen(self._port)
            return self.start()

    def stop(self) -> None:
        if self._sandbox is not None:
            self._sandbox.stop()
            self._sandbox = None
        self._listener.close()
