"""The pages about quota queues, on the demo: the tree, a queue in order, and why a workload waits."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.flight.models import FlightRecorder
from kschedweb.clusters.flight.stretches import SETTLE, Flight
from kschedweb.clusters.following.reflector import Changed, Listed
from kschedweb.clusters.kinds import QUEUE_KINDS
from tests.support.html import text

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.clusters.models import Snapshot

ClientAs = Callable[[str], "Client"]
WAITING = "/queues/demo/analytics/job-wide-join-prep/"


def test_the_tree_shows_cohorts_above_their_queues(client_as: ClientAs, demo: Snapshot) -> None:
    answer = client_as("viewer").get("/queues/?cluster=demo")
    nodes = list(answer.context["page"])
    assert [(node["name"], node["depth"]) for node in nodes] == [
        ("batch", 0), ("analytics", 1), ("backfill", 1), ("reports", 1), ("staging", 1),
        ("ml", 0), ("research", 1), ("training", 1),
    ]  # fmt: skip
    assert answer.context["waiting"] == sum(node["waiting"] for node in nodes if node["kind"] == "queue") == 20
    (bar,) = [bar for bar in nodes[1]["resources"] if (bar["flavor"], bar["resource"]) == ("on-demand", "cpu")]
    assert (bar["nominal"], bar["used"], bar["borrowed"]) == (24_000, 30_000, 6_000)
    assert float(bar["borrowed_width"].rstrip("%")) == pytest.approx(100 * 6 / 32, abs=0.01)
    assert "20 workloads waiting in 6 queues" in text(answer)


def test_a_cluster_without_kueue_is_told_so(
    client_as: ClientAs, demo_objects: Any, store_snapshot: Any, db: None
) -> None:
    store_snapshot([item for item in demo_objects if item["kind"] not in QUEUE_KINDS], "plain")
    answer = client_as("viewer").get("/queues/?cluster=plain")
    assert "plain has none of Kueue's objects" in text(answer)


def test_a_queue_lists_who_waits_in_the_order_of_their_turn(client_as: ClientAs, demo: Snapshot) -> None:
    answer = client_as("viewer").get("/queues/demo/analytics/")
    rows = list(answer.context["page"])
    assert [row["position"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0]["workload"] == "analytics/job-attribution"
    assert [row["priority"] for row in rows] == sorted((row["priority"] for row in rows), reverse=True)
    assert {row["workload"] for row in answer.context["queue"]["holders"]} >= {"analytics/job-funnel"}


def test_a_workload_that_waits_is_explained(client_as: ClientAs, demo: Snapshot) -> None:
    answer = client_as("viewer").get(WAITING)
    page, context = text(answer), answer.context["answer"]
    assert context["verdict"] == "no candidates"
    assert "job-wide-join-prep waits for 16 CPU in on-demand, and may evict nobody for it" in page
    assert context["position"] == 2
    assert context["remedies"]
    assert all(remedy["sentence"] in page for remedy in context["remedies"])
    assert {row["verdict"] for row in context["evictions"]["candidates"]} == {"in vain", "within nominal", "priority"}


def test_a_run_time_that_is_said_makes_the_forecast(client_as: ClientAs, demo: Snapshot) -> None:
    client = client_as("viewer")
    answer = client.get(f"{WAITING}?run_minutes=500")
    assert answer.context["answer"]["forecast"]["run_times"] == "Every job is taken to run for 8 h 20 min, as you said."
    assert client.get(f"{WAITING}?run_minutes=0").status_code == 400


def test_what_is_not_there_is_not_found(client_as: ClientAs, demo: Snapshot) -> None:
    client = client_as("viewer")
    for address in ("/queues/demo/nothing/", "/queues/demo/analytics/nothing/", "/queues/demo/pods/analytics/nothing/"):
        assert client.get(address).status_code == 404


def test_a_gated_pod_leads_to_its_workload(client_as: ClientAs, demo: Snapshot) -> None:
    client = client_as("viewer")
    decision = text(client.get("/decision/demo/batch/quarter-close/"))
    assert 'data-queue-gate="kueue.x-k8s.io/admission"' in decision
    answer = client.get("/queues/demo/pods/batch/quarter-close/")
    assert answer["Location"] == "/queues/demo/batch/job-quarter-close/"


def test_rest_tells_what_the_pages_show(api_as: Callable[[str], Any], demo: Snapshot) -> None:
    api = api_as("viewer")
    nodes = api.get("/api/v1/clusters/demo/queues/").json()["nodes"]
    assert [node["name"] for node in nodes if node["kind"] == "cohort"] == ["batch", "ml"]
    queue = api.get("/api/v1/clusters/demo/queues/training/").json()
    assert [row["workload"] for row in queue["workloads"]] == ["ml/job-vision-xl", "ml/job-speech", "ml/job-tune-1"]
    workload = api.get("/api/v1/clusters/demo/workloads/ml/job-speech/").json()
    assert workload["verdict"] == "preempts"
    (target,) = [item for item in workload["evictions"]["candidates"] if item["verdict"] == "target"]
    assert (target["workload"], target["rule"]) == ("data/job-probe-c", "InCohortReclamation")
    refused = api.get("/api/v1/clusters/demo/workloads/ml/job-speech/?run_minutes=x")
    assert refused.status_code == 400


def test_the_history_of_a_workload_tells_what_happened_to_it(
    client_as: ClientAs, api_as: Callable[[str], Any], demo: Snapshot
) -> None:
    page = client_as("viewer").get("/queues/demo/analytics/job-cube-hourly/")
    steps = page.context["answer"]["history"]
    assert [step["step"] for step in steps] == ["created", "quota", "admitted", "finished"]
    assert "Got quota for 4 pods in on-demand" in text(page)
    assert not page.context["is_recorded"]
    history = api_as("viewer").get("/api/v1/clusters/demo/workloads/ml/job-speech/").json()["history"]
    assert [(step["step"], step["recorded"]) for step in history] == [("created", False), ("waits", False)]
    assert "1 more needed" in history[1]["message"]


def test_a_recorded_cluster_tells_every_change_of_a_workload(
    client_as: ClientAs, demo: Snapshot, demo_objects: Any, store_snapshot: Any
) -> None:
    stored = store_snapshot(demo_objects, "recorded")
    waiting = next(item for item in stored_workloads(demo_objects) if item["metadata"]["name"] == "job-speech")
    begin = int(stored.taken_at.timestamp() - 600) * 1_000_000
    flight = Flight(stored.cluster, "test", ("Workload",), "started")
    FlightRecorder.objects.update_or_create(cluster=stored.cluster, defaults={"on": True, "holder": "test"})
    other = copy.deepcopy(waiting)
    other["status"]["conditions"][0]["message"] = "insufficient unused quota, 3 more needed"
    flight.take_news(begin, Listed("Workload", [other], "1", "start"))
    flight.store_known(begin + SETTLE)
    for seconds, raw in ((60, waiting), (120, other)):
        flight.take_news(begin + seconds * 1_000_000, Changed("Workload", raw))
    flight.store_known(begin + 300 * 1_000_000)
    page = client_as("viewer").get("/queues/recorded/ml/job-speech/")
    steps = [step for step in page.context["answer"]["history"] if step["recorded"]]
    assert [step["step"] for step in steps] == ["waits", "waits"]
    assert [step["at"].timestamp() for step in steps] == [begin / 1e6 + 60, begin / 1e6 + 120]
    assert f"?at={steps[0]['moment'].replace(':', '%3A')}" in page.content.decode()


def stored_workloads(objects: Any) -> list[Any]:
    return [item for item in objects if item["kind"] == "Workload"]
