"""Questions that people asked of Kueue in public, each as its recorded scenario, with what the page answers."""

from __future__ import annotations

import copy

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.explanation import WaitVerdict, WorkloadExplanation, explain_workload
from kschedweb.engine.queueing.explaining.flavor_nodes import NodeExclusion
from kschedweb.engine.queueing.explaining.forecast import ForecastEnd
from kschedweb.engine.queueing.explaining.queue_state import QueueState, read_state
from kschedweb.engine.queueing.explaining.quota_bars import list_trees
from kschedweb.engine.queueing.explaining.remedies import RemedyKind
from kschedweb.engine.queueing.workloads.submission import read_submission
from tests.conformance.queueing import recorded
from tests.support.queue_loops import BORROWING_LOOP

# 2026-01-15T12:00:00Z
NOW = 1768478400.0


def read_question(name: str) -> QueueState:
    """The cluster of a question, with the objects that come to it later."""
    scenario = next(line["scenario"] for line in recorded() if line["scenario"]["name"] == f"issue-{name}")
    later = [event["apply"] for event in scenario.get("events", ()) if "apply" in event]
    fair = bool(scenario["options"].get("fairSharing"))
    return read_state([*scenario["objects"], *later], NOW, uses_fair_sharing=fair)


def explain(name: str, workload: str) -> WorkloadExplanation:
    return explain_workload(read_question(name), f"default/{workload}", run_seconds=600.0)


def candidates(answer: WorkloadExplanation) -> dict[str, str]:
    """Verdicts of the others, with the rule of those that have to go."""
    assert answer.evictions is not None
    return {item.holder.key.partition("/")[2]: item.rule or item.verdict.value for item in answer.evictions.candidates}


def test_who_is_before_me_and_who_holds_what() -> None:
    answer = explain("2833-who-is-ahead", "waits-2")
    assert answer.verdict is WaitVerdict.BEHIND
    assert [item.key for item in answer.ahead] == ["default/waits-1", "default/waits-0"]
    held = explain("2833-who-is-ahead", "waits-0").holders
    assert {holder.key: list(holder.usage.values()) for holder in held} == {
        "default/holds-6": [6000],
        "default/holds-3": [3000],
    }


def test_would_it_be_admitted_if_i_submitted_it() -> None:
    answer = explain("4580-would-it-run-now", "probe-5")
    assert answer.verdict is WaitVerdict.NEXT
    assert answer.next_cycle is not None
    assert answer.next_cycle.gets_quota


def test_why_these_victims_and_not_by_priority() -> None:
    answer = explain("10131-tree", "c-new")
    assert candidates(answer) == {"b-normal": "InCohortReclamation", "a-high": "not needed"}


def test_of_equal_shares_one_goes_by_chance() -> None:
    # The oracle recorded both answers: a-high goes, or b-normal.
    answer = explain("10131-tree-fair", "c-new")
    assert answer.evictions is not None
    assert sorted(answer.evictions.tied_cohorts) == ["team-a", "team-b"]
    without_shares = explain("10131-tree", "c-new").evictions
    assert without_shares is not None
    assert without_shares.tied_cohorts == ()


