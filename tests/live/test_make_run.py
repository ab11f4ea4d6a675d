"""`make run`: one command, ready soon, and gone at Ctrl-C."""

from __future__ import annotations

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


def test_first_login_opens_a_site_with_the_demo_and_a_working_worker(run: MadeRun) -> None:
    run.site.login(*run.first_login())
    assert run.site.session.get(run.site.url + "/", timeout=10).status_code == 200


def test_second_start_is_ready_within_ten_seconds_and_keeps_everything(run: MadeRun, tmp_path: Path) -> None:
    username, password = run.first_login()
    status, seconds = run.stop()
    assert status == 0
    assert seconds < 10
    with socket.create_server(("127.0.0.1", run.port)):
        pass  # Nothing holds the port any longer.
    assert run.start() < 10
    assert "password:" not in run.output
    run.site.login(username, password)


def test_secrets_are_readable_by_their_owner_only(run: MadeRun, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert data.stat().st_mode & 0o077 == 0
    for name in ("secret_key", "encryption_keys"):
        assert (data / name).stat().st_mode & 0o777 == 0o600
