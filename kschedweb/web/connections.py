"""Database connections of threads that look at rows again and again.

PostgreSQL's come from a small pool. SQLite has no pool, and opening its file anew costs more than a query.
"""

from __future__ import annotations

from django.db import close_old_connections, connection


def drop_stale_connection() -> None:
    """Release a connection that broke or is too old; call it before a look."""
    if connection.vendor == "postgresql":
        close_old_connections()


def return_connection() -> None:
    """Let other threads have this thread's connection until the next look."""
    if connection.vendor == "postgresql":
        connection.close()
