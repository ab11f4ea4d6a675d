"""Bindings, statuses, evictions and events against the real API server, and what is made of its answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.client import Client
from kschedweb.clusters.credentials import Secret
from kschedweb.engine.live import PodRef
from kschedweb.scheduling.facts import KnownPods
from kschedweb.scheduling.writer import Result, Writer

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def pod_json(name: str, **spec: Any) -> Json:
    container = {"name": "main", "image": "web:1"}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": [container]} | spec}


class Place:
    """A control plane, a client of its own, and a writer that leads as long as ``leads`` is set."""

    def __init__(self, plane: ControlPlane, client: Client) -> None:
        self.plane, self.client = plane, client
        self.leads, self.pods = threading.Event(), KnownPods()
        self.leads.set()
        self.writer = Writer(client, self.pods, leading=self.leads.is_set)

    def pod(self, name: str, **spec: Any) -> PodRef:
        raw = self.plane.call("POST", PODS, pod_json(name, **spec))
        self.pods.saw(raw)
        return PodRef("default", name, raw["metadata"]["uid"])

    def read(self, pod: PodRef) -> Json:
        raw = self.plane.call("GET", f"{PODS}/{pod.name}")
        self.pods.saw(raw)
        return raw

    def events(self, pod: PodRef) -> list[Json]:
        return [item for item in self.plane.call("GET", EVENTS)["items"] if item["regarding"].get("uid") == pod.uid]


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]


@pytest.fixture
def place(control_plane: ControlPlane) -> Iterator[Place]:
    secret = Secret(server=control_plane.url, ca=control_plane.ca, token=control_plane.tokens["admin"])
    with Client.open(secret) as client:
        yield Place(control_plane, client)
    control_plane.wipe()
    control_plane.call("DELETE", EVENTS)


def test_a_pod_is_bound_once(place: Place) -> None:
    pod = place.pod("once")
    assert place.writer.bind(pod, "node-a").result is Result.BOUND
    assert place.writer.bind(pod, "node-a").result is Result.BOUND
    other = place.writer.bind(pod, "node-b")
    assert other.result is Result.CONFLICT
    assert other.text.endswith('pods/binding "once": pod once is already assigned to node "node-a"')
    assert place.read(pod)["spec"]["nodeName"] == "node-a"
    scheduled = next(found for found in place.read(pod)["status"]["conditions"] if found["type"] == "PodScheduled")
    assert scheduled["status"] == "True"
