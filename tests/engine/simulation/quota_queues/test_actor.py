"""Jobs that wait for quota, run where their flavors say, and come back after evictions."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import NodeDrains, PodArrives, PodLeaves
from kschedweb.engine.simulation.quota_queues.reports import JobStep
from tests.engine.builders import node, pod
from tests.engine.simulation.quota_queues.building import (
    KUEUE,
    QUEUE,
    flavor,
    job,
    local_queue,
    nodes,
    queue,
    simulate,
)
from tests.support.queue_loops import BORROWING_QUEUES, cohort

QUEUES = [flavor(), queue("a", "4"), queue("b", "4"), local_queue("a"), local_queue("b")]
ALONE = [flavor(), queue("a", "4", cohortName=""), local_queue("a")]


def test_a_job_waits_until_another_one_gives_its_quota_back() -> None:
    diary, simulation, queues = simulate(
        [*ALONE, *nodes(3)], [*job("first", "a", 2, "2", lasts=60.0), *job("second", "a", 1, "1", at=10.0)]
    )
    assert diary.times("job-first", JobStep.ADMITTED) == [0.0]
    assert diary.times("job-second", JobStep.QUEUED) == [10.0]
    assert diary.times("job-second", JobStep.ADMITTED) == [60.0]
    assert diary.bindings["second-0"][0] == 60.0
    assert not queues.jobs
    assert not simulation.result.pending


def test_pods_that_end_give_their_part_of_the_quota_back() -> None:
    pods = job("first", "a", 1, "2", lasts=60.0) + [
        PodArrives(event.time, {**event.pod, "metadata": {**event.pod["metadata"], "name": "first-long"}}, 300.0, True)
        for event in job("first", "a", 1, "2")
        if isinstance(event.pod, dict)
    ]
    diary, _, _ = simulate([*ALONE, *nodes(3)], [*pods, *job("second", "a", 1, "2", at=10.0)])
    assert diary.times("job-second", JobStep.ADMITTED) == [60.0]
    assert diary.times("job-first", JobStep.FINISHED) == [300.0]


def test_pods_go_to_the_nodes_of_their_flavor_and_tolerate_what_it_tolerates() -> None:
    toleration = {"key": "spot", "operator": "Exists"}
    taint = {"key": "spot", "value": "", "effect": "NoSchedule"}
    objects = [
        flavor("plain", nodeLabels={"pool": "plain"}),
        flavor("spot", nodeLabels={"pool": "spot"}, tolerations=[toleration]),
        queue("a", "2", flavors=("plain", "spot"), cohortName=""),
        local_queue("a"),
        node("n-plain", labels={"pool": "plain"}),
        node("n-spot", labels={"pool": "spot"}, taints=[taint]),
    ]
    diary, simulation, _ = simulate(objects, [*job("one", "a", 2, "1"), *job("two", "a", 2, "1")], end=50.0)
    assert {name: place for name, (_, place) in diary.bindings.items()} == {
        "one-0": "n-plain",
        "one-1": "n-plain",
        "two-0": "n-spot",
        "two-1": "n-spot",
    }
    assert simulation.pods.lives["default/two-0"].pod.gates == ()


def test_an_evicted_job_comes_back_and_begins_anew() -> None:
    reclaiming = {"preemption": {"reclaimWithinCohort": "Any"}}
    objects = [flavor(), queue("a", "4"), queue("b", "4", **reclaiming), local_queue("a"), local_queue("b"), *nodes(3)]
    diary, _, _ = simulate(
        objects, [*job("borrower", "a", 3, "2", lasts=100.0), *job("owner", "b", 2, "2", at=40.0, lasts=50.0)]
    )
    assert diary.times("job-borrower", JobStep.EVICTED) == [40.0]
    assert diary.departures["borrower-0"] == (70.0, "Kueue: InCohortReclamation")
    # Its quota is free once its pods are gone.
    assert diary.times("job-owner", JobStep.ADMITTED) == [70.0]
    assert diary.times("job-borrower", JobStep.ADMITTED) == [0.0, 120.0]
    # It runs for all of its time again.
    assert diary.times("job-borrower", JobStep.FINISHED) == [220.0]


def test_a_pod_that_a_drain_evicts_goes_on_with_its_jobs_quota() -> None:
    diary, _, _ = simulate([*ALONE, *nodes(2)], [*job("one", "a", 1, "3", lasts=100.0), NodeDrains(40.0, "n1")])
    assert diary.times("job-one", JobStep.ADMITTED) == [0.0]
    assert diary.bindings["one-0-again1"] == (40.0, "n2")
    # It ran on for its grace period of 30 seconds, so 30 of its 100 were left.
    assert diary.times("job-one", JobStep.FINISHED) == [70.0]


def test_a_job_that_has_quota_by_sum_and_fits_no_node_is_seen_not_to_run() -> None:
    """Kueue's issue 4329: 8 free CPU are 2 times 4, and the pods ask for 3 each."""
    objects = [flavor(), queue("a", "9", cohortName=""), local_queue("a"), *nodes(2)]
    diary, simulation, _ = simulate(objects, job("wide", "a", 3, "3", lasts=None), end=600.0)
    assert diary.times("job-wide", JobStep.ADMITTED) == [0.0]
    assert diary.times("job-wide", JobStep.RUNNING) == []
    assert [waiting.pod for waiting in simulation.result.pending] == ["default/wide-2"]


