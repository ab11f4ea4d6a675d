"""Scrapes of the site's own metrics: the people who may, and their view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.test import Client

from kschedweb.accounts.services import token_create
from kschedweb.engine.framework.decision import Decision, PluginCall
from kschedweb.engine.framework.status import Code
from kschedweb.engine.live import QueueDepths
from kschedweb.engine.releases import get_release
from kschedweb.live.schedulers.metrics import REGISTRY, Instruments

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


def test_a_scraper_needs_a_token_or_a_role(db: None, viewer: User, client_as: Callable[[str], Client]) -> None:
    assert Client().get("/metrics").status_code in (401, 403)
    assert client_as("viewer").get("/metrics").status_code == 200
    _, key = token_create(user=viewer, name="prometheus", scope="view", days=30)
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {key}", "Accept": "text/plain"})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert b"# TYPE scheduler_pending_pods gauge" in answer.content


def value(series: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(series, {"cluster": "c", "profile": "p", **labels})


def test_series_have_kube_schedulers_names_labels_and_units() -> None:
    instruments = Instruments("c", "p", "kschedweb-p")
    durations = {"PreFilter": 0.001, "Filter": 0.002, "Score": 0.003, "Permit": 0.5}
    calls = [PluginCall("NodeName", "Filter", "Success", 0.0002), PluginCall("NodeName", "Filter", "Success", 0.0004)]
    instruments.count_decision(
        Decision("a/b", "u", 0.0, "p", durations=durations, codes={"Permit": Code.WAIT}, calls=calls)
    )
    instruments.count_attempt("scheduled", 0.7)
    durations = {"Filter": 0.002, "PostFilter": 0.01}
    instruments.count_decision(
        Decision("a/c", "v", 0.0, "p", durations=durations, codes={"PostFilter": Code.UNSCHEDULABLE})
    )
    instruments.count_attempt("unschedulable", 0.012)
    instruments.permit_waited(3.0, Code.UNSCHEDULABLE)
    instruments.pod_bound(1.5, 20)
    instruments.count_incoming({("active", "PodAdd"): 3})
    instruments.count_incoming({("active", "PodAdd"): 5, ("backoff", "NodeAdd"): 1})
    instruments.count_preemption(4)
    instruments.set_leading(True)
    instruments.set_depths(QueueDepths(1, 2, 3, 4, waiting=5, awaiting_approval=5, binding=6, nodes=7, pods=8))
    assert value("scheduler_schedule_attempts_total", result="scheduled") == 1
    assert value("scheduler_scheduling_algorithm_duration_seconds_sum") == 0.006 + 0.002
    assert value("scheduler_scheduling_attempt_duration_seconds_sum", result="unschedulable") == 0.012
    points = "scheduler_framework_extension_point_duration_seconds_count"
    assert value(points, extension_point="Filter", status="Success") == 2
    assert value(points, extension_point="Permit", status="Wait") == 1
    assert value(points, extension_point="PostFilter", status="Unschedulable") == 1
    plugin = {"plugin": "NodeName", "extension_point": "Filter", "status": "Success"}
    assert value("scheduler_plugin_execution_duration_seconds_count", **plugin) == 2
    assert value("scheduler_goroutines", operation="binding") == 11
    assert value("scheduler_preemption_attempts_total") == 1
    assert value("scheduler_permit_wait_duration_seconds_sum", result="Unschedulable") == 3.0
    assert value("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="15+") == 1.5
    assert value("scheduler_queue_incoming_pods_total", queue="active", event="PodAdd") == 5
    assert value("scheduler_queue_incoming_pods_total", queue="backoff", event="NodeAdd") == 1
    assert value("scheduler_preemption_victims_sum") == 4
    assert value("leader_election_master_status", name="kschedweb-p") == 1
    assert value("scheduler_pending_pods", queue="gated") == 4
    assert value("scheduler_cache_size", type="assumed_pods") == 11
    instruments.forget_depths()
    assert value("leader_election_master_status", name="kschedweb-p") == 0
    assert value("scheduler_pending_pods", queue="gated") is None
    assert value("scheduler_goroutines", operation="binding") is None


def test_queued_entities_have_the_label_of_the_release() -> None:
    instruments = Instruments("c", "p", "kschedweb-p")
    counts = {("active", "pod"): 2, ("gated", "podgroup"): 1}
    instruments.set_entities(counts, "type")
    assert value("scheduler_queued_entities", queue="gated", type="podgroup", entity="") == 1
    # A policy with another release takes over.
    instruments.set_entities(counts, "entity")
    assert value("scheduler_queued_entities", queue="gated", type="podgroup", entity="") is None
    assert value("scheduler_queued_entities", queue="active", type="", entity="pod") == 2
    instruments.set_entities(counts, "")
    assert value("scheduler_queued_entities", queue="active", type="", entity="pod") is None
    instruments.set_entities(counts, "entity")
    instruments.forget_depths()
    assert value("scheduler_queued_entities", queue="active", type="", entity="pod") is None


def test_incoming_entities_have_the_label_of_the_release() -> None:
    name, came = "scheduler_queue_incoming_entities_total", ("active", "PodAdd", "podgroup")
    labels = {"queue": "active", "event": "PodAdd"}
    instruments = Instruments("c", "p", "kschedweb-p")
    before = value(name, **labels, type="podgroup", entity="") or 0.0
    instruments.count_incoming_entities({came: 3}, "")
    assert (value(name, **labels, type="podgroup", entity="") or 0.0) == before
    instruments.count_incoming_entities({came: 3}, "type")
    instruments.count_incoming_entities({came: 5}, "type")
    assert value(name, **labels, type="podgroup", entity="") == before + 5
    # A policy with another release takes over, with a queue of its own.
    Instruments("c", "p", "kschedweb-p").count_incoming_entities({came: 2}, "entity")
    assert value(name, **labels, type="", entity="podgroup") == 2


def test_releases_name_the_kind_of_entity_differently() -> None:
    assert [get_release(name).entity_label for name in ("1.36", "1.37", "1.38")] == ["", "type", "entity"]
