"""Drawn queues and jobs: quota is kept, every job ends somewhere, and admissions are those of the command ``queue``."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.scenario import answer_scenario
from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.simulation.quota_queues.actor import FIRST_DAY, QuotaQueues
from kschedweb.engine.simulation.quota_queues.reports import JobStep, QuotaReport
from tests.engine.simulation.quota_queues.building import Diary, flavor, job, local_queue, nodes, queue, simulate

NAMES = ("a", "b", "c")
NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
SECOND_BATCH = 100.0
ENDS = {JobStep.QUEUED, JobStep.ADMITTED, JobStep.RUNNING, JobStep.EVICTED, JobStep.FINISHED}


@st.composite
def drawn_queues(draw: st.DrawFn) -> list[Json]:
    """Queues of one cohort with limits and rules of preemption."""
    objects = [flavor()]
    for name in NAMES:
        limits: Json = {}
        if draw(st.booleans()):
            limits["borrowingLimit"] = str(draw(st.integers(0, 6)))
        nominal = draw(st.integers(0, 8))
        if draw(st.booleans()):
            limits["lendingLimit"] = str(draw(st.integers(0, nominal)))
        preemption: Json = {
            "reclaimWithinCohort": draw(st.sampled_from(["Never", "LowerPriority", "Any"])),
            "withinClusterQueue": draw(st.sampled_from(["Never", "LowerPriority"])),
        }
        strategy = draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"]))
        made = queue(name, str(nominal), limits=limits, preemption=preemption, queueingStrategy=strategy)
        objects += [made, local_queue(name)]
    return objects


@st.composite
def drawn_jobs(draw: st.DrawFn, *, ends: bool) -> list[PodArrives]:
    """Jobs with priorities of their own, in two batches if they never end."""
    events: list[PodArrives] = []
    priorities = draw(st.permutations(range(8)))
    for number in range(draw(st.integers(1, 8))):
        at = draw(st.floats(0, 300)) if ends else draw(st.sampled_from([0.0, SECOND_BATCH]))
        events += job(
            f"j{number}",
            draw(st.sampled_from(NAMES)),
            draw(st.integers(1, 3)),
            str(draw(st.integers(1, 4))),
            at=at,
            lasts=draw(st.floats(1, 200)) if ends else None,
            priority=priorities[number],
            terminationGracePeriodSeconds=draw(st.sampled_from([0, 30])) if ends else 0,
        )
    return events


def limits_of(objects: list[Json]) -> dict[str, tuple[int, int | None]]:
    """Nominal quota of each queue, and what it may use with what it borrows, in milli-CPU."""
    limits = {}
    for raw in objects:
        if raw["kind"] == "ClusterQueue":
            quota = raw["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
            nominal, borrowing = int(quota["nominalQuota"]), quota.get("borrowingLimit")
            limits[raw["metadata"]["name"]] = nominal * 1000, None if borrowing is None else int(borrowing) * 1000
    return limits


def assert_within_quota(report: QuotaReport, limits: dict[str, tuple[int, int | None]]) -> None:
    used = {line.queue: amount for line, amount in zip(report.lines, report.used, strict=True)}
    assert sum(used.values()) <= sum(nominal for nominal, _ in limits.values())
    for name, amount in used.items():
        nominal, borrowing = limits[name]
        assert borrowing is None or amount <= nominal + borrowing


def assert_ended_somewhere(diary: Diary, queues: QuotaQueues) -> None:
    """Every job is admitted, waits or is done, and only pods of jobs with quota are on nodes."""
    last = {name: step for _, name, step, _ in diary.steps}
    assert set(last.values()) <= ENDS
    finished = {name for name, step in last.items() if step is JobStep.FINISHED}
    remaining = {key.partition("/")[2]: job for key, job in queues.jobs.items()}
    assert finished.isdisjoint(remaining)
    assert finished | remaining.keys() == last.keys()
    for name, queued in remaining.items():
        workload = queues.world.workloads[f"default/{name}"]
        assert workload.is_admitted == queued.has_quota == (last[name] in (JobStep.ADMITTED, JobStep.RUNNING))
        for pod_set in queued.pod_sets:
            assert len(pod_set.open) <= pod_set.limit
            assert queued.has_quota or not pod_set.open


@given(drawn_queues(), drawn_jobs(ends=True))
@settings(max_examples=40, deadline=None)
def test_no_more_is_admitted_than_quota_allows_and_every_job_ends_somewhere(
    objects: list[Json], jobs: list[PodArrives]
) -> None:
    diary, _, queues = simulate([*objects, *nodes(8)], jobs)
    for report in diary.quotas:
        assert_within_quota(report, limits_of(objects))
    assert_ended_somewhere(diary, queues)


def describe_scenario(objects: list[Json], queues: QuotaQueues) -> Json:
    """The scenario of the command ``queue`` with the workloads that came, in the cycles of their seconds."""
    start = datetime.fromtimestamp(FIRST_DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    first = [raw for raw in queues.created if raw["metadata"]["creationTimestamp"] == start]
    later = [raw for raw in queues.created if raw not in first]
    return {
        "name": "s",
        "now": start,
        "objects": [*objects, NAMESPACE, *first],
        "events": [{"before": int(SECOND_BATCH) + 1, "apply": raw} for raw in later],
        "cycles": 200,
    }


def list_admissions(answer: Json) -> dict[str, list[Json]]:
    workloads = answer.get("workloads", {}).items()
    return {key: described["admission"] for key, described in workloads if described["state"] == "admitted"}


@given(drawn_queues(), drawn_jobs(ends=False))
@settings(max_examples=40, deadline=None)
def test_admissions_are_those_of_the_same_queues_and_workloads_described(
    objects: list[Json], jobs: list[PodArrives]
) -> None:
    _, _, queues = simulate([*objects, *nodes(8)], jobs, end=150.0)
    answer = answer_scenario(describe_scenario(objects, queues))
    admitted = {
        workload.key: workload.status.admission.to_json()
        for workload in queues.world.list_workloads()
        if workload.is_admitted and workload.status.admission is not None
    }
    assert list_admissions(answer) == admitted


def test_the_command_answers_with_the_admissions_of_the_simulation() -> None:
    objects = [flavor(), queue("a", "4", preemption={"reclaimWithinCohort": "Any"}), queue("b", "4")]
    objects += [local_queue("a"), local_queue("b")]
    jobs = [*job("x", "b", 3, "2", lasts=None), *job("y", "a", 1, "4", at=SECOND_BATCH, lasts=None)]
    _, _, queues = simulate([*objects, *nodes(3)], jobs, end=150.0)
    text = json.dumps(describe_scenario(objects, queues))
    command = [sys.executable, "-m", "kschedweb.engine", "queue"]
    answered = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert list(list_admissions(json.loads(answered.stdout))) == ["default/job-y"]
    assert [key for key, queued in queues.jobs.items() if queued.has_quota] == ["default/job-y"]
