"""Where another scheduler put a pod, as a policy sees it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.cycle.judgement import Agreement, Judgement, JudgementReason, judge_placement, why_moved
from tests.engine.builders import node, pod, scheduler

MOST = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
FILLED = pod("filled", on="half", requests={"cpu": "2", "memory": "4Gi"})
ASKING = {"cpu": "1", "memory": "2Gi"}


def judged(where: str, *objects: dict, raw: dict | None = None, **profile: Any) -> Judgement:
    engine = scheduler(*(objects or (node("half"), node("empty"), FILLED)), **profile)
    return judge_placement(engine, Pod.from_json(raw or pod("p", requests=ASKING)), where)


def test_the_best_node_is_agreed_to() -> None:
    found = judged("empty")
    assert (found.verdict, found.best, found.rank, found.difference) == (Agreement.AGREE, ("empty",), 1, 0)


def test_any_of_the_best_is_agreed_to() -> None:
    found = judged("b", node("a"), node("b"))
    assert found.agrees
    assert found.best == ("a", "b")


def test_another_strategy_differs_and_is_named() -> None:
    found = judged("empty", pluginConfig=[MOST])
    assert (found.verdict, found.best, found.rank) == (Agreement.DIFFER, ("half",), 2)
    assert found.plugin == "NodeResourcesFit"
    assert found.difference == sum(found.differences.values()) == 50


def test_a_node_without_room_is_infeasible_in_the_filters_words() -> None:
    found = judged("half", raw=pod("p", requests={"cpu": "3"}))
    assert (found.verdict, found.plugin, found.message) == (
        Agreement.INFEASIBLE,
        "NodeResourcesFit",
        "Insufficient cpu",
    )
    assert (found.rank, found.difference, found.best) == (None, None, ("empty",))


def test_a_node_that_is_gone_is_infeasible() -> None:
    assert judged("gone").message == 'node "gone" not found'


def test_a_node_that_pre_filter_leaves_out_is_infeasible() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["empty"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = judged("half", raw=pod("p", requests=ASKING, affinity={"nodeAffinity": required}))
    assert found.verdict is Agreement.INFEASIBLE
    assert found.message


def test_both_finding_nothing_is_agreement() -> None:
    found = judged("", raw=pod("p", requests={"cpu": "9"}))
    assert found.agrees
    assert found.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_finding_a_node_where_the_other_found_none_is_told() -> None:
    found = judged("")
    assert (found.verdict, found.best, found.feasible) == (Agreement.WOULD_PLACE, ("empty",), 2)


def test_a_pod_that_has_its_node_already_is_judged_without_it() -> None:
    bound = pod("p", on="half", requests=ASKING)
    found = judged("half", node("half"), node("empty"), FILLED, bound, raw=bound)
    assert (found.verdict, found.best) == (Agreement.DIFFER, ("empty",))


def test_a_pod_of_another_schedulers_name_is_judged_by_the_first_profile() -> None:
    assert judged("empty", raw=pod("p", requests=ASKING, schedulerName="other")).agrees


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=7), st.data())
def test_a_node_is_agreed_to_exactly_where_nothing_scores_higher(used: list[int], data: st.DataObject) -> None:
    names = [f"n{number}" for number in range(len(used))]
    filled = [pod(f"f{at}", on=names[at], requests={"cpu": f"{cpu}m"}) for at, cpu in enumerate(used)]
    engine = scheduler(*map(node, names), *filled)
    one = Pod.from_json(pod("p", requests={"cpu": "500m"}))
    explained = engine.explain(one)
    totals = dict(zip((explained.nodes[row] for row in explained.feasible), explained.total.tolist(), strict=True))
    where = data.draw(st.sampled_from(names))
    found = judge_placement(engine, one, where)
    assert found.agrees == (totals[where] == max(totals.values()))
    assert found.difference == max(totals.values()) - totals[where]
    assert found.rank == 1 + sum(total > totals[where] for total in totals.values())
    assert sum(found.differences.values()) == found.difference


def reason(
    raw: dict, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> JudgementReason | None:
    """Why ``raw`` goes elsewhere by the profile ``after``, on an empty node and one that is half full."""
    nodes = (node("half"), node("empty"), FILLED)
    old, new = (scheduler(*nodes, **(profile or {})).explain(Pod.from_json(raw)) for profile in (before, after))
    return why_moved(old, new)


def without(*plugins: str) -> dict[str, Any]:
    return {"plugins": {"multiPoint": {"disabled": [{"name": plugin} for plugin in plugins]}}}


def test_the_plugin_that_prefers_the_new_node_moves_a_pod() -> None:
    found = reason(pod("p", requests=ASKING), after={"pluginConfig": [MOST]})
    assert found is not None
    assert (found.plugin, found.message) == ("NodeResourcesFit", "")
    assert found.lead == 50


def test_the_filter_that_rejects_its_node_moves_a_pod() -> None:
    """Without room on either node, or with it: who lets it through puts it somewhere."""
    large = pod("p", requests={"cpu": "9"})
    lost = reason(large, before=without("NodeResourcesFit"))
    gained = reason(large, after=without("NodeResourcesFit"))
    assert lost == gained == JudgementReason("NodeResourcesFit", None, "Insufficient cpu")


def test_a_pod_whose_node_is_still_among_the_best_does_not_move() -> None:
    assert reason(pod("p", requests=ASKING)) is None
    nothing_scores = {"plugins": {"score": {"disabled": [{"name": "*"}]}}}
    assert reason(pod("p", requests=ASKING), after=nothing_scores) is None
