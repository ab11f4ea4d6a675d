"""`make run`: one command, ready soon, and gone at Ctrl-C."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import pytest

from tests.support.site import MadeRun
from tests.support.tiers import NIGHTLY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOON = 10.0  # seconds to start again and to stop, on a machine that does nothing else


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("make-run")


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[MadeRun]:
    run = MadeRun(folder)
    run.start()
    yield run
    run.stop()


# The tests tell one story, in this order.


def test_first_login_opens_a_site_that_has_the_demo(run: MadeRun) -> None:
    run.site.login(*run.first_login())
    demo, sandbox = run.site.ask("GET", "clusters/")["results"]
    assert (demo["name"], sandbox["name"]) == ("demo", "sandbox")
    assert sandbox["counts"]["Node"] >= 40
    assert demo["counts"]["Node"] > 50
    assert demo["counts"]["Pod"] > 300


def test_secrets_are_readable_by_their_owner_only(run: MadeRun, folder: Path) -> None:
    data = folder / "data"
    assert data.stat().st_mode & 0o077 == 0
    for name in ("secret_key", "encryption_keys", "sandbox_token", "sandbox.sqlite3"):
        assert (data / name).stat().st_mode & 0o777 == 0o600, name
    for sidecar in data.glob("sandbox.sqlite3-*"):
        assert sidecar.stat().st_mode & 0o077 == 0, sidecar.name


def test_second_start_keeps_everything(run: MadeRun) -> None:
    username, password = run.first_login()
    status, stopping = run.stop()
    # make ends itself by the signal that it was sent, once its child has ended.
    assert status in (0, -signal.SIGINT)
    with socket.create_server(("127.0.0.1", run.port)):
        pass  # Nothing holds the port any longer.
    starting = run.start()
    if NIGHTLY:
        assert max(stopping, starting) < SOON
    assert "password:" not in run.output
    run.site.login(username, password)
