"""Claims of recorded pods, where pods are placed anew or are gone."""

from __future__ import annotations

from typing import Any

from tests.engine.builders import node, pod
from tests.engine.storage import EBS, ZONE, claim, make_object, on_nodes, storage_class, volume
from tests.engine.studies.prepare.test_prepared import prepared, run

API = "resource.k8s.io/v1"
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}


def cluster(*, template: bool) -> list[dict[str, Any]]:
    """Two nodes in two zones with a GPU each; the pod p, bound to a, with the claims that controllers made for it."""
    owner = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}]
    ephemeral = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "gp3"}}}}
    entry = {"name": "gpu", "resourceClaimTemplateName": "single"}
    bound = pod("p", on="a", volumes=[ephemeral], resourceClaims=[entry])
    bound["metadata"]["uid"] = "uid-p"
    bound["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]}
    result = {"request": "r", "driver": "drv.example", "pool": "a", "device": "g"}
    reserved = [{"resource": "pods", "name": "p", "uid": "uid-p"}]
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    metadata = {"namespace": "default", "ownerReferences": owner, "annotations": annotations}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
    slices = [
        make_object(
            "ResourceSlice",
            name,
            version=API,
            spec={
                "driver": "drv.example",
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "g"}],
            },
        )
        for name in ("a", "b")
    ]
    source = {"attacher": EBS, "nodeName": "a", "source": {"persistentVolumeName": "v"}}
    persistent: dict[str, Any] = {
        "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": EBS, "volumeHandle": "v"},
    }
    return [
        *(node(name, labels={ZONE: name}) for name in ("a", "b")),
        *slices,
        storage_class("gp3", EBS),
        make_object("DeviceClass", "gpu", version=API),
        claim("p-e", volume="v", metadata={"ownerReferences": owner}, storageClassName="gp3"),
        volume("v", storageClassName="gp3", nodeAffinity=on_nodes(ZONE, "a"), **persistent),
        make_object("VolumeAttachment", "at", version="storage.k8s.io/v1", spec=source),
        make_object("ResourceClaim", "p-gpu-x", version=API, metadata=metadata, spec=SPEC, status=status),
        *(
            [
                make_object(
                    "ResourceClaimTemplate",
                    "single",
                    version=API,
                    metadata={"namespace": "default"},
                    spec={"spec": SPEC},
                )
            ]
            * template
        ),
        bound,
    ]


def test_a_pod_that_is_placed_anew_gets_new_claims_even_if_their_template_was_not_recorded() -> None:
    for template in (True, False):
        objects = cluster(template=template)
        first = run(prepared(*objects)).bound
        assert [binding.pod for binding in first] == ["default/p"]
        # With its old claims it could go nowhere but to a.
        objects[0]["spec"]["unschedulable"] = True
        assert [binding.node for binding in run(prepared(*objects)).bound] == ["b"]


def test_a_pod_that_keeps_its_node_keeps_its_claims() -> None:
    scenario = prepared(*cluster(template=True), run={"place": "pending"})
    listed = {(raw["kind"], raw["metadata"]["name"]) for raw in scenario.objects}
    assert {("PersistentVolumeClaim", "p-e"), ("ResourceClaim", "p-gpu-x"), ("VolumeAttachment", "at")} <= listed


def test_a_device_that_was_reserved_for_pods_that_are_gone_is_free() -> None:
    objects = cluster(template=True)
    shared = next(raw for raw in objects if raw["kind"] == "ResourceClaim")
    shared["metadata"] = {"name": "shared", "namespace": "default"}
    objects.append(pod("q", resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}]))
    objects = [raw for raw in objects if raw["metadata"]["name"] != "p"]
    objects[0]["spec"]["unschedulable"] = True
    assert [binding.node for binding in run(prepared(*objects)).bound] == ["b"]


def test_claims_of_a_stateful_set_have_their_volumes_at_once_where_their_class_does_not_wait() -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    fast = storage_class("fast", EBS, volumeBindingMode="Immediate") | {"metadata": {"name": "fast", **default}}
    template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    spec = {"replicas": 2, "volumeClaimTemplates": [template], "template": {"spec": {"containers": [{"name": "c"}]}}}
    manifest = {"kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    changes = [{"addWorkload": {"manifest": manifest}}]
    assert len(run(prepared(node("a"), fast, changes=changes)).bound) == 2
