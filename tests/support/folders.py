"""Durations of each folder's tests, as pytest's last section: where a slow run spends its time."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def folder_of(nodeid: str) -> str:
    """``tests/live/schedulers/test_a.py::test_b`` -> ``tests/live``."""
    return "/".join(PurePosixPath(nodeid.partition("::")[0]).parts[:2])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line a folder, the slowest first: seconds of set-up, call and teardown over all processes, and tests."""
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            # What was not collected has no time.
            if (when := getattr(report, "when", None)) in ("setup", "call", "teardown"):
                folder = folder_of(report.nodeid)
                seconds[folder] += report.duration
                tests[folder] += when == "call"
    if len(seconds) > 1:
        terminalreporter.section("seconds per folder")
        for folder, spent in seconds.most_common():
            terminalreporter.line(f"{spent:7.0f}  {folder} ({tests[folder]} tests)")
