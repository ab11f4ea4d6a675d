"""`python -m kschedweb.jobs.nursery FD`: forks the processes that do a worker's heavy work.

It imports everything once, and then only forks, because a process that forks must have no thread and no connection.
(This is multiprocessing's forkserver, which does not work within a process of Celery's prefork pool.)

The worker sends eight bytes a request over the socket FD, and gets eight back. 0 with the end of a pipe means "fork a
process that works for this pipe", and is answered by its id. An id means "how did it end", and is answered by its exit
status. When the worker is gone the nursery ends, and so does everything that it forked.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

import django

# The request to fork; no process has the id 0.
FORK = 0
# Seconds for a process whose pipe is closed to end by itself.
PATIENCE = 5.0
# A signed integer of eight bytes.
_number = struct.Struct("q")


def send_request(control: socket.socket, request: int, pipe: int | None = None) -> int:
    """Send a request from the worker. Raises OSError if the nursery is gone."""
    socket.send_fds(control, [_number.pack(request)], [] if pipe is None else [pipe])
    answer = control.recv(_number.size)
    if not answer:
        raise ConnectionResetError("The process that forks others is gone.")
    return int(_number.unpack(answer)[0])


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    # The worker decides when its processes end, even if Ctrl-C or a service manager signals all of them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    django.setup()
    from kschedweb.celery import app
    from kschedweb.jobs import child_process

    app.loader.import_default_modules()
    # Nobody else holds ``life``, so ``alive`` ends with this process.
    alive, life = os.pipe()
    while True:
        request, fds, _, _ = socket.recv_fds(control, _number.size, 1)
        if not request:
            return
        (code,) = _number.unpack(request)
        if code != FORK:
            control.sendall(_number.pack(_exit_code(code)))
            continue
        (pipe,) = fds
        if pid := os.fork():
            os.close(pipe)
            control.sendall(_number.pack(pid))
            continue
        try:
            control.close()
            os.close(life)
            threading.Thread(target=_die_with_nursery, args=(alive,), name="follow", daemon=True).start()
            child_process.serve_pipe(Connection(pipe))
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)


def _die_with_nursery(alive: int) -> None:
    """End this process, and all that it started, together with the nursery."""
    os.read(alive, 1)
    os.killpg(0, signal.SIGKILL)


def _exit_code(pid: int) -> int:
    """Return the exit code as ``subprocess`` does: -9 if SIGKILL ended it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            reaped_pid, status = os.waitpid(pid, os.WNOHANG)
        # Another nursery forked it, and was killed together with it.
        except ChildProcessError:
            return -signal.SIGKILL
        if reaped_pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)


if __name__ == "__main__":
    main()
