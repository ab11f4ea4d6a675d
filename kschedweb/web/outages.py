"""Recognises errors that mean that a required server cannot be reached."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from django.db import InterfaceError, OperationalError

from kschedweb.web.errors import Unavailable

# PostgreSQL's classes and codes for lost connections, and for a server that starts, stops or is full.
AWAY = ("08", "57P01", "57P02", "57P03", "53300")
SQLITE_AWAY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR})


FULL = "The disk of the database is full. The operator must make room on it."


class DatabaseAway(Unavailable):
    """The database cannot be reached, or written. The answer must be made without queries."""

    def __init__(self, detail: str = "The database cannot be reached now. Try again in a moment.") -> None:
        super().__init__(detail)


def find_outage(error: BaseException | None) -> DatabaseAway | None:
    """Return the error to answer with if an absent server or a full disk caused ``error``; else ``None``."""
    chain = list(_error_chain(error))
    if any(map(_is_disk_full, chain)):
        return DatabaseAway(FULL)
    return DatabaseAway() if any(map(_is_server_away, chain)) else None


def _error_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield ``error`` and its causes. Sessions, for instance, raise their own error for one of the database."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_disk_full(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and _sqlite_code(error) == sqlite3.SQLITE_FULL


def _sqlite_code(error: sqlite3.OperationalError) -> int:
    # The lower byte is the primary result code; extended codes have more above it.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_server_away(error: BaseException) -> bool:
    # The connection was lost before.
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.OperationalError):
        return _sqlite_code(cause) in SQLITE_AWAY
    # Errors from the server have a code, lost connections have none.
    code = getattr(cause, "sqlstate", None)
    return code is None or code.startswith(AWAY)
