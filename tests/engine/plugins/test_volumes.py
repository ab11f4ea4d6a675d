"""Volumes: what is easily got wrong. Every answer here is kube-scheduler's."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod
from tests.engine.builders import explain, node, pod, scheduler

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
DRIVER, EBS = "csi.example.com", "ebs.csi.aws.com"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_ACCESS = "node(s) didn't match PersistentVolume's node affinity"
NO_SPACE = "node(s) did not have enough free storage"
TOO_MANY = "node(s) exceed max volume count"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def made(kind: str, name: str, *, version: str = "v1", metadata: dict | None = None, **fields: Any) -> dict:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **fields}


def storage_class(name: str = "local", provisioner: str = "kubernetes.io/no-provisioner", **fields: Any) -> dict:
    fields = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **fields}
    return made("StorageClass", name, version="storage.k8s.io/v1", **fields)


def claim(name: str, size: str = "1Gi", *, volume: str = "", metadata: dict | None = None, **spec: Any) -> dict:
    metadata = {"namespace": "default", "uid": f"uid-{name}", **(metadata or {})}
    if volume:
        metadata["annotations"] = COMPLETED
        spec["volumeName"] = volume
    resources = {"requests": {"storage": size}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": resources, **spec}
    return made("PersistentVolumeClaim", name, metadata=metadata, spec=spec)


def volume(name: str, size: str = "1Gi", *, metadata: dict | None = None, **spec: Any) -> dict:
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local", **spec}
    return made("PersistentVolume", name, metadata=metadata, spec=spec, status={"phase": "Available"})


def csi_node(name: str, annotations: dict | None = None, **limits: int) -> dict:
    drivers = [
        {"name": driver.replace("_", "."), "nodeID": name, "topologyKeys": None, "allocatable": {"count": count}}
        for driver, count in limits.items()
    ]
    metadata = {"annotations": annotations or {}}
    return made("CSINode", name, version="storage.k8s.io/v1", metadata=metadata, spec={"drivers": drivers})


def user(name: str, *claims: str, on: str = "") -> dict:
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": item}} for number, item in enumerate(claims)
    ]
    return pod(name, on=on, volumes=volumes)


def on_nodes(key: str, *values: str) -> dict:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def csi(handle: str, driver: str = DRIVER) -> dict:
    return {"driver": driver, "volumeHandle": handle}


def reasons(answer: dict, plugin: str) -> dict[str, list[str]]:
    return {name: verdict["reasons"] for name, verdict in answer["filters"].get(plugin, {}).items()}


def test_each_claim_takes_the_smallest_volume_that_suits_it() -> None:
    objects = [node("a"), storage_class(), volume("big", "10Gi"), volume("small", "2Gi"), claim("c"), claim("d", "5Gi")]
    assert explain(user("p", "d", "c"), *objects)["feasible"] == ["a"]
    assert reasons(explain(user("p", "d", "c"), *objects, claim("d", "20Gi")), "VolumeBinding") == {"a": [NO_VOLUME]}


@pytest.mark.parametrize(
    "unfit",
    [
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"volumeMode": "Block"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeAttributesClassName": "gold"},
        {"claimRef": {"namespace": "default", "name": "other"}},
        {"claimRef": {"namespace": "default", "name": "c", "uid": "uid-of-another"}},
        {"storageClassName": "other"},
        {"capacity": {"storage": "1Mi"}},
    ],
)
def test_an_unfit_volume_is_not_taken(unfit: dict) -> None:
    answer = explain(user("p", "c"), node("a"), storage_class(), claim("c"), volume("v", **unfit))
    assert reasons(answer, "VolumeBinding") == {"a": [NO_VOLUME]}


def test_a_volume_reserved_for_the_claim_decides_even_where_it_cannot_be_reached() -> None:
    reference = {"namespace": "default", "name": "c"}
    reserved = volume("r", claimRef=reference, nodeAffinity=on_nodes("kubernetes.io/hostname", "a"))
    objects = [node("a"), node("b"), storage_class(), claim("c"), volume("free"), reserved]
    assert reasons(explain(user("p", "c"), *objects), "VolumeBinding") == {"b": [NO_VOLUME]}


def test_a_claim_used_twice_takes_two_volumes() -> None:
    objects = [node("a"), storage_class(), claim("c")]
    reserved = volume("r", claimRef={"namespace": "default", "name": "c"})
    assert reasons(explain(user("p", "c", "c"), *objects, reserved), "VolumeBinding") == {"a": [NO_VOLUME]}
    assert explain(user("p", "c", "c"), *objects, reserved, volume("free"))["feasible"] == ["a"]


def test_conditions_on_fields_in_a_volumes_affinity_always_hold() -> None:
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}
    affinity = {"required": {"nodeSelectorTerms": [field]}}
    bound = [claim("c", volume="v"), volume("v", nodeAffinity=affinity)]
    assert explain(user("p", "c"), node("a"), *bound)["feasible"] == ["a"]


def test_the_largest_volume_counts_before_the_capacity_left_and_bytes_are_rounded_up() -> None:
    driver = made("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    capacity = {"storageClassName": "local", "nodeTopology": {}, "capacity": "10Gi", "maximumVolumeSize": "0.5"}
    said = made("CSIStorageCapacity", "s", version="storage.k8s.io/v1", metadata={"namespace": "default"}, **capacity)
    objects = [node("a"), storage_class(provisioner=DRIVER), driver, said]
    assert explain(user("p", "c"), *objects, claim("c", "1"))["feasible"] == ["a"]
    assert reasons(explain(user("p", "c"), *objects, claim("c", "2")), "VolumeBinding") == {"a": [NO_SPACE]}


def test_the_first_claim_that_gets_no_volume_ends_the_search() -> None:
    driver = made("CSIDriver", DRIVER, version="storage.k8s.io/v1", spec={"storageCapacity": True})
    objects = [node("a"), storage_class(), storage_class("made", DRIVER), driver]
    objects += [claim("c", "1Gi"), claim("d", "2Gi", storageClassName="made")]
    assert reasons(explain(user("p", "d", "c"), *objects), "VolumeBinding") == {"a": [NO_VOLUME]}
    objects[-1] = claim("d", "500Mi", storageClassName="made")
    assert reasons(explain(user("p", "d", "c"), *objects), "VolumeBinding") == {"a": [NO_SPACE]}


def test_reasons_about_bound_and_unbound_claims_come_together() -> None:
    bound = [claim("c", volume="v"), volume("v", nodeAffinity=on_nodes("disk", "ssd"))]
    answer = explain(user("p", "c", "d"), node("a"), storage_class(), *bound, claim("d"))
    assert reasons(answer, "VolumeBinding") == {"a": [NO_ACCESS, NO_VOLUME]}


def test_a_volume_its_driver_cannot_take_over_fails_the_filter_unless_another_one_rejects_first() -> None:
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/azure-disk"}
    disk = volume("v", azureDisk={"diskName": "d", "diskURI": "d", "kind": "Dedicated"})
    elsewhere = volume("w", nodeAffinity=on_nodes("disk", "ssd"))
    objects = [node("a"), csi_node("a", migrated), disk, elsewhere, claim("c", volume="v"), claim("d", volume="w")]
    failed = ["could not translate pv: kind(Dedicated) is not supported in csi migration"]
    assert reasons(explain(user("p", "c", "d"), *objects), "VolumeBinding") == {"a": failed}
    assert reasons(explain(user("p", "d", "c"), *objects), "VolumeBinding") == {"a": [NO_ACCESS]}


def test_a_drivers_zone_label_takes_the_place_of_the_old_ones() -> None:
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    term = (
        {"key": BETA_ZONE, "operator": "In", "values": ["za"]},
        {"key": BETA_REGION, "operator": "In", "values": ["r"]},
    )
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": list(term)}]}}
    bound = [claim("c", volume="v"), volume("v", awsElasticBlockStore={"volumeID": "x"}, nodeAffinity=affinity)]
    new = node("new", labels={f"topology.{EBS}/zone": "za", REGION: "r"})
    old = node("old", labels={BETA_ZONE: "za", BETA_REGION: "r"})
    answer = explain(user("p", "c"), new, old, csi_node("new", migrated), *bound)
    assert answer["feasible"] == ["new", "old"]
    swapped = explain(user("p", "c"), new, old, csi_node("old", migrated), *bound)
    assert reasons(swapped, "VolumeBinding") == {"new": [NO_ACCESS], "old": [NO_ACCESS]}


def test_an_old_zone_label_of_a_node_counts_before_its_new_one() -> None:
    bound = [claim("c", volume="v"), volume("v", metadata={"labels": {BETA_ZONE: "za__zb"}})]
    nodes = [node("a", labels={BETA_ZONE: "zc", ZONE: "za"}), node("b", labels={ZONE: "zb"}), node("none")]
    answer = explain(user("p", "c"), *nodes, *bound)
    assert reasons(answer, "VolumeZone") == {"a": ["node(s) had no available volume zone"]}


def test_no_two_pods_share_an_ebs_volume_but_readers_share_a_gce_disk() -> None:
    for disk, shared in (
        ({"awsElasticBlockStore": {"volumeID": "x", "readOnly": True}}, False),
        ({"gcePersistentDisk": {"pdName": "x", "readOnly": True}}, True),
    ):
        volumes = [{"name": "d", **disk}]
        answer = explain(pod("p", volumes=volumes), node("a"), pod("q", on="a", volumes=volumes))
        assert (answer["feasible"] == ["a"]) is shared


def test_an_attachment_of_a_volume_in_use_is_not_counted_twice() -> None:
    objects = [node("a"), csi_node("a", csi_example_com=2)]
    for name in ("v", "w"):
        objects += [volume(name, csi=csi(name)), claim(f"c-{name}", volume=name)]
    spec = {"attacher": DRIVER, "nodeName": "a", "source": {"persistentVolumeName": "v"}}
    objects += [made("VolumeAttachment", "x", version="storage.k8s.io/v1", spec=spec), user("q", "c-v", on="a")]
    assert explain(user("p", "c-w"), *objects)["feasible"] == ["a"]
    assert explain(user("p", "c-v", "c-w"), *objects)["feasible"] == ["a"]
    # Without a pod that uses it, the attachment counts beside the same volume of the new pod.
    assert reasons(explain(user("p", "c-v", "c-w"), *objects[:-1]), "NodeVolumeLimits") == {"a": [TOO_MANY]}


def test_limits_and_claims_for_one_pod_count_pods_as_they_come_and_go() -> None:
    objects = [node("a"), csi_node("a", csi_example_com=1)]
    for name in ("v", "w"):
        once: dict[str, Any] = {"accessModes": ["ReadWriteOncePod"]}
        objects += [volume(name, csi=csi(name)), claim(f"c-{name}", volume=name, **once)]
    engine = scheduler(*objects)
    first, second = Pod.read(user("p", "c-v")), Pod.read(user("q", "c-w"))
    engine.schedule([first])
    assert engine.explain(second).message == f"0/1 nodes are available: 1 {TOO_MANY}."
    assert "ReadWriteOncePod" in engine.explain(Pod.read(user("r", "c-v"))).message
    assert engine.explain(engine.snapshot.pod("default/p")).message == ""
    assert engine.explain(second).message == f"0/1 nodes are available: 1 {TOO_MANY}."
    engine.snapshot.remove_pod("default/p")
    assert engine.explain(second).message == ""


def test_a_storage_class_that_does_not_say_when_it_binds_ends_the_cycle() -> None:
    answer = explain(user("p", "c"), node("a"), storage_class(volumeBindingMode=None), claim("c"))
    said = 'running PreFilter plugin "VolumeBinding": VolumeBindingMode not set for StorageClass "local"'
    assert (answer["preFilter"]["code"], answer["message"]) == ("Error", said)


def test_a_claim_that_cannot_be_understood_is_a_problem_not_a_failure() -> None:
    engine = scheduler(node("a"), claim("c", accessModes="ReadWriteOnce"))
    assert engine.snapshot.problems == [
        ("PersistentVolumeClaim default/c", "spec.accessModes: must be a list, is a string")
    ]
