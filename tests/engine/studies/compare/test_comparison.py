"""Pods that go elsewhere under another policy, and the reasons."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.config import Configuration
from kschedweb.engine.simulation import PodArrives, SimulationEvent, SimulationSettings
from kschedweb.engine.studies.compare.comparison import (
    NO_SCORES,
    NOT_SCORED,
    PlacementChange,
    PlacementComparison,
    compare_runs,
)
from kschedweb.engine.studies.play.explained_tries import explain_try
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration, make_crowded_scenario
from tests.support import tiers

PACKING = "MostAllocated"


def compared(prepared: PreparedScenario, first: Configuration, second: Configuration) -> PlacementComparison:
    return compare_runs(run_scenario(prepared, first), run_scenario(prepared, second), prepared, first, second)


def arrivals(*pods: dict) -> list[SimulationEvent]:
    return [PodArrives(float(number), raw) for number, raw in enumerate(pods)]


def test_a_run_beside_itself_moves_nothing() -> None:
    comparison = compared(make_crowded_scenario(4), configuration(), configuration())
    assert comparison.counts() | {"pods": 0} == {
        "pods": 0,
        "moved": 0,
        "newlyUnscheduled": 0,
        "newlyScheduled": 0,
        "onlyBefore": 0,
        "onlyAfter": 0,
        "byPlugin": {},
    }


def test_the_term_that_favours_the_new_node_most_is_named() -> None:
    events = arrivals(pod("small", requests={"cpu": "1", "memory": "1Gi"}))
    already = pod("already", on="a", requests={"cpu": "2", "memory": "4Gi"})
    prepared = PreparedScenario([node("a"), node("b"), already], events, 10.0)
    comparison = compared(prepared, configuration(), configuration(PACKING))
    (change,) = comparison.moved
    assert (change.pod, change.before, change.after, change.plugin) == ("default/small", "b", "a", "NodeResourcesFit")
    scores = {
        column.plugin: dict(zip("ab", column.weighted.tolist(), strict=True))
        for column in explain_try(prepared, configuration(PACKING), "default/small").explanation.scores
    }
    assert change.lead == scores["NodeResourcesFit"]["a"] - scores["NodeResourcesFit"]["b"]
    assert comparison.counts()["byPlugin"] == {"NodeResourcesFit": 1}


def test_a_node_that_another_pod_took_is_said_to_be_full() -> None:
    big, bigger = pod("big", requests={"cpu": "3"}), pod("bigger", requests={"cpu": "3500m"})
    already = pod("already", on="a", requests={"cpu": "500m"})
    prepared = PreparedScenario([node("a"), node("b"), already], arrivals(big, bigger), 10.0)
    comparison = compared(prepared, configuration(), configuration(PACKING))
    assert {change.pod for change in comparison.moved} == {"default/big", "default/bigger"}
    by_pod = {change.pod: change for change in comparison.moved}
    assert by_pod["default/bigger"] == PlacementChange(
        "default/bigger", "a", "b", "NodeResourcesFit", None, by_pod["default/bigger"].message, follows=True
    )
    assert not by_pod["default/big"].follows
    assert by_pod["default/bigger"].message == "Insufficient cpu"


def test_pods_that_lose_and_gain_a_node_are_told_with_what_rejects_them() -> None:
    # Spread, the two small pods leave no node for the whole one; packed, they do.
    pods = [pod(f"small-{n}", requests={"cpu": "1"}) for n in range(2)] + [pod("whole", requests={"cpu": "4"})]
    prepared = PreparedScenario([node("a"), node("b")], arrivals(*pods), 10.0, SimulationSettings(sample=1.0))
    gains = compared(prepared, configuration(), configuration(PACKING))
    (gained,) = gains.newly_scheduled
    assert (gained.pod, gained.before, gained.plugin) == ("default/whole", "", "NodeResourcesFit")
    assert gained.message == "Insufficient cpu"
    loses = compared(prepared, configuration(PACKING), configuration())
    (lost,) = loses.newly_unscheduled
    assert (lost.pod, lost.before, lost.after, lost.plugin) == ("default/whole", gained.after, "", "NodeResourcesFit")


def test_where_no_plugin_prefers_the_new_node_that_is_said() -> None:
    prepared = PreparedScenario(
        [node("a"), node("b"), pod("already", on="a", requests={"cpu": "2"})], arrivals(pod("one")), 10.0
    )
    all_off = {"disabled": [{"name": "*"}]}
    equal = configuration(plugins={"score": {**all_off, "enabled": [{"name": "ImageLocality"}]}})
    (change,) = compared(prepared, configuration(), equal).moved
    assert change == PlacementChange("default/one", "b", "a", message=NO_SCORES)
    unscored = configuration(plugins={"score": all_off, "preScore": all_off})
    (change,) = compared(prepared, configuration(), unscored).moved
    assert change == PlacementChange("default/one", "b", "a", message=NOT_SCORED)


@settings(max_examples=tiers.count(3, 30), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_difference_has_a_reason_that_the_explanation_bears_out(seed: int) -> None:
    prepared = make_crowded_scenario(seed, pods=25)
    first, second = configuration(), configuration(PACKING)
    before, after = run_scenario(prepared, first), run_scenario(prepared, second)
    comparison = compare_runs(before, after, prepared, first, second)
    for change in comparison.moved:
        assert before.nodes[before.node[before.index[change.before_pod or change.pod]]] == change.before
        assert after.nodes[after.node[after.index[change.after_pod or change.pod]]] == change.after
        assert change.plugin or change.message
    if comparison.moved and not (comparison.newly_scheduled or comparison.newly_unscheduled):
        earliest = min(
            comparison.moved,
            key=lambda change: int(after.tries.moves_before[after.index[change.after_pod or change.pod]]),
        )
        assert not earliest.follows
    leading = [change for change in comparison.moved if change.lead is not None]
    for change in leading[:3]:
        explanation = explain_try(prepared, second, change.after_pod or change.pod).explanation
        names = [explanation.nodes[place] for place in explanation.feasible]
        terms = {
            column.plugin: int(column.weighted[names.index(change.after)] - column.weighted[names.index(change.before)])
            for column in explanation.scores
        }
        assert terms[change.plugin] == change.lead == max(terms.values())


def test_counts_and_lists_agree() -> None:
    comparison = compared(make_crowded_scenario(21), configuration(), configuration(PACKING))
    counts, lists = comparison.counts(), comparison.to_dict()
    assert {name: len(lists[name]) for name in lists} == {name: counts[name] for name in lists}
    assert sum(counts["byPlugin"].values()) == counts["moved"] > 0
    assert set(lists["moved"][0]) == {
        "pod", "before", "after", "plugin", "lead", "said", "follows", "before_pod", "after_pod"
    }  # fmt: skip


def test_a_comparison_can_be_ended() -> None:
    class EnoughError(Exception):
        pass

    def progress(seconds: float, explained: int, all_of_them: int) -> None:
        raise EnoughError

    prepared = make_crowded_scenario(21, pods=60)
    first, second = configuration(), configuration(PACKING)
    before, after = run_scenario(prepared, first), run_scenario(prepared, second)
    with pytest.raises(EnoughError):
        compare_runs(before, after, prepared, first, second, progress=progress)
