"""Number of nodes to add."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.shapes import node_shape
from kschedweb.engine.studies.capacity.sizing import compute_sizing, enlarge_snapshot
from tests.engine.storage import DRIVER, claim, csi_node, storage_class, volume
from tests.engine.studies.clusters import HOSTNAME, ZONE, configuration, node, pod, snapshot
from tests.support import tiers


def _daemon_set(name: str, cpu: str, **spec: object) -> Json:
    template = {"spec": {**pod("x", cpu=cpu)["spec"], **spec}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}}


@given(count=st.integers(0, 30), request=st.integers(1, 4), room=st.integers(0, 4))
@settings(max_examples=tiers.count(12, 100), deadline=None)
def test_equal_pods_need_as_many_nodes_as_arithmetic_says(count: int, request: int, room: int) -> None:
    cluster = snapshot(node("old", cpu=str(room)), [pod(f"p{at}", cpu=str(request)) for at in range(count)])
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new", cpu="4")))
    now = min(count, room // request)
    assert sizing.fits_now == now
    assert sizing.needed == -(-(count - now) // (4 // request))
    assert sizing.needed >= sizing.at_least
    assert not sizing.unfit
    assert not sizing.exceptions
    assert sum(use.pods for use in sizing.nodes) <= count


def test_a_smaller_number_was_tried_and_does_not_do() -> None:
    cluster = snapshot(node("old"), [pod(f"p{at}", cpu="3") for at in range(20)])
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new")))
    assert sizing.needed == 19
    assert sizing.unplaced_by_nodes[18] == 1
    assert sizing.unplaced_by_nodes[19] == sizing.unplaced_by_nodes[20] == 0


def test_pods_that_no_number_helps_are_named_and_the_others_fit() -> None:
    cluster = snapshot(node("old", cpu="1"), pod("fits", cpu="3"), pod("large", cpu="9"))
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new")))
    assert sizing.needed == 1
    (unfit,) = sizing.unfit
    assert (unfit.pods, unfit.on_new) == (("default/large",), "Insufficient cpu")
    assert "Insufficient cpu" in unfit.message


def test_the_limit_is_said_where_it_is_too_small() -> None:
    cluster = snapshot(node("old", cpu="1"), [pod(f"p{at}", cpu="3") for at in range(9)])
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new")), max_nodes=4)
    assert (sizing.needed, sizing.unplaced_by_nodes[4]) == (None, 5)
    assert not sizing.unfit


def test_new_nodes_take_turns_in_zones_and_spreading_asks_for_all_of_them() -> None:
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "web"}}
    pods = [pod(f"p{at}", cpu="4", spec={"topologySpreadConstraints": [spread]}) for at in range(6)]
    cluster = snapshot(node("old", "a", cpu="1"), pods)
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new"), zones=("a", "b", "c")))
    assert sizing.needed == 6
    assert [use.zone for use in sizing.nodes] == ["a", "b", "c"] * 2
    alone = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new", "a")))
    assert (alone.needed, alone.unplaceable_count) == (6, 0)
    two = snapshot(node("old", "a", cpu="1"), node("other", "b", cpu="1"), pods)
    stuck = compute_sizing(two, configuration(), two.pending, node_shape(node("new", "a")))
    assert (stuck.needed, stuck.unplaceable_count) == (1, 5)
    assert stuck.unfit[0].on_new == "node(s) didn't match pod topology spread constraints"


def test_daemon_sets_take_their_part_of_matching_new_nodes() -> None:
    far = {"nodeSelector": {"pool": "far"}}
    sets = [_daemon_set("agent", "2"), _daemon_set("elsewhere", "2", **far)]
    cluster = snapshot(node("old", cpu="1"), sets, [pod(f"p{at}", cpu="2") for at in range(3)])
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new")))
    assert (sizing.needed, [use.daemons for use in sizing.nodes]) == (3, [1, 1, 1])


def test_a_new_node_is_fresh_and_has_a_name_of_its_own() -> None:
    raw = node("old", unschedulable=True, taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}])
    (new_node,) = node_shape(raw, taken_names=["old", "old-new-7"]).create_nodes(1)
    assert (new_node.name, new_node.unschedulable, new_node.taints) == ("old-new-x-1", False, ())
    assert new_node.labels[HOSTNAME] == new_node.name


def test_the_old_nodes_keep_their_order_and_pods() -> None:
    cluster = snapshot([node(f"n{at}", "ab"[at % 2]) for at in range(5)], pod("p", "n3"))
    larger = enlarge_snapshot(cluster, node_shape(node("new", "a")).create_nodes(2))
    assert [name for name in larger.names if name in cluster.index] == cluster.names
    assert larger.names[int(larger.pods.node[larger.pods.slots["default/p"]])] == "n3"
    assert len(cluster) == 5


def test_a_volume_is_there_for_one_of_the_pods() -> None:
    pods = [pod(name, spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}) for name in "xy"]
    cluster = snapshot(node("old"), storage_class(), claim("x"), claim("y"), volume("only"), pods)
    sizing = compute_sizing(cluster, configuration(), cluster.pending, node_shape(node("new")))
    assert (sizing.fits_now, sizing.needed) == (1, 0)
    assert [unfit.pods for unfit in sizing.unfit] == [("default/y",)]


def test_new_nodes_attach_as_many_volumes_as_the_one_that_they_are_like() -> None:
    spec = claim("any", storageClassName="disk")["spec"]
    uses = {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}
    pods = [pod(f"p{number}", spec=uses) for number in range(6)]
    cluster = snapshot(node("old"), csi_node("old", csi_example_com=2), storage_class("disk", DRIVER), pods)
    like = node_shape(node("new"), csi_node=cluster.objects.storage.csi_nodes["old"])
    sizing = compute_sizing(cluster, configuration(), cluster.pending, like)
    assert (sizing.fits_now, sizing.needed) == (2, 2)
