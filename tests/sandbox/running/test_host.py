"""The sandbox of a process: a file that cannot be used is said, and set up anew it answers at the same address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from kschedweb import server
from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.sandbox.running import host
from kschedweb.sandbox.selectors import open_client
from tests.support.html import elements, text
from tests.support.sandbox import TOKEN, use_sandbox

pytestmark = pytest.mark.django_db
AsRole = Callable[[str], Client]
ANEW = "form[action=/sandbox/anew/]"


@pytest.fixture
def damaged_host(tmp_path: Path, settings: Settings) -> Iterator[host.SandboxHost]:
    """One over a damaged file."""
    (tmp_path / host.FILE).write_bytes(b"no database " * 2000)
    sandbox_host = host.SandboxHost(tmp_path, lambda port: server.open_listener("127.0.0.1", port), TOKEN)
    use_sandbox(settings, sandbox_host.address)
    host.install_host(sandbox_host)
    yield sandbox_host
    host.install_host(None)
    sandbox_host.stop()


def test_a_damaged_file_is_said_and_a_button_sets_the_sandbox_up_anew(
    damaged_host: host.SandboxHost, client_as: AsRole, settings: Settings
) -> None:
    address = damaged_host.address
    assert not damaged_host.start()
    assert damaged_host.trouble == "Its file sandbox.sqlite3 in the data folder cannot be used: file is not a database."
    admin = client_as("admin")
    page = admin.get("/sandbox/")
    assert (page.status_code, damaged_host.trouble in text(page)) == (200, True)
    assert elements(page, ANEW)
    assert not elements(client_as("editor").get("/sandbox/"), ANEW)
    assert client_as("editor").post("/sandbox/anew/").status_code == 403
    assert admin.post("/sandbox/anew/")["Location"] == "/sandbox/"
    assert (damaged_host.trouble, damaged_host.address) == ("", address)
    assert Cluster.objects.get(source=ClusterSource.SANDBOX).snapshots.exists()
    assert "sandbox.set-up-anew" in AuditEntry.objects.values_list("verb", flat=True)
    with open_client() as client:
        client.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "mine"}})
    page = admin.get("/sandbox/")
    assert not elements(page, "#main [role=alert]")
    assert elements(page, ANEW)


def test_one_that_answers_is_set_up_anew_by_rest(
    damaged_host: host.SandboxHost, tmp_path: Path, api_as: Callable[[str], APIClient]
) -> None:
    (tmp_path / host.FILE).unlink()
    assert damaged_host.start()
    with open_client() as client:
        client.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "mine"}})
    assert api_as("editor").post("/api/v1/sandbox/anew/").status_code == 403
    assert api_as("admin").post("/api/v1/sandbox/anew/").status_code == 204
    with open_client() as client:
        assert client.send("GET", "/api/v1/namespaces/default/configmaps/mine").code == 404
    host.install_host(None)
    assert api_as("admin").post("/api/v1/sandbox/anew/").status_code == 409
