"""The sandbox's own kube-scheduler: what it writes, and where its configuration comes from."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.requests import ApiResponse
from kschedweb.engine.sandbox.resources import POD, get_resource
from kschedweb.engine.sandbox.world.pods import get_condition
from kschedweb.engine.sandbox.world.resources import CLAIM, CONFIG_MAP, PRIORITY_CLASS, STORAGE_CLASS
from kschedweb.engine.sandbox.world.scheduler import load_configuration
from kschedweb.engine.sandbox.world.scheduler.configuration import is_configuration, rejection_event
from tests.engine.sandbox.living import EVENT, Living, pod, profiles


def one_node(cpu: int = 2) -> Living:
    living = Living()
    living.node("one", cpu)
    living.live(1.0)
    return living


def test_a_pod_is_bound_at_once_and_its_event_says_so() -> None:
    living = one_node()
    living.create(POD, pod("a"))
    living.turn()
    assert living.get(POD, "a")["spec"]["nodeName"] == "one"
    (event,) = (raw for raw in living.all(EVENT) if raw["involvedObject"]["kind"] == "Pod")
    assert (event["reason"], event["message"]) == ("Scheduled", "Successfully assigned default/a to one")


def test_a_pod_that_fits_nowhere_says_why_until_there_is_room() -> None:
    living = one_node()
    living.create(POD, pod("a", "64"))
    living.live(1.0)
    condition = get_condition(living.get(POD, "a"), "PodScheduled") or {}
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert living.reasons(POD, "a") == ["FailedScheduling"]
    living.node("large", 128)
    living.live(15.0)
    assert living.get(POD, "a")["spec"]["nodeName"] == "large"


def test_a_pod_of_higher_priority_preempts() -> None:
    living = one_node()
    living.create(PRIORITY_CLASS, {"metadata": {"name": "high"}, "value": 1000})
    living.create(POD, pod("low", "1500m"))
    living.live(3.0)
    living.create(POD, pod("high", "1500m", priorityClassName="high"))
    living.live(0.5)
    low = living.get(POD, "low")
    assert "deletionTimestamp" in low["metadata"]
    assert (get_condition(low, "DisruptionTarget") or {})["reason"] == "PreemptionByScheduler"
    assert living.get(POD, "high")["status"]["nominatedNodeName"] == "one"
    assert "Preempted" in living.reasons(POD, "low")
    living.live(15.0)
    assert living.get(POD, "high")["status"]["phase"] == "Running"


def claimed() -> Living:
    living = one_node()
    living.create(STORAGE_CLASS, {"metadata": {"name": "slow"}, "provisioner": "csi.example.com",
                                  "volumeBindingMode": "WaitForFirstConsumer"})  # fmt: skip
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "resources": {"requests": {"storage": "1Gi"}}}
    living.create(CLAIM, {"metadata": {"name": "data"}, "spec": spec})
    living.live(1.0)
    return living


def test_a_claim_waits_for_its_pod_and_the_pod_for_its_volume() -> None:
    living = claimed()
    assert living.get(CLAIM, "data")["status"]["phase"] == "Pending"
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    living.create(POD, pod("a", volumes=[volume]))
    living.live(5.0)
    claim = living.get(CLAIM, "data")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "one"
    assert claim["status"]["phase"] == "Bound"
    assert living.get(POD, "a")["status"]["phase"] == "Running"


def test_devices_are_claimed_for_a_pod() -> None:
    living = one_node()
    living.create(get_resource("DeviceClass", "resource.k8s.io/v1"), {"metadata": {"name": "gpu"}, "spec": {}})
    devices = [{"name": "gpu-0"}]
    pool = {"name": "one", "generation": 1, "resourceSliceCount": 1}
    spec: Json = {"driver": "gpu.example.com", "nodeName": "one", "pool": pool, "devices": devices}
    living.create(get_resource("ResourceSlice", "resource.k8s.io/v1"), {"metadata": {"name": "one"}, "spec": spec})
    claims = get_resource("ResourceClaim", "resource.k8s.io/v1")
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    living.create(claims, {"metadata": {"name": "mine"}, "spec": {"devices": {"requests": [request]}}})
    living.create(POD, pod("a", resourceClaims=[{"name": "gpu", "resourceClaimName": "mine"}]))
    living.live(3.0)
    status = living.get(claims, "mine")["status"]
    assert status["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert [consumer["name"] for consumer in status["reservedFor"]] == ["a"]
    assert living.get(POD, "a")["spec"]["nodeName"] == "one"


def config_map(text: str) -> Json:
    return {"metadata": {"name": "kube-scheduler", "labels": {"component": "kube-scheduler"}},
            "data": {"config.yaml": text}}  # fmt: skip


def test_its_configuration_is_read_from_a_config_map() -> None:
    living = one_node()
    raw = living.create(CONFIG_MAP, config_map(profiles("mine")))
    assert is_configuration(raw)
    config = load_configuration(raw)
    assert config.configuration is not None
    assert [profile.scheduler_name for profile in config.configuration.profiles] == ["mine"]


def test_a_broken_configuration_is_told_in_an_event() -> None:
    living = one_node()
    raw = living.create(CONFIG_MAP, config_map(profiles("mine") + "parallelism: -1\n"))
    config = load_configuration(raw)
    assert config.configuration is None
    assert "parallelism" in config.problem
    answer = living.call(rejection_event(raw, config.problem, living.now).request)
    assert isinstance(answer, ApiResponse)
    assert answer.code == 201
    assert living.reasons(CONFIG_MAP, "kube-scheduler") == ["InvalidConfiguration"]
    assert (
        load_configuration({**raw, "data": {}}).problem
        == "data has no key config.yaml with a KubeSchedulerConfiguration"
    )
