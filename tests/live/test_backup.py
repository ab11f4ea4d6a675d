"""Backup and restore of both forms, by the commands that docs/operations.md prints."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.databases import databases
from tests.support.livesite import Deployment
from tests.support.site import PASSWORD, ROOT, MadeRun, Site

CHAPTER = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition("## Backup and restore")[2]
MAKE_RUN, MAKE_RUN_BACK, COMPOSE, COMPOSE_BACK = re.findall(r"```sh\n(.*?)```", CHAPTER, re.DOTALL)
DOCUMENT = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
# Stands for Docker: what is asked of the service postgres is done with the tests' own server.
DOCKER = """\
#!/bin/sh
set -e
[ "$1" = compose ] || exit 64
case "$2" in
  exec) shift 4; exec "$@";;
  up|stop) echo "$@" >> "$CALLS";;
  *) exit 64;;
esac
"""


def shell(commands: str, folder: Path, **variables: str) -> None:
    env = {**os.environ, "BACKUP": str(folder / "backup"), **variables}
    process = subprocess.run(
        ["sh", "-eu", "-c", commands], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr


def names(site: Site) -> set[str]:
    return {policy["name"] for policy in site.ask("GET", "policies/")["results"]}


def changed(site: Site, name: str) -> None:
    site.ask("POST", "policies/", {"name": name, "document": DOCUMENT})
    assert name in names(site)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[MadeRun]:
    run = MadeRun(tmp_path, KSCHEDWEB_ADMIN_PASSWORD=PASSWORD)
    run.start()
    yield run
    run.stop()


@pytest.mark.nightly
def test_make_run_is_again_what_it_was_when_the_backup_was_made(run: MadeRun, tmp_path: Path) -> None:
    data = {"KSCHEDWEB_DATA_DIR": str(tmp_path / "data")}
    run.site.login("admin", PASSWORD)
    changed(run.site, "before")
    shell(MAKE_RUN, tmp_path, **data)
    changed(run.site, "after")

    run.stop()
    for file in (tmp_path / "data").iterdir():
        file.unlink()  # the machine is lost
    shell(MAKE_RUN_BACK, tmp_path, **data)
    run.start()
    # The session that was open then goes on: the key that signs it is the same.
    assert {"before", "after"} & names(run.site) == {"before"}
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "backup").iterdir()}
    assert modes == dict.fromkeys(("kschedweb.sqlite3", "secret_key", "encryption_keys"), 0o600)


@pytest.mark.nightly
def test_compose_is_again_what_it_was_when_the_backup_was_made(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text(DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o700)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    with databases() as (postgres, broker):
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE kschedweb TEMPLATE postgres")
        deployment = Deployment(tmp_path, postgres.url.replace("/postgres", "/kschedweb"), broker.url)
        for name in ("secret_key", "encryption_keys", "postgres_password", "database_url"):
            (secrets / name).write_text(f"the {name}")
        path = os.pathsep.join((str(tmp_path / "bin"), str(postgres.bin), os.environ["PATH"]))
        variables = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(postgres.port),
            "CALLS": str(tmp_path / "calls"),
            "PATH": path,
        }
        with deployment.site() as site:
            changed(site, "before")
            shell(COMPOSE, tmp_path, **variables)
            changed(site, "after")
            for file in secrets.iterdir():
                file.unlink()
            secrets.rmdir()
        shell(COMPOSE_BACK, tmp_path, **variables)
        assert (secrets / "encryption_keys").read_text() == "the encryption_keys"
        with deployment.site() as site:
            assert {"before", "after"} & names(site) == {"before"}
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [
        f"compose {call}" for call in ("stop web worker scheduler beat", "up --wait postgres", "up --wait")
    ]
