"""A sandbox of a test: its API server listens on loopback, its objects are kept in a folder of the test."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import MERGE
from kschedweb.engine.sandbox.requests import Request
from kschedweb.sandbox.running.process import Sandbox
from kschedweb.sandbox.selectors import CLOCK_PATH

TOKEN = "token-of-a-sandbox"


@contextmanager
def started(path: Path, settings: Settings, site: str = "") -> Iterator[Sandbox]:
    """A sandbox over the objects in the file ``path``, which the site is told of."""
    with served(path, site) as (sandbox, address):
        use_sandbox(settings, address)
        yield sandbox


@contextmanager
def served(path: Path, site: str = "") -> Iterator[tuple[Sandbox, str]]:
    """A sandbox over the objects in the file ``path``, and its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    sandbox = Sandbox(path, listener, TOKEN, site)
    sandbox.start()
    try:
        yield sandbox, f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        sandbox.stop()


def use_sandbox(settings: Any, address: str) -> None:
    """Tell the site of a sandbox at ``address``; "" for none."""
    settings.SANDBOX_SERVER, settings.SANDBOX_TOKEN = address, TOKEN


@pytest.fixture
def sandbox(tmp_path: Path, settings: Settings) -> Iterator[Sandbox]:
    """A new sandbox."""
    with started(tmp_path / "sandbox.sqlite3", settings) as running:
        yield running


@pytest.fixture(scope="session")
def sandbox_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of one sandbox for many tests, whose time stands still, with the pod default/seed."""
    with served(tmp_path_factory.mktemp("sandbox") / "sandbox.sqlite3") as (running, address):
        running.call(Request("PATCH", CLOCK_PATH, {}, {"spec": {"paused": True}}, MERGE))
        running.call(Request("POST", "/api/v1/namespaces/default/pods", {}, pod("seed"), "application/json"))
        yield address


def pod(name: str, namespace: str = "default", scheduler: str = "nobody", **spec: Any) -> dict[str, Any]:
    """A pod that a person pastes."""
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "100m"}}}
    spec = {"schedulerName": scheduler, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
