"""Number of further pods of a shape that fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.capacity.capacity import fit_clones
from kschedweb.engine.studies.capacity.shapes import ShapeError, pod_shape, replica_shape, workload_shape
from tests.engine.storage import DRIVER, EBS, claim, csi, csi_node, make_object, storage_class, volume
from tests.engine.studies.clusters import ZONE, configuration, node, pod, snapshot


@given(
    cores=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    request=st.integers(1, 4),
    limits=st.lists(st.integers(0, 5), min_size=6, max_size=6),
)
@settings(max_examples=40, deadline=None)
def test_as_many_fit_as_each_node_has_room_for(cores: list[int], request: int, limits: list[int]) -> None:
    nodes = [node(f"n{at}", cpu=str(cpu), pods=str(limits[at])) for at, cpu in enumerate(cores)]
    cluster = snapshot(nodes)
    capacity = fit_clones(cluster, configuration(), pod_shape(pod("x", cpu=str(request)), cluster))
    by_name = dict(zip(capacity.names, capacity.by_node.tolist(), strict=True))
    assert by_name == {f"n{at}": min(cpu // request, limits[at]) for at, cpu in enumerate(cores)}
    assert capacity.exact
    assert sorted(place for reason in capacity.reasons for place in reason.nodes.tolist()) == list(range(len(nodes)))


def test_the_snapshot_itself_stays_as_it_is() -> None:
    cluster = snapshot(node("a"))
    fit_clones(cluster, configuration(), pod_shape(pod("x"), cluster))
    assert not cluster.pods.slots


def test_nodes_that_were_open_are_told_from_those_that_never_were() -> None:
    taint = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    cluster = snapshot(node("a"), node("b", taints=[taint]))
    capacity = fit_clones(cluster, configuration(), pod_shape(pod("x"), cluster))
    reasons = {reason.text: (reason.plugin, len(reason.nodes), reason.filled) for reason in capacity.reasons}
    assert reasons == {
        "Insufficient cpu": ("NodeResourcesFit", 1, 1),
        "node(s) had untolerated taint(s)": ("TaintToleration", 1, 0),
    }


def test_the_first_pod_decides_where_the_volume_is_that_all_share() -> None:
    """Three zones of a driver that provisions where the first pod goes."""
    driver = {**csi_node("n", ebs_csi_aws_com=2)["spec"]["drivers"][0], "name": EBS, "topologyKeys": [ZONE]}
    nodes = [node(name, name) for name in "abc"]
    listed = [make_object("CSINode", name, version="storage.k8s.io/v1", spec={"drivers": [driver]}) for name in "abc"]
    uses = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "wait"}}]}
    cluster = snapshot(nodes, listed, storage_class("gp3", EBS), claim("wait", storageClassName="gp3"))
    capacity = fit_clones(cluster, configuration(), pod_shape(pod("x", spec=uses), cluster))
    assert sorted(capacity.by_node.tolist()) == [0, 0, 4]
    assert capacity.exact
    assert "node(s) didn't match PersistentVolume's node affinity" in capacity.message


def test_counting_stops_at_the_limit_or_from_outside() -> None:
    cluster = snapshot(node("a"))
    shape = pod_shape(pod("x"), cluster)
    limited = fit_clones(cluster, configuration(), shape, limit=2)
    assert (limited.count, limited.exact, limited.stopped) == (2, False, False)
    stopped = fit_clones(cluster, configuration(), shape, check=lambda count: count < 3)
    assert (stopped.count, stopped.exact, stopped.stopped) == (3, False, True)


def test_a_gated_pod_and_an_unknown_profile_are_not_counted() -> None:
    cluster = snapshot(node("a"))
    gated = pod_shape(pod("x", spec={"schedulingGates": [{"name": "example.com/wait"}]}), cluster)
    assert fit_clones(cluster, configuration(), gated).message == "waiting for scheduling gates: [example.com/wait]"
    other = fit_clones(cluster, configuration(), pod_shape(pod("x", spec={"schedulerName": "other"}), cluster))
    assert (other.count, other.message) == (0, 'profile not found for scheduler name "other"')


def test_spreading_ends_where_one_zone_is_full() -> None:
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread["labelSelector"] = {"matchLabels": {"app": "web"}}
    cluster = snapshot(node("a", "east", cpu="2"), node("b", "west", cpu="40"))
    capacity = fit_clones(
        cluster, configuration(), pod_shape(pod("x", spec={"topologySpreadConstraints": [spread]}), cluster)
    )
    assert dict(zip(capacity.names, capacity.by_node.tolist(), strict=True)) == {"a": 2, "b": 3}
    assert {reason.plugin for reason in capacity.reasons} == {"NodeResourcesFit", "PodTopologySpread"}


def test_the_next_replica_of_a_deployment_is_made_by_its_newest_replica_set() -> None:
    def replica_set(name: str, revision: str, cpu: str) -> dict[str, object]:
        owner = {"kind": "Deployment", "name": "web", "controller": True}
        metadata: Json = {"name": name, "namespace": "default", "ownerReferences": [owner]}
        metadata["annotations"] = {"deployment.kubernetes.io/revision": revision}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x", cpu=cpu)["spec"]}
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": {"template": template}}

    cluster = snapshot(node("a"), replica_set("web-new", "10", "2"), replica_set("web-old", "9", "1"))
    replica = workload_shape(cluster, "default/Deployment/web").clone(1)
    assert (replica.requests["cpu"], replica.controller) == (2000, ("apps/v1", "ReplicaSet", "web-new"))


def test_a_workload_known_by_its_pods_alone_is_copied_from_one() -> None:
    cluster = snapshot(node("a"), pod("web-5d-x1", "a", cpu="2"))
    shape = workload_shape(cluster, "default/Deployment/web")
    assert fit_clones(cluster, configuration(), shape).count == 1


def test_a_replica_of_a_stateful_set_gets_volumes_of_its_own() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}, {"name": "tmp", "emptyDir": {}}]
    cluster = snapshot(node("a"), pod("db-0", "a", owner="StatefulSet/db", spec={"volumes": volumes}))
    shape = replica_shape(cluster.get_pod("default/db-0"), cluster)
    assert [volume["name"] for volume in shape.raw["spec"]["volumes"]] == ["tmp"]
    assert "data-db-0" in shape.notes[0]
    capacity = fit_clones(cluster, configuration(), shape)
    assert (capacity.count, capacity.exact, capacity.unlimited) == (3, False, True)


@pytest.mark.parametrize("known_by", ["its template", "a pod and its owner", "a pod and its claim"])
def test_the_volumes_of_further_replicas_of_a_stateful_set_are_counted(known_by: str) -> None:
    """A node attaches two of them, and one is there."""
    template = {"metadata": {"name": "data"}, "spec": claim("any", storageClassName="disk")["spec"]}
    spec: Json = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("x", owner="")["spec"]}}
    owner = make_object("StatefulSet", "db", version="apps/v1", metadata={"namespace": "default"}, spec=spec)
    spec["volumeClaimTemplates"] = [template]
    attached = claim("data-db-0", volume="v", storageClassName="disk")
    uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]}
    first = pod("db-0", "a", owner="StatefulSet/db", spec=uses)
    claimed = {"namespace": "default", "name": "data-db-0", "uid": "uid-data-db-0"}
    bound_volume = volume("v", storageClassName="disk", csi=csi("v"), claimRef=claimed)
    objects = [storage_class("disk", DRIVER), bound_volume, attached, first]
    limited = csi_node("a", csi_example_com=2)
    cluster = snapshot(node("a"), limited, objects, [] if known_by == "a pod and its claim" else owner)
    shaped = workload_shape(cluster, "default/StatefulSet/db")
    if known_by != "its template":
        shaped = replica_shape(cluster.get_pod("default/db-0"), cluster)
    capacity = fit_clones(cluster, configuration(), shaped)
    assert (capacity.count, capacity.exact, capacity.notes) == (1, True, ())
    assert "max volume" in capacity.message


@pytest.mark.parametrize(
    ("workload", "expected_error"),
    [
        ("web", "namespace/Kind/name"),
        ("default/DaemonSet/web", "none of the kinds"),
        ("default/Deployment/other", "neither a template nor a pod"),
    ],
)
def test_a_workload_that_cannot_be_asked_about_is_said(workload: str, expected_error: str) -> None:
    with pytest.raises(ShapeError, match=expected_error):
        workload_shape(snapshot(node("a")), workload)
