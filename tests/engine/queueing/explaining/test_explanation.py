"""Explanations of a workload's wait, victims, remedies and forecast, each with its case."""

from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.explanation import WaitVerdict, WorkloadExplanation, explain_workload
from kschedweb.engine.queueing.explaining.forecast import ForecastEnd, RunTimeSource
from kschedweb.engine.queueing.explaining.pod_links import find_pod_workload
from kschedweb.engine.queueing.explaining.queue_state import (
    QueueState,
    WorkloadMissingError,
    find_newest_time,
    read_state,
)
from kschedweb.engine.queueing.explaining.quota_bars import list_trees
from kschedweb.engine.queueing.explaining.quota_chains import BORROWING_LIMIT, TREE_QUOTA
from kschedweb.engine.queueing.explaining.remedies import RemedyKind
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict
from tests.support.seed_queues import give_quota, list_objects, make_object, make_queue, make_workload

# 2026-01-15T12:30:00Z
NOW = 1768480200.0
RECLAIM = {"reclaimWithinCohort": "Any"}
NAMESPACE: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


def make_state(*objects: Json, fair: bool = False) -> QueueState:
    """A state with the flavor, and a LocalQueue of each ClusterQueue."""
    names = [item["metadata"]["name"] for item in objects if item["kind"] == "ClusterQueue"]
    local = [make_object("LocalQueue", name, "default", spec={"clusterQueue": name}) for name in names]
    base = [NAMESPACE, make_object("ResourceFlavor", "any", spec={}), *local]
    return read_state([*base, *objects], NOW, uses_fair_sharing=fair)


def explain(*objects: Json, fair: bool = False, run_seconds: float | None = None) -> WorkloadExplanation:
    """Explain the workload ``w``."""
    return explain_workload(make_state(*objects, fair=fair), "default/w", run_seconds=run_seconds)


def running(name: str, queue: str, cpu: str, *, minute: int = 0, priority: int = 0) -> Json:
    return give_quota(make_workload(name, queue, cpu, priority=priority), queue, cpu, minute=minute)


def verdicts(answer: WorkloadExplanation) -> dict[str, CandidateVerdict]:
    assert answer.evictions is not None
    return {item.holder.key.partition("/")[2]: item.verdict for item in answer.evictions.candidates}


def remedies(answer: WorkloadExplanation, kind: RemedyKind) -> list[tuple[object, ...]]:
    """The remedies of a kind: (node, before, after) of quotas, (before, after) of others."""
    listed = [remedy for remedy in answer.remedies if remedy.kind is kind]
    return [
        (remedy.quotas[0].node, remedy.quotas[0].before, remedy.quotas[0].after)
        if remedy.quotas
        else (remedy.before, remedy.after)
        for remedy in listed
    ]


# Verdicts


def test_a_workload_that_fits_is_next_and_the_one_after_it_waits_for_its_turn() -> None:
    objects = (make_queue("q"), make_workload("first", "q", "1"), make_workload("w", "q", "1", minute=1))
    assert explain(*objects).verdict is WaitVerdict.BEHIND
    assert explain(make_queue("q"), make_workload("w", "q", "1")).verdict is WaitVerdict.NEXT


def test_what_is_missing_is_told_by_resource_with_the_node_that_limits_it() -> None:
    answer = explain(make_queue("q", ""), running("r", "q", "3"), make_workload("w", "q", "3"))
    assert answer.verdict is WaitVerdict.NO_CANDIDATES
    (chain,) = answer.chains
    assert (chain.limiting_node, chain.limit, chain.steps[0].available) == ("q", TREE_QUOTA, 1000)
    assert [holder.key for holder in answer.holders] == ["default/r"]


def test_a_borrowing_limit_is_found_as_the_limit_and_raising_it_lets_the_workload_in() -> None:
    queue = make_queue("q")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = "1"
    answer = explain(queue, make_queue("other"), running("r", "q", "4"), make_workload("w", "q", "3"))
    (chain,) = answer.chains
    assert (chain.limiting_node, chain.limit) == ("q", BORROWING_LIMIT)
    assert remedies(answer, RemedyKind.BORROWING_LIMIT) == [("q", 1000, 3000)]


