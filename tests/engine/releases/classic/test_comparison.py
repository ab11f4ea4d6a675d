"""Moves from a classic policy to a profile, and the rule for each."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pytest

from kschedweb.engine import Snapshot
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.engine.releases.classic.comparison import (
    MoveTally,
    MoveVerdict,
    PodMove,
    RuleKind,
    RuleSide,
    compare_pods,
    select_pods,
)
from kschedweb.engine.scenario.classic import ClassicScenario
from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.classic import RECORDED, unpacked
from tests.conformance.moves import CONFIG, PROFILES, check, of_today
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import POLICY

LEAST_REQUESTED = {
    "predicates": [{"name": "GeneralPredicates"}],
    "priorities": [{"name": "LeastRequestedPriority", "weight": 1}],
}
MOST_ALLOCATED = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
FILLED = pod("filled", on="half", requests={"cpu": "2", "memory": "4Gi"})
ASKING = {"cpu": "1", "memory": "2Gi"}
scenarios = cache(partial(unpacked, RECORDED))


def compared(*objects: dict, policy: dict | None = None, sequence: bool = False, **profile: Any) -> dict[str, PodMove]:
    """Return the outcome of each pod among ``objects``, by name."""
    loaded = load_policy({**POLICY, **(LEAST_REQUESTED if policy is None else policy)})
    configuration = load({**CONFIG, "profiles": [profile]}).configuration
    assert loaded.policy is not None
    assert configuration is not None
    snapshot = Snapshot.from_objects(objects)
    pods = select_pods(snapshot, bound=not sequence)
    algorithm = Registry(Edition()).build_algorithm(loaded.policy)
    moves = compare_pods(
        ClassicSnapshot.from_objects(objects), snapshot, algorithm, configuration, pods, sequence=sequence
    )
    return {move.pod.partition("/")[2]: move for move in moves}


def test_both_choose_the_same_node() -> None:
    move = compared(node("half"), node("empty"), FILLED, pod("p", requests=ASKING))["p"]
    assert (move.verdict, move.classic, move.profile, move.rule) == (MoveVerdict.SAME, "empty", "empty", None)


def test_equal_nodes_on_both_sides_are_no_move() -> None:
    move = compared(node("a"), node("b"), pod("p"))["p"]
    assert (move.verdict, move.classic_best, move.profile_best) == (MoveVerdict.EITHER, 2, 2)
    assert move.classic == move.profile
    assert not move.differs


def test_the_score_that_draws_the_pod_elsewhere_is_named() -> None:
    move = compared(node("half"), node("empty"), FILLED, pod("p", requests=ASKING), pluginConfig=[MOST_ALLOCATED])["p"]
    assert (move.verdict, move.classic, move.profile) == (MoveVerdict.MOVES, "empty", "half")
    assert move.rule is not None
    assert (move.rule.name, move.rule.side, move.rule.kind) == (
        "LeastRequestedPriority",
        RuleSide.CLASSIC,
        RuleKind.PREFERS,
    )
    assert move.rule.lead == 5  # of 10: the other node is half full
    assert move.rule.share == 1.0


def test_a_filter_that_rejects_the_old_node_comes_before_any_score() -> None:
    tainted = node("empty", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    move = compared(node("half"), tainted, FILLED, pod("p", requests=ASKING))["p"]
    assert (move.verdict, move.classic, move.profile) == (MoveVerdict.MOVES, "empty", "half")
    assert move.rule is not None
    assert (move.rule.name, move.rule.side, move.rule.kind) == (
        "TaintToleration",
        RuleSide.PROFILE,
        RuleKind.REJECTS,
    )
    assert move.rule.reason == "node(s) had untolerated taint(s)"


def test_a_predicate_that_rejects_the_new_node_is_named() -> None:
    argument = {"labelsPresence": {"labels": ["gen"], "presence": True}}
    nodes = node("half", labels={"gen": "6"}), node("empty")
    policy = {**LEAST_REQUESTED, "predicates": [{"name": "CheckNodeLabelPresence", "argument": argument}]}
    move = compared(*nodes, FILLED, pod("p", requests=ASKING), policy=policy)["p"]
    assert (move.verdict, move.classic, move.profile) == (MoveVerdict.MOVES, "half", "empty")
    assert move.rule is not None
    assert (move.rule.name, move.rule.side) == ("CheckNodeLabelPresence", RuleSide.CLASSIC)


def test_a_pod_that_fits_only_under_one_says_what_rejects_it() -> None:
    tainted = node("a", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    move = compared(tainted, pod("p"))["p"]
    assert (move.verdict, move.classic, move.profile) == (MoveVerdict.ONLY_CLASSIC, "a", "")
    assert move.rule is not None
    assert move.rule.name == "TaintToleration"
    turned = compared(tainted, pod("p"), policy={}, plugins={"multiPoint": {"disabled": [{"name": "TaintToleration"}]}})
    assert turned["p"].verdict is MoveVerdict.ONLY_PROFILE
    assert turned["p"].rule is not None
    assert (turned["p"].rule.name, turned["p"].rule.side) == ("PodToleratesNodeTaints", RuleSide.CLASSIC)


def test_a_gated_pod_waits_only_under_the_profile() -> None:
    move = compared(node("a"), pod("p", schedulingGates=[{"name": "example.com/wait"}]))["p"]
    assert move.verdict is MoveVerdict.ONLY_CLASSIC
    assert move.rule is not None
    assert move.rule.name == "SchedulingGates"


def test_a_cycle_that_fails_says_why() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]
    blind = {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in ("PrioritySort", "DefaultBinder")]}
    move = compared(node("a"), pod("p", volumes=volumes), plugins={"multiPoint": blind})["p"]
    assert move.verdict is MoveVerdict.ONLY_PROFILE
    assert move.rule is not None
    assert (move.rule.side, move.rule.kind) == (RuleSide.CLASSIC, RuleKind.FAILS)
    assert 'persistentvolumeclaim "gone" not found' in move.rule.reason


def test_a_pod_that_fits_nowhere_stays_where_it_is() -> None:
    move = compared(node("a"), pod("p", requests={"cpu": "100"}))["p"]
    assert (move.verdict, move.classic, move.profile, move.rule) == (MoveVerdict.NEITHER, "", "", None)


def test_a_node_that_pre_filter_leaves_out_is_one_that_the_profile_rejects() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["half"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    blind = {**LEAST_REQUESTED, "predicates": [{"name": "PodFitsResources"}]}
    raw = pod("p", requests=ASKING, affinity={"nodeAffinity": required})
    move = compared(node("half"), node("empty"), FILLED, raw, policy=blind)["p"]
    assert (move.verdict, move.classic, move.profile) == (MoveVerdict.MOVES, "empty", "half")
    assert move.rule is not None
    assert (move.rule.name, move.rule.kind) == ("NodeAffinity", RuleKind.REJECTS)


def test_a_bound_pod_is_looked_at_as_if_it_were_off_its_node() -> None:
    whole = pod("whole", on="a", requests={"cpu": "4"})
    move = compared(node("a"), node("b", allocatable={"cpu": "1"}), whole)["whole"]
    assert (move.bound_to, move.verdict, move.classic) == ("a", MoveVerdict.SAME, "a")


def test_a_pod_of_an_unknown_scheduler_is_under_the_first_profile() -> None:
    move = compared(node("a"), pod("p", schedulerName="mine"))["p"]
    assert move.verdict is MoveVerdict.SAME


def test_in_sequence_each_sees_those_before_it_and_both_take_a_node_that_both_can() -> None:
    nodes = [node("a", allocatable={"cpu": "1"}), node("b", allocatable={"cpu": "1"})]
    pods = [pod(f"p{number}", requests={"cpu": "1"}) for number in range(3)]
    moves = compared(*nodes, *pods, sequence=True)
    assert [move.verdict for move in moves.values()] == [MoveVerdict.EITHER, MoveVerdict.SAME, MoveVerdict.NEITHER]
    assert {moves["p0"].classic, moves["p1"].classic} == {"a", "b"}
    alone = compared(*nodes, *pods)
    assert {move.verdict for move in alone.values()} == {MoveVerdict.EITHER}


def test_neither_snapshot_is_changed() -> None:
    objects = [node("a"), pod("p", requests=ASKING)]
    classic, snapshot = ClassicSnapshot.from_objects(objects), Snapshot.from_objects(objects)
    configuration = load(CONFIG).configuration
    assert configuration is not None
    algorithm = Registry(Edition()).build_algorithm()
    list(compare_pods(classic, snapshot, algorithm, configuration, select_pods(snapshot), sequence=True))
    assert not classic.requested.any()
    assert not snapshot.requested.any()


def test_snapshots_of_other_nodes_are_refused() -> None:
    configuration = load(CONFIG).configuration
    assert configuration is not None
    mine, other = ClassicSnapshot.from_objects([node("a")]), Snapshot.from_objects([node("b")])
    with pytest.raises(ValueError, match="same nodes"):
        list(compare_pods(mine, other, Registry(Edition()).build_algorithm(), configuration, []))


def test_those_that_wait_come_by_priority_and_then_by_age() -> None:
    waiting = [pod("late"), pod("early"), pod("urgent", priority=5), pod("leaving"), pod("on", on="a")]
    for raw, time in zip(waiting, ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"), strict=False):
        raw["metadata"]["creationTimestamp"] = time
    waiting[3]["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    snapshot = Snapshot.from_objects([node("a"), *waiting])
    assert [selected_pod.name for selected_pod in select_pods(snapshot)] == ["urgent", "early", "late"]
    assert [selected_pod.name for selected_pod in select_pods(snapshot, bound=True)][3:] == ["on"]
    assert select_pods(snapshot, bound=True, namespaces=["elsewhere"]) == []


def test_pods_are_counted_by_verdict_and_by_rule() -> None:
    tally = MoveTally()
    for move in compared(
        node("half"),
        node("empty"),
        FILLED,
        pod("p", requests=ASKING),
        pod("q", requests=ASKING),
        pluginConfig=[MOST_ALLOCATED],
    ).values():
        tally.add_move(move)
    tally_json = tally.to_dict()
    assert tally_json["pods"] == 3
    assert tally_json["verdicts"]["moves"] == 2
    rule = {"name": "LeastRequestedPriority", "side": "classic", "kind": "prefers"}
    assert tally_json["rules"] == [{**rule, "pods": 2, "moves": 2}]


def _numbers() -> list[Any]:
    """Of the 240, every third run of all profiles, each alone and in sequence; the others in the full tier."""
    runs = 2 * len(PROFILES)
    return [pytest.param(seed, marks=[pytest.mark.nightly] if seed // runs % 3 else []) for seed in range(240)]


@pytest.mark.parametrize("number", _numbers())
def test_moves_are_what_both_explanations_come_to(number: int) -> None:
    """On every recorded classic scenario, each with one of several profiles, against plain data looked at slowly.

    Of each two one is asked in sequence: what was placed before is put there by hand.
    """
    scenario, sequence = scenarios()[number]["scenario"], number // len(PROFILES) % 2 == 1
    classic = ClassicScenario.from_json(scenario, {})
    today = Scenario.from_json(of_today(scenario, PROFILES[number % len(PROFILES)]))
    then, now, pods = ClassicScheduler(classic.snapshot, classic.algorithm), today.create_scheduler(None), today.pending
    of_both = classic.snapshot.copy(), today.snapshot.copy(), classic.algorithm, today.configuration
    for compared_pod, move in zip(pods, compare_pods(*of_both, pods, sequence=sequence), strict=True):
        second = now.explain(compared_pod).to_dict()
        try:
            first = then.explain(compared_pod, as_scheduled=True).to_dict()
        except CycleError as error:
            first = {"error": str(error)}
        check(move, first, second)
        for scheduler, chosen in ((then, move.classic), (now, move.profile)):
            if sequence and chosen:
                scheduler.bind_pod(compared_pod, chosen)
