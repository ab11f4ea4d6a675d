"""Heavy work in separate processes, so that its time and memory are bounded and not taken from other work.

Each thread of a worker that has heavy work gives it to a process and waits. A process does one piece of work after the
other, so that what it has read stays in memory. All of them end with the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Pipe, wait
from typing import Any

import structlog
from django.conf import settings
from django.db import connection

from kschedweb.celery import app
from kschedweb.jobs import child_process, nursery
from kschedweb.web.errors import Unavailable

logger = structlog.get_logger(__name__)

# Seconds for work to end by itself once its time is over.
GRACE = 30.0
ADVICE = "make it smaller, with fewer nodes, pods or seeds"
TOO_LONG = "The job took longer than this server allows and was stopped."

# The process that worked last is the last.
_idle: list[Process] = []
# Protects the list above and the socket below.
_lock = threading.Lock()
_nursery: socket.socket | None = None


class ProcessLost(Exception):
    """The process ended before the work did. ``detail`` is for the person who waits for it."""

    def __init__(self, detail: str, pid: int) -> None:
        super().__init__(detail)
        self.detail, self.pid = detail, pid


class WorkFailed(Exception):
    """The work raised an error, which its process has logged."""


class _ProcessGone(Exception):
    """The process had no work for long, and ended before it got this one."""


def call_in_process(function: Callable[..., Any], *args: Any) -> Any:
    """Call ``function(*args)`` in another process. Raises ProcessLost or WorkFailed.

    It must be a function of a module, with plain data as arguments.
    """
    # The call may take long, and others need connections.
    connection.close()
    while True:
        process = _take_process()
        try:
            return process.call_function(function, args)
        except _ProcessGone:
            logger.debug("process_was_gone", pid=process.pid)
        finally:
            _give_back(process)


def _take_process() -> Process:
    with _lock:
        return _idle.pop() if _idle else Process()


def _give_back(process: Process) -> None:
    with _lock:
        if process.usable:
            _idle.append(process)
        else:
            process.end()


def prepare_nursery() -> None:
    """Start the nursery now, so that the first work need not wait for it."""
    with _lock:
        _started_nursery()


def _started_nursery() -> socket.socket:
    """Return the socket to the nursery, which ends when this end is closed."""
    global _nursery
    if _nursery is None:
        _nursery, theirs = socket.socketpair()
        path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", nursery.__name__, str(theirs.fileno())]
        with theirs:
            subprocess.Popen(  # noqa: S603 (our own words)
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path}
            )
    return _nursery


def _ask_nursery(request: int, pipe: int | None = None) -> int:
    global _nursery
    control = _started_nursery()
    try:
        return nursery.send_request(control, request, pipe)
    except OSError:
        control.close()
        _nursery = None
        raise


class Process:
    """A process and the pipe to it. The caller holds the lock when one is begun or ended."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            try:
                self.pid = _ask_nursery(nursery.FORK, theirs.fileno())
            # The nursery was killed; this starts a new one.
            except OSError:
                self.pid = _ask_nursery(nursery.FORK, theirs.fileno())
        self.usable, self._worked = True, False

    def call_function(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        self.usable, begun = False, False
        deadline = time.monotonic() + settings.JOB_SECONDS + GRACE
        try:
            self._pipe.send((function, args, structlog.contextvars.get_contextvars()))
            while True:
                if not wait([self._pipe], max(deadline - time.monotonic(), 0.0)):
                    raise ProcessLost(TOO_LONG, self.pid)
                kind, value, stays = self._pipe.recv()
                if kind == child_process.BEGUN:
                    begun = self._worked = True
                elif kind == child_process.SEND:
                    self._pipe.send(_relay_task(*value))
                else:
                    self.usable = stays
                    return self._read_answer(kind, value)
        except (EOFError, OSError):
            if not begun and self._worked:
                raise _ProcessGone from None
            pid = self.pid
            raise ProcessLost(self._how_it_ended(), pid) from None

    def _read_answer(self, kind: str, value: Any) -> Any:
        if kind == child_process.MEMORY:
            limit = f"{settings.JOB_MEMORY_MIB:,} MiB"
            raise ProcessLost(f"This needed more memory than the {limit} that a job may use: {ADVICE}.", self.pid)
        if kind == child_process.RAISED:
            raise WorkFailed(value)
        return value

    def _how_it_ended(self) -> str:
        try:
            with _lock:
                status = _ask_nursery(self.pid)
        # The nursery was killed, and with it everything that it forked.
        except OSError:
            status = -signal.SIGKILL
        self.pid = 0
        logger.error("process_lost", status=status)
        if status == -signal.SIGKILL:
            return (
                "The system ended the process of this job, most likely since the machine had no memory left: "
                f"{ADVICE}, or try again when less is going on."
            )
        return "The process of this job ended before the job did. The log says more."

    def end(self) -> None:
        """Kill the process, if it still exists, and all that it started."""
        self._pipe.close()
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            # The nursery is gone, and with it everything that it forked.
            with contextlib.suppress(OSError):
                _ask_nursery(self.pid)


def _relay_task(name: str, args: Any, kwargs: Any, options: dict[str, object]) -> str:
    try:
        app.send_task(name, args, kwargs, **options)
    except Unavailable:
        return child_process.AWAY
    return child_process.DELIVERED
