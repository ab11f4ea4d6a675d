"""Database connections of threads and processes that live longer than a request or a task."""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS, connections


def own_connection() -> None:
    """Give this thread its own connection to the database, because prefork workers close the pool after each task."""
    default_connection = connections[DEFAULT_DB_ALIAS]
    options = {key: value for key, value in default_connection.settings_dict["OPTIONS"].items() if key != "pool"}
    lasting = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}
    default_connection.settings_dict = {**default_connection.settings_dict, **lasting, "OPTIONS": options}
