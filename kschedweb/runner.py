"""`make run`: web, worker, scheduler and beat in one process on one machine, with nothing else to install or to start.

Scaled out, each of the four is a process of its own (docker-compose.yml) and this module is not used.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from kschedweb import __version__, firstdata, server
from kschedweb.build import data_folder
from kschedweb.web import env, variables

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    import uvicorn

    from kschedweb.clusters.flight.host import FlightHost
    from kschedweb.engine.simulation.recording import UseRecording
    from kschedweb.live.schedulers.running.host import Host
    from kschedweb.sandbox.running.host import SandboxHost

PATIENCE = 5  # seconds that running work is given to come to an end
LOCK = "lock"  # in the data folder: held while a site runs on it
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # Both end it in the same orderly way, also where a shell started it with SIGINT ignored.
        signal.signal(number, signal.default_int_handler)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    os.environ.setdefault(variables.LOG_LEVEL.name, "WARNING")
    with env.one_line_errors(), contextlib.suppress(KeyboardInterrupt):
        host, port = server.listen_address()
        listener = server.open_listener(host, port)
        folder = data_folder(variables.DATA_DIR.read())
        with explain_failures(folder):
            claim_folder(folder)
            make_secrets(folder)
        print_step(f"kschedweb {__version__} is starting.")
        site = f"http://127.0.0.1:{listener.getsockname()[1]}"
        sandbox = make_sandbox(folder, site) if variables.SANDBOX.read() else None
        with explain_failures(folder):
            prepare_database()
            if sandbox is not None:
                start_sandbox(sandbox)
            call_command("ensure_admin")
        serve_site(host, listener, sandbox)


def print_step(line: str) -> None:
    """Print a step to who waits, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def explain_failures(folder: Path) -> Iterator[None]:
    """A start that fails because of its files ends with one line: what is wrong, which file, and what to do."""
    from django.db import DatabaseError
    from django.db.migrations.exceptions import NodeNotFoundError

    try:
        yield
    except NodeNotFoundError:
        raise ImproperlyConfigured(
            "this data folder is from a state between releases, before 0.1.0, that cannot be brought up to date: name "
            "another one with KSCHEDWEB_DATA_DIR."
        ) from None
    except OSError as error:
        file_part = f": {Path(error.filename).name}" if error.filename else ""
        raise ImproperlyConfigured(
            f"KSCHEDWEB_DATA_DIR cannot be used: {error.strerror or error}{file_part}. {_suggest_fix(error)}"
        ) from None
    except DatabaseError as error:
        from django.db import connection

        if connection.vendor != "sqlite":
            raise ImproperlyConfigured(f"the database cannot be used: {str(error).partition(chr(10))[0]}.") from None
        file = Path(connection.settings_dict["NAME"]).name
        raise ImproperlyConfigured(f"the database {file} cannot be used: {error}. {_suggest_fix(error)}") from None
    except CommandError as error:
        raise ImproperlyConfigured(str(error)) from None


def _suggest_fix(error: Exception) -> str:
    """Return what helps against an error of a file."""
    text = str(error)
    if getattr(error, "errno", None) in FULL or "disk is full" in text or "disk I/O" in text:
        return "Make room on its disk, then start again."
    if isinstance(error, OSError) or "readonly" in text or "unable to open" in text:
        return "Give this user the right to write there, or name another folder with KSCHEDWEB_DATA_DIR."
    if "locked" in text:
        return "Another process writes to it: stop that one first."
    return "It is damaged: put a backup in its place, or move it away to begin with an empty site."


def claim_folder(folder: Path) -> None:
    """Take ``folder`` for this process alone, until it ends."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        number = os.read(lock, 20).decode("ascii", "replace").strip()
        os.close(lock)
        raise ImproperlyConfigured(
            f"another kschedweb (process {number or 'unknown'}) uses this data folder: stop it first, or give this one "
            "a folder of its own with KSCHEDWEB_DATA_DIR."
        ) from None
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())


def make_secrets(folder: Path) -> None:
    """Keep an installation's own secrets in ``folder``, readable by its owner only, where the environment has none."""
    for variable, size in (
        (variables.SECRET_KEY, 50),
        (variables.ENCRYPTION_KEYS, 32),
        (variables.SANDBOX_TOKEN, 32),
    ):
        if variable.is_set():
            continue
        path = folder / variable.name.removeprefix("KSCHEDWEB_").lower()
        if not path.exists():
            value = base64.urlsafe_b64encode(secrets.token_bytes(size)).decode()
            # Whole or not at all: half a secret would be taken for one at the next start.
            unfinished = path.with_suffix(".new")
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(value)
            unfinished.rename(path)
        os.environ[f"{variable.name}_FILE"] = str(path)


def make_sandbox(folder: Path, site: str) -> SandboxHost:
    """The sandbox, which will answer where the environment says."""
    from kschedweb.sandbox.running import host

    token, recorded = variables.SANDBOX_TOKEN.read(), recorded_use(variables.SANDBOX_USE.read())
    sandbox = host.SandboxHost(folder, lambda port: server.open_listener("127.0.0.1", port), token, site, recorded)
    os.environ[variables.SANDBOX_SERVER.name] = sandbox.address
    host.install_host(sandbox)
    return sandbox


