"""The examinations of `manage.py doctor`. Apps register theirs; each tells what it found and what to do.

An examination runs to its end whatever it meets: an error of its own is one more finding.
"""

from __future__ import annotations

import enum
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import psycopg
import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from kschedweb.web.health import ProbeConnection
from kschedweb.web.redaction import redact_text

# Seconds that clocks may differ.
SKEW = 2.0
# Characters of a key, and different ones among them: random text has more.
SHORTEST_SECRET, FEWEST_SYMBOLS = 50, 10
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Bytes.
LEAST_SPACE = 1 << 30


class Level(enum.StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class DoctorFinding:
    """The result of an examination."""

    level: Level
    # A sentence about the deployment.
    message: str
    # A sentence about what to do; "" if all is well.
    advice: str = ""
    # True if nothing that needs the database can be examined.
    blocks: bool = False


@dataclass(frozen=True)
class Examination:
    """A named group of checks."""

    name: str
    examine: Callable[[], Iterable[DoctorFinding]]
    # True to skip it without a database; the first examination has told why then.
    needs_database: bool = True


def ok(message: str) -> DoctorFinding:
    return DoctorFinding(Level.OK, message)


def warning(message: str, advice: str) -> DoctorFinding:
    return DoctorFinding(Level.WARNING, message, advice)


def failure(message: str, advice: str, *, blocks: bool = False) -> DoctorFinding:
    return DoctorFinding(Level.FAILURE, message, advice, blocks)


EXAMINATIONS: list[Examination] = []


def register_examination(name: str, examine: Callable[[], Iterable[DoctorFinding]]) -> None:
    """Register an examination that needs the database, with all of its tables."""
    EXAMINATIONS.append(Examination(name, examine))


def run_examinations() -> Iterator[tuple[str, DoctorFinding]]:
    """Yield every finding with the name of its examination, in the order of registration."""
    usable = True
    for examination in EXAMINATIONS:
        if examination.needs_database and not usable:
            continue
        troubled = False
        try:
            for finding in examination.examine():
                if finding.level == Level.OK and troubled:
                    continue
                troubled = troubled or finding.level != Level.OK
                usable = usable and not finding.blocks
                yield examination.name, finding
        except Exception as error:
            yield (
                examination.name,
                failure(f"This could not be examined: {_first_line(error)}", "Mend what is named above first."),
            )


def _first_line(error: Exception) -> str:
    """Return the first line of ``error``, without passwords of addresses."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return redact_text(lines[0])


def is_weak(secret: str, shortest: int) -> bool:
    """Return whether ``secret`` is too short, or has too few different characters, to be drawn at random."""
    return len(secret) < shortest or len(set(secret)) < FEWEST_SYMBOLS


def check_clock(clock_owner: str, seconds: float) -> Iterator[DoctorFinding]:
    """Yield a failure if a clock differs from this process's by too many ``seconds``."""
    if abs(seconds) > SKEW:
        yield failure(
            f"The clock of {clock_owner} differs from this process's by {seconds:+.1f} s.",
            "Have both machines keep time by NTP: leases, sessions and windows of use go wrong otherwise.",
        )


def settings_examine() -> Iterator[DoctorFinding]:
    if settings.DEBUG:
        yield failure("KSCHEDWEB_DEBUG is on: errors show the site's inside to everybody.", "Remove it.")
    if is_weak(settings.SECRET_KEY, SHORTEST_SECRET):
        yield failure(
            f"KSCHEDWEB_SECRET_KEY has fewer than {SHORTEST_SECRET} characters, or few different ones.",
            "Set one that `openssl rand -base64 48` prints; people log in again afterwards.",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield warning("KSCHEDWEB_ALLOWED_HOSTS allows any host.", "Name the hosts by which people reach the site.")
    if not settings.HTTPS and not LOCAL.issuperset(settings.ALLOWED_HOSTS):
        yield warning(
            "The site is reached from elsewhere, and KSCHEDWEB_HTTPS is off: cookies travel in the open.",
            "Serve it over https and set KSCHEDWEB_HTTPS=true.",
        )
    if bool(settings.REDIS_URL) != (connection.vendor == "postgresql"):
        present, missing = ("REDIS_URL", "DATABASE_URL") if settings.REDIS_URL else ("DATABASE_URL", "REDIS_URL")
        yield failure(
            f"{present} is set and {missing} is not: that is neither one process nor several.",
            f"Set {missing} too, or neither of them.",
        )
    yield ok("scaled out: PostgreSQL and Redis" if settings.REDIS_URL else "embedded: SQLite, all in one process")


def database_examine() -> Iterator[DoctorFinding]:
    try:
        if connection.vendor == "postgresql":
            ProbeConnection().run_probe()
        executor = MigrationExecutor(connection)
    except (psycopg.Error, DatabaseError, InterfaceError, OSError) as error:
        yield failure(
            f"The database cannot be reached: {_first_line(error)}",
            "Start it, or correct DATABASE_URL (host, name, password).",
            blocks=True,
        )
        return
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    disk_migrations = executor.loader.disk_migrations
    replaced = {key for migration in disk_migrations.values() for key in migration.replaces}
    unknown = sorted(set(executor.loader.applied_migrations) - set(disk_migrations) - replaced)
    if missing:
        yield failure(
            f"{len(missing)} migrations are missing, from {missing[0][0]} on.",
            "Run `manage.py migrate`, then look again.",
            blocks=True,
        )
        return
    if unknown:
        yield warning(
            f"A later release has migrated the database: this one does not know {'.'.join(unknown[-1])}.",
            "Finish the upgrade. This release works on with it meanwhile, if it is the one just before.",
        )
    yield from _examine_postgresql() if connection.vendor == "postgresql" else _examine_sqlite()
    yield ok("reachable and migrated")


def _examine_postgresql() -> Iterator[DoctorFinding]:
    with connection.cursor() as cursor:
        start_time = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (clock,) = cursor.fetchone()
        # The middle of the query's duration is the best guess at when the server read its clock.
        yield from check_clock("the database", clock - (start_time + time.time()) / 2)
        cursor.execute(
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,"
            " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),"
            " (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)"
        )
        max_connections, used, role_limit = cursor.fetchone()
    room = max_connections - used
    if 0 <= role_limit < settings.DATABASE_POOL:
        yield failure(
            f"The database's user may have {role_limit} connections, and each process up to {settings.DATABASE_POOL}.",
            "Raise it: ALTER ROLE … CONNECTION LIMIT -1.",
        )
    if room < settings.DATABASE_POOL:
        yield failure(
            f"Of {max_connections} connections to PostgreSQL {used} are taken: "
            f"one process may ask for {settings.DATABASE_POOL}.",
            "Raise max_connections, or lower KSCHEDWEB_DATABASE_POOL: docs/operations.md has the sum.",
        )


def _examine_sqlite() -> Iterator[DoctorFinding]:
    free = shutil.disk_usage(settings.DATA_DIR).free
    if free < LEAST_SPACE:
        yield failure(
            f"The disk of the data folder has {free >> 20} MiB left.", "Make room, or move KSCHEDWEB_DATA_DIR."
        )


def redis_examine() -> Iterator[DoctorFinding]:
    if not settings.REDIS_URL:
        return
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
        try:
            start_time = time.time()
            seconds, micros = client.time()  # type: ignore[misc]
        except redis.RedisError as error:
            yield failure(
                f"Redis cannot be reached: {_first_line(error)}", "Start it, or correct REDIS_URL (host, password)."
            )
            return
        yield from check_clock("Redis", seconds + micros / 1e6 - (start_time + time.time()) / 2)
        try:
            policy = client.info("memory").get("maxmemory_policy", "noeviction")  # type: ignore[union-attr]
        except redis.RedisError:
            # Its user may not have the right to ask.
            policy = "noeviction"
    if policy != "noeviction":
        yield failure(
            f"Redis evicts keys when its memory is full ({policy}): messages of jobs would be lost.",
            "Set maxmemory-policy noeviction.",
        )
    yield ok("reachable")


EXAMINATIONS += [
    Examination("settings", settings_examine, needs_database=False),
    Examination("database", database_examine, needs_database=False),
    Examination("redis", redis_examine, needs_database=False),
]
