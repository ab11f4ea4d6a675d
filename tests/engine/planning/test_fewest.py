"""Plans beside the best there is: every sequence of moves is tried in small clusters, and no plan beats its bound."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.planning.bands import Band, fewest_moves
from kschedweb.engine.planning.expected_use import compute_expected_use
from kschedweb.engine.planning.node_freeing import FreedNodes, Freeing
from kschedweb.engine.planning.plan import plan_moves
from kschedweb.engine.planning.results import MovePlan
from kschedweb.engine.planning.skew import Skew
from kschedweb.engine.planning.trial_cluster import TrialCluster
from tests.engine.planning.building import WATER_LEVEL, clusters, snapshot
from tests.support.tiers import count

DEEPEST = 3  # moves


def fewest(cluster: Snapshot, at_most: float, deepest: int) -> int | None:
    """The fewest moves after which the skew is at most so many points, ``None`` where more than ``deepest`` are needed.

    Every sequence is tried, and after each move whether a wave ends.
    """
    trial, use = TrialCluster(cluster, WATER_LEVEL), compute_expected_use(cluster, "cpu")
    rows = {pod.key: row for row, pod in enumerate(use.pods)}
    node = use.node.copy()
    amounts = 100.0 * use.amount

    def skew() -> float:
        level = [amounts[node == place].sum() / use.allocatable[place] for place in range(len(cluster))]
        return max(level) - min(level)

    def reached(depth: int) -> bool:
        if skew() <= at_most + 1e-9:
            return True
        moved_pods = {move.pod for move in trial.moved}
        for key, pod in trial.movable.items() if depth else ():
            mark, before = trial.mark(), int(node[rows[key]])
            if key in moved_pods or not (target := trial.move_pod(pod)).node:
                continue
            node[rows[key]] = cluster.index[target.node]
            is_reached = reached(depth - 1)
            if not is_reached and depth > 1:
                trial.end_wave()
                is_reached = reached(depth - 1)
            node[rows[key]] = before
            trial.rollback(mark)
            if is_reached:
                return True
        return False

    return next((depth for depth in range(deepest + 1) if reached(depth)), None)


def compared(drawn: tuple[list[Json], dict[str, float]], at_most: float) -> tuple[MovePlan, int | None]:
    cluster = snapshot(*drawn)
    return plan_moves(cluster, WATER_LEVEL, Skew(at_most)), fewest(cluster, at_most, DEEPEST)


@settings(max_examples=count(12, 600))
@given(clusters(plain=True), st.sampled_from([10.0, 20.0, 40.0]))
def test_no_plan_takes_fewer_moves_than_its_bound_says(
    drawn: tuple[list[Json], dict[str, float]], at_most: float
) -> None:
    cluster = snapshot(*drawn)
    best = fewest(cluster, at_most, 2)
    plan = plan_moves(cluster, WATER_LEVEL, Skew(at_most))
    use = compute_expected_use(cluster, "cpu")
    bound = fewest_moves(Band(at_most, use.compute_levels(), use.allocatable, use.counted, use.node, use.amount))
    if best is not None:
        assert best >= bound
    if plan.reached:
        assert len(plan.moves) >= bound
        assert best is None or len(plan.moves) >= best


@settings(max_examples=count(15, 300))
@given(clusters(plain=True))
def test_as_many_nodes_go_as_any_order_frees(drawn: tuple[list[Json], dict[str, float]]) -> None:
    """Each set of nodes is tried: no larger one than the plan's can be emptied."""
    cluster = snapshot(*drawn)
    plan = plan_moves(cluster, WATER_LEVEL, FreedNodes())
    freeing = Freeing(TrialCluster(cluster, WATER_LEVEL))
    names = freeing.candidates
    most_freed = max(
        (
            size
            for size in range(len(names) + 1)
            for chosen_nodes in combinations(names, size)
            if _all_go(freeing, list(chosen_nodes))
        ),
        default=0,
    )
    assert plan.after <= most_freed
    assert most_freed <= (plan.bound.value or 0)
    assert plan.after >= most_freed - 1


def _all_go(freeing: Freeing, chosen: list[str]) -> bool:
    return len(freeing._empty_nodes(chosen)) == len(chosen)
