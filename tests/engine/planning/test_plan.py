"""Plans keep their promises: budgets, protections, landing places, and an objective that never gets worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.planning import node_freeing
from kschedweb.engine.planning.fragments import Fragmentation
from kschedweb.engine.planning.node_freeing import FreedNodes, SavedCost
from kschedweb.engine.planning.plan import Objective, plan_moves
from kschedweb.engine.planning.results import MovePlan, PlanError
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.pricing.price_table import read_price_table
from tests.engine.builders import node
from tests.engine.planning.building import (
    BOUND,
    DEFAULT,
    GPU,
    WATER_LEVEL,
    budget,
    carry_out_plan,
    clusters,
    compute_levels,
    original,
    pod,
    snapshot,
)
from tests.support.tiers import count

PRICES = read_price_table(
    {
        "apiVersion": "kschedweb/v1",
        "kind": "PriceTable",
        "currency": "EUR",
        "perNode": 0.01,
        "prices": [
            {"labels": {"kubernetes.io/hostname": "n0"}, "price": 0.3},
            {"labels": {"kubernetes.io/hostname": "n1"}, "price": 0.1},
            {"labels": {"kubernetes.io/hostname": "n2"}, "price": 0.2},
        ],
        "commitments": [{"labels": {"kubernetes.io/hostname": "n0"}, "nodes": 1, "discount": 50}],
    }
)
OBJECTIVES = st.one_of(
    st.builds(Skew, st.sampled_from([0.0, 5.0, 20.0])),
    st.builds(FreedNodes, st.sampled_from([None, 1, 3])),
    st.just(SavedCost(PRICES)),
    st.builds(Fragmentation, st.just(GPU), st.integers(1, 4)),
)


def empty(cluster: Snapshot) -> set[str]:
    """The nodes with nothing but pods of DaemonSets and static pods."""
    empty_nodes = set(cluster.names)
    for cluster_pod in filter(None, cluster.pods.pods):
        if cluster_pod.controller is None or cluster_pod.controller[1] not in ("DaemonSet", "Node"):
            empty_nodes.discard(cluster_pod.node_name)
    return empty_nodes


def stranded(cluster: Snapshot, size: int) -> int:
    free = cluster.resource_row(cluster.allocatable, GPU) - cluster.resource_row(cluster.requested, GPU)
    return int(free[(free > 0) & (free < size)].sum())


def check_value(objective: Objective, plan: MovePlan, before: Snapshot, after: Snapshot, use: dict[str, float]) -> None:
    """Check the plan's objective values by another count; the plan makes them no worse than before."""
    match objective:
        case Skew():
            spans = [float(np.ptp(compute_levels(cluster, use))) for cluster in (before, after)]
            assert [plan.before, plan.after] == pytest.approx(spans, abs=1e-6)
            assert plan.after <= plan.before + 1e-9
        case FreedNodes():
            assert plan.before == len(empty(before))
            assert plan.after == len(empty(after)) >= plan.before
            assert set(plan.cordons) - set(plan.uncordons) <= empty(after)
        case SavedCost():
            assert set(plan.cordons) - set(plan.uncordons) <= empty(after)
            assert plan.after <= plan.before
        case Fragmentation():
            assert [plan.before, plan.after] == [stranded(state, objective.size) for state in (before, after)]
            assert plan.after <= plan.before


@settings(max_examples=count(120, 2000))
@given(clusters(), OBJECTIVES, st.sampled_from([DEFAULT, WATER_LEVEL]), st.sampled_from([0.0, 0.5, 3.0]))
def test_a_plan_can_be_carried_out_as_it_stands(
    drawn: tuple[list[Json], dict[str, float]], objective: Objective, policy: Configuration, price: float
) -> None:
    objects, use = drawn
    cluster = snapshot(objects, use)
    before = {cluster_pod.key: cluster_pod.node_name for cluster_pod in filter(None, cluster.pods.pods)}
    plan = plan_moves(cluster, policy, objective, price=price)
    assert {cluster_pod.key: cluster_pod.node_name for cluster_pod in filter(None, cluster.pods.pods)} == before, (
        "nothing is done"
    )

    after = carry_out_plan(cluster, policy, plan)
    kinds = {raw["metadata"]["name"]: raw for raw in objects if raw["kind"] == "Pod"}
    moved = [move.pod for move in plan.moves]
    assert len(set(moved)) == len(moved)
    for key in moved:
        raw = kinds[original(key)]
        owners = raw["metadata"]["ownerReferences"]
        assert owners
        assert owners[0]["kind"] not in ("DaemonSet", "Node")
        assert not raw["metadata"]["annotations"]
        assert "volumes" not in raw["spec"]
    check_value(objective, plan, cluster, after, use)
    assert len(plan.moves) >= plan.bound.moves
    if plan.bound.value is not None and isinstance(objective, FreedNodes):
        assert plan.after <= plan.bound.value
    elif plan.bound.value is not None:
        assert plan.after >= plan.bound.value - 1e-9
    gained = abs(plan.after - plan.before)
    assert not plan.moves or gained > price * len(plan.moves) - 1e-9, "moves are worth their price"


