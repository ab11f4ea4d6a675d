"""Quota queues: 10,000 workloads in 200 queues of 20 cohorts; a cycle, a page's answer, and Kueue's own code beside."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Callable
from random import Random

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.cycle.cycle import CycleResult, QuotaScheduler
from kschedweb.engine.queueing.explaining.explanation import WorkloadExplanation, explain_workload
from kschedweb.engine.queueing.explaining.queue_state import QueueState, read_state
from kschedweb.engine.queueing.explaining.quota_bars import list_trees
from kschedweb.engine.queueing.scenario import answer_scenario
from tests.bench.conftest import measure_milliseconds
from tests.support.seed_queues import give_quota, make_object, make_queue, make_workload

WORKLOADS, QUEUES, COHORTS = 10_000, 200, 20
# 2026-01-15T12:30:00Z
NOW = 1768480200.0
# Milliseconds.
READ, CYCLE, ANSWER = 5_000.0, 2_000.0, 2_000.0
# How many times as fast as Kueue's own code in its harness a scenario is answered at least.
TIMES_AS_FAST = 4.0


def draw_queues(workloads: int, queues: int, cohorts: int) -> list[Json]:
    """Return a full cluster: every third workload has quota, and queues preempt and reclaim."""
    random = Random(11)
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    names = [f"q{number}" for number in range(queues)]
    objects: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
        make_object("ResourceFlavor", "any", spec={}),
        *(make_object("Cohort", f"c{number}", spec={}) for number in range(cohorts)),
    ]
    for number, name in enumerate(names):
        objects.append(make_queue(name, f"c{number % cohorts}", "80", preemption=preemption))
        objects.append(make_object("LocalQueue", name, "default", spec={"clusterQueue": name}))
    for number in range(workloads):
        queue, cpu = random.choice(names), random.choice(["2", "4", "8"])
        item = make_workload(f"w{number}", queue, cpu, minute=number % 60, priority=random.choice([0, 10, 20]))
        objects.append(give_quota(item, queue, cpu, minute=number % 29) if number % 3 == 0 else item)
    return objects


def test_a_cycle_and_a_page_of_many_queues(report: Callable[..., None]) -> None:
    objects = draw_queues(WORKLOADS, QUEUES, COHORTS)
    states, results, answers = list[QueueState](), list[CycleResult](), list[WorkloadExplanation]()
    remark = f"{WORKLOADS:,} workloads, {QUEUES} queues, {COHORTS} cohorts"
    report(
        "reading quota queues", [measure_milliseconds(lambda: states.append(read_state(objects, NOW)))], READ, remark
    )
    (state,) = states
    waiting = next(key for key, workload in state.world.workloads.items() if not workload.has_quota)

    def answer() -> None:
        list_trees(state)
        answers.append(explain_workload(state, waiting, run_seconds=3600.0))

    report("a page about a workload that waits", [measure_milliseconds(answer)], ANSWER, remark)
    assert answers[0].position
    scheduler = QuotaScheduler(state.world, lambda: None)
    report(
        "a cycle of quota queues", [measure_milliseconds(lambda: results.append(scheduler.run_cycle()))], CYCLE, remark
    )
    assert len(results[0].entries) == QUEUES


def test_a_scenario_beside_kueues_own_code(report: Callable[..., None]) -> None:
    """Both play the same two cycles, each in its own processor seconds, where the program is there."""
    scenario = {"name": "bench", "now": "2026-01-15T12:30:00Z", "objects": draw_queues(900, 60, 6), "cycles": 2}
    answers = list[Json]()
    own = measure_milliseconds(lambda: answers.append(answer_scenario(scenario)))
    report("a scenario of 900 workloads", [own], 0.0, "two cycles")
    assert len(answers[0]["cycles"]) == 2
    if program := os.environ.get("KUEUE"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "-runs", "1"], input=json.dumps(scenario), capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        theirs = 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        report("the same by Kueue's own code", [theirs], 0.0, f"{theirs / own:.1f} times as long")
        assert theirs >= TIMES_AS_FAST * own
