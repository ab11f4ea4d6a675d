"""As many pods are counted in one run as in the other, and all counts agree."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.simulation import NodeDrains, PodArrives, SimulationEvent
from kschedweb.engine.studies.compare.comparison import compare_runs
from kschedweb.engine.studies.compare.pairs import pair_pods
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.play.successors import handled_by_scheduler, last_node, latest_rows
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration, make_crowded_scenario
from tests.support import tiers

PACKING = "MostAllocated"
HIGH = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def test_a_pod_and_what_took_its_place_are_one_place() -> None:
    events: list[SimulationEvent] = [
        PodArrives(0.0, pod("web"), None, True),
        *(NodeDrains(20.0 + n, name) for n, name in enumerate("ab")),
    ]
    outcome = run_scenario(PreparedScenario([node(name) for name in "abc"], events, 100.0), configuration())
    assert len(outcome.pods) > 1
    assert list(latest_rows(outcome)) == ["default/web"]
    assert last_node(outcome, latest_rows(outcome)["default/web"]) == "c"
    assert list(latest_rows(RunOutcome.decode(outcome.encode()))) == ["default/web"]


def test_a_pod_that_is_replaced_in_one_run_alone_is_held_against_its_replacement() -> None:
    # Packed, the important pod has a node of its own. Spread, a pod makes room for it and goes beside the other one.
    pods = [pod("first", requests={"cpu": "2"}), pod("small", requests={"cpu": "2"})]
    events: list[SimulationEvent] = [PodArrives(float(n), raw, None, True) for n, raw in enumerate(pods)]
    events += [PodArrives(10.0, pod("whole", requests={"cpu": "4"}, priorityClassName="high"), None, True)]
    prepared = PreparedScenario([node("a"), node("b"), HIGH], events, 200.0)
    spread, packed = configuration(), configuration(PACKING)
    before, after = run_scenario(prepared, spread), run_scenario(prepared, packed)
    assert (len(before.pods), len(after.pods)) == (4, 3)
    for first, second, policies in ((before, after, (spread, packed)), (after, before, (packed, spread))):
        comparison = compare_runs(first, second, prepared, *policies)
        assert (comparison.pods, comparison.pairs.only_before, comparison.pairs.only_after) == (3, [], [])
        assert all(first.nodes[first.node[latest_rows(first)[move.pod]]] == move.before for move in comparison.moved)
    (replacement,) = [name for name in before.pods if name.endswith("-again1")]
    (pair,) = [
        listed_pair for listed_pair in comparison.pairs.listed if listed_pair.pod == replacement.removesuffix("-again1")
    ]
    assert (first.pods[pair.before], second.pods[pair.after]) == (pair.pod, replacement)


@settings(max_examples=tiers.count(12, 80), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_counts_of_a_comparison_agree_with_the_measures_of_its_runs(seed: int) -> None:
    prepared = make_crowded_scenario(seed, pods=30)
    first, second = configuration(), configuration(PACKING)
    before, after = run_scenario(prepared, first), run_scenario(prepared, second)
    pairs = pair_pods(before, after)
    rows = [listed_pair.before for listed_pair in pairs.listed], [listed_pair.after for listed_pair in pairs.listed]
    assert all(len(set(some)) == len(pairs.listed) for some in rows)
    comparison = compare_runs(before, after, prepared, first, second)
    for outcome in (before, after):
        assert handled_by_scheduler(outcome)[list(latest_rows(outcome).values())].sum() == comparison.pods
    waits = [compute_measures(outcome)["unscheduled"].value or 0 for outcome in (before, after)]
    assert waits[1] - waits[0] == len(comparison.newly_unscheduled) - len(comparison.newly_scheduled)
    assert len(comparison.moved) <= comparison.pods


def test_pods_that_a_workload_has_more_of_are_told_apart() -> None:
    owner = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}]}

    def outcome(names: str) -> RunOutcome:
        raws = [pod(name) for name in names]
        for raw in raws:
            raw["metadata"] |= json.loads(json.dumps(owner))
        return run_scenario(
            PreparedScenario([node("a")], [PodArrives(0.0, raw) for raw in raws], 10.0), configuration()
        )

    first, second = outcome("abc"), outcome("cdefg")
    pairing = pair_pods(first, second)
    pairs = [
        (listed_pair.pod, first.pods[listed_pair.before], second.pods[listed_pair.after])
        for listed_pair in pairing.listed
    ]
    assert [tuple(name.removeprefix("default/") for name in names) for names in pairs] == [
        ("c", "c", "c"), ("a", "a", "d"), ("b", "b", "e"),
    ]  # fmt: skip
    assert (pairing.only_before, [second.pods[row] for row in pairing.only_after]) == ([], ["default/f", "default/g"])


def test_an_older_outcome_is_paired_by_the_names_of_pods() -> None:
    outcome = run_scenario(make_crowded_scenario(3, pods=12), configuration())
    older = RunOutcome(
        **{**vars(outcome), "first": outcome.first[:0], "workload": outcome.workload[:0], "workloads": []}
    )
    assert len(latest_rows(older)) == len(set(outcome.pods))
    assert len(pair_pods(older, older).listed) == handled_by_scheduler(outcome)[list(outcome.index.values())].sum()
