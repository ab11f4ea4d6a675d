"""Writer to the real API server, as a live scheduler writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.following.facts import KnownPods
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import PodRef
from kschedweb.live.schedulers.writing.writer import Writer

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

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
        self.pods.update_pod(raw)
        return PodRef("default", name, raw["metadata"]["uid"])

    def read(self, pod: PodRef) -> Json:
        raw = self.plane.call("GET", f"{PODS}/{pod.name}")
        self.pods.update_pod(raw)
        return raw

    def events(self, pod: PodRef) -> list[Json]:
        return [item for item in self.plane.call("GET", EVENTS)["items"] if item["regarding"].get("uid") == pod.uid]


@pytest.fixture
def place(control_plane: ControlPlane, settings: Settings) -> Iterator[Place]:
    """Writer to the control plane of this process; everything that was made is deleted in the end."""
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    secret = Secret(server=control_plane.url, ca=control_plane.ca, token=control_plane.tokens["admin"])
    with Client.open(secret) as client:
        yield Place(control_plane, client)
    control_plane.wipe()
    control_plane.call("DELETE", EVENTS)