def test_quota_that_a_lending_limit_hides_is_told_and_dropping_the_limit_helps() -> None:
    other = make_queue("other")
    other["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["lendingLimit"] = "1"
    answer = explain(make_queue("q"), other, make_workload("w", "q", "7"))
    (chain,) = answer.chains
    assert [(idle.node, idle.amount) for idle in chain.hidden] == [("other", 3000)]
    assert remedies(answer, RemedyKind.LENDING_LIMIT) == [("other", 1000, None)]


def test_more_than_the_queue_can_ever_have_never_gets_in() -> None:
    answer = explain(make_queue("q"), make_workload("w", "q", "9"), run_seconds=60.0)
    assert answer.verdict is WaitVerdict.EXCEEDS_CAPACITY
    assert answer.forecast is not None
    assert answer.forecast.early is not None
    assert answer.forecast.early.end is ForecastEnd.NEVER
    assert ("q", 4000, 9000) in remedies(answer, RemedyKind.NOMINAL_QUOTA)


def test_pods_that_suit_no_flavor_are_told_apart_from_missing_quota() -> None:
    workload = make_workload("w", "q", "1")
    workload["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {"pool": "b"}
    objects = (make_queue("q"), workload, make_object("ResourceFlavor", "any", spec={"nodeLabels": {"pool": "a"}}))
    state = read_state(
        [NAMESPACE, make_object("LocalQueue", "q", "default", spec={"clusterQueue": "q"}), *objects], NOW
    )
    answer = explain_workload(state, "default/w")
    assert answer.verdict is WaitVerdict.NO_FLAVOR
    assert [remedy.kind for remedy in answer.remedies] == [RemedyKind.NODE_SELECTION]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"active": False}, WaitVerdict.INACTIVE),
        ({"queueName": "nowhere"}, WaitVerdict.NOT_QUEUED),
    ],
)
def test_what_no_queue_takes_is_told_without_looking_at_flavors(change: Json, verdict: WaitVerdict) -> None:
    workload = make_workload("w", "q", "1")
    workload["spec"] |= change
    answer = explain(make_queue("q"), workload)
    assert (answer.verdict, answer.position, answer.evictions) == (verdict, None, None)


def test_a_queue_with_a_missing_flavor_takes_nothing_as_a_whole() -> None:
    queue = make_queue("q")
    queue["spec"]["resourceGroups"][0]["flavors"].append({"name": "gone", "resources": [{"name": "cpu"}]})
    answer = explain(queue, make_workload("w", "q", "1"))
    assert answer.verdict is WaitVerdict.NOT_QUEUED
    assert "inactive" in answer.condition


def test_a_namespace_that_the_queue_does_not_select_is_refused() -> None:
    queue = make_queue("q", namespaceSelector={"matchLabels": {"team": "x"}})
    answer = explain(queue, make_workload("w", "q", "1"))
    assert answer.verdict is WaitVerdict.INADMISSIBLE
    assert "doesn't match" in answer.message


def test_the_state_of_a_workload_with_quota_is_told() -> None:
    assert explain(make_queue("q"), running("w", "q", "1")).verdict is WaitVerdict.ADMITTED
    finished = give_quota(make_workload("w", "q", "1"), "q", "1", finished=5)
    assert explain(make_queue("q"), finished).verdict is WaitVerdict.FINISHED


def test_a_workload_that_is_not_there_is_an_error() -> None:
    with pytest.raises(WorkloadMissingError):
        explain(make_queue("q"))


# Victims


def test_own_quota_is_reclaimed_from_who_borrows_and_others_stay_with_their_reasons() -> None:
    answer = explain(
        make_queue("q", preemption=RECLAIM),
        make_queue("b"),
        running("b1", "b", "3"),
        running("b2", "b", "3", minute=5),
        make_workload("w", "q", "3"),
    )
    assert answer.verdict is WaitVerdict.PREEMPTS
    assert verdicts(answer) == {"b2": CandidateVerdict.TARGET, "b1": CandidateVerdict.NOT_NEEDED}


