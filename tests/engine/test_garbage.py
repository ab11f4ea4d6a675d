"""The collector is paused while the command line reads, and runs again after it."""

from __future__ import annotations

import gc
import io

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.garbage import paused_collector


def test_the_collector_is_paused_within_and_runs_after_an_error() -> None:
    def read() -> None:
        assert not gc.isenabled()
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), paused_collector():
        read()
    assert gc.isenabled()


def test_a_command_leaves_the_collector_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["explain"]) == 0
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
