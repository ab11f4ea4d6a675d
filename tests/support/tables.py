"""The tables of a test database on SQLite: migrations make them once in a run, each process begins with a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from tests.support.once import made_once

FILE = "tables.sqlite3"


def copy_tables() -> None:
    """Have the connection use a new database with all tables, which goes with the folder of this process."""
    database = connection.settings_dict["TEST"]["NAME"]
    shutil.copyfile(made_once("tables", _migrate) / FILE, database)
    _use(database)


def _migrate(folder: Path) -> None:
    _use(folder / FILE)
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    connection.close()


def _use(database: Path) -> None:
    connection.close()
    connection.settings_dict["NAME"] = database
