"""The reflector against the real API server: lists, watches, cuts, compaction, and what is followed in the end."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.client import Client
from kschedweb.clusters.credentials import Secret
from kschedweb.clusters.kinds import BY_NAME
from kschedweb.scheduling.reflector import Backoff, Changed, Listed, Message, Reflector, Removed
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"


class Followed:
    """What a consumer holds that does as the messages say."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.held: dict[str, str] = {}
        self.lists: list[Listed] = []

    def take(self, message: Message) -> None:
        if isinstance(message, Listed):
            tombstones = {item["metadata"]["uid"] for item in message.gone}
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
def follow(plane: ControlPlane) -> Iterator[Callable[..., tuple[Reflector, Followed]]]:
    running: list[Reflector] = []

    def begin(opened: Secret | None = None, kind: str = "Pod", **options: Any) -> tuple[Reflector, Followed]:
        followed = Followed()
        given = opened or secret(plane)
        quick = Backoff(chance=lambda: -0.9)
        reflector = Reflector(lambda: Client.open(given), BY_NAME[kind], followed.take, backoff=quick, **options)
        reflector.start()
        running.append(reflector)
        wait_until(lambda: reflector.synced, 20, "a first list", 0.02)
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
    wait_until(lambda: followed.held == listed(plane), 15, "what is followed equals a fresh list", 0.05)


def test_what_is_followed_equals_a_fresh_list(plane: ControlPlane, follow: Callable[..., Any]) -> None:
    reflector, followed = follow()
    assert len(followed.lists[0].items) == 3
    assert followed.lists[0].reason == "start"
    assert "managedFields" not in followed.lists[0].items[0]["metadata"]
    assert followed.lists[0].items[0]["kind"] == "Pod"
    change(plane, "new")
    same(plane, followed)
    assert reflector.relists == {"start": 1}
    assert reflector.age < 15


def test_pods_that_have_ended_are_gone(plane: ControlPlane, follow: Callable[..., Any]) -> None:
    _, followed = follow()
    done = plane.call("GET", f"{PODS}/old-0")["metadata"]["uid"]
    plane.call("PATCH", f"{PODS}/old-0/status", {"status": {"phase": "Succeeded"}})
    wait_until(lambda: done not in followed.held, 10, "a pod that ended is gone", 0.02)


def test_a_watch_that_ends_goes_on_where_it_was(plane: ControlPlane, follow: Callable[..., Any]) -> None:
    reflector, followed = follow(watch_seconds=(1.0, 1.0))
    for index in range(4):
        change(plane, f"new-{index}")
        wait_until(lambda: reflector.age > 0.6 or reflector.age < 0.05, 5, "the watch ends", 0.02)
    same(plane, followed)
    assert reflector.relists == {"start": 1}
