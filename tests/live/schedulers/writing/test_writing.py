"""Writes, without a server: patches of statuses, limits, rests, names and texts of events."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.following.facts import KnownPods, PodFacts
from kschedweb.clusters.following.reflector import Backoff
from kschedweb.engine.live import GroupRef, ReportGroup
from kschedweb.live.schedulers.writing.limits import TokenBucket
from kschedweb.live.schedulers.writing.patches import group_status_patch, status_patch
from kschedweb.live.schedulers.writing.recorder import event_name, micro_time, truncate_note

FALSE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
NOW = "2026-11-21T12:00:00Z"
WAITS = ("PodScheduled", "False", "Unschedulable", "no room")


def test_a_status_that_says_it_already_is_left_alone() -> None:
    facts = PodFacts(conditions=(FALSE,), nominated="node-a")
    assert status_patch("uid", facts, now=NOW, condition=WAITS, nominated="node-a") is None
    assert status_patch("uid", facts, now=NOW, condition=WAITS) is None
    assert status_patch("uid", PodFacts(), now=NOW, nominated="") is None


def test_only_a_new_status_is_a_new_time() -> None:
    earlier = FALSE | {"lastTransitionTime": "2026-11-21T11:00:00Z"}
    facts = PodFacts(conditions=(earlier,), generation=3)
    patch = status_patch("uid", facts, now=NOW, condition=("PodScheduled", "False", "SchedulerError", "no luck"))
    assert patch is not None
    (condition,) = patch["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2026-11-21T11:00:00Z"
    assert condition["observedGeneration"] == 3
    turned = status_patch("uid", facts, now=NOW, condition=("PodScheduled", "True", "", ""))
    assert turned is not None
    assert turned["status"]["conditions"][0]["lastTransitionTime"] == NOW


def test_a_nomination_is_cleared_and_the_uid_goes_along() -> None:
    patch = status_patch("uid", PodFacts(nominated="node-a"), now=NOW, nominated="")
    assert patch == {"metadata": {"uid": "uid"}, "status": {"nominatedNodeName": None}}


def test_a_groups_condition_is_of_the_object_that_was_tried() -> None:
    report = ReportGroup(GroupRef("default", "gang", "uid"), "False", "Unschedulable", "no room", 3, "")
    condition = {
        "type": "PodGroupInitiallyScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "observedGeneration": 3,
        "lastTransitionTime": NOW,
    }
    patch = {"metadata": {"uid": "uid"}, "status": {"conditions": [condition]}}
    assert group_status_patch(report, now=NOW) == patch
    condition["lastTransitionTime"] = "2026-11-21T11:00:00Z"
    assert group_status_patch(replace(report, since="2026-11-21T11:00:00Z"), now=NOW) == patch


def test_facts_follow_the_pods() -> None:
    pods = KnownPods()
    pods.update_pod(
        {"metadata": {"uid": "a", "resourceVersion": "7", "generation": 2}, "status": {"nominatedNodeName": "n"}}
    )
    pods.update_pod({"metadata": {"uid": "b", "resourceVersion": "8"}})
    assert pods.facts_of("a") == PodFacts("7", 2, (), "n")
    pods.keep_only({"b"})
    assert pods.facts_of("a") == PodFacts()
    assert pods.facts_of("b").resource_version == "8"
    pods.remove_pod("b")
    assert pods.facts_of("b") == PodFacts()


@given(st.lists(st.floats(0, 3), max_size=40), st.floats(0.5, 100), st.integers(1, 20))
def test_a_token_bucket_never_lets_more_through_than_it_says(pauses: list[float], qps: float, burst: int) -> None:
    now = [0.0]
    bucket = TokenBucket(qps, burst, clock=lambda: now[0])
    times: list[float] = []
    for pause in pauses:
        now[0] += pause
        times.append(now[0] + bucket.take_token())
    assert times == sorted(times)
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + (times[last] - start) * qps + 1 + 1e-6


def test_a_limit_that_lets_nothing_through_is_refused_and_a_stop_ends_the_wait() -> None:
    for qps, burst in ((0, 1), (5, 0)):
        with pytest.raises(ValueError, match="more than 0"):
            TokenBucket(qps, burst)
    stop = threading.Event()
    bucket = TokenBucket(0.001, 1)
    assert bucket.wait_turn(stop)
    stop.set()
    assert not bucket.wait_turn(stop)


def test_rests_double_to_half_a_minute_and_begin_anew_after_quiet() -> None:
    now = [0.0]
    backoff = Backoff(clock=lambda: now[0], chance=lambda: 0.0)
    rests = []
    for _ in range(8):
        rests.append(backoff.next_delay())
        now[0] += rests[-1]
    assert rests == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])
    now[0] += 121.0
    assert backoff.next_delay() == pytest.approx(0.8)
    assert Backoff(clock=lambda: 0.0, chance=lambda: 1.0).next_delay() == pytest.approx(1.6)


@given(st.text())
def test_a_note_is_cut_to_what_an_event_holds(text: str) -> None:
    note = truncate_note(text * 50)
    assert len(note.encode()) <= 1024
    assert note == text * 50 or note.endswith(" ...")


def test_events_have_names_that_the_server_takes() -> None:
    assert event_name("web-0", 1.0) == "web-0.3b9aca00"
    assert "web" not in event_name("web" * 90, 1.0)
    assert micro_time(1.25) == "1970-01-01T00:00:01.250000Z"
