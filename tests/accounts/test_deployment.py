"""Settings that a deployment must have, checked by the real command in a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def manage(tmp_path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KSCHEDWEB_", "DJANGO_"))}
    clean.pop("DATABASE_URL", None)
    clean.pop("REDIS_URL", None)
    clean |= {"KSCHEDWEB_DATA_DIR": str(tmp_path), "KSCHEDWEB_SECRET_KEY": secrets.token_urlsafe(50), **env}
    clean.setdefault("KSCHEDWEB_ENCRYPTION_KEYS", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
    command = [sys.executable, "manage.py", *args]
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60)


def test_the_deployment_checks_have_nothing_to_say(tmp_path):
    process = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", KSCHEDWEB_HTTPS="true")
    assert process.returncode == 0, process.stderr
    assert "no issues" in process.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KSCHEDWEB_LOG_LEVEL", "LOUD"),
        ("KSCHEDWEB_API_RATE", "0"),
        ("KSCHEDWEB_HTTPS", "perhaps"),
        ("KSCHEDWEB_BEHIND_PROXY", "x"),
    ],
)
def test_a_wrong_value_stops_the_start_and_is_named(tmp_path, name, value):
    process = manage(tmp_path, "check", **{name: value})
    assert process.returncode != 0
    assert name in process.stderr


def test_a_log_line_is_json_without_secrets(tmp_path):
    code = (
        "import logging, structlog;"
        "structlog.get_logger('a').info('event', password='s3cret', url='redis://:s3cret@h/0', count=3);"
        "logging.getLogger('b').warning('Authorization: Bearer %s', 's3cret')"
    )
    process = manage(tmp_path, "shell", "--no-imports", "-c", code)
    lines = [json.loads(line) for line in process.stderr.splitlines() if line.startswith("{")]
    assert len(lines) == 2, process.stderr
    assert "s3cret" not in process.stderr
    assert lines[0]["event"] == "event"
    assert lines[0]["count"] == 3
    assert lines[1]["level"] == "warning"
    assert {"timestamp", "logger"} <= set(lines[1])
