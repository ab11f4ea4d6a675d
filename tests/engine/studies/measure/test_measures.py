"""Measures against what a person works out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kschedweb.engine.simulation import NodeDrains, NodeFallsSilent, PodArrives, SimulationEvent, SimulationSettings
from kschedweb.engine.studies.measure.fragmentation import compute_fragmentation
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.values import Measures
from kschedweb.engine.studies.play.outcome import MoveKind, RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import BUDGET, GPU, configuration, make_crowded_scenario

HIGH = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}


def measured(objects: list[dict], events: list[SimulationEvent], end: float | None = 100.0) -> Measures:
    return compute_measures(
        run_scenario(
            PreparedScenario(objects, events, end, SimulationSettings(cycle=0.0, sample=10.0)), configuration()
        )
    )


def test_time_to_schedule_counts_pods_that_were_bound() -> None:
    events: list[SimulationEvent] = [PodArrives(0.0, pod("first", requests={"cpu": "4"}), 50.0)]
    events += [PodArrives(10.0 + n, pod(f"waits-{n}", requests={"cpu": "1"})) for n in range(2)]
    events += [PodArrives(20.0, pod("never", requests={"cpu": "9"}))]
    measures = measured([node("only")], events)
    assert measures["unscheduled"].value == 1.0
    # 0 s, 40 s and 39 s
    assert measures["wait_median"].value == 39.0
    assert measures["wait_p99"].value == 40.0
    assert measures["pending_most"].value == 3.0
    # Sampled each 10 s: 0 at 0, then 1 or 2, 3 from 20 to 50, 1 after; the samples come before what else is due.
    assert measures["pending_mean"].value == pytest.approx(sum([0, 0, 2, 3, 3, 3, 1, 1, 1, 1]) / 10, abs=0.3)


def test_skew_and_spread_of_requests() -> None:
    events: list[SimulationEvent] = [PodArrives(50.0, pod("late", requests={"cpu": "2"}, nodeSelector={"side": "a"}))]
    already = pod("already", on="b", requests={"cpu": "1"})
    measures = measured([node("a", labels={"side": "a"}), node("b"), already], events)
    # a: 0 % until 50 s, then 50 %; b: 25 % of 4 CPU all the time.
    assert measures["skew_cpu"].value == pytest.approx(25.0)
    assert measures["skew_cpu_end"].value == pytest.approx(25.0)
    assert measures["spread_cpu"].value == pytest.approx(12.5)
    assert measures["requested_cpu"].value == pytest.approx((12.5 + 37.5) / 2, abs=0.7)  # looked at 64 times
    assert measures["nodes_empty"].value == 0.0
    assert "use_skew_cpu" not in {measure.name for measure in measures}


def test_values_have_no_digits_that_depend_on_the_order_of_sums() -> None:
    nodes = [node(f"node-{number}") for number in range(3)]
    measures = measured([*nodes, pod("one", on="node-0", requests={"cpu": "100m"})], [])
    assert measures["requested_cpu"].value == 0.833333333333  # 100 of 12,000


def test_empty_nodes_preemptions_and_evictions() -> None:
    events: list[SimulationEvent] = [
        PodArrives(0.0, pod("low", requests={"cpu": "4"}, nodeSelector={"side": "a"}, terminationGracePeriodSeconds=0)),
        PodArrives(
            10.0, pod("high", requests={"cpu": "4"}, nodeSelector={"side": "a"}, priorityClassName="high"), None, True
        ),
        NodeDrains(50.0, "a"),
    ]
    measures = measured([node("a", labels={"side": "a"}), node("b"), node("c"), HIGH], events)
    assert measures["preemptions"].value == 1.0
    assert measures["evictions"].value == 1.0
    assert measures["unscheduled"].value == 1.0
    assert measures["nodes_empty"].value == 3.0


def test_a_pod_is_evicted_from_a_silent_node_though_nobody_there_ends_it() -> None:
    events: list[SimulationEvent] = [
        PodArrives(0.0, pod("web", nodeSelector={"side": "a"}), None, True),
        NodeFallsSilent(10.0, "a"),
    ]
    prepared = PreparedScenario([node("a", labels={"side": "a"}), node("b")], events, 600.0)
    outcome = RunOutcome.decode(run_scenario(prepared, configuration()).encode())
    assert compute_measures(outcome)["evictions"].value == 1.0
    assert outcome.moves.kind.tolist() == [MoveKind.BOUND]  # it is still there, and another one waits for the node
    (eviction_time,) = outcome.forced_moves.time.tolist()
    assert 300.0 < eviction_time < 400.0
    assert outcome.pods[outcome.forced_moves.pod[0]] == "default/web"
    assert compute_measures(outcome)["unscheduled"].value == 1.0


def test_a_budget_is_disrupted_by_more_evictions_at_once_than_it_allows() -> None:
    pods = [pod(f"p{n}", on="a", labels={"app": "app-0"}) for n in range(3)]
    outside = pod("outside", on="a", labels={"app": "app-1"})
    measures = measured([node("a"), BUDGET, outside, *pods], [NodeDrains(50.0, "a")])
    assert measures["evictions"].value == 4.0
    assert measures["disruptions"].value == 2.0  # one of three is allowed
    assert measures["budgets_disrupted"].value == 1.0


def test_a_pod_that_is_replaced_in_time_is_not_down_any_more() -> None:
    objects = [*(node(name) for name in "abcde"), BUDGET]
    pods = [pod(f"p{n}", labels={"app": "app-0"}, requests={"cpu": "4"}) for n in range(3)]
    events: list[SimulationEvent] = [PodArrives(float(n), raw, None, True) for n, raw in enumerate(pods)]
    outcome = run_scenario(PreparedScenario(objects, events, 10.0), configuration())
    first, second = (outcome.nodes[outcome.node[row]] for row in range(2))
    one_by_one: list[SimulationEvent] = [NodeDrains(20.0, first), NodeDrains(60.0, second)]
    together: list[SimulationEvent] = [NodeDrains(20.0, first), NodeDrains(20.0, second)]
    for drains, beyond in ((one_by_one, 0.0), (together, 1.0)):
        measures = measured(objects, [*events, *drains])
        assert measures["evictions"].value == 2.0
        assert measures["disruptions"].value == beyond


def test_fragmentation_of_devices_is_that_of_the_paper() -> None:
    # Two nodes with 2 and 4 free GPUs; 8 and 1 free CPUs.
    free = np.array([[8.0, 1.0], [2.0, 4.0]])
    # Shapes: no GPU (half of the pods); 1 GPU with 1 CPU (a quarter); 4 GPUs with 4 CPUs (a quarter).
    requests = np.array([[1, 1, 4], [0, 1, 4]])
    eligible = np.ones((3, 2), dtype=np.uint8)
    # Without a GPU all 6 are of no use; the small one can use all; the large one fits nowhere: 6 again.
    counts = np.array([2, 1, 1])
    assert compute_fragmentation(free, requests, counts, eligible, 1) == pytest.approx((2 * 6 + 1 * 0 + 1 * 6) / 4 / 6)
    # Where the small one may not go to the second node, its 4 GPUs are a fragment for it too.
    eligible[1, 1] = 0
    assert compute_fragmentation(free, requests, counts, eligible, 1) == pytest.approx((2 * 6 + 1 * 4 + 1 * 6) / 4 / 6)


def test_fragmentation_of_cpu_is_what_lies_beside_too_little_memory() -> None:
    free = np.array([[3000.0, 1000.0], [1.0, 10.0]])
    requests = np.array([[500], [2]])
    share = compute_fragmentation(free, requests, np.array([5]), np.ones((1, 2), dtype=np.uint8), 0)
    assert share == pytest.approx(3000 / 4000)


@pytest.mark.parametrize(
    ("free", "counts"),
    [([[0.0, 0.0]], [1]), ([[np.nan, -1.0]], [1]), ([[5.0, 5.0]], [0])],
    ids=["nothing is free", "gone and overfull", "no pods"],
)
def test_there_is_no_fragmentation_of_nothing(free: list[list[float]], counts: list[int]) -> None:
    eligible = np.ones((1, 2), dtype=np.uint8)
    assert compute_fragmentation(np.array(free), np.array([[1]]), np.array(counts), eligible, 0) is None


def test_a_run_is_measured_with_the_nodes_that_its_pods_may_go_to() -> None:
    gpus = [node(name, labels={"gpu-model": name}, allocatable={GPU: "4"}) for name in "ab"]
    tainted = node("c", allocatable={GPU: "8"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    events: list[SimulationEvent] = [PodArrives(0.0, pod("one", requests={GPU: "1"}, nodeSelector={"gpu-model": "a"}))]
    measures = measured([*gpus, tainted], events)
    # 3 + 4 + 8 are free; only those of a are of use to the workload.
    assert measures[f"fragmentation_{GPU}"].value == pytest.approx(100 * 12 / 15)


def test_measures_have_units_and_survive_plain_data() -> None:
    measures = compute_measures(run_scenario(make_crowded_scenario(11), configuration()))
    assert Measures.from_dict(measures.to_dict()) == measures
    names = [measure.name for measure in measures]
    assert len(set(names)) == len(names)
    for measure in measures:
        assert measure.unit
        assert measure.direction in ("lower", "higher", "")
        assert measure.sentence.endswith(".")
    with pytest.raises(KeyError):
        measures["unheard of"]


def test_a_run_in_which_nothing_happens_has_measures_without_values() -> None:
    measures = measured([], [])
    assert measures["wait_median"].value is None
    assert measures["unscheduled"].value == 0.0
