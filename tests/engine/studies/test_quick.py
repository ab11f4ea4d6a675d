"""Tries that are known to come to nothing are not made, and nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.simulation import PodArrives, PodLeaves, SimulationEvent, SimulationSettings
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import (
    CLASSES,
    GPU,
    ZONE,
    configuration,
    make_crowded_scenario,
    make_queue_scenario,
    make_refused_pods_scenario,
)
from tests.support import tiers

EXPLICIT = [Phase.explicit, Phase.reuse, Phase.generate]
CountTries = Callable[[], int]


@pytest.fixture
def count_tries(monkeypatch: pytest.MonkeyPatch) -> CountTries:
    """Count the real tries since the last call."""
    count = 0
    find = Scheduler.find

    def counted(self: Scheduler, *args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return find(self, *args, **options)

    def take_count() -> int:
        nonlocal count
        counted, count = count, 0
        return counted

    monkeypatch.setattr(Scheduler, "find", counted)
    return take_count


def jam(seed: int) -> PreparedScenario:
    """Nodes that fill up with pods that hardly ever leave; what waits is of few kinds and differs in importance."""
    drawn = random.Random(seed)
    nodes = [node(f"n{n}", labels={ZONE: f"z{n % 2}"}, allocatable={GPU: "1"} if n < 2 else {}) for n in range(6)]
    events: list[SimulationEvent] = []
    for number in range(60):
        requests = {"cpu": drawn.choice(["500m", "1", "3"])} | ({GPU: "1"} if drawn.random() < 0.3 else {})
        spec: dict[str, Any] = {}
        if drawn.random() < 0.15:
            spec["nodeSelector"] = {ZONE: drawn.choice(["z0", "nowhere"])}
        if drawn.random() < 0.1:
            spec["priorityClassName"] = "high"
            spec["preemptionPolicy"] = "PreemptLowerPriority"
        raw = pod(f"p{number:03d}", labels={"app": drawn.choice("ab")}, requests=requests, **spec)
        life = 4000.0 if drawn.random() < 0.05 else None
        events.append(PodArrives(round(drawn.uniform(0, 6000), drawn.choice([0, 3])), raw, life))
        if drawn.random() < 0.05:
            events.append(PodLeaves(drawn.uniform(6000, 9000), f"default/p{number:03d}", if_there=True))
    cycle = drawn.choice([0.0, 0.001, 0.25, 2.0])
    events.sort(key=lambda event: event.time)
    return PreparedScenario(
        [*nodes, *CLASSES], events, drawn.choice([None, 9500.0]), SimulationSettings(sample=45.0, cycle=cycle)
    )


@settings(max_examples=tiers.count(4, 100), deadline=None, phases=EXPLICIT)
@given(
    seed=st.integers(0, 100_000),
    world=st.sampled_from([jam, jam, make_queue_scenario, make_crowded_scenario, make_refused_pods_scenario]),
    strategy=st.sampled_from(["", "MostAllocated"]),
)
def test_the_outcome_is_the_same_to_the_last_byte(
    seed: int, world: Callable[[int], PreparedScenario], strategy: str
) -> None:
    quick = run_scenario(world(seed), configuration(strategy))
    slow = run_scenario(world(seed), configuration(strategy), quick=False)
    for name in ("attempts", "message", "bound", "node"):
        assert getattr(quick, name).tobytes() == getattr(slow, name).tobytes(), name
    assert quick.encode() == slow.encode()


def test_a_month_of_waiting_costs_no_tries(count_tries: CountTries) -> None:
    day = 86400.0
    events: list[SimulationEvent] = [PodArrives(0.1 * n, pod(f"big-{n}", requests={"cpu": "9"})) for n in range(12)]
    events += [PodArrives(n * day, pod(f"small-{n}", requests={"cpu": "100m"})) for n in range(1, 31)]
    prepared = PreparedScenario([node("a"), node("b")], events, None, SimulationSettings(sample=3600.0))
    outcome = run_scenario(prepared, configuration())
    assert count_tries() < 200
    waits = outcome.attempts[:12]
    assert 30 * day / 331 - 2 <= waits.min() <= waits.max() <= 30 * day / 330 + 2
    # The first thirty small ones came between; what is said last is true of the cluster as it was then.
    assert {outcome.texts[code].count("Insufficient cpu") for code in outcome.message[:12].tolist()} == {1}


def test_what_is_said_follows_the_cluster_though_no_try_is_made(count_tries: CountTries) -> None:
    wants = pod("wants", requests={"cpu": "3", GPU: "1"})
    events: list[SimulationEvent] = [PodArrives(0.0, wants), PodArrives(10.0, pod("fills", requests={"cpu": "2"}))]
    events.append(PodArrives(700.0, pod("late", requests={"cpu": "100m"})))
    outcome = run_scenario(PreparedScenario([node("only")], events, None), configuration())
    assert count_tries() == 4  # three pods, and once more at the end for what was said last
    message = outcome.texts[outcome.message[outcome.index["default/wants"]]]
    assert message.startswith(f"0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient {GPU}.")


@pytest.mark.parametrize(
    "spec",
    [
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]},
        {"hostPort": 80},
    ],
)
def test_pods_that_others_could_help_by_coming_are_tried_again(spec: dict[str, Any], count_tries: CountTries) -> None:
    if "hostPort" in spec:
        spec = {
            "container": {"ports": [{"containerPort": 80, "hostPort": 80}], "resources": {"requests": {"cpu": "9"}}}
        }
    raw = pod("wants", requests={"cpu": "9"}, **spec)
    events: list[SimulationEvent] = [PodArrives(0.0, raw), PodArrives(3000.0, pod("late", requests={"cpu": "100m"}))]
    outcome = run_scenario(PreparedScenario([node("only", labels={ZONE: "z"})], events, None), configuration())
    assert count_tries() == int(outcome.attempts.sum()) >= 9