def test_a_queue_within_its_quota_gives_nothing() -> None:
    answer = explain(
        make_queue("q", preemption=RECLAIM),
        make_queue("b"),
        running("b1", "b", "4"),
        running("q1", "q", "2"),
        make_workload("w", "q", "3"),
    )
    assert verdicts(answer) == {"b1": CandidateVerdict.WITHIN_NOMINAL, "q1": CandidateVerdict.POLICY_NEVER}


def test_the_priority_that_would_evict_is_found() -> None:
    queue = make_queue("q", "", preemption={"withinClusterQueue": "LowerPriority"})
    answer = explain(queue, running("r", "q", "4", priority=5), make_workload("w", "q", "3", priority=1))
    assert verdicts(answer) == {"r": CandidateVerdict.PRIORITY}
    assert remedies(answer, RemedyKind.PRIORITY) == [("1", "6")]


def test_a_policy_that_would_evict_is_found_in_its_mildest_form() -> None:
    answer = explain(
        make_queue("q"), make_queue("b"), running("b1", "b", "8", priority=3), make_workload("w", "q", "3", priority=1)
    )
    assert verdicts(answer) == {"b1": CandidateVerdict.POLICY_NEVER}
    assert remedies(answer, RemedyKind.POLICY) == [("Never", "Any")]


def test_a_target_that_need_not_go_in_the_end_is_spared() -> None:
    # The worked example of the original: b2 comes first, and b1 alone frees enough.
    answer = explain(
        make_queue("q", cpu="10", preemption=RECLAIM),
        make_queue("b", cpu="10"),
        running("b1", "b", "7", minute=1),
        running("b2", "b", "2", minute=4),
        running("b3", "b", "2", minute=3, priority=5),
        running("b4", "b", "4", minute=2, priority=9),
        make_workload("w", "q", "9"),
    )
    assert verdicts(answer) == {
        "b1": CandidateVerdict.TARGET,
        "b2": CandidateVerdict.SPARED,
        "b3": CandidateVerdict.NOT_NEEDED,
        "b4": CandidateVerdict.NOT_NEEDED,
    }


def test_under_fair_sharing_the_larger_share_gives_way_and_the_verdicts_say_so() -> None:
    objects = (
        make_queue("q", preemption=RECLAIM),
        make_queue("b"),
        make_queue("c"),
        running("a1", "q", "3"),
        running("b1", "b", "5", minute=1),
        running("b2", "b", "4", minute=2),
        make_workload("w", "q", "3"),
    )
    answer = explain(*objects, fair=True)
    targets = [name for name, verdict in verdicts(answer).items() if verdict is CandidateVerdict.TARGET]
    assert targets == ["b2"]


# Other remedies


def test_a_smaller_count_is_found_and_one_more_pod_would_not_fit() -> None:
    answer = explain(make_queue("q", ""), make_workload("w", "q", "1", count=6))
    assert remedies(answer, RemedyKind.COUNT) == [("6", "4")]


def test_every_remedy_of_quota_is_the_smallest() -> None:
    objects = (make_queue("q", ""), running("r", "q", "3"))
    answer = explain(*objects, make_workload("w", "q", "2500m"))
    assert remedies(answer, RemedyKind.NOMINAL_QUOTA) == [("q", 4000, 5500)]


def test_looking_changes_nothing() -> None:
    state = make_state(
        make_queue("q", preemption=RECLAIM), make_queue("b"), running("b1", "b", "8"), make_workload("w", "q", "3")
    )
    first = explain_workload(state, "default/w")
    assert explain_workload(state, "default/w") == first


# When