@settings(max_examples=count(40, 400))
@given(clusters(), st.sampled_from([FreedNodes(), SavedCost(PRICES)]))
def test_so_can_a_plan_for_many_nodes(
    drawn: tuple[list[Json], dict[str, float]], objective: FreedNodes | SavedCost
) -> None:
    """A node that cannot go stays cordoned until the moves are done, also where many others go."""
    objects, use = drawn
    cluster = snapshot(objects, use)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_freeing, "FEW", 0)
        plan = plan_moves(cluster, DEFAULT, objective)
    check_value(objective, plan, cluster, carry_out_plan(cluster, DEFAULT, plan), use)


@pytest.mark.parametrize("kind", BOUND)
def test_what_may_not_be_evicted_stays_and_is_told(kind: str) -> None:
    cluster = snapshot([node("a"), node("b"), pod("p0", "a", kind=kind), pod("p1", "a", kind=kind)], {"p0": 1, "p1": 1})
    plan = plan_moves(cluster, DEFAULT, Skew(0.0))
    assert plan.moves == []
    assert plan.stop.kind == "noGain"
    assert list(plan.stays.values()) == [2]


def test_a_budget_makes_waves_and_one_that_allows_nothing_stops_the_plan() -> None:
    pods = [pod(f"p{number}", "a") for number in range(4)]
    use = {f"p{number}": 1.0 for number in range(4)}
    plan = plan_moves(snapshot([node("a"), node("b"), *pods, budget("web", 1)], use), DEFAULT, Skew(0.0))
    assert [len(wave) for wave in plan.waves] == [1, 1]
    assert {move.budget for move in plan.moves} == {"default/web"}
    none = plan_moves(snapshot([node("a"), node("b"), *pods, budget("web", 0)], use), DEFAULT, Skew(0.0))
    assert none.moves == []
    assert none.stop.kind == "budget"
    assert "default/web" in none.stop.text
    free = plan_moves(snapshot([node("a"), node("b"), *pods], use), DEFAULT, Skew(0.0))
    assert [len(wave) for wave in free.waves] == [2]


