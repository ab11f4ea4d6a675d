"""Can these nodes be emptied, in what order, blocked by what."""

from __future__ import annotations

import pytest

from kschedweb.engine.controllers.budgets import SEVERAL, VIOLATES
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.drain import (
    BUDGET,
    KUBECTL_MESSAGES,
    LOCAL,
    NO_ROOM,
    UNMANAGED,
    Options,
    rehearse_drain,
)
from tests.engine.plugins.test_dynamicresources import allocated, device_class, devices
from tests.engine.storage import DRIVER, claim, on_nodes, storage_class, volume
from tests.engine.studies.clusters import HOSTNAME, budget, configuration, node, pod, snapshot

EMPTY_DIR: Json = {"volumes": [{"name": "tmp", "emptyDir": {}}]}


def test_pods_move_to_nodes_that_stay() -> None:
    cluster = snapshot([node(name) for name in "abc"], [pod(f"p{at}", "ab"[at % 2]) for at in range(4)])
    drain = rehearse_drain(cluster, configuration(), ["a", "b"])
    assert drain.emptied
    assert {move.target for move in drain.moves} == {"c"}
    assert len(drain.moves) == 4
    assert cluster.pod_count.sum() == 4
    assert not cluster.unschedulable.any()


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(pod("x", "a", owner=""), UNMANAGED), (pod("x", "a", spec=EMPTY_DIR), LOCAL)],
)
def test_what_kubectl_refuses_keeps_all_pods_of_the_node_there(raw: Json, kind: str) -> None:
    cluster = snapshot(node("a"), node("b"), raw, pod("y", "a"))
    drain = rehearse_drain(cluster, configuration(), ["a"])
    assert [(block.pod, block.kind, block.message) for block in drain.blocks] == [
        ("default/x", kind, KUBECTL_MESSAGES[kind])
    ]
    assert not drain.moves
    assert rehearse_drain(cluster, configuration(), ["a"], Options(delete_emptydir_data=True, force=True)).emptied


def test_a_pod_without_controller_is_not_replaced() -> None:
    cluster = snapshot(node("a"), pod("x", "a", owner=""))
    drain = rehearse_drain(cluster, configuration(), ["a"], Options(force=True))
    assert [(move.pod, move.target) for move in drain.moves] == [("default/x", "")]


def test_daemon_sets_and_mirror_pods_are_left_alone() -> None:
    mirror = pod("m", "a", owner="Node/a")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    cluster = snapshot(node("a"), pod("d", "a", owner="DaemonSet/agent"), mirror)
    drain = rehearse_drain(cluster, configuration(), ["a"])
    assert drain.emptied
    assert {(stays.pod, stays.kind) for stays in drain.nodes[0].stays} == {
        ("default/d", "DaemonSet"),
        ("default/m", "mirror pod"),
    }
    assert not rehearse_drain(cluster, configuration(), ["a"], Options(ignore_daemonsets=False)).emptied


def test_where_there_is_no_room_the_scheduler_says_so() -> None:
    cluster = snapshot(node("a"), node("b", cpu="2"), pod("x", "a", cpu="3"), pod("y", "a"))
    drain = rehearse_drain(cluster, configuration(), ["a"])
    (block,) = drain.blocks
    assert (block.pod, block.kind) == ("default/x", NO_ROOM)
    assert block.message == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    assert [move.pod for move in drain.moves] == ["default/y"]


def test_a_budget_lets_so_many_go_in_a_wave() -> None:
    pods = [pod(f"p{at}", "a") for at in range(4)]
    cluster = snapshot(node("a"), node("b"), pods, budget(2, healthy=4, desired=2))
    drain = rehearse_drain(cluster, configuration(), ["a"])
    assert drain.emptied
    assert [move.wave for move in drain.moves] == [1, 1, 2, 2]
    assert {move.budget for move in drain.moves} == {"default/web"}


def test_a_budget_that_allows_nothing_blocks_in_the_servers_words() -> None:
    cluster = snapshot(node("a"), node("b"), pod("x", "a"), budget(0, healthy=1, desired=1))
    (block,) = rehearse_drain(cluster, configuration(), ["a"]).blocks
    assert block.kind == BUDGET
    assert block.message == f"{VIOLATES} The disruption budget web needs 1 healthy pods and has 1 currently"


def test_a_deleted_pod_that_nothing_replaces_gives_its_budget_nothing_back() -> None:
    pods = [pod(f"p{at}", "a", owner="") for at in range(2)]
    cluster = snapshot(node("a"), node("b"), pods, budget(1, healthy=2, desired=1))
    drain = rehearse_drain(cluster, configuration(), ["a"], Options(force=True))
    assert len(drain.moves) == len(drain.blocks) == 1


def test_two_budgets_for_a_pod_are_more_than_the_eviction_api_takes() -> None:
    cluster = snapshot(node("a"), node("b"), pod("x", "a"), budget(1), budget(1, name="other"))
    (block,) = rehearse_drain(cluster, configuration(), ["a"]).blocks
    assert block.message == SEVERAL