def test_it_gets_quota_when_the_one_that_runs_ends() -> None:
    answer = explain(
        make_queue("q", ""), running("r", "q", "4", minute=20), make_workload("w", "q", "3"), run_seconds=1800.0
    )
    assert answer.forecast is not None
    assert answer.forecast.early is not None
    assert answer.forecast.early.end is ForecastEnd.ADMITTED
    # It began ten minutes ago.
    assert answer.forecast.early.seconds == pytest.approx(1200.0, abs=2.0)


def test_finished_workloads_tell_how_long_jobs_run() -> None:
    finished = [give_quota(make_workload(f"f{end}", "q", "1"), "q", "1", finished=end) for end in (10, 20, 30)]
    answer = explain(make_queue("q", ""), running("r", "q", "4", minute=29), make_workload("w", "q", "3"), *finished)
    assert answer.forecast is not None
    assert answer.forecast.run_times is not None
    assert answer.forecast.run_times.source is RunTimeSource.LOCAL_QUEUE
    assert (answer.forecast.run_times.short, answer.forecast.run_times.long) == (600.0, 1800.0)
    early, late = answer.forecast.early, answer.forecast.late
    assert early is not None
    assert late is not None
    assert early.seconds == pytest.approx(540.0, abs=2.0)
    assert late.seconds == pytest.approx(1740.0, abs=2.0)


def test_without_any_run_time_nothing_is_forecast() -> None:
    answer = explain(make_queue("q", ""), running("r", "q", "4"), make_workload("w", "q", "3"))
    assert answer.forecast is not None
    assert not answer.forecast.is_known


# Reading


def test_the_tree_counts_what_waits_and_what_is_borrowed() -> None:
    (root,) = list_trees(read_state(list_objects(4), NOW))
    nodes = {node.name: node for node in root.walk()}
    assert (root.waiting, root.admitted) == (4, 1)
    (bar,) = nodes["team-b"].bars
    assert (bar.nominal, bar.used, bar.borrowed, bar.lendable, bar.potential) == (4000, 6000, 2000, 4000, 8000)


def test_objects_that_cannot_be_read_are_left_out_and_named() -> None:
    broken = make_workload("broken", "q", "many")
    state = make_state(make_queue("q"), broken, make_workload("w", "q", "1"))
    assert [problem.subject for problem in state.problems] == ["Workload default/broken"]
    assert explain_workload(state, "default/w").verdict is WaitVerdict.NEXT


def test_a_queue_below_a_ring_of_cohorts_counts_its_own_workloads() -> None:
    ring = [make_object("Cohort", name, spec={"parentName": parent}) for name, parent in (("x", "y"), ("y", "x"))]
    state = make_state(*ring, make_queue("q", "x"), running("r", "q", "1"), make_workload("w", "q", "1"))
    assert state.world.cache.queues["q"].usage == {("any", "cpu"): 1000}
    assert [node.name for node in list_trees(state)] == ["q"]
    assert explain_workload(state, "default/w").verdict is WaitVerdict.NOT_QUEUED


def test_a_workload_of_another_group_is_not_taken_for_kueues() -> None:
    other = {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w"}, "spec": {}}
    assert make_state(make_queue("q"), other).world.workloads == {}


def test_the_newest_moment_that_the_objects_tell_of_is_found() -> None:
    assert find_newest_time(list_objects(1)) == 1768480260.0
    assert find_newest_time([NAMESPACE]) is None


def test_a_pod_finds_its_workload_by_name_by_group_and_by_owner() -> None:
    owned = make_workload("job-x", "q", "1")
    owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "x"}]
    pod: Json = {"metadata": {"name": "x-0", "namespace": "default", "ownerReferences": [{"kind": "Job", "name": "x"}]}}
    group: Json = {
        "metadata": {"name": "p", "namespace": "default", "labels": {"kueue.x-k8s.io/pod-group-name": "job-x"}}
    }
    stranger: Json = {"metadata": {"name": "p", "namespace": "default"}}
    assert [find_pod_workload([owned], item) for item in (pod, group, stranger)] == ["job-x", "job-x", ""]