def start_sandbox(sandbox: SandboxHost) -> None:
    """Start it, and make it a cluster of this site; the site runs also where it does not."""
    trouble = "" if sandbox.start() else sandbox.trouble
    if not trouble:
        try:
            call_command("load_sandbox", site=sandbox.site)
        except CommandError as error:
            trouble = str(error)
    if trouble:
        advice = "The page Sandbox has a button that sets it up anew."
        sys.stderr.write(f"kschedweb: the site runs without its sandbox. {trouble} {advice}\n")


def recorded_use(path: str) -> UseRecording | None:
    """Return the recording in the file ``path``, as experiments read it; ``None`` for no file."""
    from kschedweb.engine.simulation.recording import RecordingError, UseRecording

    if not path:
        return None
    try:
        return UseRecording.from_file_bytes(Path(path).read_bytes())
    except (OSError, RecordingError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ImproperlyConfigured(f"KSCHEDWEB_SANDBOX_USE cannot be read: {reason}.") from None


def prepare_database() -> None:
    """Bring the database up to date, with the demo and the ready scenarios where they are missing."""
    import django
    from django.db import connection

    django.setup()
    database = Path(connection.settings_dict["NAME"])
    made_here = connection.vendor == "sqlite" and firstdata.copy_first_data(database)
    if made_here:
        print_step("Making the database and the demo; this happens once.")
    call_command("migrate", verbosity=0, interactive=False)
    call_command("load_demo")
    call_command("load_scenarios")
    if made_here:
        from kschedweb.jobs.examples import examples_want

        examples_want()
        firstdata.keep_copy(database)


def prepare_first_data() -> None:
    """Make the data that a wheel brings along: with the examples, made by a worker as on any site."""
    prepare_database()
    from django.db import connection

    from kschedweb.jobs.examples import examples_start
    from kschedweb.jobs.selectors import unfinished_count

    start_worker()
    examples_start()
    while unfinished_count():
        threading.Event().wait(0.2)
    firstdata.keep_copy(Path(connection.settings_dict["NAME"]))


def serve_site(host: str, listener: socket.socket, sandbox: SandboxHost | None = None) -> None:
    """Run until SIGINT or SIGTERM."""
    web = server.make_server(PATIENCE)
    worker, beat, schedulers, flight = start_worker(), start_beat(), start_host(), start_flight()
    announce_ready(web, host, listener.getsockname()[1])
    try:
        web.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        stop_all(worker, beat, schedulers, flight, sandbox)


def start_worker() -> threading.Thread:
    """A Celery worker on threads; it takes the tasks that this process sends."""
    from kschedweb.celery import app

    worker: Any = app.WorkController(
        pool="threads",
        concurrency=2,
        queues=["celery"],
        hostname="embedded",
        loglevel="WARNING",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    thread = threading.Thread(target=worker.start, name="worker", daemon=True)
    thread.start()
    return thread


def start_beat() -> Any:
    """Celery beat as a thread."""
    from celery.beat import EmbeddedService
    from django.conf import settings

    from kschedweb.celery import app

    beat = EmbeddedService(app, thread=True, schedule_filename=settings.CELERY_BEAT_SCHEDULE_FILENAME)
    beat.start()
    return beat


def start_host() -> Host:
    """Start the host of live schedulers, which run as threads."""
    from kschedweb.live.schedulers.running.host import Host

    host = Host()
    host.start()
    return host


def start_flight() -> FlightHost:
    """Start the host of flight recorders, which run as threads."""
    from kschedweb.clusters.flight.host import FlightHost

    host = FlightHost()
    host.start()
    return host


def announce_ready(web: uvicorn.Server, host: str, port: int) -> None:
    """Print the address once pages are really answered; only then begin with what jobs will need."""
    from kschedweb.jobs import processes

    display_host = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104

    def wait() -> None:
        while not (web.started or web.should_exit):
            threading.Event().wait(0.05)
        if web.started:
            print_step(f"kschedweb is ready: http://{display_host}:{port}/ (Ctrl-C stops it)")
            processes.prepare_nursery()
            start_examples()

    threading.Thread(target=wait, name="announce", daemon=True).start()


def start_examples() -> None:
    """Have the examples made that a new data folder begins with, in the background."""
    from django.db import DatabaseError, connection

    from kschedweb.jobs.examples import examples_start

    if not variables.EXAMPLES.read():
        return
    try:
        # The site runs without them, and its next start tries again.
        with contextlib.suppress(DatabaseError):
            examples_start()
    finally:
        connection.close()


def stop_all(
    worker: threading.Thread, beat: Any, schedulers: Host, flight: FlightHost, sandbox: SandboxHost | None
) -> None:
    """End all of them; work that does not end in time is taken up by reconciliation at the next start."""
    from celery.worker import state

    state.should_stop = 0
    endings = [threading.Thread(target=host.stop, daemon=True) for host in (schedulers, flight)]
    for ending in endings:
        ending.start()
    threading.Thread(target=beat.stop, daemon=True).start()
    worker.join(PATIENCE)
    for ending in endings:
        ending.join(PATIENCE)
    if sandbox is not None:
        sandbox.stop()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of unfinished work would otherwise keep the process alive for as long as they take.
    os._exit(0)


if __name__ == "__main__":
    main()
