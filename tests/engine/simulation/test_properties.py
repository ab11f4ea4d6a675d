"""Invariants of every simulation, whatever happens in it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.releases import load
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeDrains,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PodArrives,
    PodLeaves,
    Simulation,
    SimulationError,
    SimulationEvent,
    SimulationSettings,
)
from tests.engine.builders import CONFIGURATION, node, pod
from tests.support import tiers

END = 2000.0
NODES = [node(name) for name in "abc"]
HIGH = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
NAMES = st.sampled_from("bc")  # these stay; a may leave, and d join
TIMES = st.floats(0, END - 100).map(lambda time: round(time, 1))
TAINTS = st.sampled_from([(), ({"key": "k", "effect": "NoExecute"},), ({"key": "k", "effect": "NoSchedule"},)])
REQUESTS = st.sampled_from([{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "4"}, {}])


@st.composite
def arrivals(draw: st.DrawFn) -> list[SimulationEvent]:
    """Some pods, and some deletions of them."""
    events: list[SimulationEvent] = []
    for number in range(draw(st.integers(1, 14))):
        spec: dict[str, Any] = {"priorityClassName": "high"} if draw(st.booleans()) else {}
        spec["terminationGracePeriodSeconds"] = draw(st.sampled_from([0, 30]))
        raw = pod(f"p{number}", requests=draw(REQUESTS), **spec)
        at, duration = draw(TIMES), draw(st.sampled_from([None, 0.0, 50.0, 600.0]))
        events.append(PodArrives(at, raw, duration, draw(st.booleans())))
        if duration is None and draw(st.integers(0, 3)) == 0:
            events.append(PodLeaves(at + draw(st.sampled_from([0.0, 0.5, 60.0])), f"default/p{number}"))
    return events


HAPPENINGS = st.lists(
    st.one_of(
        st.builds(NodeJoins, TIMES, st.just(node("d"))),
        st.builds(NodeLeaves, TIMES, st.just("a")),
        st.builds(NodeDrains, TIMES, NAMES),
        st.builds(NodeFallsSilent, TIMES, NAMES),
        st.builds(NodeReports, TIMES, NAMES, st.booleans()),
        st.builds(NodeChanges, TIMES, NAMES, taints=TAINTS, unschedulable=st.booleans()),
    ),
    max_size=8,
    unique_by=lambda event: type(event).__name__ if isinstance(event, NodeJoins | NodeLeaves) else str(id(event)),
)


def simulate(events: list[SimulationEvent], cycle: float) -> Simulation | None:
    """The simulation at its end; ``None`` where somebody deletes a pod that is there no more."""
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    simulation = Simulation([*NODES, HIGH], configuration, events, SimulationSettings(cycle=cycle, sample=100.0))
    try:
        simulation.run(END)
    except SimulationError as problem:
        if "PodLeaves" not in str(problem):
            raise
        return None
    return simulation


@settings(max_examples=tiers.count(60, 500), deadline=None)
@given(arrivals(), HAPPENINGS, st.sampled_from([0.0, 0.001, 5.0]))
def test_no_pod_is_lost_or_in_two_places_and_no_node_overfull(
    pods: list[SimulationEvent], other_events: list[SimulationEvent], cycle: float
) -> None:
    simulation = simulate(pods + other_events, cycle)
    if simulation is None:
        return
    result, world = simulation.result, simulation.world
    on_nodes = [placed_pod.key for placed_pod in world.all_pods()]
    pending = [waiting_pod.pod for waiting_pod in result.pending]
    assert not [key for key, count in Counter(on_nodes + pending).items() if count > 1]
    assert set(on_nodes) | set(pending) == set(simulation.pods.lives)
    assert sorted(on_nodes) == sorted(world.snapshot.pods.slots)
    assert (world.snapshot.requested <= world.snapshot.allocatable).all()
    # What was bound has completed, or is there, or has left; and nobody is bound twice.
    assert max(Counter(binding.pod for binding in result.bound).values(), default=1) == 1
    assert all(0 <= sample.use["cpu"] <= 1 for sample in result.samples)
    assert {snapshot_node.name for snapshot_node in world.snapshot.nodes} == set(world.nodes)
    assert all(binding.waited > cycle - 1e-6 for binding in result.bound)


@settings(max_examples=tiers.count(20, 100), deadline=None)
@given(arrivals(), HAPPENINGS)
def test_the_same_input_gives_the_same_result(pods: list[SimulationEvent], other_events: list[SimulationEvent]) -> None:
    first, second = simulate(pods + other_events, 0.001), simulate(pods + other_events, 0.001)
    assert (first and first.result) == (second and second.result)


@settings(max_examples=tiers.count(20, 100), deadline=None)
@given(arrivals(), HAPPENINGS)
def test_a_snapshot_that_was_kept_up_equals_one_made_anew(
    pods: list[SimulationEvent], other_events: list[SimulationEvent]
) -> None:
    simulation = simulate(pods + other_events, 0.001)
    if simulation is None:
        return
    maintained = simulation.world.snapshot
    simulation.world._current = None
    fresh = simulation.world.snapshot
    assert maintained.names == fresh.names
    for name in ("cpu", "memory"):
        assert (
            maintained.resource_row(maintained.allocatable, name).tolist()
            == fresh.resource_row(fresh.allocatable, name).tolist()
        )
        assert (
            maintained.resource_row(maintained.requested, name).tolist()
            == fresh.resource_row(fresh.requested, name).tolist()
        )
    assert maintained.unschedulable.tolist() == fresh.unschedulable.tolist()
    assert [snapshot_node.taints for snapshot_node in maintained.nodes] == [
        snapshot_node.taints for snapshot_node in fresh.nodes
    ]
