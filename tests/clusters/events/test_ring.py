"""The ring keeps the newest Events, and takes those of a refresh, of files, of the demo and of the flight recorder."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kschedweb.clusters import demo, demo_events, services
from kschedweb.clusters.events import collector
from kschedweb.clusters.events.collector import MOST_KEPT, MOST_OF_OBJECT, EventCollector
from kschedweb.clusters.events.reading import FORBIDDEN, EventFollower, events_read
from kschedweb.clusters.events.records import EventRecord, read_event
from kschedweb.clusters.events.ring import events_store
from kschedweb.clusters.following.reflector import Changed, Listed, Removed
from kschedweb.clusters.models import Cluster, ClusterSource, EventRow
from kschedweb.clusters.services import sandbox_connect, snapshot_read
from kschedweb.web.errors import ApplicationError
from tests.clusters.conftest import OddServer, node, pod
from tests.support.sandbox import sandbox
from tests.support.seed_events import event

__all__ = ["sandbox"]
pytestmark = pytest.mark.django_db
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def record(number: int, name: str = "web", **more: Any) -> EventRecord:
    """The Event ``number``, of that second past noon."""
    about = read_event(event(f"{name}.{number}", pod(name)))
    assert about is not None
    at = NOON + timedelta(seconds=number)
    moments: dict[str, Any] = {"first_at": at, "last_at": at, **more}
    return replace(about, **moments)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="far", source=ClusterSource.TOKEN)


def seconds_kept(cluster: Cluster) -> list[int]:
    rows = EventRow.objects.filter(cluster=cluster).order_by("last_at")
    return [int((row.last_at - NOON).total_seconds()) for row in rows]


def test_an_object_has_a_share_of_the_ring(cluster: Cluster) -> None:
    numbers = range(MOST_OF_OBJECT + 12)
    events_store(cluster=cluster, events=[record(number) for number in numbers[:20]])
    events_store(cluster=cluster, events=[record(0, "db"), *(record(number) for number in numbers[20:])])
    assert seconds_kept(cluster) == [0, *numbers[12:]]


def test_a_full_ring_forgets_the_oldest(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = EventCollector()
    for number in range(3 * MOST_KEPT):
        newest.add(record(number, f"web-{number}"))
    assert [event.name for event in newest.newest][:: MOST_KEPT - 1] == [
        f"web-{3 * MOST_KEPT - 1}",
        f"web-{2 * MOST_KEPT}",
    ]
    monkeypatch.setattr(collector, "MOST_KEPT", 4)
    for number in range(6):
        events_store(cluster=cluster, events=[record(number, f"web-{number}")])
    assert seconds_kept(cluster) == [2, 3, 4, 5]


def test_a_repeated_event_counts_on(cluster: Cluster) -> None:
    events_store(cluster=cluster, events=[record(1), record(2, "db")])
    events_store(cluster=cluster, events=[record(1, count=9, message="still", last_at=NOON + timedelta(hours=1))])
    row, other = EventRow.objects.filter(cluster=cluster)
    assert (row.count, row.message, row.seconds) == (9, "still", 3_599.0)
    assert (other.name, other.count) == ("db", 1)


def test_a_refresh_reads_the_events_of_the_cluster(sandbox: object) -> None:
    cluster, _ = sandbox_connect()
    snapshot_read(cluster=cluster, step=lambda *_: None)
    cluster.refresh_from_db()
    assert cluster.events_read_at
    assert cluster.events_problem == ""
    assert EventRow.objects.filter(cluster=cluster, kind="Pod", source="default-scheduler").exists()


@pytest.mark.parametrize(("status", "words"), [(403, FORBIDDEN), (500, "status 500")])
def test_a_cluster_that_shows_no_events_says_why(odd_server: OddServer, status: int, words: str) -> None:
    """Those before stay."""
    odd_server.json(
        lambda request: (
            (200, {"gitVersion": "v1.36.3", "status": {"allowed": True}})
            if "events" not in request.path
            else (status, {})
        )
    )
    cluster, _ = services.cluster_connect(user=None, name="far", source="token", server=odd_server.url, token="x")
    events_store(cluster=cluster, events=[record(1)])
    events_read(cluster=cluster)
    cluster.refresh_from_db()
    assert words in cluster.events_problem
    assert cluster.events_read_at
    assert seconds_kept(cluster) == [1]


def import_files(items: list[object], *, replace: bool = False) -> tuple[Cluster, int]:
    text = json.dumps({"kind": "List", "items": items})
    options: dict[str, Any] = {"files": [("dump.json", text)], "limit": 2**20, "replace": replace}
    cluster, _, read = services.cluster_import(user=None, name="dump", **options)
    return cluster, read.left_out


def test_files_bring_their_events() -> None:
    odd = event("odd", pod()) | {"involvedObject": None}
    cluster, left_out = import_files([node(), pod(), event("pod-1.1", pod()), event("node-1.1", node()), odd])
    assert left_out == 1
    assert {(row.kind, row.name) for row in cluster.events.all()} == {("Pod", "pod-1"), ("Node", "node-1")}
    cluster, left_out = import_files([node(), pod(), event("pod-1.2", pod())], replace=True)
    assert left_out == 0
    assert [row.uid for row in cluster.events.all()] == ["uid-of-pod-1.2"]


def test_the_demo_has_the_same_words_each_time() -> None:
    objects = demo.generate_cluster()
    events = demo_events.list_events(objects, demo.NOW)
    assert events == demo_events.list_events(objects, demo.NOW)
    about = {(raw["kind"], raw["metadata"].get("namespace"), raw["metadata"]["name"]) for raw in objects}
    assert {tuple(raw["involvedObject"].get(key) for key in ("kind", "namespace", "name")) for raw in events} <= about
    services.demo_load()
    rows = EventRow.objects.filter(cluster__name="demo")
    assert rows.count() == len(events)
    assert {row.source for row in rows} >= {
        "default-scheduler", "cluster-autoscaler", "karpenter", "kueue-admission", "node-controller"
    }  # fmt: skip
    assert max(row.last_at for row in rows) < demo.NOW


def test_what_is_followed_is_stored_once(cluster: Cluster) -> None:
    def open_client() -> object:
        raise ApplicationError("Nobody connects here.")

    follower = EventFollower(cluster, open_client)  # type: ignore[arg-type]
    first, second = event("web.1", pod("web"), minute=1), event("web.2", pod("web"), minute=2)
    follower.take_message(Listed("Event", [first, second], "1", "start"))
    follower.take_message(Changed("Event", event("web.2", pod("web"), minute=3, count=2)))
    # The cluster forgets it.
    follower.take_message(Removed("Event", first))
    follower.store()
    assert sorted((row.uid, row.count) for row in cluster.events.all()) == [("uid-of-web.1", 1), ("uid-of-web.2", 2)]
    cluster.events.all().delete()
    follower.store()
    assert not cluster.events.exists()
