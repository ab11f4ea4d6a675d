"""Claims are made for pods as Kubernetes' controllers make them: names, owners, and what they cannot make."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.controllers.claims import (
    add_stateful_volumes,
    create_claims,
    delete_claims,
    make_claims_for_pod,
    make_stateful_claims,
    set_default_class,
)
from tests.engine.builders import node, pod
from tests.engine.storage import claim, make_object, storage_class

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}


class Nothing:
    """A cluster without claims and templates."""

    def find_controller(self, kind: str, namespace: str, name: str, /) -> str | None:
        return None

    def find_generated(self, pod: Pod, entry: str, /) -> str | None:
        return None

    def find_template(self, namespace: str, name: str, /) -> dict | None:
        return template(name)


def template(name: str = "gpu", **metadata: Any) -> dict:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    spec = {"metadata": metadata, "spec": {"devices": {"requests": [request]}}}
    return make_object(
        "ResourceClaimTemplate", name, version="resource.k8s.io/v1", metadata={"namespace": "default"}, spec=spec
    )


def ephemeral(name: str = "data", *, metadata: dict | None = None, **spec: Any) -> dict:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"name": name, "ephemeral": {"volumeClaimTemplate": {"metadata": metadata or {}, "spec": spec}}}


def user(name: str = "p", **spec: Any) -> Pod:
    raw = pod(name, **spec)
    raw["metadata"]["uid"] = f"uid-{name}"
    return Pod.from_json(raw)


def claims_of(pod: Pod) -> list[str]:
    return [item.claim or "" for item in pod.resource_claims]


def test_an_ephemeral_volume_gets_the_claim_that_its_controller_makes() -> None:
    pod_with_volume = user(
        volumes=[ephemeral(metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}, storageClassName="gp3")]
    )
    (raw,) = make_claims_for_pod(pod_with_volume, Nothing()).volume_claims
    assert raw == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "p-data",
            "namespace": "default",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
            "ownerReferences": [{**OWNER, "blockOwnerDeletion": True}],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "gp3",
        },
    }


def test_a_claim_template_gets_the_claim_that_its_controller_makes() -> None:
    pod_with_claim = user(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])
    raw = make_claims_for_pod(pod_with_claim, Nothing()).resource_claims["gpu"]
    assert raw["metadata"] == {
        "generateName": "p-gpu-",
        "namespace": "default",
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        "ownerReferences": [OWNER],
    }
    assert raw["spec"] == template()["spec"]["spec"]


def test_long_names_are_shortened_as_the_controller_does() -> None:
    long_named_pod = user("p" * 63, resourceClaims=[{"name": "c" * 20, "resourceClaimTemplateName": "gpu"}])
    raw = make_claims_for_pod(long_named_pod, Nothing()).resource_claims["c" * 20]
    assert raw["metadata"]["generateName"] == "p" * (63 * 57 // 85) + "-" + "c" * (20 * 57 // 85)


def test_claims_come_into_a_simulated_cluster_and_go_with_their_pod() -> None:
    snapshot = Snapshot.from_objects([node("n"), storage_class("gp3", "ebs.csi.aws.com"), template()])
    original, world = snapshot, snapshot.copy()
    new_pod = user(
        volumes=[ephemeral(storageClassName="gp3")], resourceClaims=[{"name": "g", "resourceClaimTemplateName": "gpu"}]
    )
    created_pod, problems = create_claims(new_pod, world.objects, world.resource_claims)
    (name,) = claims_of(created_pod)
    assert problems == []
    assert created_pod.raw["status"] == {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": name}]}
    claim = world.resource_claims.get("default", name)
    assert claim is not None
    assert claim.made_for("uid-p")
    first = world.objects.storage.get_claim("default", "p-data")
    assert (first.controller_uid, first.storage_class, first.phase) == ("uid-p", "gp3", "Pending")
    assert create_claims(created_pod, world.objects, world.resource_claims) == (created_pod, [])  # they are there
    delete_claims(created_pod, world.objects, world.resource_claims)
    assert ("default", "p-data") not in world.objects.storage.claims
    assert world.resource_claims.get("default", name) is None
    create_claims(new_pod, world.objects, world.resource_claims)
    recreated = world.objects.storage.get_claim("default", "p-data")
    assert recreated.uid != first.uid  # the first one's volume is not for it
    assert not original.objects.storage.claims
    assert not list(original.resource_claims)


def test_what_cannot_be_made_is_told_as_the_controllers_do() -> None:
    snapshot = Snapshot.from_objects([node("n"), claim("p-data")])
    volumes, claims = [ephemeral()], [{"name": "g", "resourceClaimTemplateName": "gpu"}]
    created_pod, problems = create_claims(
        user(volumes=volumes, resourceClaims=claims), snapshot.objects, snapshot.resource_claims
    )
    assert claims_of(created_pod) == [""]
    assert problems == [
        "ephemeral volume data: PVC default/p-data was not created for pod default/p (pod is not owner)",
        'PodResourceClaim g: resource claim template "gpu": resourceclaimtemplate.resource.k8s.io "gpu" not found',
    ]


def test_a_claim_that_was_deleted_is_made_again() -> None:
    snapshot = Snapshot.from_objects([template()])
    raw = user(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "gpu"}]).raw
    status = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-lost"}]}
    created_pod, _ = create_claims(Pod.from_json({**raw, "status": status}), snapshot.objects, snapshot.resource_claims)
    assert claims_of(created_pod) != ["p-g-lost"]
    assert snapshot.resource_claims.get("default", *claims_of(created_pod)) is not None


def test_a_stateful_set_names_and_labels_the_claims_of_its_pods() -> None:
    templates = [{"metadata": {"name": "data", "labels": {"tier": "db"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    spec = {"selector": {"matchLabels": {"app": "db"}}, "volumeClaimTemplates": templates}
    owner = make_object("StatefulSet", "db", version="apps/v1", spec=spec)
    (raw,) = make_stateful_claims(owner, "db-0")
    assert raw["metadata"] == {"name": "data-db-0", "namespace": "default", "labels": {"tier": "db", "app": "db"}}
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    assert add_stateful_volumes({"volumes": volumes}, owner, "db-0")["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "tmp", "emptyDir": {}},
    ]


def test_a_claim_without_a_class_gets_the_newest_default_class() -> None:
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    classes = [
        storage_class("old", metadata={"annotations": default, "creationTimestamp": "2025-01-01T00:00:00Z"}),
        storage_class("new", metadata={"annotations": default, "creationTimestamp": "2026-01-01T00:00:00Z"}),
        storage_class("other", metadata={"creationTimestamp": "2026-06-01T00:00:00Z"}),
    ]
    (raw,) = make_claims_for_pod(user(volumes=[ephemeral()]), Nothing()).volume_claims
    assert set_default_class(raw, classes)["spec"]["storageClassName"] == "new"
    classless = {**raw, "spec": {**raw["spec"], "storageClassName": ""}}
    assert set_default_class(classless, classes) == classless


@pytest.mark.parametrize(("field", "kind"), [("annotations", "an object"), ("creationTimestamp", "a string")])
def test_a_class_whose_metadata_cannot_be_read_is_left_out(field: str, kind: str) -> None:
    unreadable = storage_class("fast", metadata={field: False})
    snapshot = Snapshot.from_objects([node("a"), unreadable])
    assert snapshot.problems == [("StorageClass fast", f"metadata.{field}: must be {kind}, is a boolean")]
    assert create_claims(user(volumes=[ephemeral()]), snapshot.objects, snapshot.resource_claims)[1] == []
