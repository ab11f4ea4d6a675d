"""Health checks: /livez (the process works) and /readyz (the servers that it needs work, too).

Both need no login and accept any host name. Each check runs in its own thread, which may wait for a server that never
answers. Callers wait as long as they like, and no second thread is started.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import psycopg
import redis
import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import JsonResponse

from kschedweb.web.sqlite.base import DatabaseWrapper as SQLite

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.http import HttpRequest, HttpResponse

# Seconds after which a check without an answer has failed.
READY_WITHIN = 1.5
# Bytes that the disk must have at least.
ROOM = 256 * 1024
# Seconds of a last chance for a silent database.
GRACE = 0.2
# Seconds without a connection from the pool although the database answers.
STUCK = 20.0
logger = structlog.get_logger(__name__)


class HealthMiddleware:
    """Answers health checks before all other middleware, because a probe uses neither the site's host name nor
    https.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/livez":
            return answer_liveness()
        if request.path == "/readyz":
            return answer_readiness()
        return self.get_response(request)


class Check:
    """A check that succeeds unless ``ask`` raises. A result is valid for ``fresh`` seconds."""

    def __init__(self, name: str, ask: Callable[[], None], fresh: float = 0.0) -> None:
        self.name, self.ask, self.fresh = name, ask, fresh
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, f"check {name}")
        self._running: Future[bool] | None = None
        self._begun = 0.0

    def begin_check(self) -> Future[bool]:
        """Return a future with the result: of a running check, of a recent one, or of a new one."""
        with self._lock:
            now = time.monotonic()
            if self._running is None or (self._running.done() and now - self._begun >= self.fresh):
                self._running, self._begun = self._thread.submit(self._is_passing), now
            return self._running

    @property
    def silent_seconds(self) -> float:
        """Seconds since the running check began; 0 if none is running."""
        with self._lock:
            runs = self._running is not None and not self._running.done()
            return time.monotonic() - self._begun if runs else 0.0

    def _is_passing(self) -> bool:
        try:
            self.ask()
        except Exception:
            logger.warning("not_ready", check=self.name, exc_info=True)
            return False
        finally:
            connections.close_all()
        return True


def answer_readiness() -> JsonResponse:
    """Return 200 if all checks succeed, else 503. The reason of a failure is in the log, not in the answer."""
    begun = {check.name: check.begin_check() for check in CHECKS}
    completed = wait(begun.values(), READY_WITHIN).done
    results = {name: future in completed and future.result() for name, future in begun.items()}
    ready = all(results.values())
    checks = {name: "ok" if passed else "failed" for name, passed in results.items()}
    return JsonResponse({"status": "ok" if ready else "failed", "checks": checks}, status=200 if ready else 503)


def answer_liveness() -> JsonResponse:
    """Return 200 unless only a restart can help. Uses known results without waiting."""
    POOL.begin_check()
    dead = pool.stuck_for > STUCK
    return JsonResponse({"status": "failed" if dead else "ok"}, status=503 if dead else 200)


async def database_is_away(silence: float) -> bool:
    """Return whether the database refuses connections, or has been silent for ``silence`` seconds."""
    if connection.vendor != "postgresql":
        return False
    future = REACHABLE.begin_check()
    answered = asyncio.wrap_future(future)
    # A busy process may not have read the answer yet, so only a second silence counts.
    for seconds in (silence - REACHABLE.silent_seconds, GRACE):
        await asyncio.wait({answered}, timeout=seconds)
    return not (future.done() and future.result())


class ProbeConnection:
    """A connection beside the pool, which distinguishes an absent database from an exhausted pool."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None

    def run_probe(self) -> None:
        try:
            self._select_one()
        except psycopg.Error:
            # The connection may be lost since the last check; a new one shows the current state.
            self._connection = None
            self._select_one()

    def _select_one(self) -> None:
        if self._connection is None:
            self._connection = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        self._connection.execute("SELECT 1")


class PoolProbe:
    """Watches whether this process's connection pool gives out connections."""

    def __init__(self) -> None:
        self._since: float | None = None

    @property
    def stuck_for(self) -> float:
        """Seconds for which the pool gave no connection although the database answered."""
        return time.monotonic() - self._since if self._since is not None else 0.0

    def run_probe(self) -> None:
        if getattr(connection, "pool", None) is None:
            return
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except (DatabaseError, InterfaceError):
            # An absent database explains the failure: then the pool is not to blame.
            away = not wait({answered := REACHABLE.begin_check()}, READY_WITHIN).done or not answered.result()
            self._since = None if away else self._since or time.monotonic()
            raise
        self._since = None


def check_database() -> None:
    """Check that the database answers and has all tables of this version."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise RuntimeError("migrations are missing")


def check_broker() -> None:
    """Check that Redis answers. In embedded use the broker is this process."""
    if settings.REDIS_URL:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            client.ping()


def check_disk() -> None:
    """Check that the disk of the database has room. Scaled out, its server has a disk of its own."""
    check_room(connections[DEFAULT_DB_ALIAS])


def check_room(database: BaseDatabaseWrapper) -> None:
    """Raise OSError if the disk of ``database`` has no room for some more rows."""
    if isinstance(database, SQLite) and not database.is_in_memory_db():
        with tempfile.TemporaryFile(dir=Path(database.settings_dict["NAME"]).parent) as file:
            file.write(bytes(ROOM))


def register_check(name: str, ask: Callable[[], None]) -> None:
    """Register a further check for /readyz, which raises on failure."""
    CHECKS.append(Check(name, ask))


pool = PoolProbe()
CHECKS = [Check("database", check_database), Check("broker", check_broker), Check("disk", check_disk, fresh=5.0)]
REACHABLE, POOL = Check("reachable", ProbeConnection().run_probe, fresh=0.5), Check("pool", pool.run_probe, fresh=5.0)
