"""Claims that controllers make for pods in the sandbox: they come with the pods, and go with them."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import POD, get_resource
from kschedweb.engine.sandbox.world.pods import is_pod_ready
from kschedweb.engine.sandbox.world.resources import (
    CLAIM,
    CLAIM_TEMPLATE,
    DEPLOYMENT,
    RESOURCE_CLAIM,
    STORAGE_CLASS,
    VOLUME,
)
from tests.engine.sandbox.living import Living, pod, workload

DEVICE_CLASS = get_resource("DeviceClass", "resource.k8s.io/v1")
SLICE = get_resource("ResourceSlice", "resource.k8s.io/v1")
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
TEMPLATE: Json = {"metadata": {"name": "single"}, "spec": {"spec": {"devices": {"requests": [REQUEST]}}}}


def with_devices(count: int) -> Living:
    living = Living()
    living.node("a")
    living.create(DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"g{number}"} for number in range(count)]
    spec = {"driver": "drv.example", "nodeName": "a", "pool": pool, "devices": devices}
    living.create(SLICE, {"metadata": {"name": "gpus"}, "spec": spec})
    return living


def with_device(name: str) -> Json:
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "single"}])


def test_ephemeral_volumes_are_made_for_each_pod_and_go_with_it() -> None:
    living = Living()
    living.node("a")
    mode = {"provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    living.create(STORAGE_CLASS, {"metadata": {"name": "usual", "annotations": DEFAULT}, **mode})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    raw = workload("web", 2)
    raw["spec"]["template"]["spec"]["volumes"] = [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    living.create(DEPLOYMENT, raw)
    living.wait_until(lambda: len(living.all(POD)) == 2 and all(is_pod_ready(raw) for raw in living.all(POD)))
    assert {raw["metadata"]["name"] for raw in living.all(CLAIM)} == {
        f"{raw['metadata']['name']}-e" for raw in living.all(POD)
    }
    assert {raw["spec"]["storageClassName"] for raw in living.all(CLAIM)} == {"usual"}
    living.merge(DEPLOYMENT, "web", {"spec": {"replicas": 1}})
    living.live(10.0)
    assert len(living.all(CLAIM)) == len(living.all(VOLUME)) == len(living.all(POD)) == 1


def test_a_claim_that_is_somebody_elses_is_told_and_waited_for() -> None:
    living = Living()
    living.node("a")
    living.create(STORAGE_CLASS, {"metadata": {"name": "usual", "annotations": DEFAULT}, "provisioner": "csi.example"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    living.create(CLAIM, {"metadata": {"name": "p-e"}, "spec": spec})
    living.create(POD, pod("p", volumes=[{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]))
    living.live(2.0)
    (condition,) = living.get(POD, "p")["status"]["conditions"]
    assert "not owner" in condition["message"]
    assert "FailedBinding" in living.reasons(POD, "p")
    living.delete(CLAIM, "p-e")
    living.wait_until(lambda: is_pod_ready(living.get(POD, "p")))


def test_resource_claims_are_made_from_templates_and_free_their_devices_with_the_pod() -> None:
    living = with_devices(1)
    living.create(POD, with_device("first"))
    living.live(2.0)
    assert living.reasons(POD, "first") == ["FailedResourceClaimCreation"]
    living.create(CLAIM_TEMPLATE, TEMPLATE)
    living.wait_until(lambda: is_pod_ready(living.get(POD, "first")))
    (claim,) = living.all(RESOURCE_CLAIM)
    assert claim["metadata"]["name"].startswith("first-gpu-")
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "gpu"}
    claim_statuses = living.get(POD, "first")["status"]["resourceClaimStatuses"]
    assert claim_statuses == [{"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}]
    living.create(POD, with_device("second"))
    living.live(5.0)
    assert not living.get(POD, "second")["spec"].get("nodeName")
    living.delete(POD, "first")
    living.wait_until(lambda: is_pod_ready(living.get(POD, "second")))
    (claim,) = living.all(RESOURCE_CLAIM)
    assert claim["status"]["reservedFor"][0]["name"] == "second"


def test_devices_of_a_pod_that_has_ended_are_free_although_it_is_there_still() -> None:
    living = with_devices(1)
    living.create(CLAIM_TEMPLATE, TEMPLATE)
    first = with_device("first")
    first["metadata"]["annotations"] = {"sandbox.kschedweb.dev/runs-for": "30s"}
    living.create(POD, first)
    living.create(POD, with_device("second"))
    living.restart()  # nothing is known that the stored objects do not say
    living.wait_until(lambda: is_pod_ready(living.get(POD, "second")))
    assert living.get(POD, "first")["status"]["phase"] == "Succeeded"
    assert len(living.all(RESOURCE_CLAIM)) == 1
