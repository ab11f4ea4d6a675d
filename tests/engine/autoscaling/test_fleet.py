"""Room that is kept in columns while pods are put on nodes is the room that is counted anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState, read_cluster_state
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.autoscaling.provisioning.solver import Solution, Solver
from tests.engine.autoscaling.building import machine, pod, pool, scenario, sold

LARGE, SMALL = sold("large", 8, 0.4), sold("small", 2, 0.1)
CPU = st.sampled_from(["100m", "500m", "1500m", "2", "5"])
NODES = {"a": LARGE, "b": SMALL, "c": SMALL}


def world(*objects: dict[str, Any]) -> ClusterState:
    return read_cluster_state(scenario([LARGE, SMALL], [pool()], *objects), 0.0)


def machines() -> list[dict[str, Any]]:
    return [raw for name, instance_type in NODES.items() for raw in machine(name, instance_type)]


@given(st.lists(st.tuples(st.sampled_from([*NODES, ""]), CPU), max_size=10))
def test_pods_that_a_try_puts_on_nodes_take_the_room_that_bound_ones_take(placed: list[tuple[str, str]]) -> None:
    objects = [pod(f"p{number}", on, cpu) for number, (on, cpu) in enumerate(placed)]
    cluster = world(*machines(), *objects)
    context = SchedulingContext(cluster)
    solution = Solver(context, context.pending_pods).solve()
    put = {placed_pod.key: name for name, pods in solution.placed.by_name().items() for placed_pod in pods}
    bound = [
        {**raw, "spec": {**raw["spec"], "nodeName": put.get(f"default/p{number}", on)}}
        for number, ((on, _), raw) in enumerate(zip(placed, objects, strict=True))
    ]
    anew = SchedulingContext(world(*machines(), *bound))
    for name in ("cpu", "memory", "pods"):
        assert np.array_equal(column(solution, name), anew.fleet.free_column(name))


def column(solution: Solution, name: str) -> Any:
    return solution.placed.free_column(name)


def test_a_pod_goes_to_the_first_node_by_name_and_initialized_ones_come_first() -> None:
    late = machine("a", LARGE)
    del late[0]["metadata"]["labels"]["karpenter.sh/initialized"]
    cluster = world(
        *late, *machine("b", SMALL), *machine("c", SMALL), pod("p", cpu="1"), pod("q", cpu="1"), pod("r", cpu="1")
    )
    context = SchedulingContext(cluster)
    solution = Solver(context, context.pending_pods).solve()
    assert {name: [placed_pod.name for placed_pod in pods] for name, pods in solution.placed.by_name().items()} == {
        "b": ["p", "q"],
        "c": ["r"],
    }


def test_a_node_that_a_daemon_will_come_to_keeps_room_for_it() -> None:
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "1"}}}]}
    daemon = {"kind": "DaemonSet", "metadata": {"name": "d", "uid": "d"}, "spec": {"template": {"spec": spec}}}
    context = SchedulingContext(world(*machine("b", SMALL), daemon))
    assert context.fleet.free_column("cpu").tolist() == [1000], "limits stand for requests that are not there"
    running = pod("d-1", "b", "1")
    running["metadata"]["ownerReferences"][0] |= {"kind": "DaemonSet", "uid": "d"}
    assert SchedulingContext(world(*machine("b", SMALL), daemon, running)).fleet.free_column("cpu").tolist() == [1000]
