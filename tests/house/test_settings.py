"""Settings: the README's table and the code agree, and a wrong value is one line that names it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.processes import free_port

READ = re.compile(r"""\benv\.(text|secret|words|boolean|integer)\(\s*["'](\w+)["']""")
BUILD = re.compile(r'os\.environ\.(get)\("(\w+)"')


def environment(**more: str) -> dict[str, str]:
    """A process's environment with no setting but ``more``."""
    ours = ("KSCHEDWEB_", "DATABASE_URL", "REDIS_URL", "DJANGO_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "KSCHEDWEB_SECRET_KEY": "for-a-test", **more}


def start(*command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, *command]
    return subprocess.run(program, cwd=ROOT, env=environment(**settings), capture_output=True, text=True, timeout=60)


def test_readme_documents_exactly_the_variables_that_the_code_reads() -> None:
    read = {
        name: reader
        for path in (ROOT / "kschedweb").rglob("*.py")
        for reader, name in READ.findall(path.read_text(encoding="utf-8"))
    }
    read |= {name: reader for reader, name in BUILD.findall((ROOT / "kschedweb" / "build.py").read_text())}
    rows = re.findall(r"^\| `(\w+)`( ▪)? \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(read) == sorted(name for name, _ in rows)
    from_files = {name for name, reader in read.items() if reader in ("secret", "words")}
    assert from_files == {name for name, mark in rows if mark}


WRONG = [
    ("KSCHEDWEB_DEBUG", "perhaps"),
    ("KSCHEDWEB_HTTPS", "2"),
    ("KSCHEDWEB_URL", "kschedweb.example.com"),
    ("KSCHEDWEB_UPLOAD_LIMIT_MIB", "0"),
    ("KSCHEDWEB_UPLOAD_LIMIT_MIB", "many"),
    ("KSCHEDWEB_ENCRYPTION_KEYS", "short"),
    ("KSCHEDWEB_SECRET_KEY", ""),
    ("KSCHEDWEB_SECRET_KEY_FILE", "somewhere"),
    ("DATABASE_URL", "mongo://host/name"),
    ("DATABASE_URL", "postgres://user:password@host:port/name"),
    ("REDIS_URL", "memory://"),
]
MIGRATE, BEAT = ("manage.py", "migrate"), ("-m", "celery", "-A", "kschedweb", "beat")


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [(MIGRATE, *wrong) for wrong in WRONG]
    + [pytest.param(BEAT, *wrong, marks=pytest.mark.nightly if number else ()) for number, wrong in enumerate(WRONG)],
)
def test_wrong_value_stops_the_start_with_its_name(command: tuple[str, ...], name: str, value: str) -> None:
    done = start(*command, **{name: value})
    assert done.returncode == 2
    assert name.removesuffix("_FILE") in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "password" not in done.stderr.replace("user:password@host/name", "")


def test_secret_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-a-file\n")
    script = "from kschedweb import settings; print(settings.SECRET_KEY)"
    done = start("-c", script, KSCHEDWEB_SECRET_KEY="", KSCHEDWEB_SECRET_KEY_FILE=str(tmp_path / "key"))
    assert done.stdout == "from-a-file\n"


def test_unreadable_secret_file_is_named(tmp_path: Path) -> None:
    done = start("manage.py", "check", KSCHEDWEB_SECRET_KEY="", KSCHEDWEB_SECRET_KEY_FILE=str(tmp_path / "absent"))
    assert done.returncode == 2
    assert done.stderr == "kschedweb: KSCHEDWEB_SECRET_KEY_FILE cannot be read: No such file or directory.\n"


@pytest.mark.parametrize("value", ["eight", "0", "70000"])
def test_runner_names_a_wrong_port(value: str, tmp_path: Path) -> None:
    done = start("-m", "kschedweb.runner", KSCHEDWEB_PORT=value, KSCHEDWEB_DATA_DIR=str(tmp_path))
    assert done.returncode == 2
    assert re.fullmatch(r"kschedweb: KSCHEDWEB_PORT .*\n", done.stderr)


def test_runner_says_that_its_port_is_taken(tmp_path: Path) -> None:
    import socket

    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        done = start("-m", "kschedweb.runner", KSCHEDWEB_PORT=str(port), KSCHEDWEB_DATA_DIR=str(tmp_path))
    assert done.returncode == 2
    assert re.fullmatch(
        rf"kschedweb: cannot listen on 127.0.0.1:{port}: .* KSCHEDWEB_PORT={port + 1} .*\n", done.stderr
    )
    assert list(tmp_path.iterdir()) == []
