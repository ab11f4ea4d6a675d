"""The tables of a test database: migrations make them once in a run, each process begins with a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
from django.core.management import call_command
from django.db import connection

from tests.support.once import made_once, shared_folder

FILE = "tables.sqlite3"


def copy_tables() -> None:
    """Have the connection use a new database with all tables.

    SQLite's goes with the folder of this process, PostgreSQL's by ``drop_tables``.
    """
    name = connection.settings_dict["NAME"]
    database, template = connection.settings_dict["TEST"]["NAME"] or f"test_{name}", _template(name)
    if connection.vendor == "sqlite":
        folder = made_once("tables-sqlite", lambda new: _migrate(new / FILE))
        shutil.copyfile(folder / FILE, database)
    else:
        made_once("tables-postgresql", lambda _: _make_template(template))
        _make_database(database, template)
    _use(database)


def drop_tables() -> None:
    """Drop the database of this process."""
    if connection.vendor != "sqlite":
        database = connection.settings_dict["NAME"]
        connection.close()
        _run(_drop(database))


def drop_template(database_url: str) -> None:
    """Drop the database that those of this run were copied from."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(_drop(_template(server.info.dbname)))


def _template(database: str | Path) -> str:
    """The name of this run's template: others may use the same server (benchmarks beside tests do)."""
    return f"test_{database}_{shared_folder().name.rpartition('-')[2]}"


def _make_template(template: str) -> None:
    _make_database(template, "template1")
    _migrate(template)


def _migrate(database: Path | str) -> None:
    _use(database)
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    connection.close()


def _use(database: Path | str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = database


def _make_database(name: str, template: str) -> None:
    connection.close()
    _run(_drop(name), f"CREATE DATABASE {name} TEMPLATE {template}")


def _drop(name: str) -> str:
    return f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"


def _run(*statements: str) -> None:
    """Run what a connection to the database itself could not."""
    with connection._nodb_cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