def test_how_long_will_i_wait() -> None:
    answer = explain("2833-who-is-ahead", "waits-0")
    assert answer.position == 2
    assert answer.forecast is not None
    assert answer.forecast.early is not None
    assert answer.forecast.early.end is ForecastEnd.ADMITTED
    # What is more than all quota never gets in: the maximum is 10.
    state = read_question("2833-who-is-ahead")
    huge = copy.deepcopy(next(raw for raw in state.objects if raw["metadata"]["name"] == "waits-3"))
    huge["metadata"] |= {"name": "huge", "uid": "huge"}
    requests = huge["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]
    requests["cpu"] = "11"
    answer = explain_workload(read_state([*state.objects, huge], NOW), "default/huge", run_seconds=600.0)
    assert answer.verdict is WaitVerdict.EXCEEDS_CAPACITY
    assert answer.forecast is None or answer.forecast.early is None or answer.forecast.early.end is ForecastEnd.NEVER


def test_the_smallest_change_of_a_quota_that_lets_it_in() -> None:
    answer = explain("10171-victims-below-nominal", "a")
    changes = {
        (change.node, change.before, change.after)
        for remedy in answer.remedies
        if remedy.kind is RemedyKind.NOMINAL_QUOTA
        for change in remedy.quotas
    }
    assert changes == {("cq-a", 0, 4000), ("team", 0, 4000)}
    state = read_question("10171-victims-below-nominal")
    verdicts = {}
    for nominal in ("3", "4"):
        objects = copy.deepcopy(state.objects)
        queue = next(raw for raw in objects if raw["kind"] == "ClusterQueue" and raw["metadata"]["name"] == "cq-a")
        queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = nominal
        verdicts[nominal] = explain_workload(read_state(objects, NOW), "default/a").verdict
    assert verdicts["3"] is not WaitVerdict.NEXT
    assert verdicts["4"] is WaitVerdict.NEXT


@pytest.mark.parametrize(
    ("change", "words"),
    [({"stopPolicy": "Hold"}, "is stopped"), ({"flavor": "gone"}, "references missing ResourceFlavor(s): gone")],
)
def test_a_guarantee_is_not_reclaimed_by_a_queue_that_is_inactive(change: Json, words: str) -> None:
    objects = copy.deepcopy(read_question("10131-tree").objects)
    queues = [raw for raw in objects if raw["kind"] == "ClusterQueue"]
    queue = next(raw for raw in queues if raw["metadata"]["name"] == "team-c-guaranteed")
    if "flavor" in change:
        queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = change["flavor"]
    else:
        queue["spec"] |= change
    state = read_state(objects, NOW)
    assert explain_workload(state, "default/c-new").verdict is WaitVerdict.NOT_QUEUED
    nodes = {node.name: node for root in list_trees(state) for node in root.walk()}
    assert words in nodes["team-c-guaranteed"].inactive


def test_the_same_victim_is_not_preempted_again_and_again() -> None:
    answer = explain("7101-final-share", "two-3")
    assert answer.forecast is not None
    assert answer.forecast.late is not None
    assert answer.forecast.late.end is ForecastEnd.ADMITTED
    assert answer.forecast.late.cycles < 100


def test_a_loop_of_preemptions_ends_without_candidates() -> None:
    answer = explain("3779-preemption-loop", "a2")
    assert answer.verdict is WaitVerdict.NO_CANDIDATES
    assert candidates(answer) == {"be1": "fair share", "a1": "priority"}


def test_victims_whose_queues_are_within_their_quota_are_not_reclaimed() -> None:
    answer = explain("10171-victims-below-nominal", "a")
    assert set(candidates(answer).values()) == {"within nominal"}


def test_a_sum_that_fits_on_no_node_is_told() -> None:
    (small,) = explain("4329-sum-fits", "one-pod-of-8").small_flavors
    assert (small.flavor, small.count, small.fitting, small.nodes) == ("gpu", 1, 0, 2)
    assert explain("4329-sum-fits", "two-pods-of-4").small_flavors == ()
    assert explain("4329-sum-fits-tas", "one-pod-of-8").verdict is WaitVerdict.NO_PLACE


def test_nodes_that_a_flavor_does_not_have_are_counted_by_reason() -> None:
    reasons = {
        "label": NodeExclusion.LEVELS,
        "notready": NodeExclusion.UNUSABLE,
        "selector": NodeExclusion.LABELS,
    }
    for name, reason in reasons.items():
        answer = explain(f"5039-no-domains-{name}", "job")
        assert answer.verdict is WaitVerdict.NO_PLACE
        assert [nodes.excluded for nodes in answer.small_flavors] == [{reason: 1}]


def test_a_head_that_waits_keeps_others_out_unless_it_may_always_reclaim() -> None:
    answer = explain("4809-strict-fifo-holds-quota", "be1")
    assert answer.verdict is WaitVerdict.CROWDED_OUT
    assert answer.next_cycle is not None
    assert [(item.key, item.gets_quota) for item in answer.next_cycle.before] == [("default/g2", False)]
    assert explain("4809-with-reclaim-any", "be1").verdict is WaitVerdict.NEXT


def test_a_head_for_which_others_go_stays_first_before_a_more_important_one() -> None:
    state = read_question("7301-sticky-head")
    assert explain_workload(state, "default/low").position == 2
    low = next(item for item in state.objects if item["metadata"]["name"] == "low")
    words = "insufficient unused quota. Pending the preemption of 1 workload(s)"
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": words}
    low["status"] = {"conditions": [condition]}
    try:
        answer = explain_workload(read_state(state.objects, NOW), "default/high")
    finally:
        del low["status"]
    assert [(item.key, item.is_sticky) for item in answer.ahead] == [("default/low", True)]


def test_nobody_is_asked_for_more_than_the_queue_may_reclaim() -> None:
    answer = explain("16049-own-victims-while-borrowing", "high")
    assert answer.verdict is WaitVerdict.WAITING_FOR_QUOTA
    assert candidates(answer) == {"low": "not asked"}
    assert [remedy.field for remedy in answer.remedies if remedy.kind is RemedyKind.POLICY] == ["borrowWithinCohort"]


def test_quota_of_the_cohort_reclaims_for_a_queue_without_any() -> None:
    answer = explain("3948-quota-on-the-cohort", "g")
    assert candidates(answer) == {"be": "InCohortReclamation"}


def test_each_flavor_is_told_with_its_own_reason() -> None:
    answer = explain("13607-no-candidates", "new")
    (pod_set,) = answer.pod_sets
    assert [(attempt.flavor, attempt.mode.text, attempt.borrow) for attempt in pod_set.attempts] == [
        ("flavor-a", "NoFit", 0),
        ("flavor-b", "Fit", 2),
    ]


def test_what_a_queue_lends_and_a_cohort_uses_is_in_the_tree() -> None:
    nodes = {
        node.name: node for root in list_trees(read_question("10171-victims-below-nominal")) for node in root.walk()
    }
    lendable = {name: node.bars[0].lendable for name, node in nodes.items()}
    assert lendable == {"team": 0, "cq-a": 0, "cq-b": 10_000, "cq-c": 0}
    assert nodes["team"].bars[0].used == 10_000


def test_endless_preemption_is_found_ahead_of_time() -> None:
    """Kueue's issues 3779 and 7101: the same victim is released, readmitted and preempted again."""
    state = read_state(BORROWING_LOOP["objects"], NOW, uses_fair_sharing=False)
    forecast = explain_workload(state, "default/big", run_seconds=3600.0).forecast
    assert forecast is not None
    (loop,) = forecast.loops
    assert [(edge.preemptor, edge.victim, edge.reason) for edge in loop.edges] == [
        ("default/big", "default/small", "InCohortReclaimWhileBorrowing")
    ]


def test_would_a_job_be_admitted_that_nobody_has_submitted() -> None:
    """Kueue's issue 15614: the newest of its queue, beside those that are there."""
    state = read_question("2833-who-is-ahead")
    container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": "500m"}}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "probe"},
        "spec": {"parallelism": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    submission = read_submission(job, state.objects, queue="lq-team")
    answer = explain_workload(state.submit(submission), submission.key, run_seconds=600.0)
    waiting = [f"default/waits-{number}" for number in (1, 0, 2, 3)]
    assert sorted(item.key for item in answer.ahead) == sorted(waiting)
    assert answer.verdict is WaitVerdict.BEHIND
    assert "default/job-probe" not in state.world.workloads
