"""Bindings, statuses, evictions and events against the real API server, and what is made of its answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.live.schedulers.writing.limits import TokenBucket
from kschedweb.live.schedulers.writing.recorder import EventRecorder
from kschedweb.live.schedulers.writing.writer import WriteCode, Writer, WriteResult
from tests.support.faultproxy import FaultProxy
from tests.support.faults import DropReply, Fault, Hang, Refuse, Sever, Truncate
from tests.support.place import PODS, Place
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]


def test_a_pod_is_bound_once(place: Place) -> None:
    pod = place.pod("once")
    assert place.writer.bind(pod, "node-a").result is WriteCode.BOUND
    assert place.writer.bind(pod, "node-a").result is WriteCode.BOUND
    other = place.writer.bind(pod, "node-b")
    assert other.result is WriteCode.CONFLICT
    assert other.text.endswith('pods/binding "once": pod once is already assigned to node "node-a"')
    assert place.read(pod)["spec"]["nodeName"] == "node-a"
    scheduled = next(
        condition for condition in place.read(pod)["status"]["conditions"] if condition["type"] == "PodScheduled"
    )
    assert scheduled["status"] == "True"


def test_the_server_says_why_a_pod_cannot_be_bound(place: Place) -> None:
    gated = place.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    refused = place.writer.bind(gated, "node-a")
    assert refused.result is WriteCode.CONFLICT
    assert refused.text.endswith("pod gated has non-empty .spec.schedulingGates")
    leaving = place.pod("leaving")
    place.plane.call("PATCH", f"{PODS}/leaving", {"metadata": {"finalizers": ["example.com/stay"]}})
    place.plane.call("DELETE", f"{PODS}/leaving")
    refused = place.writer.bind(leaving, "node-a")
    assert refused.result is WriteCode.CONFLICT
    assert refused.text.endswith("pod leaving is being deleted, cannot be assigned to a host")
    place.plane.call("PATCH", f"{PODS}/leaving", {"metadata": {"finalizers": None}})


def test_another_pod_of_that_name_is_not_touched(place: Place) -> None:
    old = place.pod("twin")
    place.plane.call("DELETE", f"{PODS}/twin", {"gracePeriodSeconds": 0})
    assert place.writer.bind(old, "node-a").result is WriteCode.MISSING
    new = place.pod("twin")
    assert place.writer.bind(old, "node-a").result is WriteCode.MISSING
    assert place.writer.report_unscheduled(old, "Unschedulable", "no room").result is WriteCode.MISSING
    assert place.writer.evict(old, new, "water").result is WriteCode.MISSING
    raw = place.read(new)
    assert "nodeName" not in raw["spec"]
    assert "conditions" not in raw["status"]
    assert "deletionTimestamp" not in raw["metadata"]


def test_who_leads_no_more_writes_nothing(place: Place) -> None:
    pod = place.pod("left-alone")
    place.leads.clear()
    assert place.writer.bind(pod, "node-a").result is WriteCode.WITHHELD
    assert place.writer.report_unscheduled(pod, "Unschedulable", "no room").result is WriteCode.WITHHELD
    assert place.writer.evict(pod, pod, "water").result is WriteCode.WITHHELD
    assert "nodeName" not in place.read(pod)["spec"]


def test_leadership_is_asked_for_after_the_wait_for_a_turn(place: Place) -> None:
    first, second = place.pod("first"), place.pod("second")
    writer = Writer(place.client, place.pods, leading=place.leads.is_set, limit=TokenBucket(1.5, 1))
    assert writer.bind(first, "node-a").result is WriteCode.BOUND
    outcomes: list[WriteResult] = []
    waiting = threading.Thread(target=lambda: outcomes.append(writer.bind(second, "node-a")))
    waiting.start()
    place.leads.clear()
    waiting.join(10)
    assert [outcome.result for outcome in outcomes] == [WriteCode.WITHHELD]
    assert "nodeName" not in place.read(second)["spec"]


def test_conditions_are_merged_as_kube_scheduler_does(place: Place) -> None:
    pod = place.pod("waits")
    other = {"type": "example.com/ready", "status": "True"}
    place.plane.call("PATCH", f"{PODS}/waits/status", {"status": {"conditions": [other]}})
    place.read(pod)
    assert place.writer.report_unscheduled(pod, "Unschedulable", "no room", "node-a").is_done
    status = place.read(pod)["status"]
    mine = next(condition for condition in status["conditions"] if condition["type"] == "PodScheduled")
    written_fields = {key: mine[key] for key in ("status", "reason", "message", "lastProbeTime", "observedGeneration")}
    assert written_fields == {
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "lastProbeTime": None,
        "observedGeneration": 1,
    }
    assert status["nominatedNodeName"] == "node-a"
    assert {condition["type"] for condition in status["conditions"]} == {"example.com/ready", "PodScheduled"}
    version = place.read(pod)["metadata"]["resourceVersion"]
    assert place.writer.report_unscheduled(pod, "Unschedulable", "no room", "node-a").is_done
    assert place.read(pod)["metadata"]["resourceVersion"] == version  # nothing was new, so nothing was written
    assert place.writer.report_unscheduled(pod, "SchedulerError", "no luck").is_done
    rewritten = next(
        condition for condition in place.read(pod)["status"]["conditions"] if condition["type"] == "PodScheduled"
    )
    assert (rewritten["message"], rewritten["lastTransitionTime"]) == ("no luck", mine["lastTransitionTime"])
    assert place.writer.nominate(pod, "").is_done
    assert "nominatedNodeName" not in place.read(pod)["status"]


def test_a_victim_is_marked_and_leaves(place: Place) -> None:
    victim, preemptor = place.pod("victim"), place.pod("preemptor", schedulerName="water")
    assert place.writer.bind(victim, "node-a").is_done
    place.plane.call("PATCH", f"{PODS}/victim", {"metadata": {"finalizers": ["example.com/stay"]}})
    place.read(victim)
    assert place.writer.evict(victim, preemptor, "water").result is WriteCode.WRITTEN
    raw = place.read(victim)
    mark = next(condition for condition in raw["status"]["conditions"] if condition["type"] == "DisruptionTarget")
    assert (mark["status"], mark["reason"]) == ("True", "PreemptionByScheduler")
    assert mark["message"] == "water: preempting to accommodate a higher priority pod"
    assert raw["metadata"]["deletionTimestamp"]
    place.plane.call("PATCH", f"{PODS}/victim", {"metadata": {"finalizers": None}})


def test_a_budget_holds_where_it_is_asked_to(place: Place) -> None:
    victim, preemptor = place.pod("guarded"), place.pod("pusher")
    assert place.writer.bind(victim, "node-a").is_done
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    place.plane.call("POST", budgets, {"metadata": {"name": "one"}, "spec": spec})
    try:
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        place.plane.call("PATCH", f"{PODS}/guarded/status", {"status": ready})
        place.read(victim)
        refused = place.writer.evict(victim, preemptor, "water", keep_budgets=True)
        assert refused.result is WriteCode.REFUSED
        assert "disruption budget" in refused.text
        assert "deletionTimestamp" not in place.read(victim)["metadata"]
        assert place.writer.evict(victim, preemptor, "water").is_done
        assert place.read(victim)["metadata"]["deletionTimestamp"]
    finally:
        place.plane.call("DELETE", f"{budgets}/one")


def test_events_read_like_kube_schedulers(place: Place) -> None:
    pod, other = place.pod("told"), place.pod("other")
    recorder = EventRecorder(place.client, place.pods, controller="water")
    recorder.record_scheduled(pod, "node-a")
    recorder.record_preempted(other, pod, "node-b")
    recorder.failed_scheduling(pod, "0/3 nodes are available: " + "ä" * 1000)
    recorder.close()
    assert (recorder.written, recorder.failed, recorder.dropped) == (3, 0, 0)
    scheduled, failed = sorted(place.events(pod), key=lambda event: event["reason"], reverse=True)
    assert scheduled["note"] == "Successfully assigned default/told to node-a"
    assert (scheduled["type"], scheduled["reason"], scheduled["action"]) == ("Normal", "Scheduled", "Binding")
    assert scheduled["reportingController"] == "water"
    assert scheduled["reportingInstance"].startswith("water-")
    assert scheduled["regarding"]["resourceVersion"]
    assert (failed["type"], failed["reason"], failed["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    assert len(failed["note"].encode()) in (1023, 1024)
    assert failed["note"].endswith("ä ...")
    (preempted,) = place.events(other)
    assert preempted["note"] == f"Preempted by pod {pod.uid} on node node-b"
    assert (preempted["reason"], preempted["action"]) == ("Preempted", "Preempting")
    assert "related" not in preempted


def test_what_is_said_again_of_the_same_state_is_a_series(place: Place) -> None:
    pod = place.pod("again")
    recorder = EventRecorder(place.client, place.pods, controller="water")
    for _ in range(3):
        recorder.failed_scheduling(pod, "no room")
    recorder.close()
    (event,) = place.events(pod)
    assert event["series"]["count"] in (2, 3)
    place.plane.call("PATCH", f"{PODS}/again", {"metadata": {"labels": {"new": "state"}}})
    place.read(pod)
    recorder = EventRecorder(place.client, place.pods, controller="water")
    recorder.failed_scheduling(pod, "no room")
    recorder.close()
    assert len(place.events(pod)) == 2


@pytest.fixture
def proxy(control_plane: ControlPlane, tmp_path: Path) -> Iterator[FaultProxy]:
    with FaultProxy(control_plane, tmp_path) as running:
        yield running


@pytest.fixture
def behind(place: Place, proxy: FaultProxy) -> Iterator[Place]:
    """The same, with the fault proxy in between and little patience."""
    secret = Secret(server=proxy.url, ca=proxy.ca, token=place.plane.tokens["admin"])
    with Client.open(secret) as client:
        proxied_place = Place(place.plane, client)
        proxied_place.writer = Writer(
            client, proxied_place.pods, leading=proxied_place.leads.is_set, call_seconds=1.0, look_seconds=3.0
        )
        yield proxied_place


def test_a_binding_whose_answer_is_lost_counts(behind: Place, proxy: FaultProxy) -> None:
    pod = behind.pod("lost-reply")
    with proxy.fault("POST", "/binding", DropReply(), times=1):
        assert behind.writer.bind(pod, "node-a").result is WriteCode.BOUND
    assert [call.method for call in proxy.calls] == ["POST", "GET"]


@pytest.mark.parametrize("fault", [Sever(), Hang(), Refuse(500), Refuse(503)], ids=lambda fault: type(fault).__name__)
def test_a_binding_that_did_not_arrive_is_known_not_to_be(behind: Place, proxy: FaultProxy, fault: Fault) -> None:
    pod = behind.pod("lost-call")
    with proxy.fault("POST", "/binding", fault, times=1):
        assert behind.writer.bind(pod, "node-a").result is WriteCode.REFUSED
    assert behind.writer.bind(pod, "node-a").result is WriteCode.BOUND


def test_a_binding_nobody_can_tell_about_is_unknown_until_somebody_can(behind: Place, proxy: FaultProxy) -> None:
    pod = behind.pod("dark")
    with proxy.fault("POST", "/binding", DropReply()), proxy.fault("GET", "/pods/", Refuse(503)):
        assert behind.writer.bind(pod, "node-a").result is WriteCode.UNKNOWN
    assert behind.writer.read_binding(pod, "node-a").result is WriteCode.BOUND
    assert behind.writer.read_binding(pod, "node-b").result is WriteCode.CONFLICT


def test_an_answer_that_breaks_off_is_no_answer(behind: Place, proxy: FaultProxy) -> None:
    pod = behind.pod("torn")
    with proxy.fault("POST", "/binding", Truncate(20), times=1):
        assert behind.writer.bind(pod, "node-a").result is WriteCode.BOUND


def test_a_server_that_is_away_was_not_reached(behind: Place, proxy: FaultProxy) -> None:
    pod = behind.pod("away")
    proxy.down()
    try:
        assert behind.writer.bind(pod, "node-a").result is WriteCode.REFUSED
    finally:
        proxy.up()
    assert behind.writer.bind(pod, "node-a").result is WriteCode.BOUND


def test_a_busy_server_is_asked_again_when_it_says_so(behind: Place, proxy: FaultProxy) -> None:
    pod = behind.pod("busy")
    behind.writer = Writer(behind.client, behind.pods, leading=behind.leads.is_set)
    with proxy.fault("POST", "/binding", Refuse(429, retry_after=1), times=1) as refused:
        assert behind.writer.bind(pod, "node-a").result is WriteCode.BOUND
        assert len(refused.seen) == 1
    with proxy.fault("PATCH", "/status", Refuse(500), times=2):
        assert behind.writer.report_unscheduled(pod, "Unschedulable", "no room").is_done


def test_events_are_written_once_the_server_is_back(behind: Place, proxy: FaultProxy) -> None:
    pod = behind.pod("late")
    recorder = EventRecorder(behind.client, behind.pods, controller="water", sleep=0.2)
    with proxy.fault("POST", "/events", Refuse(503), times=2), proxy.fault("POST", "/events", DropReply(), times=3):
        recorder.record_scheduled(pod, "node-a")
        wait_until(lambda: bool(behind.events(pod)), "the event", step=0.05)
        recorder.close(5)
    assert len(behind.events(pod)) == 1
    assert recorder.failed == 0
