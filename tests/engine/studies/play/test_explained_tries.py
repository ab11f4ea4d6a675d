"""A try looked at again is the try that the run made."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kschedweb.engine.simulation import (
    NodeChanges,
    PodArrives,
    PodChanges,
    PodLeaves,
    SimulationEvent,
    SimulationSettings,
)
from kschedweb.engine.simulation.recorded_use import Follower, RecordedUse
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.play import rewind
from kschedweb.engine.studies.play.explained_tries import NoSuchTryError, explain_try
from kschedweb.engine.studies.play.rewind import can_rewind
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.estimate import Estimate, EstimatedUse
from kschedweb.engine.studies.prepare.history import UseReplay
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.gangs import configured, group, members
from tests.engine.studies.worlds import (
    configuration,
    make_crowded_scenario,
    make_queue_scenario,
    make_refused_pods_scenario,
)
from tests.support import tiers

PACKING = "MostAllocated"


@settings(max_examples=tiers.count(8, 100), deadline=None)
@given(seed=st.integers(0, 10_000), chosen=st.integers(0, 10_000), strategy=st.sampled_from(["", "MostAllocated"]))
def test_the_last_try_of_a_pod_comes_to_what_it_came_to_in_the_run(seed: int, chosen: int, strategy: str) -> None:
    prepared = make_crowded_scenario(seed)
    outcome = run_scenario(prepared, configuration(strategy))
    tried_rows = np.flatnonzero(outcome.attempts > 0)
    row = int(tried_rows[chosen % len(tried_rows)])
    decided = explain_try(prepared, configuration(strategy), outcome.pods[row], attempts=int(outcome.attempts[row]))
    if outcome.node[row] >= 0:
        # The run may have lost the node while the try went on; it bound the pod to what the last try found.
        assert decided.placement.node == outcome.nodes[outcome.node[row]]
        assert decided.time == pytest.approx(outcome.bound[row] - prepared.settings.cycle)
        assert decided.explanation.chosen is not None
        best = {decided.explanation.nodes[place] for place in decided.explanation.best}
        assert decided.placement.node in best | {decided.pod.nominated_node}
    else:
        assert decided.placement.condition == outcome.texts[outcome.message[row]]
        assert decided.explanation.chosen is None


@settings(max_examples=tiers.count(2, 30), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    seed=st.integers(0, 10_000),
    world=st.sampled_from([make_crowded_scenario, make_queue_scenario, make_refused_pods_scenario]),
    strategy=st.sampled_from(["", PACKING]),
)
def test_the_log_shows_a_try_as_a_replay_does(
    seed: int, world: Callable[[int], PreparedScenario], strategy: str
) -> None:
    prepared, config = world(seed), configuration(strategy)
    outcome = run_scenario(prepared, config)
    rewindable = [row for row in range(len(outcome.pods)) if can_rewind(outcome, row)]
    assert rewindable
    if world is make_queue_scenario:
        assert len(rewindable) == len(outcome.pods)
    for row in rewindable[:: max(1, len(rewindable) // 8)]:
        pod_name, attempts = outcome.pods[row], int(outcome.attempts[row])
        by_log = explain_try(prepared, config, pod_name, outcome=outcome)
        replayed = explain_try(prepared, config, pod_name, attempts=attempts)
        assert by_log.placement == replayed.placement
        assert by_log.explanation.to_dict() == replayed.explanation.to_dict()
        assert (by_log.time, by_log.attempt, by_log.attempts) == (replayed.time, replayed.attempt, replayed.attempts)
        assert by_log.snapshot.names == replayed.snapshot.names
        for name in ("requested", "nonzero", "pod_count", "allocatable"):
            assert np.array_equal(getattr(by_log.snapshot, name), getattr(replayed.snapshot, name))
        assert [list_pods_on(by_log.snapshot, node) for node in range(len(by_log.snapshot))] == [
            list_pods_on(replayed.snapshot, node) for node in range(len(replayed.snapshot))
        ]


@settings(max_examples=tiers.count(3, 30), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 10_000), use=st.sampled_from(["", "recorded", "estimated", "history"]), order=st.randoms())
def test_decisions_in_any_order_show_what_each_shows_alone(seed: int, use: str, order: random.Random) -> None:
    prepared, config = make_queue_scenario(seed), configuration(PACKING)
    if use:
        prepared = with_use(prepared, [10.0, 60.0, 30.0]) if use == "recorded" else with_estimate(prepared, use)
    outcome = run_scenario(prepared, config)
    rows = order.sample(range(len(outcome.pods)), 12)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rewind, "MIN_MOVES_BETWEEN", 10)
        rewinds = rewind.Rewinds(prepared, config, outcome)
    explained_tries = [
        (row, explain_try(prepared, config, outcome.pods[row], outcome=outcome, rewinds=rewinds)) for row in rows
    ]
    for row, together in explained_tries:  # The first ones must not have moved on with those after them.
        alone = explain_try(prepared, config, outcome.pods[row], outcome=outcome)
        assert together.placement == alone.placement
        assert together.explanation.to_dict() == alone.explanation.to_dict()
        assert together.scheduler.explain(together.pod, preemption=True).to_dict() == alone.explanation.to_dict()
        for name in ("requested", "nonzero", "pod_count"):
            assert np.array_equal(getattr(together.snapshot, name), getattr(alone.snapshot, name))
        for place in range(len(alone.snapshot)):
            assert list_pods_on(together.snapshot, place) == list_pods_on(alone.snapshot, place)
        if use:
            assert np.array_equal(percent(together.snapshot), percent(alone.snapshot))


def percent(snapshot: Snapshot) -> Floats:
    """Return the CPU use of each node in percent."""
    assert snapshot.watermarks is not None
    return snapshot.watermarks.column("cpu", "5m")


def list_pods_on(snapshot: Snapshot, node: int) -> list[tuple[str, float, float]]:
    """The pods of a node in their order, and since when they run."""
    return [
        (bound_pod.key, bound_pod.started, snapshot.scheduled_at(bound_pod))
        for bound_pod in snapshot.pods.pods_on(node)
    ]


def test_the_log_follows_what_is_measured() -> None:
    prepared = with_use(make_queue_scenario(3), [10.0, 60.0, 30.0])
    config = configuration()
    outcome = run_scenario(prepared, config)
    row = int(np.nanargmax(outcome.tries.time))
    assert can_rewind(outcome, row)
    by_log = explain_try(prepared, config, outcome.pods[row], outcome=outcome).snapshot.watermarks
    replayed = explain_try(prepared, config, outcome.pods[row], attempts=int(outcome.attempts[row])).snapshot.watermarks
    assert by_log is not None
    assert replayed is not None
    assert np.array_equal(by_log.column("cpu", "5m"), replayed.column("cpu", "5m"))
    assert np.array_equal(by_log.updated, replayed.updated)


def test_where_more_happens_than_moves_tell_the_run_is_replayed() -> None:
    for changes, pods, policy in (
        ([NodeChanges(5.0, "only", labels={"a": "b"})], [pod("late")], {}),
        ([PodChanges(5.0, pod("first", labels={"a": "b"}))], [pod("first", requests={"cpu": "9"}), pod("late")], {}),
    ):
        arrive = [PodArrives(10.0 * place, raw) for place, raw in enumerate(pods, start=2 - len(pods))]
        prepared = PreparedScenario([node("only")], sorted([*arrive, *changes], key=lambda event: event.time), 100.0)
        outcome = run_scenario(prepared, configuration(**policy))
        assert not can_rewind(outcome, outcome.index["default/late"])
        decided = explain_try(prepared, configuration(**policy), "default/late", outcome=outcome)
        assert decided.placement.node == "only"


def with_use(prepared: PreparedScenario, curve: list[float]) -> PreparedScenario:
    """The nodes' pods all use what ``curve`` says, in percent of what they ask for."""
    nodes = {raw["metadata"]["name"]: 4.0 for raw in prepared.objects if raw["kind"] == "Node"}
    pods = [event.pod for event in prepared.events if isinstance(event, PodArrives) and isinstance(event.pod, dict)]
    followers = {f"default/Pod/{raw['metadata']['name']}": Follower(0, 1.0) for raw in pods}
    return replace(prepared, use=lambda: RecordedUse(nodes, np.array([curve * 10]), 300.0, followers))