def test_a_job_with_a_least_parallelism_runs_as_many_pods_as_it_has_quota_for() -> None:
    raw: Json = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "some",
            "namespace": "default",
            "labels": {QUEUE: "a"},
            "annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"},
        },
        "spec": {},
    }
    diary, _, _ = simulate([*ALONE, *nodes(3), raw], job("some", "", 5, "2", lasts=100.0))
    assert sorted(time for time, _ in diary.bindings.values()) == [0.0, 0.0, 100.0, 100.0, 200.0]
    assert diary.times("job-some", JobStep.FINISHED) == [300.0]


def test_a_group_of_pods_waits_for_all_of_them() -> None:
    events = []
    for number in range(2):
        raw = pod(f"p{number}", requests={"cpu": "1"}, labels={QUEUE: "a", "kueue.x-k8s.io/pod-group-name": "g"})
        raw["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "2"}
        events.append(PodArrives(10.0 * number, raw, 50.0))
    diary, _, _ = simulate([*ALONE, *nodes(1)], events)
    assert diary.times("g", JobStep.ADMITTED) == [10.0]
    assert {time for time, _ in diary.bindings.values()} == {10.0}


def test_a_job_whose_pods_are_deleted_before_it_has_quota_is_withdrawn() -> None:
    diary, _, queues = simulate(
        [*ALONE, *nodes(2)],
        [*job("first", "a", 1, "4"), *job("second", "a", 1, "4", at=5.0), PodLeaves(20.0, "default/second-0")],
    )
    assert diary.times("job-second", JobStep.WITHDRAWN) == [20.0]
    assert not queues.jobs


def test_a_waiting_pod_tells_what_kueue_says_of_its_job() -> None:
    _, simulation, _ = simulate([*ALONE, *nodes(2)], job("big", "a", 1, "5"), end=10.0)
    (waiting,) = simulation.result.pending
    assert waiting.message.endswith("(0) + current podset request (5) > maximum capacity (4)")


def test_jobs_of_the_base_keep_their_quota_and_get_pods_once_they_are_let_in() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    admission = {
        "clusterQueue": "a",
        "podSetAssignments": [{"name": "main", "count": 2, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}],
    }
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": "2026-01-15T11:00:00Z"}
        for kind in ("QuotaReserved", "Admitted")
    ]

    def workload(name: str, minute: int, status: Json) -> Json:
        return {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {
                "name": name,
                "namespace": "default",
                "creationTimestamp": f"2026-01-15T11:{minute:02}:00Z",
                "ownerReferences": [{"kind": "Job", "name": name, "controller": True, "uid": name}],
            },
            "spec": {"queueName": "a", "podSets": [{"name": "main", "count": 2, "template": template}]},
            "status": status,
        }

    running = []
    for number in range(2):
        raw = pod(f"old-{number}", requests={"cpu": "2"}, on="n1")
        raw["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "old", "controller": True, "uid": "old"}]
        running.append(raw)
    objects = [
        *ALONE,
        *nodes(2),
        *running,
        workload("old", 0, {"admission": admission, "conditions": conditions}),
        workload("new", 1, {}),
    ]
    leaving = [PodLeaves(30.0, f"default/old-{number}") for number in range(2)]
    diary, _, _ = simulate(objects, leaving, end=200.0)
    assert diary.times("old", JobStep.FINISHED) == [60.0]
    assert diary.times("new", JobStep.ADMITTED) == [60.0]
    assert {name: time for name, (time, _) in diary.bindings.items() if name.startswith("new")} == {
        "new-main-1": 60.0,
        "new-main-2": 60.0,
    }


def test_jobs_that_evict_each_other_without_end_are_placed_in_between() -> None:
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 10,
    }
    objects = [important, flavor(), cohort("near"), cohort("far"), *BORROWING_QUEUES, *nodes(6)]
    jobs = [*job("big", "owner", 5, "2", priorityClassName="high"), *job("small", "neighbour", 2, "2", lasts=500.0)]
    diary, _, _ = simulate(objects, jobs, end=100.0)
    assert {(victim, preemptor) for _, victim, preemptor in diary.preemptions} == {("job-small", "job-big")}
    # A grace period of 30 seconds, and a second until the next cycle.
    assert [time for time, _, _ in diary.preemptions] == [0.0, 1.0, 31.0, 32.0, 62.0, 63.0, 93.0, 94.0]
    assert diary.times("job-big", JobStep.ADMITTED) == []