@pytest.mark.parametrize(
    ("ready", "status", "spec", "goes"),
    [
        (False, {"healthy": 2, "desired": 2}, {}, True),
        (False, {"healthy": 1, "desired": 2}, {}, False),
        (False, {"healthy": 1, "desired": 2}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, True),
        (True, {"healthy": 2, "desired": 2}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, False),
        (None, {"healthy": 2, "desired": 2}, {}, False),
    ],
)
def test_unhealthy_pods_go_by_their_own_rule(ready: bool | None, status: Json, spec: Json, goes: bool) -> None:
    cluster = snapshot(node("a"), node("b"), pod("x", "a", ready=ready), budget(0, **status, **spec))
    assert rehearse_drain(cluster, configuration(), ["a"]).emptied is goes


def test_easy_nodes_come_first_unless_the_order_is_kept() -> None:
    pods = [pod("x", "a", owner=""), pod("y", "b"), pod("z", "b")]
    cluster = snapshot([node(name) for name in "abcd"], pods)
    drain = rehearse_drain(cluster, configuration(), ["a", "b", "c"])
    assert [drained_node.name for drained_node in drain.nodes] == ["c", "b", "a"]
    assert drain.reordered
    in_order = rehearse_drain(cluster, configuration(), ["a", "b", "c"], keep_order=True)
    assert [drained_node.name for drained_node in in_order.nodes] == ["a", "b", "c"]


def test_a_node_that_turns_out_to_be_blocked_comes_last_and_takes_no_room_from_others() -> None:
    pods = [pod("small", "a"), pod("large", "a", cpu="3"), pod("y1", "b"), pod("y2", "b"), pod("y3", "b", cpu="0")]
    cluster = snapshot(node("a"), node("b"), node("c", cpu="2"), pods)
    drain = rehearse_drain(cluster, configuration(), ["a", "b"])
    assert [(drained_node.name, drained_node.emptied) for drained_node in drain.nodes] == [("b", True), ("a", False)]
    assert [move.pod for move in drain.moves if move.source == "b"] == ["default/y1", "default/y2", "default/y3"]
    assert not rehearse_drain(cluster, configuration(), ["a", "b"], keep_order=True).nodes[1].emptied


def test_a_pod_that_tolerates_the_cordon_would_come_back() -> None:
    cluster = snapshot(node("a"), pod("x", "a", spec={"tolerations": [{"operator": "Exists"}]}))
    (block,) = rehearse_drain(cluster, configuration(), ["a"]).blocks
    assert block.message == "tolerates that a is cordoned, and would be put there again"
    with pytest.raises(KeyError):
        rehearse_drain(cluster, configuration(), ["none"])


def test_the_device_of_an_evicted_pod_is_given_back_and_its_replacement_gets_another() -> None:
    """The claim had its device on the drained node; of two nodes that are drained the second one has none left."""
    on_node_a = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["a"]}]}
    used_claim = allocated("c", on_node_a, reserved=("default/x",))
    uses: Json = {"resourceClaims": [{"name": "d", "resourceClaimName": "c"}]}
    drained = [node(name, cpu="2") for name in "abc"], [devices("a", 1), devices("b", 1)], device_class("gpu")
    cluster = snapshot(*drained, used_claim, pod("x", "a", spec=uses))
    assert [move.target for move in rehearse_drain(cluster, configuration(), ["a"]).moves] == ["b"]
    blocked = rehearse_drain(cluster, configuration(), ["b", "a"])
    assert [(block.pod, block.node) for block in blocked.blocks] == [("default/x", "a")]
    assert "all claims" in blocked.blocks[0].message


def test_volumes_that_a_blocked_node_would_have_had_are_left_to_others() -> None:
    """Node a is emptied as a whole or not at all: the claim of the pod that could go is as it was when b is drained."""
    local = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    objects = [storage_class(), claim("c"), volume("v", nodeAffinity=on_nodes(HOSTNAME, "c", "d"))]
    cluster = snapshot(
        [node("a"), node("b"), node("c", cpu="1"), node("d", cpu="2")],
        objects,
        [pod("large", "a", cpu="4"), pod("x", "a", spec=local), pod("y", "b", spec=local)],
    )
    drain = rehearse_drain(cluster, configuration(), ["a", "b"])
    moved = {move.pod: move.target for move in drain.moves}
    assert moved["default/y"] in ("c", "d")
    assert [block.pod for block in drain.blocks] == ["default/large"]


def test_a_replacement_gets_an_ephemeral_volume_of_its_own() -> None:
    """The volume of the evicted pod could be reached from its node alone, and goes with it."""
    spec = {"storageClassName": "disk", "resources": {"requests": {"storage": "1Gi"}}}
    uses: Json = {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}
    owner = {"kind": "Pod", "name": "x", "uid": "default/x", "controller": True}
    ephemeral_claim = claim("x-e", volume="v", storageClassName="disk")
    ephemeral_claim["metadata"]["ownerReferences"] = [owner]
    claimed = {"namespace": "default", "name": "x-e", "uid": "uid-x-e"}
    bound_volume = volume("v", storageClassName="disk", nodeAffinity=on_nodes(HOSTNAME, "a"), claimRef=claimed)
    cluster = snapshot(
        node("a"), node("b"), storage_class("disk", DRIVER), ephemeral_claim, bound_volume, pod("x", "a", spec=uses)
    )
    drain = rehearse_drain(cluster, configuration(), ["a"])
    assert [(move.pod, move.target) for move in drain.moves] == [("default/x", "b")]
