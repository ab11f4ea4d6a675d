"""The reflector against the real API server: lists, watches, cuts, compaction, and what is followed in the end."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.following.reflector import Backoff, Changed, Listed, Message, Reflector, Removed
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.engine.json_types import Json
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Fault, Hang, Refuse, Sever, Truncate
from tests.support.processes import free_port, running, wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

Follow = Callable[..., tuple["Reflector", "Followed"]]
PODS = "/api/v1/namespaces/default/pods"


class Followed:
    """Objects of a consumer that follows the messages."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.held: dict[str, str] = {}
        self.lists: list[Listed] = []

    def take(self, message: Message) -> None:
        if isinstance(message, Listed):
            tombstones = {item["metadata"]["uid"] for item in message.removed}
            now = {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in message.items}
            # Every object that a new list lacks is named as gone.
            assert tombstones == (self.held.keys() - now.keys() if self.lists else set())
            self.held = now
            self.lists.append(message)
        elif isinstance(message, Changed):
            metadata = message.raw["metadata"]
            self.held[metadata["uid"]] = metadata["resourceVersion"]
        elif isinstance(message, Removed):
            self.held.pop(message.raw["metadata"]["uid"])


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    control_plane.create_all(PODS, [pod(f"old-{index}") for index in range(3)])
    yield control_plane
    control_plane.wipe()


def pod(name: str) -> Json:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}


def secret(plane: ControlPlane, url: str = "", ca: str = "") -> Secret:
    return Secret(server=url or plane.url, ca=ca or plane.ca, token=plane.tokens["admin"])


def listed(plane: ControlPlane) -> dict[str, str]:
    items = plane.call("GET", "/api/v1/pods")["items"]
    return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in items}


@pytest.fixture
def follow(plane: ControlPlane) -> Iterator[Follow]:
    running: list[Reflector] = []

    def begin(opened: Secret | None = None, kind: str = "Pod", **options: Any) -> tuple[Reflector, Followed]:
        followed = Followed()
        credentials = opened or secret(plane)
        quick = Backoff(chance=lambda: -0.9)
        reflector = Reflector(lambda: Client.open(credentials), BY_NAME[kind], followed.take, backoff=quick, **options)
        reflector.start()
        running.append(reflector)
        wait_until(lambda: reflector.synced, "a first list", step=0.02)
        return reflector, followed

    yield begin
    for reflector in running:
        reflector.end()
    for reflector in running:
        reflector.join(5)
        assert not reflector._thread.is_alive()


