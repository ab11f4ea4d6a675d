"""The sandbox over HTTP: what the site's own client of clusters makes of it, and what is left after an end."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import urllib3
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.errors import ClusterError, ResourceExpired
from kschedweb.clusters.following.reflector import Changed, Listed, Message, Reflector, Removed
from kschedweb.clusters.kinds import BY_NAME, KINDS
from kschedweb.engine.sandbox import store
from kschedweb.engine.sandbox.resources import BY_KIND
from kschedweb.sandbox.running.process import Sandbox
from kschedweb.sandbox.selectors import CLOCK_PATH, open_client
from tests.support.sandbox import TOKEN, started

MAPS = "/api/v1/namespaces/default/configmaps"
PAUSE = {"spec": {"paused": True}}


@pytest.fixture
def client(sandbox: Sandbox) -> Client:
    """Of a sandbox whose time stands still, so that nothing happens but what the test does."""
    sandbox_client = open_client(patience=600)
    sandbox_client.patch(CLOCK_PATH, PAUSE)
    return sandbox_client


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_every_kind_of_a_snapshot_is_served_or_is_optional() -> None:
    for kind in KINDS:
        assert kind.optional or (kind.api_version, kind.name) in BY_KIND, kind.name


def test_a_wrong_token_is_refused(sandbox: Sandbox, settings: Settings) -> None:
    settings.SANDBOX_TOKEN = "another"
    with open_client() as client, pytest.raises(ClusterError) as refused:
        client.get("/api/v1/nodes")
    assert refused.value.code == 401


def test_the_token_may_stand_before_the_path(sandbox: Sandbox, settings: Settings) -> None:
    http = urllib3.PoolManager()
    for token, code in ((TOKEN, 200), ("another", 401), (TOKEN + "x", 401), ("", 401)):
        answer = http.request("GET", f"{settings.SANDBOX_SERVER}/{token}/api/v1/nodes?limit=1", retries=False)
        assert answer.status == code, token


def test_what_is_no_json_and_what_is_too_large_is_refused(sandbox: Sandbox, settings: Settings) -> None:
    http = urllib3.PoolManager()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    for body, code in ((b"{", 400), (b'"' + b"x" * (3 * 1024 * 1024) + b'"', 413)):
        answer = http.request("POST", settings.SANDBOX_SERVER + MAPS, body=body, headers=headers, retries=False)
        assert answer.status == code
        assert answer.json()["kind"] == "Status"


def test_a_reflector_follows_it(client: Client) -> None:
    heard: list[Message] = []
    condition = threading.Condition()

    def take(message: Message) -> None:
        with condition:
            heard.append(message)
            condition.notify_all()

    def wait(kind: type) -> Any:
        with condition:
            assert condition.wait_for(lambda: any(isinstance(message, kind) for message in heard), 60), heard
            return next(message for message in heard if isinstance(message, kind))

    reflector = Reflector(open_client, BY_NAME["PriorityClass"], take)
    reflector.start()
    try:
        assert wait(Listed).items
        client.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "mine"}, "value": 7})
        changed = wait(Changed)
        assert changed.raw["metadata"]["name"] == "mine"
        assert changed.raw["preemptionPolicy"] == "PreemptLowerPriority"
        client.send("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/mine")
        assert wait(Removed).raw["metadata"]["name"] == "mine"
    finally:
        reflector.end()


def test_a_watch_goes_on_from_a_version_and_an_old_one_is_gone(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOG_SIZE", 100)
    with started(tmp_path / "sandbox.sqlite3", settings), open_client(patience=60) as client:
        begin = client.create(MAPS, config_map("a"))["metadata"]["resourceVersion"]
        client.patch(f"{MAPS}/a", {"data": {"round": "first"}})
        events = client.watch("/api/v1/configmaps", begin, seconds=1)
        assert next(iter(events))["object"]["data"] == {"round": "first"}
        for number in range(101):
            client.patch(f"{MAPS}/a", {"data": {"round": str(number)}})
        with pytest.raises(ResourceExpired):
            list(client.watch("/api/v1/configmaps", begin, seconds=1))


def test_a_watch_ends_when_its_time_is_over(client: Client) -> None:
    assert not list(client.watch("/api/v1/endpoints", str(client.get(MAPS)["metadata"]["resourceVersion"]), seconds=1))


def test_lists_come_in_pages(client: Client) -> None:
    pages = list(client.pages("/api/v1/nodes", limit=7))
    names = [item["metadata"]["name"] for page in pages for item in page.items]
    assert names == sorted(names)
    assert len(names) == len(set(names)) > 30
    assert len({page.resource_version for page in pages}) == 1


def test_an_orderly_end_forgets_nothing(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "sandbox.sqlite3"
    with started(path, settings), open_client() as client:
        client.patch(CLOCK_PATH, PAUSE)
        client.create(MAPS, config_map("kept", key="value"))
        before = {kind.name: client.get(kind.path) for kind in KINDS if (kind.api_version, kind.name) in BY_KIND}
    with started(path, settings), open_client() as client:
        for name, listed in before.items():
            after = client.get(BY_NAME[name].path)
            # The sandbox's schedulers and controllers may have gone on; what there was is there, as what it was.
            assert _identities(listed).items() <= _identities(after).items(), name
            assert int(after["metadata"]["resourceVersion"]) >= int(listed["metadata"]["resourceVersion"])
        assert client.get(f"{MAPS}/kept")["data"] == {"key": "value"}


def _identities(listed: dict[str, Any]) -> dict[str, str]:
    return {raw["metadata"]["name"]: raw["metadata"]["uid"] for raw in listed["items"]}


CHILD = """
import json, os, socket, sys
from pathlib import Path
from kschedweb.sandbox.running.process import Sandbox
listener = socket.create_server(("127.0.0.1", 0))
sandbox = Sandbox(Path(sys.argv[1]), listener, sys.argv[2])
sandbox.start()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_an_orderly_end_ends_the_watches(tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    ended: list[list[dict[str, Any]]] = []
    with started(tmp_path / "sandbox.sqlite3", settings):
        client = open_client(patience=60)
        begin = client.create(MAPS, config_map("a"))["metadata"]["resourceVersion"]
        client.patch(f"{MAPS}/a", {"data": {"round": "first"}})
        events = iter(client.watch("/api/v1/configmaps", begin, seconds=600))
        assert next(events)["object"]["data"] == {"round": "first"}
        reading = threading.Thread(target=lambda: ended.append(list(events)))
        reading.start()
    reading.join(60)
    client.close()
    assert ended == [[]]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING], caplog.text


