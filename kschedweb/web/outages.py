"""Which errors mean that a server which the site needs cannot be reached now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from django.db import InterfaceError, OperationalError

from kschedweb.web.errors import Unavailable

# Classes and codes of PostgreSQL: the connection is lost, or the server starts, stops or takes no more connections.
AWAY = ("08", "57P01", "57P02", "57P03", "53300")
SQLITE_AWAY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR})


class DatabaseAway(Unavailable):
    """The database cannot be reached; whoever answers with it must not ask the database either."""

    def __init__(self) -> None:
        super().__init__("The database cannot be reached now. Try again in a moment.")


def outage(error: BaseException | None) -> DatabaseAway | None:
    """What to answer where the want of the database is behind ``error``; ``None`` where something else is."""
    return DatabaseAway() if any(map(_away, _chain(error))) else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """``error`` and what it came from: sessions, for instance, raise an error of their own for one of the database."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _away(error: BaseException) -> bool:
    if isinstance(error, InterfaceError):  # the connection was lost before
        return True
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.OperationalError):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in SQLITE_AWAY
    code = getattr(cause, "sqlstate", None)  # an answer of the server has one, a lost connection has none
    return code is None or code.startswith(AWAY)