def change(plane: ControlPlane, name: str) -> None:
    """A pod comes, one changes, one goes."""
    plane.call("POST", PODS, pod(name))
    plane.call("PATCH", f"{PODS}/old-1", {"metadata": {"labels": {"seen": name}}})
    plane.call("DELETE", f"{PODS}/{name}", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    plane.call("POST", PODS, pod(f"{name}-again"))


def same(plane: ControlPlane, followed: Followed) -> None:
    wait_until(lambda: followed.held == listed(plane), "what is followed equals a fresh list", step=0.05)


def test_what_is_followed_equals_a_fresh_list(plane: ControlPlane, follow: Follow) -> None:
    reflector, followed = follow()
    assert len(followed.lists[0].items) == 3
    assert followed.lists[0].reason == "start"
    assert "managedFields" not in followed.lists[0].items[0]["metadata"]
    assert followed.lists[0].items[0]["kind"] == "Pod"
    change(plane, "new")
    same(plane, followed)
    assert reflector.relists == {"start": 1}
    assert reflector.age < 15


def test_pods_that_have_ended_are_gone(plane: ControlPlane, follow: Follow) -> None:
    _, followed = follow()
    uid = plane.call("GET", f"{PODS}/old-0")["metadata"]["uid"]
    plane.call("PATCH", f"{PODS}/old-0/status", {"status": {"phase": "Succeeded"}})
    wait_until(lambda: uid not in followed.held, "a pod that ended is gone", step=0.02)


def test_a_watch_that_ends_goes_on_where_it_was(plane: ControlPlane, follow: Follow) -> None:
    reflector, followed = follow(watch_seconds=(1.0, 1.0))
    for index in range(4):
        change(plane, f"new-{index}")
        wait_until(lambda: reflector.age > 0.6 or reflector.age < 0.05, "the watch ends", step=0.02)
    same(plane, followed)
    assert reflector.relists == {"start": 1}


@pytest.fixture
def proxy(control_plane: ControlPlane, tmp_path: Path) -> Iterator[FaultProxy]:
    with FaultProxy(control_plane, tmp_path) as running:
        yield running


@pytest.fixture
def through(plane: ControlPlane, proxy: FaultProxy, follow: Follow) -> tuple[Reflector, Followed]:
    """Pods, followed through the fault proxy by one who takes two silent seconds for a broken line."""
    following = follow(secret(plane, proxy.url, proxy.ca), idle_seconds=2.0)
    wait_until(lambda: bool(proxy.streams), "a watch", step=0.02)
    return following


def test_a_cut_watch_goes_on_where_it_was(
    plane: ControlPlane, proxy: FaultProxy, through: tuple[Reflector, Followed]
) -> None:
    reflector, followed = through
    for index in range(3):
        wait_until(lambda: proxy.cut_watches("/pods") > 0, "a watch to cut", step=0.02)
        change(plane, f"cut-{index}")
    same(plane, followed)
    assert reflector.relists == {"start": 1}


@pytest.mark.parametrize("message", ["too old resource version", "anything else"])
def test_an_expired_place_leads_to_a_new_list_that_knows_what_is_gone(
    plane: ControlPlane, proxy: FaultProxy, through: tuple[Reflector, Followed], message: str
) -> None:
    reflector, followed = through
    with proxy.fault("GET", "/pods.*watch=", Hang()):
        assert proxy.end_watches(410, message, "/pods") == 1
        wait_until(lambda: reflector.relists["expired"] == 1, "a new list", step=0.02)
        # What changes while no watch is there to see it.
        change(plane, "unseen")
        plane.call("DELETE", f"{PODS}/old-2", {"gracePeriodSeconds": 0})
    with proxy.fault("GET", "/pods.*watch=", Refuse(410), times=1):
        proxy.cut_watches("/pods")
        same(plane, followed)
    assert reflector.synced


def test_a_line_that_is_half_open_is_noticed(
    plane: ControlPlane, proxy: FaultProxy, through: tuple[Reflector, Followed]
) -> None:
    _, followed = through
    proxy.freeze()
    change(plane, "unheard")
    before = len(proxy.calls)
    wait_until(lambda: len(proxy.calls) > before, "a new watch", step=0.02)
    proxy.thaw()
    same(plane, followed)


@pytest.mark.parametrize(
    "fault", [Refuse(429, retry_after=1), Refuse(500), Truncate(30), Sever()], ids=lambda fault: type(fault).__name__
)
def test_whatever_meets_a_watch_the_truth_is_found_again(
    plane: ControlPlane, proxy: FaultProxy, through: tuple[Reflector, Followed], fault: Fault
) -> None:
    _, followed = through
    with proxy.fault("GET", "/pods.*watch=", fault, times=2):
        proxy.cut_watches("/pods")
        change(plane, "met")
        same(plane, followed)


def test_a_server_that_goes_away_is_found_again(
    plane: ControlPlane, proxy: FaultProxy, through: tuple[Reflector, Followed]
) -> None:
    reflector, followed = through
    proxy.down()
    change(plane, "while-away")
    wait_until(lambda: bool(reflector.problem), "a problem", step=0.02)
    proxy.up()
    same(plane, followed)
    wait_until(lambda: not reflector.problem, "no problem any more", step=0.02)


@pytest.mark.nightly
def test_a_server_that_has_forgotten_the_place_is_listed_anew(
    plane: ControlPlane, proxy: FaultProxy, through: tuple[Reflector, Followed], tmp_path: Path
) -> None:
    """A second API server beside the same etcd begins its memory now: the real one's 410."""
    reflector, followed = through
    port = free_port()
    command = [str(port) if part == str(plane.port) else part for part in plane.command]
    with proxy.fault("GET", "/pods.*watch=", Refuse(429)) as busy:
        proxy.cut_watches("/pods")
        change(plane, "unseen")
        with running(command, tmp_path / "apiserver.log"):
            proxy.plane = SimpleNamespace(port=port, ca=plane.ca)  # type: ignore[assignment]
            with Client.open(secret(plane, f"https://127.0.0.1:{port}")) as second:
                wait_until(lambda: ready(second), "the second API server", step=0.3)
            busy.release()
            wait_until(lambda: reflector.relists["expired"] == 1, "a new list", step=0.02)
            same(plane, followed)
            proxy.cut_watches()


def ready(client: Client) -> bool:
    try:
        return client.send("GET", "/readyz").code == 200
    except ClusterError:
        return False


def test_a_kind_that_is_not_served_or_forbidden_holds_nothing_up(
    plane: ControlPlane, proxy: FaultProxy, follow: Follow
) -> None:
    reflector, followed = follow(kind="CloneSet")
    assert followed.lists[0].items == []
    assert followed.lists[0].problem == "clonesets are not served by this cluster"
    credentials = Secret(server=plane.url, ca=plane.ca, token=plane.tokens["stranger"])
    refused, stranger = follow(credentials, kind="Service")
    assert stranger.lists[0].problem == "services may not be listed with these credentials"
    assert "403" in refused.problem
    assert reflector.synced


def test_end_does_not_wait_for_the_server(plane: ControlPlane, follow: Follow) -> None:
    reflector, _ = follow()
    wait_until(lambda: bool(reflector._client and reflector._client._streams), "a watch", step=0.02)
    reflector.end()
    reflector.join(2)
    assert not reflector._thread.is_alive()
