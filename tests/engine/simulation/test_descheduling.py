"""The descheduler in the loop of a simulation, and evictions that somebody asks for."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.studies.document.document import ScenarioError, read_scenario
from kschedweb.engine.studies.measure.descheduling import find_fights, find_successors, workload_of
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import MoveKind, RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario
from tests.engine.rebalancing.building import policy
from tests.engine.studies.clusters import budget, configuration, node, pod

HIGH = policy("balance", "HighNodeUtilization", {"thresholds": {"cpu": 30}})
LIFE = policy("deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 100})
MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}


def packing() -> Configuration:
    profile = {
        "schedulerName": "default-scheduler",
        "pluginConfig": [{"name": "NodeResourcesFit", "args": MOST_ALLOCATED}],
    }
    version = "kubescheduler.config.k8s.io/v1"
    loaded_configuration = load(
        {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    ).configuration
    assert loaded_configuration is not None
    return loaded_configuration


def underused() -> list[Json]:
    """Two nodes are half full, the third has one small pod."""
    full = [pod(f"{name}-{number}", name, cpu="1") for name in ("a", "b") for number in range(2)]
    return [*(node(name) for name in "abc"), *full, pod("lone", "c", cpu="500m")]


def scene(
    objects: list[Json], descheduler_policy: Json | None = None, *, run_until: Any = "1h", now: float = 0.0, **more: Any
) -> PreparedScenario:
    document: Json = {"name": "s", "objects": objects, "run": {"until": run_until, "place": "arrivals"}, **more}
    if descheduler_policy is not None:
        document["descheduler"] = {"policy": descheduler_policy, "every": "5m"}
    return prepare_scenario(read_scenario(document), [], {}, seed=1, now=now)


def played(
    objects: list[Json], descheduler_policy: Json | None = None, rules: Configuration | None = None, **more: Any
) -> RunOutcome:
    return run_scenario(scene(objects, descheduler_policy, **more), rules or configuration())


def list_evicted(outcome: RunOutcome) -> list[tuple[float, str, str]]:
    """List evictions: time, pod, node."""
    log = outcome.evictions
    return [
        (time, outcome.pods[row], outcome.nodes[place])
        for time, row, place in zip(log.time.tolist(), log.pod.tolist(), log.node.tolist(), strict=True)
    ]


def test_an_evicted_pod_is_made_again_and_its_node_stays_empty() -> None:
    outcome = played(underused(), HIGH, packing())
    assert list_evicted(outcome) == [(300.0, "default/lone", "c")]
    [heir] = find_successors(outcome).tolist()
    assert outcome.pods[heir] == "default/lone-again1"
    assert outcome.nodes[int(outcome.node[heir])] in ("a", "b")
    assert [(time, count) for time, count, *_ in outcome.rounds[:2]] == [(300.0, 1), (600.0, 0)]
    assert len(outcome.rounds) == 12
    assert workload_of(outcome, heir) == "default/ReplicaSet/web-5d"
    assert [outcome.eviction_names[int(code)] for code in outcome.evictions.plugin] == ["HighNodeUtilization"]
    assert [outcome.eviction_names[int(code)] for code in outcome.evictions.profile] == ["p"]


def test_the_cause_is_told_where_pods_left() -> None:
    outcome = played(underused(), HIGH, packing())
    causes = [
        outcome.texts[int(text)]
        for text in outcome.recorded_forced_moves.text[outcome.recorded_forced_moves.kind == MoveKind.EVICTED]
    ]
    assert causes == ["HighNodeUtilization of the descheduler"]


def test_two_policies_that_undo_one_another_are_named() -> None:
    outcome = played(underused(), HIGH)
    measures = compute_measures(outcome)
    assert measures["evictions_descheduler"].value == measures["evictions"].value == len(outcome.evictions) > 5
    assert measures["evictions_again"].value == len(outcome.evictions) - 1
    [fight] = find_fights(outcome)
    assert (fight.plugin, fight.scorer) == ("HighNodeUtilization", "NodeResourcesFit (LeastAllocated)")
    assert (fight.pods, fight.workloads) == (("default/lone",), ("default/ReplicaSet/web-5d",))
    assert fight.times == len(outcome.evictions)


def test_without_a_descheduler_nothing_of_it_is_told_and_the_bytes_are_the_same() -> None:
    outcome = played(underused())
    assert not outcome.rounds
    assert {measure.name for measure in compute_measures(outcome)}.isdisjoint(
        {"evictions_descheduler", "evictions_again"}
    )
    assert b"movers" not in outcome.encode()


def test_the_outcome_is_kept_as_bytes() -> None:
    outcome = RunOutcome.decode(played(underused(), HIGH).encode())
    assert list_evicted(outcome) == list_evicted(played(underused(), HIGH))
    assert outcome.rounds == played(underused(), HIGH).rounds
    assert find_fights(outcome)[0].plugin == "HighNodeUtilization"


def test_what_is_skipped_quickly_changes_nothing() -> None:
    slow = run_scenario(scene(underused(), HIGH), configuration(), quick=False)
    assert slow.encode() == played(underused(), HIGH).encode()


def test_a_run_without_an_end_lasts_until_the_descheduler_leaves_pods_alone() -> None:
    outcome = played(underused(), HIGH, packing(), run_until="quiet")
    assert [count for _, count, *_ in outcome.rounds] == [1, 0]
    assert outcome.end == 600.0


def test_a_fight_without_an_end_is_ended() -> None:
    outcome = played(underused(), HIGH, run_until="quiet")
    assert len(outcome.rounds) == 20
    assert any("the descheduler stopped 20 rounds after the last event" in note for note in outcome.notes)


def test_limits_hold_in_each_round() -> None:
    limited = {**LIFE, "maxNoOfPodsToEvictTotal": 2}
    outcome = played(underused(), limited, run_until="16m")
    assert [(count, refused > 0) for _, count, refused, _ in outcome.rounds] == [(2, True)] * 3
    per_node = played(underused(), {**LIFE, "maxNoOfPodsToEvictPerNode": 1}, run_until="6m")
    assert sorted(place for _, _, place in list_evicted(per_node)) == ["a", "b", "c"]


def test_budgets_are_reckoned_by_the_pods_that_there_are() -> None:
    guarded = budget(5, minAvailable=4)  # its status, which is of another time, would let all go
    outcome = played([*underused(), guarded], LIFE, run_until="6m")
    assert [(count, refused) for _, count, refused, _ in outcome.rounds] == [(1, 4)]


def test_a_replacement_is_young_and_the_time_of_the_base_counts() -> None:
    old = pod("old", "a")
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    day = policy("deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 86400})
    outcome = played([node("a"), node("b"), old], day, run_until="1h", now=1_767_960_000.0)
    assert list_evicted(outcome) == [(300.0, "default/old", "a")]


def test_a_pod_without_a_controller_does_not_come_back() -> None:
    bare = pod("bare", "a", owner="")
    failed = policy("deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 100}, {"evictFailedBarePods": True})
    outcome = played([node("a"), node("b"), bare, pod("web", "b")], failed, run_until="6m")
    assert [name for _, name, _ in list_evicted(outcome)] == ["default/web"]


def test_one_node_is_too_few_and_that_is_said() -> None:
    outcome = played([node("a"), pod("web", "a")], LIFE, run_until="6m")
    assert outcome.rounds == [(300.0, 0, 0, "Skipping descheduling cycle: requires >=2 nodes, found 1")]


def test_pods_that_end_are_not_there_any_more() -> None:
    short = {"shapes": [{"cpu": "1", "life": "2m", "name": "short"}], "perHour": 60, "until": "3m"}
    outcome = played([node("a"), node("b")], LIFE, run_until="20m", arrivals=[{"generate": short}])
    assert outcome.rounds[-1][1] == 0
    assert outcome.arrived.size


def test_a_policy_that_the_descheduler_refuses_is_refused_at_its_place_in_its_words() -> None:
    wrong = policy("balance", "HighNodeUtilization", {"thresholds": {"cpu": 300}})
    with pytest.raises(ScenarioError) as refused:
        scene(underused(), wrong)
    [problem] = refused.value.problems
    assert problem.path == "descheduler.policy.profiles[0].pluginConfig[1].args"
    assert "cpu threshold not in [0, 100] range" in problem.text


def test_a_priority_class_that_the_cluster_does_not_have_is_told() -> None:
    named_class = policy(
        "deschedule", "PodLifeTime", {"maxPodLifeTimeSeconds": 9}, {"priorityThreshold": {"name": "none"}}
    )
    with pytest.raises(ScenarioError, match=r'priorityclasses.scheduling.k8s.io "none" not found'):
        scene(underused(), named_class)


@pytest.mark.parametrize(("interval", "expected_error"), [("1s", "10"), ("soon", "duration")])
def test_the_interval_is_checked(interval: str, expected_error: str) -> None:
    document = {"name": "s", "descheduler": {"policy": HIGH, "every": interval}}
    with pytest.raises(ScenarioError) as refused:
        read_scenario(document)
    assert refused.value.problems[0].path == "descheduler.every"
    assert expected_error in refused.value.problems[0].text


# Evictions that somebody asks for.


def evicting(pods: list[str], interval: str = "0s", at: str = "1m") -> list[Json]:
    return [{"at": at, "evictPods": {"pods": pods, "every": interval}}]


def test_pods_are_evicted_one_after_the_other_and_made_again() -> None:
    outcome = played(underused(), changes=evicting(["default/a-0", "default/lone"], "10s"), run_until="10m")
    moves = outcome.recorded_forced_moves
    at = [(time, outcome.pods[row]) for time, row in zip(moves.time.tolist(), moves.pod.tolist(), strict=True)]
    assert at == [(60.0, "default/a-0"), (70.0, "default/lone")]
    assert {"default/a-0-again1", "default/lone-again1"} <= set(outcome.pods)
    assert not len(outcome.pending)
    assert [outcome.texts[int(text)] for text in moves.text] == ["an eviction was asked for"] * 2


def test_an_evicted_pod_leaves_after_its_grace_period() -> None:
    slow = pod("slow", "a", spec={"terminationGracePeriodSeconds": 90})
    outcome = played([node("a"), slow], changes=evicting(["default/slow"]), run_until="10m")
    assert outcome.departed[outcome.index["default/slow"]] == 150.0


def test_a_pod_without_a_node_stays_and_one_without_a_controller_does_not_come_back() -> None:
    waits, bare = pod("waits", cpu="100"), pod("bare", "a", owner="")
    document: Json = {
        "name": "s",
        "objects": [node("a"), waits, bare],
        "changes": evicting(["default/waits", "default/bare"]),
        "run": {"until": "10m", "place": "pending"},
    }
    outcome = run_scenario(prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0), configuration())
    assert [outcome.pods[row] for row in outcome.recorded_forced_moves.pod.tolist()] == ["default/bare"]
    assert [outcome.pods[row] for row in outcome.pending.tolist()] == ["default/waits"]
    assert "default/bare-again1" not in outcome.index


def test_a_pod_that_is_not_there_is_refused() -> None:
    with pytest.raises(ScenarioError, match="default/none"):
        scene(underused(), changes=evicting(["default/none"]))


def test_a_budget_is_counted_and_not_waited_for() -> None:
    pods = [f"default/{name}-{number}" for name in ("a", "b") for number in range(2)]
    outcome = played([*underused(), budget(1)], changes=evicting(pods), run_until="10m")
    assert compute_measures(outcome)["disruptions"].value == 3.0
    assert compute_measures(outcome)["evictions"].value == 4.0
