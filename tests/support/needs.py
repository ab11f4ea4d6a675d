"""Needs of a test from the machine: if absent, a skip with a message, and in CI a failure."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(need: str) -> NoReturn:
    """Skip the test that needs ``what``; fail it where ``CI`` is set, since CI brings everything."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must bring it: {need}", pytrace=False)
    pytest.skip(need)
