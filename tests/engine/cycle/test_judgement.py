"""Judgement of another scheduler's placement by a policy."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.cycle.judgement import Agreement, Judgement, JudgementReason, judge_placement, why_moved
from tests.engine.builders import node, pod, scheduler

MOST_ALLOCATED = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
FILLED = pod("filled", on="half", requests={"cpu": "2", "memory": "4Gi"})
ASKING = {"cpu": "1", "memory": "2Gi"}


def judged(node_name: str, *objects: dict, raw: dict | None = None, **profile: Any) -> Judgement:
    engine = scheduler(*(objects or (node("half"), node("empty"), FILLED)), **profile)
    return judge_placement(engine, Pod.from_json(raw or pod("p", requests=ASKING)), node_name)


def test_the_best_node_is_agreed_to() -> None:
    judgement = judged("empty")
    assert (judgement.verdict, judgement.best, judgement.rank, judgement.difference) == (
        Agreement.AGREE,
        ("empty",),
        1,
        0,
    )


def test_any_of_the_best_is_agreed_to() -> None:
    judgement = judged("b", node("a"), node("b"))
    assert judgement.agrees
    assert judgement.best == ("a", "b")


def test_another_strategy_differs_and_is_named() -> None:
    judgement = judged("empty", pluginConfig=[MOST_ALLOCATED])
    assert (judgement.verdict, judgement.best, judgement.rank) == (Agreement.DIFFER, ("half",), 2)
    assert judgement.plugin == "NodeResourcesFit"
    assert judgement.difference == sum(judgement.differences.values()) == 50


def test_a_node_without_room_is_infeasible_in_the_filters_words() -> None:
    judgement = judged("half", raw=pod("p", requests={"cpu": "3"}))
    assert (judgement.verdict, judgement.plugin, judgement.message) == (
        Agreement.INFEASIBLE,
        "NodeResourcesFit",
        "Insufficient cpu",
    )
    assert (judgement.rank, judgement.difference, judgement.best) == (None, None, ("empty",))


def test_a_node_that_is_gone_is_infeasible() -> None:
    assert judged("gone").message == 'node "gone" not found'


def test_a_node_that_pre_filter_leaves_out_is_infeasible() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["empty"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    judgement = judged("half", raw=pod("p", requests=ASKING, affinity={"nodeAffinity": required}))
    assert judgement.verdict is Agreement.INFEASIBLE
    assert judgement.message


def test_both_finding_nothing_is_agreement() -> None:
    judgement = judged("", raw=pod("p", requests={"cpu": "9"}))
    assert judgement.agrees
    assert judgement.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_finding_a_node_where_the_other_found_none_is_told() -> None:
    judgement = judged("")
    assert (judgement.verdict, judgement.best, judgement.feasible) == (Agreement.WOULD_PLACE, ("empty",), 2)


def test_a_pod_that_has_its_node_already_is_judged_without_it() -> None:
    bound = pod("p", on="half", requests=ASKING)
    judgement = judged("half", node("half"), node("empty"), FILLED, bound, raw=bound)
    assert (judgement.verdict, judgement.best) == (Agreement.DIFFER, ("empty",))


def test_a_pod_of_another_schedulers_name_is_judged_by_the_first_profile() -> None:
    assert judged("empty", raw=pod("p", requests=ASKING, schedulerName="other")).agrees


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=7), st.data())
def test_a_node_is_agreed_to_exactly_where_nothing_scores_higher(used: list[int], data: st.DataObject) -> None:
    names = [f"n{number}" for number in range(len(used))]
    filled = [pod(f"f{at}", on=names[at], requests={"cpu": f"{cpu}m"}) for at, cpu in enumerate(used)]
    engine = scheduler(*map(node, names), *filled)
    small_pod = Pod.from_json(pod("p", requests={"cpu": "500m"}))
    explained = engine.explain(small_pod)
    totals = dict(zip((explained.nodes[row] for row in explained.feasible), explained.total.tolist(), strict=True))
    chosen_node = data.draw(st.sampled_from(names))
    judgement = judge_placement(engine, small_pod, chosen_node)
    assert judgement.agrees == (totals[chosen_node] == max(totals.values()))
    assert judgement.difference == max(totals.values()) - totals[chosen_node]
    assert judgement.rank == 1 + sum(total > totals[chosen_node] for total in totals.values())
    assert sum(judgement.differences.values()) == judgement.difference


def reason(
    raw: dict, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> JudgementReason | None:
    """Return the reason why the profile ``after`` puts ``raw`` elsewhere, given an empty node and a half full one."""
    nodes = (node("half"), node("empty"), FILLED)
    old, new = (scheduler(*nodes, **(profile or {})).explain(Pod.from_json(raw)) for profile in (before, after))
    return why_moved(old, new)


def without_plugins(*plugins: str) -> dict[str, Any]:
    return {"plugins": {"multiPoint": {"disabled": [{"name": plugin} for plugin in plugins]}}}


def test_the_plugin_that_prefers_the_new_node_moves_a_pod() -> None:
    reason_found = reason(pod("p", requests=ASKING), after={"pluginConfig": [MOST_ALLOCATED]})
    assert reason_found is not None
    assert (reason_found.plugin, reason_found.message) == ("NodeResourcesFit", "")
    assert reason_found.lead == 50


def test_the_filter_that_rejects_its_node_moves_a_pod() -> None:
    """Without room on either node, or with it: who lets it through puts it somewhere."""
    large = pod("p", requests={"cpu": "9"})
    lost = reason(large, before=without_plugins("NodeResourcesFit"))
    gained = reason(large, after=without_plugins("NodeResourcesFit"))
    assert lost == gained == JudgementReason("NodeResourcesFit", None, "Insufficient cpu")


def test_a_pod_whose_node_is_still_among_the_best_does_not_move() -> None:
    assert reason(pod("p", requests=ASKING)) is None
    nothing_scores = {"plugins": {"score": {"disabled": [{"name": "*"}]}}}
    assert reason(pod("p", requests=ASKING), after=nothing_scores) is None
