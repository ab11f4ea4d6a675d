"""`make run`: web, worker, scheduler and beat in one process on one machine, with nothing else to install or to start.

Scaled out, each of the four is a process of its own (docker-compose.yml) and this module is not used.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from kschedweb import server
from kschedweb.web import env

if TYPE_CHECKING:
    import socket

    import uvicorn

    from kschedweb.clusters.flight.hosting import FlightHost
    from kschedweb.engine.simulation.recording import Recording
    from kschedweb.live.schedulers.running.host import Host
    from kschedweb.sandbox.running.process import Sandbox

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 5  # seconds that running work is given to come to an end


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # Both end it in the same orderly way, also where a shell started it with SIGINT ignored.
        signal.signal(number, signal.default_int_handler)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")
    os.environ.setdefault("KSCHEDWEB_LOG_LEVEL", "WARNING")
    with env.one_line_errors(), contextlib.suppress(KeyboardInterrupt):
        host, port = server.address()
        listener = server.listen(host, port)
        folder = Path(env.text("KSCHEDWEB_DATA_DIR") or ROOT / ".data")
        make_secrets(folder)
        site = f"http://127.0.0.1:{listener.getsockname()[1]}"
        sandbox = make_sandbox(folder, site) if env.boolean("KSCHEDWEB_SANDBOX", True) else None
        prepare()
        if sandbox is not None:
            call_command("load_sandbox", site=site)
        call_command("ensure_admin")
        serve(host, listener, sandbox)


def make_secrets(folder: Path) -> None:
    """Keep an installation's own secrets in ``folder``, readable by its owner only, where the environment has none."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, size in (
            ("KSCHEDWEB_SECRET_KEY", 50),
            ("KSCHEDWEB_ENCRYPTION_KEYS", 32),
            ("KSCHEDWEB_SANDBOX_TOKEN", 32),
        ):
            if os.environ.get(name) or os.environ.get(f"{name}_FILE"):
                continue
            path = folder / name.removeprefix("KSCHEDWEB_").lower()
            if not path.exists():
                value = base64.urlsafe_b64encode(secrets.token_bytes(size)).decode()
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                    file.write(value)
            os.environ[f"{name}_FILE"] = str(path)
    except OSError as error:
        raise ImproperlyConfigured(f"KSCHEDWEB_DATA_DIR cannot be used: {error.strerror}: {error.filename}.") from None


def make_sandbox(folder: Path, site: str) -> Sandbox:
    """The sandbox, which answers from now on; the environment says where."""
    from kschedweb.sandbox.running.process import Sandbox

    listener = server.listen("127.0.0.1", 0)
    os.environ["KSCHEDWEB_SANDBOX_SERVER"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    token, recorded = env.secret("KSCHEDWEB_SANDBOX_TOKEN"), recorded_use(env.text("KSCHEDWEB_SANDBOX_USE"))
    made = Sandbox(folder / "sandbox.sqlite3", listener, token, site, recorded)
    made.start()
    return made


def recorded_use(path: str) -> Recording | None:
    """What was recorded in the file ``path``, as experiments read it; ``None`` for no file."""
    from kschedweb.engine.simulation.recording import Recording, RecordingError

    if not path:
        return None
    try:
        return Recording.unpack(Path(path).read_bytes())
    except (OSError, RecordingError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ImproperlyConfigured(f"KSCHEDWEB_SANDBOX_USE cannot be read: {reason}.") from None


def prepare() -> None:
    """Bring the database up to date, with the demo and the ready scenarios where they are missing."""
    import django

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("load_demo")
    call_command("load_scenarios")


def serve(host: str, listener: socket.socket, sandbox: Sandbox | None = None) -> None:
    """Run until SIGINT or SIGTERM."""
    web = server.server(PATIENCE)
    worker, beat, schedulers, flight = start_worker(), start_beat(), start_host(), start_flight()
    announce(web, host, listener.getsockname()[1])
    try:
        web.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        stop(worker, beat, schedulers, flight, sandbox)


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
    """What hosts live schedulers, as threads."""
    from kschedweb.live.schedulers.running.host import Host

    host = Host()
    host.start()
    return host


def start_flight() -> FlightHost:
    """What hosts flight recorders, as threads."""
    from kschedweb.clusters.flight.hosting import FlightHost

    host = FlightHost()
    host.start()
    return host


def announce(web: uvicorn.Server, host: str, port: int) -> None:
    """Print the address once pages are really answered; only then begin with what jobs will need."""
    from kschedweb.jobs import processes

    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104

    def wait() -> None:
        while not (web.started or web.should_exit):
            threading.Event().wait(0.05)
        if web.started:
            sys.stdout.write(f"kschedweb is ready: http://{shown}:{port}/ (Ctrl-C stops it)\n")
            sys.stdout.flush()
            processes.prepare()

    threading.Thread(target=wait, name="announce", daemon=True).start()


def stop(worker: threading.Thread, beat: Any, schedulers: Host, flight: FlightHost, sandbox: Sandbox | None) -> None:
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
