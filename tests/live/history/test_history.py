"""History of a pod that was pending at 03:12, until it ran: by page and over REST."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.accounts.roles import Role
from kschedweb.clusters.flight import storage
from kschedweb.clusters.flight.models import FlightRecorder
from kschedweb.clusters.flight.stretches import SETTLE, Flight
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Removed
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.clusters.services import snapshot_store
from kschedweb.live.history import builder
from kschedweb.live.schedulers.models import LiveDecision, LiveScheduler, Result
from kschedweb.policies.models import Policy
from tests.clusters.flight.test_rebuilding import SECOND, START_TIME, node, pod
from tests.support.html import elements
from tests.support.html import text as text_of

pytestmark = pytest.mark.django_db
KINDS = ("Node", "Pod")


class FlightWriter:
    """Feeds a recorder with what happens at seconds after 03:00."""

    def __init__(self) -> None:
        self.cluster = Cluster.objects.create(name="recorded", source=ClusterSource.TOKEN, server="https://127.0.0.1:1")
        FlightRecorder.objects.create(cluster=self.cluster, on=True, holder="me")
        self.flight = Flight(self.cluster, "me", KINDS, "started")

    def begins(self, *objects: dict[str, Any]) -> None:
        for kind in KINDS:
            listed = [item for item in objects if item["kind"] == kind]
            self.flight.take_news(START_TIME, Listed(kind, listed, "1", "start"))
        self.flight.store_known(START_TIME + SETTLE)

    def happens(self, second: float, raw: dict[str, Any], *, is_removed: bool = False) -> None:
        self.flight.take_news(int(START_TIME + second * SECOND), (Removed if is_removed else Changed)(raw["kind"], raw))

    def heard(self, second: float) -> None:
        for kind in KINDS:
            self.flight.take_news(int(START_TIME + second * SECOND), Bookmark(kind, "2"))
        self.flight.store_known(int(START_TIME + second * SECOND))


@pytest.fixture
def flight_writer() -> FlightWriter:
    """web comes at 03:10, a node that is too small at 03:11, db goes at 03:12 and web runs."""
    writer = FlightWriter()
    writer.begins(node(0), pod("db", "node-0"))
    writer.happens(600, pod("web"))
    writer.happens(605, pod("other"))
    writer.happens(660, node(1, cpu="1"))
    writer.happens(720, pod("db", "node-0"), is_removed=True)
    writer.happens(720.5, pod("web", "node-0") | {"status": {"phase": "Pending"}})
    writer.happens(723, pod("web", "node-0"))
    writer.heard(1200)
    snapshot_store(cluster=writer.cluster, objects=[node(0), pod("web", "node-0")], problems=[])
    return writer


def at(second: float) -> str:
    return datetime.fromtimestamp(START_TIME / 1e6 + second, UTC).isoformat().replace("+00:00", "Z")


ADDRESS = "/api/v1/clusters/recorded/history/default/web/"


def test_the_history_is_exact_to_the_event(flight_writer: FlightWriter, api_as: Callable[[Role], APIClient]) -> None:
    history = api_as(Role.VIEWER).get(ADDRESS).json()
    assert (history["kept"], history["complete"], history["since"], history["until"]) == (False, True, at(600), at(723))
    first, last = history["tries"]
    assert (first["at"], first["node"], first["cause"], first["rejected_by"]) == (
        at(600), "", "PodAdd", ["NodeResourcesFit"],
    )  # fmt: skip
    assert first["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert (last["at"], last["node"], last["mattered_count"]) == (at(720), "node-0", 1)
    assert last["mattered"] == [
        {
            "at": at(720),
            "event": "AssignedPodDelete",
            "kind": "Pod",
            "object": "default/db",
            "plugins": ["NodeResourcesFit"],
        }
    ]
    assert [(milestone["what"], milestone["at"], milestone["detail"]) for milestone in history["milestones"]] == [
        ("came", at(600), "2026-11-22T03:00:00Z"), ("bound", at(720.5), "node-0"), ("ran", at(723), ""),
    ]  # fmt: skip


def test_a_segment_each_change_tells_the_same(
    monkeypatch: pytest.MonkeyPatch, api_as: Callable[[Role], APIClient]
) -> None:
    monkeypatch.setattr(storage, "CHUNK", 1)
    writer = FlightWriter()
    writer.begins(node(0), pod("db", "node-0"))
    writer.happens(10, pod("web"))
    writer.happens(20, pod("web"), is_removed=True)
    writer.happens(30, pod("web"))
    writer.heard(35)
    writer.happens(40, pod("db", "node-0"), is_removed=True)
    writer.happens(41, pod("web", "node-0"))
    writer.heard(50)
    api = api_as(Role.VIEWER)
    history = api.get(ADDRESS).json()
    assert (history["since"], [entry["at"] for entry in history["tries"]]) == (at(30), [at(30), at(40)])
    earlier = api.get(ADDRESS, {"at": at(15)}).json()
    assert [entry["what"] for entry in earlier["milestones"]] == ["came", "gone"]
    assert [entry["at"] for entry in earlier["tries"]] == [at(10)]


def test_a_gap_is_told_and_nothing_is_made_up_within_it(api_as: Callable[[Role], APIClient]) -> None:
    writer = FlightWriter()
    writer.begins(node(0), pod("db", "node-0"))
    writer.happens(10, pod("web"))
    writer.heard(20)
    writer.flight.note_broken(25 * SECOND + START_TIME, "Node", "connection reset")
    writer.heard(60)
    writer.heard(62)
    writer.happens(70, pod("db", "node-0"), is_removed=True)
    writer.heard(80)
    history = api_as(Role.VIEWER).get(ADDRESS).json()
    (gap,) = [entry for entry in history["milestones"] if entry["what"] == "gap"]
    assert (gap["at"], gap["until"]) == (at(20), at(62))
    assert "connection reset" in gap["detail"]
    assert not [entry for entry in history["tries"] if at(20) < entry["at"] < at(62)]
    assert history["tries"][-1]["node"] == "node-0"
    assert history["until"] == at(80)


def test_decisions_that_a_live_scheduler_kept_are_the_tries(
    flight_writer: FlightWriter, api_as: Callable[[Role], APIClient]
) -> None:
    revision = Policy.objects.get(name="default").revisions.get()
    live = LiveScheduler.objects.create(
        cluster=flight_writer.cluster, scheduler_name="live", policy=revision.policy, revision=revision
    )
    rows = [
        (601.0, "", "0/1 nodes are available: 1 Insufficient cpu.", ["NodeResourcesFit"], Result.UNSCHEDULABLE),
        (720.2, "node-0", "", [], Result.BOUND),
    ]
    decisions = [
        LiveDecision.objects.create(
            id=uuid4(), scheduler=live, at=datetime.fromtimestamp(START_TIME / 1e6 + second, UTC), namespace="default",
            name="web", uid="web", attempt=number, result=result, node=on, message=message, rejected_by=by,
            revision=revision,
        )
        for number, (second, on, message, by, result) in enumerate(rows, 1)
    ]  # fmt: skip
    history = api_as(Role.VIEWER).get(ADDRESS).json()
    assert history["kept"]
    assert [(entry["at"], entry["decision"]) for entry in history["tries"]] == [
        (at(601), str(decisions[0].pk)), (at(720.2), str(decisions[1].pk)),
    ]  # fmt: skip
    assert [entry["object"] for entry in history["tries"][1]["mattered"]] == ["default/db"]


def test_what_cannot_be_told_is_said(
    flight_writer: FlightWriter, api_as: Callable[[Role], APIClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = api_as(Role.VIEWER)
    nobody = api.get("/api/v1/clusters/recorded/history/default/nobody/")
    assert (nobody.status_code, "No pod default/nobody was recorded" in nobody.json()["detail"]) == (404, True)
    assert api.get(ADDRESS, {"at": "yesterday"}).status_code == 400
    assert api.get(ADDRESS, {"at": at(7200)}).status_code == 404
    assert api.get(ADDRESS, {"policy": "nothing"}).status_code == 404
    monkeypatch.setattr(builder, "MOST_LINES", 2)
    cut = api.get(ADDRESS).json()
    assert (cut["complete"], cut["milestones"][-1]["what"]) == (False, "cut")


def test_the_page_leads_on_to_each_moment(flight_writer: FlightWriter, client_as: Callable[[Role], Client]) -> None:
    page = client_as(Role.EDITOR).get("/decision/recorded/default/web/history/?policy=default")
    text = page.content.decode()
    assert page.status_code == 200
    assert "does not report its tries" in text
    assert "/decision/recorded/default/web/?at=2026-11-22T03%3A12%3A00Z" in text
    assert "Insufficient cpu" in text
    assert elements(page, "time[datetime=2026-11-22T03:00:00+00:00]"), "when it was created"
    assert "2026-11-22T03:00:00Z" not in text_of(page)
    assert 'action="/recordings/of/recorded/moment/"' in text
    assert (
        "/recordings/of/" not in client_as(Role.VIEWER).get("/decision/recorded/default/web/history/").content.decode()
    )
    decision = client_as(Role.VIEWER).get("/decision/recorded/default/web/?policy=default").content.decode()
    assert "/decision/recorded/default/web/history/?policy=default" in decision
