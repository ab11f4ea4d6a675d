"""Wrong passwords against real processes: who is counted as whom behind a proxy and without one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.site import PASSWORD, Site
from tests.support.webs import attempt, webs

LIMIT = 10
PROXY = {"KSCHEDWEB_BEHIND_PROXY": "true", "KSCHEDWEB_LOGIN_ADDRESS_LIMIT": str(LIMIT)}


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Site]]:
    with webs(tmp_path_factory.mktemp("proxied"), 2, **PROXY) as sites:
        yield sites


def test_a_forged_entry_before_the_proxys_own_escapes_nothing(behind_proxy: list[Site]) -> None:
    statuses = [
        attempt(behind_proxy[number % 2], "admin", "wrong", f"9.9.9.{number}, 203.0.113.7") for number in range(5)
    ]
    assert statuses == [200] * 4 + [429]
    assert attempt(behind_proxy[0], "admin", PASSWORD, "9.9.9.99, 203.0.113.7") == 429


def test_a_single_entry_is_read_and_locks_its_address_alone(behind_proxy: list[Site]) -> None:
    assert [attempt(behind_proxy[0], "admin", "wrong", "203.0.113.8") for _ in range(5)][-1] == 429
    for site in behind_proxy:
        assert attempt(site, "admin", PASSWORD, "203.0.113.8") == 429
        assert attempt(site, "admin", PASSWORD, "203.0.113.9") == 302


@pytest.mark.nightly
def test_trying_names_over_all_processes_ends_at_the_limit_of_the_address(behind_proxy: list[Site]) -> None:
    statuses = [
        attempt(behind_proxy[number % 2], f"name-{number}", "Summer-2026", "203.0.113.10") for number in range(LIMIT)
    ]
    assert statuses == [200] * (LIMIT - 1) + [429]
    assert attempt(behind_proxy[1], "admin", PASSWORD, "203.0.113.10") == 429
    assert attempt(behind_proxy[1], "admin", PASSWORD, "203.0.113.11") == 302


@pytest.mark.nightly
def test_without_a_proxy_nobody_chooses_their_address_and_the_file_is_its_owners(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with webs(tmp_path, 1) as (site,):
            statuses = [attempt(site, "admin", "wrong", f"9.9.9.{number}") for number in range(5)]
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("kschedweb.sqlite3*")}
    finally:
        os.umask(before)
    assert statuses == [200] * 4 + [429]
    assert set(modes.values()) == {0o600}, modes
    with sqlite3.connect(tmp_path / "kschedweb.sqlite3") as database:
        query = "SELECT verb, address FROM accounts_auditentry WHERE verb LIKE 'login.%' ORDER BY id"
        entries = database.execute(query).fetchall()
    assert entries == [("login.failed", "127.0.0.1")] * 5 + [("login.locked", "127.0.0.1")]
    assert '"ip": "9.9.9.' not in (tmp_path / "web-0.log").read_text(encoding="utf-8")
