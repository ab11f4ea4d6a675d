"""Pages and REST as of a moment: what they show, what they say where nothing is known, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.accounts.grants import grant_give
from kschedweb.accounts.models import User
from kschedweb.accounts.roles import Role
from kschedweb.clusters.flight.models import FlightRecorder
from kschedweb.clusters.flight.stretches import SETTLE, Flight
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Removed
from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot
from kschedweb.clusters.services import snapshot_store
from kschedweb.playground.recordings import from_flight_recorder
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.web.errors import NotFound
from tests.support.html import elements

pytestmark = pytest.mark.django_db

SECOND = 1_000_000
START_TIME = 1_795_316_400 * SECOND  # 2026-11-22 03:00:00 UTC


def node(number: int, cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}, "status": status}


def pod(name: str, on: str = "", cpu: str = "3") -> dict[str, Any]:
    containers = [{"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-11-22T03:00:00Z"},
        "spec": {"containers": containers, "schedulerName": "default-scheduler"} | ({"nodeName": on} if on else {}),
        "status": {"phase": "Running" if on else "Pending"},
    }


@pytest.fixture
def cluster() -> Cluster:
    """Recorded from 03:00:01 on: web waits until 03:12, when db goes, and runs on node-0; a gap from 03:20 to 03:30."""
    recorded_cluster = Cluster.objects.create(name="recorded", source=ClusterSource.TOKEN, server="https://127.0.0.1:1")
    FlightRecorder.objects.create(cluster=recorded_cluster, on=True, holder="me")
    flight = Flight(recorded_cluster, "me", ("Node", "Pod"), "started")

    def heard(at: int) -> None:
        for kind in ("Node", "Pod"):
            flight.take_news(at, Bookmark(kind, "2"))
        flight.store_known(at)

    flight.take_news(START_TIME, Listed("Node", [node(0)], "1", "start"))
    flight.take_news(START_TIME, Listed("Pod", [pod("db", "node-0"), pod("web")], "1", "start"))
    flight.store_known(START_TIME + SETTLE)
    flight.take_news(START_TIME + 720 * SECOND, Removed("Pod", pod("db", "node-0")))
    flight.take_news(START_TIME + 721 * SECOND, Changed("Pod", pod("web", "node-0")))
    heard(START_TIME + 1200 * SECOND)
    flight.note_broken(START_TIME + 1700 * SECOND, "Node", "connection reset")
    flight.take_news(START_TIME + 1799 * SECOND, Changed("Node", node(1)))
    heard(START_TIME + 1799 * SECOND)
    flight.store_known(START_TIME + 1800 * SECOND)
    heard(START_TIME + 1900 * SECOND)
    snapshot_store(cluster=recorded_cluster, objects=[node(0), node(1), pod("web", "node-0")], problems=[])
    return recorded_cluster


def test_pages_show_the_cluster_as_of_the_moment(cluster: Cluster, client_as: Callable[[Role], Client]) -> None:
    client = client_as(Role.VIEWER)
    for address, has, lacks in (
        ("/pods/?cluster=recorded&at=2026-11-22T03:11:59Z", "db", ""),
        ("/pods/?cluster=recorded&at=2026-11-22T03:12:00Z", "web", "default/db"),
        ("/nodes/?cluster=recorded&at=2026-11-22T03:15Z", "node-0", "node-1"),
        ("/nodes/?cluster=recorded", "node-1", "nothing"),
    ):
        page = client.get(address)
        text = page.content.decode()
        assert page.status_code == 200, address
        assert has in text
        assert not lacks or lacks not in text
        assert ("As of" in text) is ("at=" in address)
    pods = client.get("/pods/?cluster=recorded&at=2026-11-22T03:12:00Z").context["page"]
    assert [(row.name, row.pending) for row in pods] == [("web", True)]
    later = client.get("/pods/?cluster=recorded&at=2026-11-22T03:12:01Z").context["page"]
    assert [(row.name, row.pending) for row in later] == [("web", False)]


def test_a_decision_is_made_as_of_the_moment(cluster: Cluster, client_as: Callable[[Role], Client]) -> None:
    client = client_as(Role.VIEWER)
    before = client.get("/decision/recorded/default/web/?policy=default&at=2026-11-22T03:11:59Z")
    assert "Insufficient cpu" in before.content.decode()
    after = client.get("/decision/recorded/default/web/?policy=default&at=2026-11-22T03:12:00Z")
    assert "Insufficient cpu" not in after.content.decode()


@pytest.mark.parametrize(
    ("at", "status", "reason"),
    [
        ("2026-11-22T03:25Z", 404, "connection reset"),
        ("2026-11-22T03:20:00.000001Z", 404, "the first after it 2026-11-22 03:30:00.000 UTC"),
        ("2026-11-22T02:00Z", 404, "the recording begins at 2026-11-22 03:00:01.000 UTC"),
        ("2026-11-22T04:00Z", 404, "it is recorded up to 2026-11-22 03:31:40.000 UTC"),
        ("yesterday", 400, "Write a moment such as"),
        ("2026-11-22", 400, "Write a moment such as"),
    ],
)
def test_where_nothing_is_known_it_is_said_which_moments_are(
    cluster: Cluster, client_as: Callable[[Role], Client], at: str, status: int, reason: str
) -> None:
    for address in ("/", "/pods/", "/nodes/", "/costs/", "/capacity/"):
        page = client_as(Role.VIEWER).get(address, {"cluster": "recorded", "at": at})
        assert page.status_code == status, address
        assert reason in page.content.decode()
    assert not Snapshot.objects.filter(moment__isnull=False).exists()


def test_rest_answers_as_of_the_moment(cluster: Cluster, api_as: Callable[[Role], APIClient]) -> None:
    api = api_as(Role.VIEWER)
    pods = api.get("/api/v1/clusters/recorded/pods/", {"at": "2026-11-22T03:11:59Z"}).json()["results"]
    assert [(row["name"], row["node"]) for row in pods] == [("web", ""), ("db", "node-0")]
    nodes = api.get("/api/v1/clusters/recorded/nodes/", {"at": "2026-11-22T03:31Z"}).json()["results"]
    assert [row["name"] for row in nodes] == ["node-0", "node-1"]
    gap = api.get("/api/v1/clusters/recorded/pods/", {"at": "2026-11-22T03:25Z"})
    assert gap.status_code == 404
    assert "in a gap" in gap.json()["detail"]
    stretches = api.get("/api/v1/clusters/recorded/flight/").json()["known"]
    assert [(row["began"], row["until"]) for row in stretches] == [
        ("2026-11-22T03:00:01Z", "2026-11-22T03:20:00Z"),
        ("2026-11-22T03:30:00Z", "2026-11-22T03:31:40Z"),
    ]


def test_a_moment_is_rebuilt_once_and_is_never_the_current_snapshot(
    cluster: Cluster, api_as: Callable[[Role], APIClient]
) -> None:
    api = api_as(Role.VIEWER)
    for _ in range(2):
        api.get("/api/v1/clusters/recorded/pods/", {"at": "2026-11-22T03:11:59Z"})
    assert Snapshot.objects.filter(moment__isnull=False).count() == 1
    now = api.get("/api/v1/clusters/recorded/pods/").json()["results"]
    assert [row["name"] for row in now] == ["web"]
    for second in range(20):
        api.get("/api/v1/clusters/recorded/pods/", {"at": f"2026-11-22T03:11:{second:02}Z"})
    assert Snapshot.objects.filter(moment__isnull=False).count() == 8


def test_the_picker_leads_to_the_same_page_as_of_the_moment(
    cluster: Cluster, client_as: Callable[[Role], Client]
) -> None:
    query = {"next": "/pods/?cluster=recorded&search=web&page=3", "at": "2026-11-22T04:12", "zone": "Europe/Berlin"}
    answer = client_as(Role.VIEWER).get("/clusters/recorded/moment/", query)
    assert answer["Location"] == "/pods/?cluster=recorded&search=web&at=2026-11-22T03%3A12%3A00Z"
    elsewhere = client_as(Role.VIEWER).get("/clusters/recorded/moment/", query | {"next": "https://example.org/"})
    assert elsewhere["Location"].startswith("/?cluster=recorded&at=")


def test_one_click_makes_a_scenario_of_a_moment(cluster: Cluster, client_as: Callable[[Role], Client]) -> None:
    answer = client_as(Role.EDITOR).post("/recordings/of/recorded/moment/", {"at": "2026-11-22T03:11:59Z"})
    scenario = Scenario.objects.get(name="recorded as of 2026-11-22 03:11")
    assert answer["Location"] == f"/scenarios/{scenario.pk}/"
    snapshot = scenario.revisions.get().snapshot
    assert snapshot is not None
    assert snapshot.counts == {"Node": 1, "Pod": 2, "pending": 1}


def test_a_range_becomes_a_recording(cluster: Cluster, editor: User) -> None:
    from kschedweb.clusters.flight.selectors import moment_of

    def at(second: int) -> Any:
        return moment_of(START_TIME + second * SECOND)

    recording = from_flight_recorder.recording_of_range(user=editor, cluster=cluster, first=at(600), last=at(800))
    assert (recording.records, recording.nodes, recording.pods, recording.lasted, recording.ended) == (
        5,
        1,
        2,
        200.0,
        True,
    )
    with pytest.raises(NotFound, match="gap of the recording within"):
        from_flight_recorder.recording_of_range(user=editor, cluster=cluster, first=at(600), last=at(1850))


def test_the_switch(cluster: Cluster, client_as: Callable[[Role], Client], api_as: Callable[[Role], APIClient]) -> None:
    form = {"on": "on", "days": 3, "limit_mib": 100}
    assert client_as(Role.EDITOR).post("/clusters/recorded/flight/", form).status_code == 302
    assert (FlightRecorder.objects.get().days, FlightRecorder.objects.get().limit_mib) == (3, 100)
    assert client_as(Role.EDITOR).post("/clusters/recorded/flight/", form | {"days": 0}).status_code == 422
    page = client_as(Role.VIEWER).get("/clusters/recorded/flight/").content.decode()
    assert "connection reset" in page
    assert api_as(Role.EDITOR).put("/api/v1/clusters/recorded/flight/", {"on": False}).json()["on"] is False
    assert FlightRecorder.objects.get().days == 3
    Cluster.objects.update(source=ClusterSource.IMPORT)
    refused = api_as(Role.EDITOR).put("/api/v1/clusters/recorded/flight/", {"on": True})
    assert refused.status_code == 409


def test_as_of_a_moment_who_sees_one_namespace_sees_no_more(cluster: Cluster, admin: User) -> None:
    ada = User.objects.create_user(username="ada", password="ada-password", role=Role.NONE)
    grant_give(actor=admin, user="ada", role="viewer", cluster="recorded", namespaces=["web"])
    client = _as(ada)
    at = "?cluster=recorded&at=2026-11-22T03:11:59Z"
    page = client.get(f"/pods/{at}")
    assert page.status_code == 200
    assert b"default/" not in page.content
    assert elements(page, "[data-others]")[0]["data-others"] == "2"
    assert b"node-0" in client.get(f"/nodes/{at}").content
    assert client.get(f"/decision/recorded/default/web/{at}").status_code == 404
    assert b"db" in _as(admin).get(f"/pods/{at}").content


def _as(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client
