"""Settings: documents and code agree, and a wrong value is one line that names it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kschedweb.web import variables
from kschedweb.web.env import Variable
from tests.conftest import ROOT
from tests.support import settings_table
from tests.support.processes import free_port


def environment(**variables: str) -> dict[str, str]:
    """A process's environment with no setting but ``more``."""
    ours = ("KSCHEDWEB_", "DATABASE_URL", "REDIS_URL", "DJANGO_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "KSCHEDWEB_SECRET_KEY": "for-a-test", **variables}


def start_process(*command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, *command]
    return subprocess.run(program, cwd=ROOT, env=environment(**settings), capture_output=True, text=True, timeout=60)


def test_documents_have_the_settings_as_they_are_declared() -> None:
    assert settings_table.DOCUMENT.read_text(encoding="utf-8") == settings_table.write_document(), "run make settings"
    readme = settings_table.README.read_text(encoding="utf-8")
    assert readme == settings_table.write_readme(), "run make settings"
    assert re.findall(r"^\| `(\w+)`", readme, re.MULTILINE) == [variable.name for variable in variables.FIRST]


def test_every_setting_is_read_where_it_is_declared_or_by_the_build() -> None:
    declared_settings = {
        variable.name: key for key, variable in vars(variables).items() if isinstance(variable, Variable)
    }
    declared_settings |= dict.fromkeys((variable.name for variable in variables.KEEP_DAYS.values()), "KEEP_DAYS")
    assert sorted(declared_settings) == sorted(
        variable_declared.name for chapter in variables.CHAPTERS.values() for variable_declared in chapter
    )
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "kschedweb").rglob("*.py"))
    read = set(re.findall(r"\bvariables\.([A-Z_]+)\b", source))
    build = set(re.findall(r'os\.environ\.get\("(KSCHEDWEB_\w+)"', (ROOT / "kschedweb" / "build.py").read_text()))
    assert {name for name, key in declared_settings.items() if key not in read} == build


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
    process = start_process(*command, **{name: value})
    assert process.returncode == 2
    assert name.removesuffix("_FILE") in process.stderr
    assert len(process.stderr.splitlines()) == 1, process.stderr
    assert "password" not in process.stderr.replace("user:password@host/name", "")


def test_secret_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-a-file\n")
    script = "from kschedweb import settings; print(settings.SECRET_KEY)"
    process = start_process("-c", script, KSCHEDWEB_SECRET_KEY="", KSCHEDWEB_SECRET_KEY_FILE=str(tmp_path / "key"))
    assert process.stdout == "from-a-file\n"


def test_unreadable_secret_file_is_named(tmp_path: Path) -> None:
    process = start_process(
        "manage.py", "check", KSCHEDWEB_SECRET_KEY="", KSCHEDWEB_SECRET_KEY_FILE=str(tmp_path / "absent")
    )
    assert process.returncode == 2
    assert process.stderr == "kschedweb: KSCHEDWEB_SECRET_KEY_FILE cannot be read: No such file or directory.\n"


@pytest.mark.parametrize("value", ["eight", "0", "70000"])
def test_runner_names_a_wrong_port(value: str, tmp_path: Path) -> None:
    process = start_process("-m", "kschedweb.runner", KSCHEDWEB_PORT=value, KSCHEDWEB_DATA_DIR=str(tmp_path))
    assert process.returncode == 2
    assert re.fullmatch(r"kschedweb: KSCHEDWEB_PORT .*\n", process.stderr)


def test_runner_says_that_its_port_is_taken(tmp_path: Path) -> None:
    import socket

    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        process = start_process("-m", "kschedweb.runner", KSCHEDWEB_PORT=str(port), KSCHEDWEB_DATA_DIR=str(tmp_path))
    assert process.returncode == 2
    assert re.fullmatch(
        rf"kschedweb: cannot listen on 127.0.0.1:{port}: .* KSCHEDWEB_PORT={port + 1} .*\n", process.stderr
    )
    assert list(tmp_path.iterdir()) == []