def test_the_limit_of_moves_is_kept_and_told() -> None:
    pods = [pod(f"p{number}", "ab"[number // 3], cpu="500m") for number in range(5)]
    cluster = snapshot([node("a"), node("b"), node("c"), *pods], {f"p{number}": 1.0 for number in range(5)})
    for objective in (Skew(0.0), FreedNodes(2)):
        plan = plan_moves(cluster, DEFAULT, objective, max_moves=1)
        assert len(plan.moves) <= 1
        assert plan.stop.kind == "mostMoves"
    assert plan_moves(cluster, DEFAULT, Skew(0.0), max_moves=0).moves == []


def test_what_it_costs_to_move_is_weighed() -> None:
    pods = [pod(f"p{number}", "a", cpu="500m") for number in range(4)]
    cluster = snapshot([node("a"), node("b"), *pods], {"p0": 1.0, "p1": 1.0, "p2": 0.1, "p3": 0.1})
    assert [move.gain for move in plan_moves(cluster, DEFAULT, Skew(0.0)).moves] == pytest.approx([50.0, 5.0])
    dear = plan_moves(cluster, DEFAULT, Skew(0.0), price=10.0)
    assert [move.gain for move in dear.moves] == pytest.approx([50.0])
    assert dear.stop.kind == "price"
    assert plan_moves(cluster, DEFAULT, Skew(0.0), price=100.0).moves == []


def test_money_is_saved_where_it_is_worth_the_moves() -> None:
    cluster = snapshot(
        [node("n0"), node("n1"), node("n2"), pod("p0", "n0"), pod("p1", "n1"), pod("p2", "n2")],
        {"p0": 0.1, "p1": 0.1, "p2": 0.1},
    )
    plan = plan_moves(cluster, DEFAULT, SavedCost(PRICES, hours=10.0))
    # n0 costs 0.3 less half of it, n1 0.1, n2 0.2, each and 0.01 more.
    assert plan.before == pytest.approx(10 * (0.15 + 0.1 + 0.2 + 0.03))
    assert set(plan.cordons) == {"n0", "n2"}
    assert plan.after == pytest.approx(10 * 0.11)
    assert plan.stop.kind == "best"
    assert plan_moves(cluster, DEFAULT, SavedCost(PRICES, hours=10.0), price=1.7).cordons == ("n2",)
    assert plan_moves(cluster, DEFAULT, SavedCost(PRICES, hours=10.0), price=2.2).cordons == ()


def test_devices_are_brought_together() -> None:
    gpus = {GPU: "4"}
    objects = [node("a", allocatable=gpus), node("b", allocatable=gpus)]
    objects += [pod("p0", "a", gpu=2, cpu="1"), pod("p1", "b", gpu=2, cpu="1"), pod("p2", "b", cpu="2")]
    plan = plan_moves(snapshot(objects, {}), DEFAULT, Fragmentation(GPU, 4))
    assert (plan.before, plan.after) == (4, 0)
    assert [(move.pod, move.source, move.target) for move in plan.moves] == [("default/p1", "b", "a")]
    assert plan.bound.to_dict() == {"moves": 1, "value": 0.0}


def test_what_cannot_be_planned_is_refused_in_words() -> None:
    objects = [node("a"), node("b"), pod("p0", "a")]
    with pytest.raises(PlanError, match="nothing is known of real use"):
        plan_moves(Snapshot.from_objects(objects), DEFAULT, Skew(0.0))
    with pytest.raises(PlanError, match="fewer than two nodes"):
        plan_moves(snapshot([objects[0], objects[2]], {"p0": 1.0}), DEFAULT, Skew(0.0))
    with pytest.raises(PlanError, match="no price for any node"):
        plan_moves(snapshot(objects, {}), DEFAULT, SavedCost(PRICES))
    with pytest.raises(PlanError, match=f"no node has {GPU}"):
        plan_moves(snapshot(objects, {}), DEFAULT, Fragmentation(GPU, 2))


def test_a_pulse_can_end_the_work() -> None:
    def stop() -> None:
        raise InterruptedError

    cluster = snapshot([node("a"), node("b"), pod("p0", "a"), pod("p1", "a")], {"p0": 1.0, "p1": 1.0})
    with pytest.raises(InterruptedError):
        plan_moves(cluster, DEFAULT, Skew(0.0), pulse=stop)


def test_pods_of_a_cordoned_node_may_use_up_the_last_fragments() -> None:
    """Three free devices are too few for a pod of four; one that leaves a cordoned node takes one of them."""
    closed = node("c", allocatable={"cpu": "8", GPU: "1"}, unschedulable=True)
    cluster = snapshot([node("a", allocatable={"cpu": "8", GPU: "3"}), closed, pod("p", "c", gpu=1)], {})
    plan = plan_moves(cluster, DEFAULT, Fragmentation(GPU, 4))
    assert (plan.before, plan.after) == (3.0, 2.0)
    assert plan.bound.value == 0.0


def test_a_search_that_is_late_tells_the_best_plan_so_far() -> None:
    objects = [node(name, allocatable={"cpu": "8"}) for name in "abc"]
    cluster = snapshot([*objects, pod("p", "a"), pod("q", "b", cpu="2")], {})
    looks = iter([False, *[True] * 20])
    plan = plan_moves(cluster, DEFAULT, FreedNodes(2), late=lambda: next(looks))
    assert (plan.stop.kind, plan.after, plan.bound.value) == ("time", 1.0, 2.0)
    assert (plan.cordons, plan.uncordons) == (("c", "a"), ("a",))
    assert plan_moves(cluster, DEFAULT, FreedNodes(2)).reached
