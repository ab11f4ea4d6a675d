"""The file of SQLite holds every secret of the site: only its owner reads it, from its first moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db.utils import ConnectionHandler

# As settings.py has it where no DATABASE_URL names a server.
SQLITE = {"ENGINE": "kschedweb.web.sqlite", "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL;"}}


WRITE = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('INSERT INTO it VALUES (2)'); db.commit()"


def open_connection(folder: Path):
    """A connection of its own, as the site makes them."""
    return ConnectionHandler({"default": {**SQLITE, "NAME": str(folder / "kschedweb.sqlite3")}})["default"]


@pytest.fixture
def modes(tmp_path: Path, django_db_blocker):
    """Open the database as the site does, write, and look at the modes of its files while it is open."""

    def look() -> dict[str, int]:
        connection = open_connection(tmp_path)
        with django_db_blocker.unblock():
            with connection.cursor() as cursor:
                cursor.execute("CREATE TABLE IF NOT EXISTS it (id INTEGER)")
                cursor.execute("INSERT INTO it VALUES (1)")
            modes_by_name = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
            connection.close()
        return modes_by_name

    before = os.umask(0o022)  # as a shell has it
    yield look
    os.umask(before)


def test_a_new_file_and_those_beside_it_are_its_owners_alone(modes):
    modes_by_name = modes()
    assert set(modes_by_name) == {"kschedweb.sqlite3", "kschedweb.sqlite3-wal", "kschedweb.sqlite3-shm"}
    assert set(modes_by_name.values()) == {0o600}


def test_files_of_an_earlier_release_are_mended(modes, tmp_path):
    for suffix in ("", "-wal"):
        path = tmp_path / f"kschedweb.sqlite3{suffix}"
        path.touch()
        path.chmod(0o644)
    assert set(modes().values()) == {0o600}


def test_another_connection_of_the_process_leaves_the_locks_of_the_first(tmp_path, django_db_blocker):
    """Without its lock the first would not be seen by other processes, and the last of them would end its log."""
    first, second = open_connection(tmp_path), open_connection(tmp_path)
    with django_db_blocker.unblock():
        with first.cursor() as cursor:
            cursor.execute("CREATE TABLE it (id INTEGER)")
        second.ensure_connection()
        second.close()
        subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / "kschedweb.sqlite3")], check=True)
        assert (tmp_path / "kschedweb.sqlite3-wal").exists()
        with first.cursor() as cursor:
            cursor.execute("SELECT id FROM it")
            assert cursor.fetchall() == [(2,)]
        first.close()
