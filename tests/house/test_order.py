"""Tests may run in any order: what one leaves behind is no other's trouble."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT

TRANSACTIONAL = "tests/playground/test_services.py::test_threads_that_ask_at_once_get_the_same_answers"
PLAIN = "tests/policies/test_services.py::test_the_default_policy_is_always_there"


def test_a_plain_test_after_a_transactional_one_finds_the_migrated_rows() -> None:
    # A run of its own, on SQLite, so that it meets no server that this one uses.
    ours = ("PYTEST_", "DATABASE_URL", "REDIS_URL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "tests.support.backwards", "-p", "no:xdist", TRANSACTIONAL, PLAIN],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.index(f"{TRANSACTIONAL} PASSED") < done.stdout.index(f"{PLAIN} PASSED")
