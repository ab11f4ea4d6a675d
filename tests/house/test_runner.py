"""Preparations of `make run` before it starts anything; tests/live/test_make_run.py starts it."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from kschedweb import firstdata, runner
from tests.support.processes import free_port
from tests.support.site import ROOT, clean_environment, prepared

NAMES = ("KSCHEDWEB_SECRET_KEY", "KSCHEDWEB_ENCRYPTION_KEYS", "KSCHEDWEB_SANDBOX_TOKEN")


@pytest.fixture(autouse=True)
def no_secrets_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        # Set first, so that what the runner sets is taken back after the test.
        monkeypatch.setenv(f"{name}_FILE", "")


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    runner.claim_folder(folder)
    runner.make_secrets(folder)
    first = {path.name: path.read_text() for path in folder.iterdir()}
    assert first.pop("lock").strip() == str(os.getpid())
    assert set(first) == {"secret_key", "encryption_keys", "sandbox_token"}
    assert len(set(first.values())) == 3
    assert all(len(value) >= 43 for value in first.values())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    for name in NAMES:
        os.environ[f"{name}_FILE"] = ""
    runner.make_secrets(folder)
    assert {path.name: path.read_text() for path in folder.iterdir() if path.name != "lock"} == first
    assert Path(os.environ["KSCHEDWEB_SECRET_KEY_FILE"]).read_text() == first["secret_key"]


def test_given_secrets_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDWEB_SECRET_KEY", "given")
    monkeypatch.setenv("KSCHEDWEB_ENCRYPTION_KEYS_FILE", "elsewhere")
    monkeypatch.setenv("KSCHEDWEB_SANDBOX_TOKEN", "given")
    runner.make_secrets(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert os.environ["KSCHEDWEB_SECRET_KEY_FILE"] == ""
    assert os.environ["KSCHEDWEB_ENCRYPTION_KEYS_FILE"] == "elsewhere"


# A start that fails, as a process of its own: one line that says what is wrong, where, and what to do.


def start_runner(folder: Path, file_limit: int = 0) -> tuple[int, list[str]]:
    """Exit status and lines of `python -m kschedweb.runner`, which can write files of at most ``most`` bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    environment = clean_environment(
        KSCHEDWEB_DATA_DIR=str(folder), KSCHEDWEB_PORT=str(free_port()), KSCHEDWEB_SANDBOX="false"
    )
    command = [sys.executable, "-m", "kschedweb.runner"]
    process = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300,
        preexec_fn=limit if file_limit else None,
    )  # fmt: skip
    return process.returncode, process.stderr.splitlines()


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    advice = "Give this user the right to write there, or name another folder with KSCHEDWEB_DATA_DIR."
    message = f"kschedweb: KSCHEDWEB_DATA_DIR cannot be used: Not a directory: data. {advice}"
    assert start_runner(tmp_path / "file" / "data") == (2, [message])


def test_a_folder_that_cannot_be_written_is_said() -> None:
    status, lines = start_runner(Path("/proc/sys"))  # root may not write there either
    assert (status, len(lines)) == (2, 1)
    assert lines[0].startswith("kschedweb: KSCHEDWEB_DATA_DIR cannot be used: ")
    assert lines[0].endswith(": lock. Give this user the right to write there, or name another folder with "
                             "KSCHEDWEB_DATA_DIR.")  # fmt: skip


def test_a_second_site_on_a_folder_says_so_and_ends(tmp_path: Path) -> None:
    runner.claim_folder(tmp_path)
    message = f"kschedweb: another kschedweb (process {os.getpid()}) uses this data folder: stop it first, or give this"
    assert start_runner(tmp_path) == (2, [f"{message} one a folder of its own with KSCHEDWEB_DATA_DIR."])


def test_a_damaged_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "kschedweb.sqlite3").write_bytes(b"no database " * 2000)
    message = (
        "kschedweb: the database kschedweb.sqlite3 cannot be used: file is not a database. It is damaged: put a backup"
    )
    assert start_runner(tmp_path) == (2, [f"{message} in its place, or move it away to begin with an empty site."])


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    """Files can grow no further here: SQLite says so of a database that it makes, the system of one that is copied."""
    status, (line,) = start_runner(tmp_path, file_limit=64 * 1024)
    assert status == 2
    assert re.fullmatch(
        r"kschedweb: (the database kschedweb.sqlite3 cannot be used: disk I/O error"
        r"|KSCHEDWEB_DATA_DIR cannot be used: File too large)\. Make room on its disk, then start again\.",
        line,
    )
    status, lines = start_runner(tmp_path / "new", file_limit=8)
    assert lines == [
        "kschedweb: KSCHEDWEB_DATA_DIR cannot be used: File too large. Make room on its disk, then start again."
    ]
    assert status == 2
    assert not (tmp_path / "new" / "secret_key").exists()  # half a secret is none


def test_a_new_folder_begins_with_a_copy_of_what_the_first_start_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared()  # the first start, which keeps a copy
    database = tmp_path / "kschedweb.sqlite3"
    assert not firstdata.copy_first_data(database)
    assert database.stat().st_mode & 0o777 == 0o600
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT name FROM clusters_cluster").fetchall() == [("demo",)]
        assert connection.execute("SELECT count(*) FROM accounts_user").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM django_session").fetchone() == (0,)
    monkeypatch.setattr(firstdata, "FOLDER", tmp_path / "none")
    assert not firstdata.copy_first_data(database), "what is there stays"
    assert firstdata.copy_first_data(tmp_path / "other.sqlite3")
    assert not (tmp_path / "other.sqlite3").exists()
