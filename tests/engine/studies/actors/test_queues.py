"""Quota queues of a scenario: its keys, its columns, and its measures."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies import ScenarioError, prepare_scenario, read_scenario
from kschedweb.engine.studies.actors.queues.figures import (
    count_evictions,
    find_log,
    list_courses,
    list_loops,
    list_shares,
)
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from tests.engine.simulation.quota_queues.building import QUEUE, flavor, local_queue, queue
from tests.engine.studies.worlds import configuration
from tests.support.queue_loops import BORROWING_QUEUES, cohort

RECLAIMING = {"preemption": {"reclaimWithinCohort": "Any"}}


def add_job(name: str, queue: str, pods: int, cpu: str, at: str, life: str) -> Json:
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
    metadata = {"name": name, "namespace": "default", "labels": {QUEUE: queue}}
    manifest = {"kind": "Job", "metadata": metadata, "spec": {"template": template}}
    return {"at": at, "addWorkload": {"replicas": pods, "life": life, "manifest": manifest}}


def make_document(**queues: Any) -> Json:
    """A borrower of 6 CPU that is evicted after 100 seconds, and a job that has quota by sum and fits no node."""
    return {
        "name": "two queues",
        "objects": [flavor(), queue("a", "4"), queue("b", "4", **RECLAIMING), local_queue("a"), local_queue("b")],
        "changes": [
            {"addNodes": {"name": "n", "count": 3, "allocatable": {"cpu": "4", "memory": "8Gi"}}},
            add_job("borrower", "a", 3, "2", "0s", "400s"),
            add_job("owner", "b", 2, "2", "100s", "200s"),
            add_job("large", "b", 1, "8", "1000s", "1h"),
        ],
        "queues": queues,
        "run": {"until": "1200s"},
    }


def make_looping_document() -> Json:
    """A job that evicts a smaller one again and again, and never gets the room."""
    high = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}}
    big = add_job("big", "owner", 5, "2", "0s", "1h")
    big["addWorkload"]["manifest"]["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    return {
        "name": "loop",
        "objects": [{**high, "value": 10}, flavor(), cohort("near"), cohort("far"), *BORROWING_QUEUES],
        "changes": [
            {"addNodes": {"name": "n", "count": 6, "allocatable": {"cpu": "4", "memory": "8Gi"}}},
            big,
            add_job("small", "neighbour", 2, "2", "0s", "500s"),
        ],
        "queues": {},
        "run": {"until": "200s"},
    }


def play(document: Json) -> RunOutcome:
    prepared = prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0)
    return RunOutcome.decode(run_scenario(prepared, configuration()).encode())


def test_measures_say_how_long_jobs_waited_what_was_used_and_who_was_evicted() -> None:
    outcome = play(make_document())
    measures = {measure.name: measure.value for measure in compute_measures(outcome)}
    assert measures["queue_wait_median"] == 0.0
    assert measures["queue_wait_p99"] == measures["queue_wait_p99_b"] == 30.0
    assert measures["queue_wait_p99_a"] == 0.0
    assert measures["jobs_evicted"] == measures["jobs_evicted_reclaimed"] == 1.0
    assert measures["jobs_evicted_fair"] == 0.0
    assert measures["jobs_waiting"] == 0.0
    # 8 CPU are free in sum, on no node.
    assert measures["jobs_unplaced"] == 1.0
    assert measures["job_placement_p99"] == 200.0


def test_quota_is_used_borrowed_and_lent_by_line() -> None:
    outcome = play(make_document())
    log = find_log(outcome)
    assert log is not None
    assert count_evictions(log) == {"InCohortReclamation": 1}
    shares = {share.queue: share for share in list_shares(log, outcome.end)}
    # 6 CPU for 130 seconds and then from 330 to 730; 4 from 130 to 330, 8 from 1000 on.
    assert shares["a"].used == pytest.approx(6000 * (130 + 400) / 1200, rel=1e-3)
    assert shares["a"].borrowed == pytest.approx(2000 * (130 + 400) / 1200, rel=1e-3)
    assert shares["b"].lent == pytest.approx(shares["a"].borrowed, rel=1e-6)
    assert shares["b"].used == pytest.approx((4000 * 200 + 8000 * 200) / 1200, rel=1e-3)
    assert shares["a"].lent == pytest.approx(shares["b"].borrowed, rel=1e-6)
    measures = {measure.name: measure.value for measure in compute_measures(outcome)}
    used = sum(share.used for share in shares.values())
    assert measures["quota_used_cpu"] == pytest.approx(100 * used / 8000)


def test_the_course_of_an_evicted_job_has_both_admissions() -> None:
    log = find_log(play(make_document()))
    assert log is not None
    borrower, owner, large = list_courses(log)
    assert (borrower.queue, borrower.evictions, borrower.reason) == ("a", 1, "InCohortReclamation")
    assert (borrower.first_quota, round(borrower.last_quota or 0), round(borrower.ended or 0)) == (0.0, 330, 730)
    assert (owner.wait, owner.flavors) == (30.0, "f")
    assert large.is_unplaced


def test_another_quota_is_a_line_of_the_document() -> None:
    quota = {"queue": "a", "flavor": "f", "resource": "cpu", "nominal": "6"}
    log = find_log(play(make_document(quotas=[quota])))
    assert log is not None
    assert not count_evictions(log)
    assert dict(zip([log.queues[code] for code in log.line_queue], log.nominal.tolist(), strict=True)) == {
        "a": 6000,
        "b": 4000,
    }


@pytest.mark.parametrize(
    ("quota", "message"),
    [
        (
            {"queue": "c", "flavor": "f", "resource": "cpu"},
            "queues.quotas[0]: there is no ClusterQueue or Cohort c; there are a, b",
        ),
        ({"queue": "a", "flavor": "g", "resource": "cpu"}, "queues.quotas[0]: a has no quota for cpu in flavor g"),
    ],
)
def test_a_quota_of_nothing_is_an_error_at_its_place(quota: Json, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        play(make_document(quotas=[{**quota, "nominal": "6"}]))
    assert [f"{problem.path}: {problem.text}" for problem in error.value.problems] == [message]


def test_queues_without_a_cluster_queue_are_an_error() -> None:
    document = {**make_document(), "objects": []}
    with pytest.raises(ScenarioError, match="there is no ClusterQueue among the objects"):
        play(document)


def test_without_the_key_nobody_waits_for_quota() -> None:
    document = make_document()
    del document["queues"]
    outcome = play(document)
    assert find_log(outcome) is None
    assert "queue_wait_median" not in {measure.name for measure in compute_measures(outcome)}


def test_the_same_input_gives_the_same_outcome() -> None:
    document = make_document()
    assert play(document).encode() == play(document).encode()


def test_a_run_is_the_same_if_tries_that_must_fail_are_made_too() -> None:
    prepared = prepare_scenario(read_scenario(make_document()), [], {}, seed=1, now=0.0)
    quick, slow = (run_scenario(prepared, configuration(), quick=quick) for quick in (True, False))
    assert quick.encode() == slow.encode()


def test_what_kueue_would_refuse_is_a_note() -> None:
    document = make_document()
    document["objects"][1] = queue("a", "-1")
    assert any("Kueue would refuse it" in note for note in play(document).notes)


def test_jobs_of_each_priority_are_measured_beside_those_of_each_queue() -> None:
    document = make_document()
    urgent = add_job("urgent", "b", 1, "2", "110s", "50s")
    urgent["addWorkload"]["manifest"]["spec"]["template"]["spec"]["priority"] = 100
    document["changes"].append(urgent)
    measures = {measure.name: measure for measure in compute_measures(play(document))}
    names = [name for name in measures if "_priority_" in name]
    assert names == [
        "queue_wait_median_priority_100", "queue_wait_p99_priority_100",
        "queue_wait_median_priority_0", "queue_wait_p99_priority_0",
    ]  # fmt: skip
    waits = {course.name: course for course in list_courses(find_log(play(document)) or pytest.fail("no queues"))}
    assert measures["queue_wait_p99_priority_100"].value == waits["default/job-urgent"].wait
    assert measures["queue_wait_p99_priority_0"].value == pytest.approx(max(
        course.wait for course in waits.values() if course.priority == 0 and course.wait is not None
    ))  # fmt: skip
    assert measures["queue_wait_p99_priority_100"].label == "Time in queue at priority 100, 99th percentile"


def test_jobs_that_evict_each_other_without_end_are_named() -> None:
    outcome = play(make_looping_document())
    log = find_log(outcome)
    assert log is not None
    (loop,) = list_loops(log)
    assert loop.members == ("default/job-big", "default/job-small")
    measures = {measure.name: measure.value for measure in compute_measures(outcome)}
    assert measures["jobs_evicted_in_loops"] == loop.count == 14
