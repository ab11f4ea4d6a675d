"""PostgreSQL and Redis of a test's own, which it may kill and start again."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis
from psycopg import sql

from tests.support.needs import missing
from tests.support.once import made_once
from tests.support.processes import Server, free_port, wait_until
from tests.support.site import ROOT, clean_environment


@contextmanager
def own_database() -> Iterator[str]:
    """The address of a new, empty database on the server that DATABASE_URL names."""
    server, name = os.environ["DATABASE_URL"], f"own_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Redis(Server):
    """An empty Redis that keeps nothing on disk: after ``kill`` and ``start`` it is empty again."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("redis-server"):
            missing("install redis-server")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder)]
        super().__init__([*command, "--save", "", "--appendonly", "no"], folder / "redis.log")

    def start(self) -> None:
        super().start()
        wait_until(self._answers, "redis answers", step=0.05)

    def _answers(self) -> bool:
        with suppress(redis.ConnectionError), redis.Redis.from_url(self.url) as client:
            return bool(client.ping())
        return False


class PostgreSQL(Server):
    """A PostgreSQL server in ``folder``; what was committed outlives ``kill`` (of the process alone).

    Its database holds what the data of a stopped server, ``origin``, hold, or nothing.
    """

    def __init__(self, folder: Path, origin: Path | None = None) -> None:
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not folders:
            missing("install postgresql")
        self.port, self.bin = free_port(), folders[-1]
        self.url = f"postgres://kschedweb@127.0.0.1:{self.port}/postgres"
        self._data = folder / "data"
        folder.chmod(0o700)
        # PostgreSQL refuses to run as root.
        plain = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if plain:
            shutil.chown(folder, "postgres", "postgres")
        initdb = [str(self.bin / "initdb"), "-D", str(self._data), "-U", "kschedweb", "--auth=trust", "--no-sync"]
        make = ["cp", "-a", str(origin), str(self._data)] if origin else [*plain, *initdb, "-E", "UTF8"]
        subprocess.run(make, check=True, capture_output=True, cwd="/")
        command = [*plain, str(self.bin / "postgres"), "-D", str(self._data), "-h", "127.0.0.1", "-p", str(self.port)]
        options = ["-k", str(folder), "-c", "fsync=off", "-c", "max_connections=100"]
        super().__init__([*command, *options], folder / "postgres.log", cwd=Path("/"))

    def start(self) -> None:
        super().start()
        wait_until(self._answers, "PostgreSQL answers", step=0.05)

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=2):
            return True
        return False

    def freeze(self) -> None:
        """Accept connections and say nothing any more, on none of them."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> None:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        for pid in (self.pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Gone at once as after a crash: connections break and the next start recovers from the log."""
        # SIGKILL would leave its children to hold the data for a while; this way it takes them with it.
        self.signal(signal.SIGQUIT)
        if self.process is not None:
            self.process.wait(10)


def migrated() -> Path:
    """The data of a stopped server that has the tables of this release: many tests begin with them."""
    return made_once("migrated", _migrate) / "data"


def _migrate(folder: Path) -> None:
    server = PostgreSQL(folder)
    server.start()
    env = clean_environment(DATABASE_URL=server.url, KSCHEDWEB_SECRET_KEY="for-this-command-only")
    command = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=env, check=True, timeout=300)
    server.stop()


@contextmanager
def databases() -> Iterator[tuple[PostgreSQL, Redis]]:
    """Both, started, in a folder that the user ``postgres`` can reach; PostgreSQL has the tables of this release."""
    with tempfile.TemporaryDirectory(prefix="kschedweb-databases-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "postgres").mkdir()
        servers = PostgreSQL(folder / "postgres", migrated()), Redis(folder)
        try:
            for server in servers:
                server.start()
            yield servers
        finally:
            for server in servers:
                server.stop()
