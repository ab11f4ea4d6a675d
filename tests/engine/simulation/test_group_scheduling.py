"""Groups of pods over time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.simulation import (
    NodeJoins,
    PodArrives,
    PodGroupArrives,
    PodGroupChanges,
    PodGroupLeaves,
    PodLeaves,
    Result,
    Simulation,
    SimulationError,
    SimulationEvent,
    SimulationSettings,
)
from tests.engine.builders import node, pod
from tests.engine.gangs import (
    BY_TOPOLOGY,
    IN_TREES,
    ON,
    THREE_CPUS,
    composite,
    configured,
    gpu_claim,
    gpus,
    group,
    member,
    members,
    part,
    with_gpu,
)
from tests.engine.simulation.test_run import HIGH
from tests.support import tiers


def simulate(
    objects: list[dict],
    events: Sequence[SimulationEvent],
    end: float = 100.0,
    gates: dict[str, bool] = ON,
    **fields: Any,
) -> Result:
    return Simulation(objects, configured(gates), events, SimulationSettings(**fields)).run(end)


def arrive(time: float, *raws: dict, duration: float | None = None) -> list[PodArrives]:
    return [PodArrives(time, raw, duration) for raw in raws]


def bound(result: Result) -> list[tuple[float, str, str]]:
    return [(round(binding.time, 3), binding.pod.removeprefix("default/"), binding.node) for binding in result.bound]


def test_a_gang_starts_at_one_time_once_its_last_pod_is_there() -> None:
    objects = [node("a"), node("b"), group("gang", 2)]
    events = [*arrive(1.0, member("one", requests=THREE_CPUS)), *arrive(5.0, member("two", requests=THREE_CPUS))]
    result = simulate(objects, events, cycle=0.5)
    assert bound(result) == [(5.5, "one", "a"), (5.5, "two", "b")]
    assert [(decision.time, decision.group, decision.placed, decision.reason) for decision in result.groups] == [
        (5.5, "default/gang", True, "Scheduled")
    ]


def test_a_gang_whose_devices_keep_it_out_starts_once_they_were_given_back() -> None:
    claims = [gpu_claim("one", "a", 0), gpu_claim("two", "a", 1)]
    pair = [with_gpu("gang-0", "one", requests=THREE_CPUS), with_gpu("gang-1", "two", requests=THREE_CPUS)]
    result = simulate([node("a"), node("b"), *gpus("a", "b"), *claims, group("gang", 2)], arrive(1.0, *pair))
    assert [decision.placed for decision in result.groups] == [False, True]
    assert [(pod, on) for _, pod, on in bound(result)] == [("gang-0", "a"), ("gang-1", "b")]


def test_a_gang_for_which_there_is_too_little_room_takes_none_of_it() -> None:
    objects = [node("a"), group("gang", 2)]
    result = simulate(
        objects, [*arrive(0.0, *members(2, requests=THREE_CPUS)), *arrive(1.0, pod("alone", requests=THREE_CPUS))]
    )
    assert bound(result) == [(1.001, "alone", "a")]
    assert {waiting_pod.pod for waiting_pod in result.pending} == {"default/gang-0", "default/gang-1"}
    counted = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    assert result.groups[0].message.startswith(counted)
    assert result.rejected[0].message.startswith(f"pod group is unschedulable, {counted}")


def test_a_gang_is_tried_again_after_its_backoff_and_not_before() -> None:
    objects = [node("a"), group("gang", 2)]
    events = [*arrive(0.0, *members(2, requests=THREE_CPUS)), NodeJoins(4.0, node("b"))]
    result = simulate(objects, events)
    # Backoff of 1, 2, 4 seconds, each to the end of its window.
    assert [round(decision.time) for decision in result.groups] == [0, 2, 5]
    assert [decision.placed for decision in result.groups] == [False, False, True]
    assert bound(result) == [(5.001, "gang-0", "a"), (5.001, "gang-1", "b")]


def test_a_pod_that_ends_makes_room_for_the_gang() -> None:
    objects = [node("a"), node("b"), group("gang", 2)]
    events = [
        *arrive(0.0, pod("before", requests=THREE_CPUS), duration=10.0),
        *arrive(1.0, *members(2, requests=THREE_CPUS)),
    ]
    assert [binding.pod for binding in simulate(objects, events).bound] == [
        "default/before",
        "default/gang-0",
        "default/gang-1",
    ]


def test_pods_beyond_the_number_follow() -> None:
    objects = [node("a"), group("gang", 1)]
    events = [*arrive(0.0, *members(2, requests=THREE_CPUS)), NodeJoins(3.5, node("b"))]
    result = simulate(objects, events)
    assert [(binding.pod, binding.node) for binding in result.bound] == [
        ("default/gang-0", "a"),
        ("default/gang-1", "b"),
    ]
    assert [(decision.placed, decision.condition_changed) for decision in result.groups][:2] == [
        (True, True),
        (False, False),
    ]


def test_victims_go_together_and_the_gang_follows_when_they_are_gone() -> None:
    objects = [node("a"), node("b"), HIGH, group("low", None, whole=True), group("gang", 2, priority=1000)]
    objects += [member(f"v{at}", "low", on=at, requests=THREE_CPUS, terminationGracePeriodSeconds=10) for at in "ab"]
    events = arrive(1.0, *members(2, requests=THREE_CPUS, priorityClassName="high"))
    result = simulate(objects, events)
    assert [(eviction.pod, eviction.reason, round(eviction.leaves)) for eviction in result.evicted] == [
        ("default/va", "preempted by pod group default/gang", 11),
        ("default/vb", "preempted by pod group default/gang", 11),
    ]
    assert sorted(binding.pod for binding in result.bound) == ["default/gang-0", "default/gang-1"]
    assert "ongoing preemption on nominated nodes" in result.groups[1].message


def test_a_group_comes_after_its_pods() -> None:
    result = simulate([node("a")], [*arrive(0.0, *members(2)), PodGroupArrives(7.0, group("gang", 2))])
    assert [round(binding.time) for binding in result.bound] == [7, 7]


def test_a_group_that_asks_for_fewer_pods_may_start() -> None:
    objects = [node("a"), group("gang", 3)]
    result = simulate(objects, [*arrive(0.0, *members(2)), PodGroupChanges(9.0, group("gang", 2))])
    assert [round(binding.time) for binding in result.bound] == [9, 9]


def test_without_its_group_a_pod_waits() -> None:
    objects = [node("a"), group("gang", 2)]
    events = [*arrive(0.0, member("one")), PodGroupLeaves(1.0, "default/gang"), *arrive(2.0, member("two"))]
    result = simulate(objects, events)
    assert not result.bound
    assert result.samples[-1].gated == 2


def test_a_pod_that_is_deleted_does_not_count() -> None:
    objects = [node("a"), group("gang", 2)]
    events = [*arrive(0.0, member("one")), PodLeaves(1.0, "default/one"), *arrive(2.0, member("two"))]
    assert not simulate(objects, events).bound


def test_a_gang_that_is_due_and_loses_a_pod_is_tried_once_more() -> None:
    objects = [node("a"), group("gang", 2)]
    busy = [*arrive(0.0, pod("alone")), *arrive(0.5, member("one"), member("two"))]
    result = simulate(objects, [*busy, PodLeaves(0.7, "default/two")], end=400.0, cycle=1.0)
    assert [(decision.time, decision.placed) for decision in result.groups] == [(2.0, False)]


def test_a_group_goes_to_one_domain() -> None:
    zones = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c", labels={"zone": "y"})]
    objects = [*zones, group("gang", 2, topology="zone")]
    result = simulate(objects, arrive(0.0, *members(2, requests=THREE_CPUS)), gates=BY_TOPOLOGY)
    assert [binding.node for binding in result.bound] == ["b", "c"]
    assert result.groups[0].domain == "y"


def test_with_the_gate_off_each_pod_goes_its_own_way() -> None:
    objects = [node("a"), group("gang", 2)]
    result = simulate(objects, arrive(0.0, *members(2, requests=THREE_CPUS)), gates={})
    assert [binding.pod for binding in result.bound] == ["default/gang-0"]
    assert not result.groups


@pytest.mark.parametrize(
    ("event", "expected_error"),
    [
        (PodGroupArrives(1.0, group("gang")), "PodGroupArrives at 1 s: PodGroup default/gang: is there already"),
        (PodGroupChanges(1.0, group("other")), "PodGroupChanges at 1 s: PodGroup default/other: is not there"),
        (PodGroupLeaves(1.0, "default/other"), "PodGroupLeaves at 1 s: PodGroup default/other: is not there"),
    ],
)
def test_what_cannot_happen_is_an_error(event: SimulationEvent, expected_error: str) -> None:
    with pytest.raises(SimulationError, match=expected_error):
        simulate([node("a"), group("gang")], [event])


@settings(max_examples=tiers.count(15, 150), deadline=None)
@given(
    groups=st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from([0, 1000])), min_size=1, max_size=4
    ),
    capacity=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_of_a_gang_never_fewer_pods_start_than_it_needs(
    groups: list[tuple[int, int, int]], capacity: int, seed: int
) -> None:
    rng = random.Random(seed)
    objects = [HIGH, *(node(f"n{number}") for number in range(capacity))]
    events: list[SimulationEvent] = []
    for number, (size, min_count, priority) in enumerate(groups):
        objects.append(group(f"g{number}", min_count, priority=priority))
        classed = {"priorityClassName": "high"} if priority else {}
        for raw in members(size, f"g{number}", requests={"cpu": rng.choice(["1", "2", "3"])}, **classed):
            events.append(PodArrives(rng.choice([0.0, 1.0, 2.5]), raw, rng.choice([None, 20.0])))
    result = simulate(objects, sorted(events, key=lambda event: event.time), end=60.0)
    for number, (size, min_count, _) in enumerate(groups):
        times = [binding.time for binding in result.bound if binding.pod.startswith(f"default/g{number}-")]
        assert not times or times.count(times[0]) >= min(min_count, size)
        assert not times or size >= min_count


@settings(max_examples=tiers.count(10, 100), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_quick_run_comes_to_the_same(seed: int) -> None:
    rng = random.Random(seed)
    objects = [HIGH, *(node(f"n{number}") for number in range(rng.randint(1, 3)))]
    events: list[SimulationEvent] = []
    for number in range(rng.randint(1, 3)):
        size, classed = rng.randint(1, 4), rng.choice([{}, {"priorityClassName": "high"}])
        objects.append(group(f"g{number}", rng.randint(1, size), priority=1000 if classed else 0))
        for raw in members(size, f"g{number}", requests={"cpu": rng.choice(["1", "3"])}, **classed):
            events.append(PodArrives(rng.choice([0.0, 30.0]), raw, rng.choice([None, 50.0])))
    for number in range(rng.randint(0, 4)):
        raw = pod(f"p{number}", requests={"cpu": rng.choice(["1", "3"])})
        events.append(PodArrives(rng.uniform(0.0, 90.0), raw, rng.choice([None, 40.0])))
    events.append(NodeJoins(rng.uniform(100.0, 200.0), node("late")))
    events.sort(key=lambda event: event.time)
    slow, quick = (Simulation(objects, configured(), events, quick=how).run(300.0) for how in (False, True))
    assert (slow.bound, slow.evicted, slow.pending) == (quick.bound, quick.evicted, quick.pending)
    last, last_quick = ({decision.group: decision for decision in result.groups} for result in (slow, quick))
    assert all(replace(last[name], time=decision.time) == decision for name, decision in last_quick.items())
    assert len(quick.groups) <= len(slow.groups)


def test_a_group_that_waits_for_long_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    group_names: list[str] = []
    find = Scheduler.find_group

    def counted(self: Scheduler, pod_group: PodGroup, *arguments: Any) -> Any:
        group_names.append(pod_group.name)
        return find(self, pod_group, *arguments)

    monkeypatch.setattr(Scheduler, "find_group", counted)
    objects = [node("a"), group("gang", 2), group("other", 2)]
    events = arrive(0.0, *members(2, requests=THREE_CPUS), *members(2, "other", requests=THREE_CPUS))
    result = Simulation(objects, configured(), events, quick=True).run(3600.0)
    assert len(group_names) == 2
    assert min(waiting_pod.attempts for waiting_pod in result.pending) > 100


def test_the_same_input_gives_the_same_result() -> None:
    objects = [node("a"), node("b"), group("gang", 2), group("other", None)]
    events = [*arrive(0.0, *members(3), *members(2, "other")), *arrive(1.0, pod("alone"))]
    assert simulate(objects, events).to_dict() == simulate(objects, events).to_dict()


def test_pods_of_another_scheduler_do_not_count() -> None:
    objects = [node("a"), group("gang", 2), member("other", schedulerName="other")]
    assert not simulate(objects, arrive(1.0, member("one"))).bound
    assert len(simulate(objects, arrive(1.0, *members(2))).bound) == 2


def test_a_tree_of_groups_starts_at_one_time_and_each_of_its_groups_says_so() -> None:
    objects = [node("a"), node("b"), composite("root"), part("one", at_least=1), part("two", at_least=1)]
    pods = [member(f"{name}-0", name, requests=THREE_CPUS) for name in ("one", "two")]
    events = [*arrive(1.0, pods[0]), *arrive(5.0, pods[1])]
    result = simulate(objects, events, cycle=0.5, gates=IN_TREES)
    assert bound(result) == [(5.5, "one-0", "a"), (5.5, "two-0", "b")]
    assert [(group_try.group, group_try.placed) for group_try in result.groups] == [
        ("compositepodgroup/default/root", True),
        ("default/one", True),
        ("default/two", True),
    ]
