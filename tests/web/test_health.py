"""Probes: /livez and /readyz need neither login nor a known host name, and say nothing they should not."""

from __future__ import annotations

import resource
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError, connections

from kschedweb.web import health
from kschedweb.web.outages import find_outage
from kschedweb.web.sqlite.base import DatabaseWrapper

if TYPE_CHECKING:
    from django.test import Client


def test_live_process_answers_any_host(client: Client) -> None:
    answer = client.get("/livez", headers={"host": "10.1.2.3"})
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}


def test_ready_process_has_every_check(client: Client, db: None, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    answer = client.get("/readyz", headers={"host": "10.1.2.3"})
    assert answer.status_code == 200
    checks = {"database": "ok", "broker": "ok", "disk": "ok", "credentials": "ok"}
    assert answer.json() == {"status": "ok", "checks": checks}


def test_lost_encryption_key_is_not_ready(client: Client, transactional_db: None, settings: Any) -> None:
    from kschedweb.clusters.connecting.credentials import Secret, credential_save
    from kschedweb.clusters.models import Cluster, ClusterSource

    cluster = Cluster.objects.create(name="sealed", source=ClusterSource.TOKEN)
    credential_save(cluster=cluster, secret=Secret(server="https://api.example", token="to-be-hidden"))
    settings.ENCRYPTION_KEYS = ["another key than the one it was stored with"]
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"database": "ok", "broker": "ok", "disk": "ok", "credentials": "failed"}
    assert b"sealed" not in answer.content


def test_missing_migration_is_not_ready(db: None) -> None:
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="policies").delete()
    with pytest.raises(RuntimeError, match="migrations are missing"):
        health.check_database()


def test_broken_check_is_logged_and_not_told(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def raise_error() -> None:
        raise ConnectionError("redis at an inner address refused")

    monkeypatch.setattr(health, "CHECKS", [health.Check("broker", raise_error)])
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert b"inner address" not in answer.content
    assert "inner address" in caplog.text


def test_a_full_disk_is_not_ready(tmp_path: Path) -> None:
    database = DatabaseWrapper({**connections["default"].settings_dict, "NAME": str(tmp_path / "db.sqlite3")})
    health.check_room(database)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (health.ROOM // 2, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            health.check_room(database)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_to_a_full_disk_says_so(tmp_path: Path) -> None:
    file = sqlite3.connect(tmp_path / "small.sqlite3")
    file.execute("PRAGMA max_page_count = 2")
    file.execute("CREATE TABLE t (x)")
    with pytest.raises(sqlite3.OperationalError) as full:
        file.execute("INSERT INTO t VALUES (zeroblob(100000))")
    file.close()
    error = OperationalError("database or disk is full")
    error.__cause__ = full.value
    answer = find_outage(error)
    assert answer is not None
    assert (answer.status, answer.detail.partition(".")[0]) == (503, "The disk of the database is full")
