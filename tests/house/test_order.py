"""Tests may run in any order and in any process: what one leaves behind is no other's trouble."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.nightly
TRANSACTIONAL = "tests/decisions/test_services.py::test_threads_that_ask_at_once_get_the_same_answers"
PLAIN = "tests/policies/test_services.py::test_the_default_policy_is_always_there"
BROWSERS = "tests/browser/test_tour.py"


def run_pytest(*arguments: str) -> str:
    """Run pytest on its own and return its output, on SQLite, so that it meets no server that this one uses."""
    ours = ("PYTEST_", "DATABASE_URL", "REDIS_URL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-m", "pytest", "-v", *arguments]
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stdout
    return process.stdout


def test_a_plain_test_after_a_transactional_one_finds_the_migrated_rows() -> None:
    text = run_pytest("-p", "tests.support.backwards", "-p", "no:xdist", TRANSACTIONAL, PLAIN)
    assert text.index(f"{TRANSACTIONAL} PASSED") < text.index(f"{PLAIN} PASSED")


@pytest.mark.server
def test_a_module_with_servers_or_a_browser_stays_in_one_process() -> None:
    text = run_pytest("-n", "1", "--dist", "loadgroup", "-k", "not colleague", BROWSERS, PLAIN)
    passed_lines = [line for line in text.splitlines() if "PASSED" in line]
    assert len(passed_lines) > 2
    assert all((f"@{BROWSERS}" in line) == (BROWSERS in line) for line in passed_lines)