def test_a_killed_process_has_kept_what_it_answered(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "sandbox.sqlite3"
    command = [sys.executable, "-c", CHILD, str(path), TOKEN]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kschedweb.settings", "KSCHEDWEB_SECRET_KEY": "of-a-test"}
    answered: dict[str, str] = {}
    for attempt in range(3):
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as child:
            assert child.stdout is not None
            settings.SANDBOX_SERVER = f"http://127.0.0.1:{int(child.stdout.readline())}"
            settings.SANDBOX_TOKEN = TOKEN
            client = open_client(patience=60)
            for name, uid in answered.items():
                assert client.get(f"{MAPS}/{name}")["metadata"]["uid"] == uid
            enough = threading.Event()
            writer = threading.Thread(target=_write, args=(client, attempt, answered, enough))
            writer.start()
            assert enough.wait(60)
            os.kill(child.pid, signal.SIGKILL)
            writer.join(60)
    with started(path, settings), open_client() as client:
        assert answered.items() <= _identities(client.get(MAPS)).items()
        assert len(answered) >= 90


def _write(client: Client, attempt: int, answered: dict[str, str], enough: threading.Event) -> None:
    """Write until the server is gone; ``answered`` has what it said it took."""
    for number in range(10_000):
        try:
            answer = client.send("POST", MAPS, config_map(f"m-{attempt}-{number}"), seconds=10)
        except ClusterError:
            return
        answered[f"m-{attempt}-{number}"] = answer.json()["metadata"]["uid"]
        if number == 30:
            enough.set()


def test_a_slow_reader_is_cut_off_and_harms_nobody(client: Client, settings: Settings) -> None:
    host, port = settings.SANDBOX_SERVER.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        line.sendall(head.encode())
        client.create(MAPS, config_map("large", text="x" * 100_000))
        for number in range(1200):
            client.patch(f"{MAPS}/large", {"metadata": {"labels": {"round": str(number)}}})
        assert client.get(f"{MAPS}/large")["metadata"]["labels"] == {"round": "1199"}


def test_json_has_no_secret_of_it(client: Client) -> None:
    assert TOKEN not in json.dumps([client.get(kind.path) for kind in KINDS[:3]])