def with_estimate(prepared: PreparedScenario, use: str) -> PreparedScenario:
    """Every pod uses what it asks for, as far as its node has it; each node half of what it has beside that.

    With "history" nodes use a tenth, half and a quarter, a minute each, over and over.
    """
    names = [raw["metadata"]["name"] for raw in prepared.objects if raw["kind"] == "Node"]
    has = {name: {"cpu": 4000, "memory": 2**33} for name in names}
    levels = np.array([10.0, 50.0, 25.0] if use == "history" else [50.0])[:, None] * np.ones(len(names))
    last = Watermarks(names, np.zeros(len(names)), {})
    times = np.array([60.0 * place for place in range(-len(levels), 0)])
    collected = CollectedWatermarks.from_columns(times, {("cpu", "5m"): levels}, [], {}, last)
    played = UseReplay(collected, 0.0, 180.0 if use == "history" else 0.0)
    estimate = Estimate(played, [], has, has, ClusterObjects())
    return replace(prepared, use=lambda: EstimatedUse(estimate))


@settings(max_examples=tiers.count(2, 30), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_try_is_found_without_the_outcome_too(seed: int) -> None:
    prepared = make_crowded_scenario(seed)
    outcome = run_scenario(prepared, configuration())
    row = int(np.argmax(outcome.attempts))
    decided = explain_try(prepared, configuration(), outcome.pods[row])
    assert decided.attempt == decided.attempts == outcome.attempts[row]
    first = explain_try(prepared, configuration(), outcome.pods[row], 1)
    assert first.time <= decided.time
    assert first.attempt == 1


def test_earlier_tries_are_seen_as_they_were() -> None:
    events: list[SimulationEvent] = [
        PodArrives(0.0, pod("first", requests={"cpu": "3"}), 30.0),
        PodArrives(1.0, pod("second", requests={"cpu": "3"})),
    ]
    prepared = PreparedScenario([node("only")], events, 100.0, SimulationSettings(cycle=0.0))
    assert explain_try(prepared, configuration(), "default/second", 1).placement.message.endswith("1 Insufficient cpu.")
    last = explain_try(prepared, configuration(), "default/second")
    assert (last.placement.node, last.attempt) == ("only", 2)
    assert last.snapshot.pod_count.tolist() == [0]
    assert last.explanation.nodes == ["only"]


def test_of_pods_of_one_name_the_last_is_meant() -> None:
    second = pod("again", requests={"cpu": "3"}, terminationGracePeriodSeconds=0)
    events: list[SimulationEvent] = [
        PodArrives(0.0, second),
        PodLeaves(10.0, "default/again"),
        PodArrives(20.0, second),
    ]
    prepared = PreparedScenario([node("only")], events, 100.0, SimulationSettings(cycle=0.0))
    assert explain_try(prepared, configuration(), "default/again").time == 20.0


@pytest.mark.parametrize(
    ("key", "attempt", "expected_error"),
    [
        ("default/nobody", -1, "Pod default/nobody: was never tried in this run"),
        ("default/one", 2, "Pod default/one: was tried 1 times in this run, there is no try 2"),
        ("default/one", 0, "there is no try 0"),
    ],
)
def test_what_never_was_is_said_to_be_none(key: str, attempt: int, expected_error: str) -> None:
    prepared = PreparedScenario([node("only")], [PodArrives(0.0, pod("one"))], 10.0)
    with pytest.raises(NoSuchTryError, match=expected_error):
        explain_try(prepared, configuration(), key, attempt)


@pytest.mark.parametrize("count", [2, 4])
def test_a_try_with_its_group_is_looked_at_beside_the_pods_before_it(count: int) -> None:
    objects = [node("a"), node("b"), group("gang", count)]
    arrivals: list[SimulationEvent] = [PodArrives(1.0, raw) for raw in members(count, requests={"cpu": "3"})]
    prepared = PreparedScenario(objects, arrivals, end=5.0)
    outcome = run_scenario(prepared, configured())
    last = f"default/gang-{count - 1}"
    row = outcome.index[last]
    decided = explain_try(prepared, configured(), last, outcome=outcome)
    assert decided.group is not None
    assert decided.group.placed == (count == 2)
    if count == 2:
        assert decided.placement.node == outcome.nodes[outcome.node[row]] == "b"
        assert decided.explanation.node == "b"
    else:
        assert decided.placement.condition == outcome.texts[outcome.message[row]]
        assert decided.group.blocking == "default/gang-2"
        assert decided.explanation.chosen is None
