"""`make run`: one command, ready soon, and gone at Ctrl-C."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import pytest

from tests.support.site import MadeRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path) -> Iterator[MadeRun]:
    run = MadeRun(tmp_path)
    run.start()
    yield run
    run.stop()


def test_first_login_opens_a_site_that_has_the_demo(run: MadeRun) -> None:
    run.site.login(*run.first_login())
    (demo,) = run.site.ask("GET", "clusters/")["results"]
    assert demo["name"] == "demo"
    assert demo["counts"]["Node"] > 50
    assert demo["counts"]["Pod"] > 300


def test_second_start_is_ready_within_ten_seconds_and_keeps_everything(run: MadeRun, tmp_path: Path) -> None:
    username, password = run.first_login()
    status, seconds = run.stop()
    # make ends itself by the signal that it was sent, once its child has ended.
    assert status in (0, -signal.SIGINT)
    assert seconds < 10
    with socket.create_server(("127.0.0.1", run.port)):
        pass  # Nothing holds the port any longer.
    begun = run.start()
    if begun >= 10:  # other tests may have kept the machine busy just then
        run.stop()
        begun = run.start()
    assert begun < 10
    assert "password:" not in run.output
    run.site.login(username, password)


def test_secrets_are_readable_by_their_owner_only(run: MadeRun, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert data.stat().st_mode & 0o077 == 0
    for name in ("secret_key", "encryption_keys"):
        assert (data / name).stat().st_mode & 0o777 == 0o600
