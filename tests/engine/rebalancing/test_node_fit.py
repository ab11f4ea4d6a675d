from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.rebalancing.node_fit import PODS, Room
from kschedweb.engine.rebalancing.scenario import DescribedCluster
from tests.engine.rebalancing.building import node, pod

CPU = st.sampled_from(["0", "1m", "100m", "1500m", "3", "4"])
NODES = ("a", "b", "c")


@given(st.lists(st.tuples(st.sampled_from(NODES), CPU), min_size=1, max_size=12), st.data())
def test_room_kept_through_evictions_is_the_room_counted_anew(
    placed: list[tuple[str, str]], data: st.DataObject
) -> None:
    objects = [node("a"), node("b", unschedulable=True), node("c", taints=[{"key": "t", "effect": "NoSchedule"}])]
    objects += [pod(f"p{number}", on, cpu) for number, (on, cpu) in enumerate(placed)]
    cluster = DescribedCluster.from_json({"objects": objects}).create_cluster()
    room, all_nodes = Room(cluster), np.ones(len(NODES), dtype=np.bool_)
    for running_pod in list(cluster.pods.values()):
        room.fits_any_node(
            running_pod, all_nodes, elsewhere=True
        )  # what is remembered of one pod must not decide on the next
    for key in data.draw(st.lists(st.sampled_from(sorted(cluster.pods)), unique=True)):
        evicted_pod = cluster.pods[key]
        cluster.remove_pod(evicted_pod)
        room.remove_pod(evicted_pod)
    anew = Room(cluster)
    for name in ("cpu", PODS):
        assert room.free_amounts(name).tolist() == anew.free_amounts(name).tolist()
    for running_pod in cluster.pods.values():
        for elsewhere in (False, True):
            assert room.fits_any_node(running_pod, all_nodes, elsewhere=elsewhere) == anew.fits_any_node(
                running_pod, all_nodes, elsewhere=elsewhere
            )


def test_a_pod_fits_by_the_original_s_rules() -> None:
    foe = {"topologyKey": "disk", "labelSelector": {"matchLabels": {"app": "web"}}}
    avoiding = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [foe]}}
    labelled = node("b")
    labelled["metadata"]["labels"] = {"disk": "ssd"}
    objects = [node("a"), labelled, node("c"), pod("p", "a", "3", affinity=avoiding), pod("q", "b"), pod("r", "c", "2")]
    cluster = DescribedCluster.from_json({"objects": objects}).create_cluster()
    room, candidate = Room(cluster), cluster.pods["default/p"]
    assert room.fits_any_node(candidate, room.node_mask(cluster.nodes), elsewhere=False), (
        "on its own node resources are not asked for"
    )
    assert not room.fits_any_node(candidate, room.node_mask(cluster.nodes), elsewhere=True), (
        "b has a foe and the label, c has no room"
    )
    cluster.remove_pod(evicted_pod := cluster.pods["default/q"])
    room.remove_pod(evicted_pod)
    assert room.fits_any_node(candidate, room.node_mask(cluster.nodes), elsewhere=True)
