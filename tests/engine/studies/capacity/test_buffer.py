from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.buffer import LOST_NODES, LOST_ZONE, compute_buffer, largest_nodes
from tests.engine.plugins.test_dynamicresources import allocated, device_class, devices
from tests.engine.studies.clusters import HOSTNAME, configuration, node, pod, snapshot


def ranked(name: str, on: str, priority: int, cpu: str = "1", **more: Any) -> Json:
    return pod(name, on, cpu=cpu, spec={"priority": priority, **more})


def test_a_cluster_with_room_survives_each_zone_and_the_largest_node() -> None:
    cluster = snapshot(
        [node("a", "one"), node("b", "two"), node("c", "two", cpu="8")],
        [ranked(f"a-{number}", "a", 0) for number in range(3)],
        [ranked("c-0", "c", 0)],
    )
    buffer = compute_buffer(cluster, configuration(), largest=1)
    assert [(loss.kind, loss.name, loss.nodes) for loss in buffer.losses] == [
        (LOST_ZONE, "one", ("a",)),
        (LOST_ZONE, "two", ("b", "c")),
        (LOST_NODES, "", ("c",)),
    ]
    assert [(loss.pods, loss.placed) for loss in buffer.losses] == [(3, 3), (1, 1), (1, 1)]
    assert buffer.survives
    assert cluster.pod_count.tolist() == [3, 0, 1], "the snapshot itself stays as it is"


def test_what_finds_no_room_is_told_in_the_schedulers_words() -> None:
    cluster = snapshot(
        [node("a", "one"), node("b", "two")],
        [ranked(f"{name}-{number}", name, 0) for name in "ab" for number in range(3)],
    )
    buffer = compute_buffer(cluster, configuration())
    assert not buffer.survives
    assert [(loss.pods, loss.placed) for loss in buffer.losses] == [(3, 1), (3, 1)]
    stranded = buffer.losses[0].stranded
    assert {stranded_pod.pod for stranded_pod in stranded} < {"default/a-0", "default/a-1", "default/a-2"}
    assert "Insufficient cpu" in stranded[0].message
    assert buffer.worst_loss == buffer.losses[0]


def test_pods_that_count_make_those_go_that_do_not() -> None:
    cluster = snapshot(
        [node("a", "one"), node("b", "two")],
        [ranked(f"a-{number}", "a", 100) for number in range(4)],
        [ranked(f"b-{number}", "b", 0) for number in range(4)],
    )
    buffer = compute_buffer(cluster, configuration(), priority=100)
    lost_a, lost_b = buffer.losses
    assert (lost_a.pods, lost_a.placed, lost_a.evicted) == (4, 4, 4)
    assert (lost_b.pods, lost_b.lower, lost_b.survived) == (0, 4, True)
    assert buffer.survives
    assert not compute_buffer(cluster, configuration()).survives, "then those of priority 0 count as well"


def test_a_victim_that_counts_has_to_be_placed_itself() -> None:
    cluster = snapshot(
        [node("a", "one"), node("b", "two"), node("c", "two", cpu="2")],
        [ranked("high", "a", 100, cpu="4")],
        [ranked("middle", "b", 50, cpu="2"), ranked("low", "b", 0, cpu="1")],
    )
    buffer = compute_buffer(cluster, configuration(), priority=50)
    lost = buffer.losses[0]
    assert (lost.pods, lost.placed, lost.evicted) == (2, 2, 1), "middle goes to c, low is given up"


def test_what_is_not_placed_anew_is_counted() -> None:
    cluster = snapshot(
        [node("a", "one"), node("b", "two"), node("loose")],
        [ranked("web", "a", 5), ranked("lesser", "a", 1), pod("bare", "a", owner="", spec={"priority": 5})],
        [pod("daemon", "a", owner="DaemonSet/log")],
    )
    buffer = compute_buffer(cluster, configuration(), priority=5)
    lost = buffer.losses[0]
    assert (lost.pods, lost.lower, lost.bare, buffer.unzoned) == (1, 1, 1, 1)


def test_the_largest_are_those_with_most_to_give_and_of_equal_ones_the_fullest() -> None:
    cluster = snapshot([node("a"), node("b"), node("big", cpu="8"), node("wide", memory="32Gi")], [ranked("p", "b", 0)])
    assert largest_nodes(cluster, 3) == ("big", "wide", "b")
    assert largest_nodes(cluster, 99) == ("big", "wide", "b", "a")


def test_without_zones_there_is_nothing_to_lose() -> None:
    buffer = compute_buffer(snapshot([node("a")]), configuration())
    assert (buffer.losses, buffer.unzoned, buffer.survives, buffer.worst_loss) == ((), 1, True, None)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 2)), max_size=9), st.integers(0, 2))
def test_what_is_placed_and_what_is_stranded_is_all_that_counts(
    pods: list[tuple[int, int, int]], min_priority: int
) -> None:
    used, raws = [0, 0, 0], []
    for number, (place, cpu, priority) in enumerate(pods):
        if used[place] + cpu <= 4:
            used[place] += cpu
            raws.append(ranked(f"p-{number}", f"n{place}", priority, cpu=str(cpu)))
    cluster = snapshot([node(f"n{place}", f"zone-{place}") for place in range(3)], raws)
    for lost in compute_buffer(cluster, configuration(), priority=min_priority).losses:
        assert lost.pods == lost.placed + len(lost.stranded)
        counting = [
            raw for raw in raws if raw["spec"]["nodeName"] in lost.nodes and raw["spec"]["priority"] >= min_priority
        ]
        assert lost.pods >= len(counting)
        assert lost.lower + len(counting) == sum(raw["spec"]["nodeName"] in lost.nodes for raw in raws)


def test_a_pulse_may_end_the_work() -> None:
    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        compute_buffer(snapshot([node("a", "one"), node("b")], [ranked("p", "a", 0)]), configuration(), pulse=stop)


def test_devices_of_pods_on_lost_nodes_are_given_back() -> None:
    on_node_a = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["a"]}]}
    uses = [{"name": "d", "resourceClaimName": "c"}]
    cluster = snapshot(
        [node("a", "one"), node("b", "two")],
        [devices("a", 1), devices("b", 1), device_class("gpu")],
        allocated("c", on_node_a, reserved=("default/x",)),
        ranked("x", "a", 0, resourceClaims=uses),
    )
    lost = compute_buffer(cluster, configuration()).losses[0]
    assert (lost.nodes, lost.placed, [stranded_pod.message for stranded_pod in lost.stranded]) == (("a",), 1, [])
