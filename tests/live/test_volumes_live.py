"""Pods whose claims wait for a node, before kube-scheduler and before the engine: which volume goes to whom."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

import pytest

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.state.snapshot import Snapshot
from tests.live.test_claims_live import PODS, decided, message
from tests.support import tiers
from tests.support.kubescheduler import PodWatch, kube_scheduler
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live


SEED = tiers.seed()
VOLUMES, CLAIMS = "/api/v1/persistentvolumes", "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES, HOST = "/apis/storage.k8s.io/v1/storageclasses", "kubernetes.io/hostname"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
NODES, PENDING = 3, 8
CONFIG: Json = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 100,
    "profiles": [{"schedulerName": "default-scheduler"}],
}
CLASS: Json = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def node(name: str) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": name, "labels": {HOST: name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def volume(name: str, on: str, size: int) -> Json:
    expression = {"key": HOST, "operator": "In", "values": [on]}
    spec = {
        "capacity": {"storage": f"{size}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/mnt"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(name: str, size: int) -> Json:
    resources = {"requests": {"storage": f"{size}Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": resources}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(name: str, claims: list[str]) -> Json:
    volumes = [{"name": f"v-{item}", "persistentVolumeClaim": {"claimName": item}} for item in claims]
    spec = {"containers": [{"name": "main", "image": "i"}], "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Nodes with local volumes of all sizes, no two alike, and claims for some of them."""
    random = Random(SEED)
    names = [f"n{number}" for number in range(NODES)]
    control_plane.create_nodes([node(name) for name in names])
    control_plane.call("POST", CLASSES, CLASS)
    for number, size in enumerate(random.sample(range(1, 30), 9)):
        control_plane.call("POST", VOLUMES, volume(f"v{number}", random.choice(names), size))
        control_plane.call("PATCH", f"{VOLUMES}/v{number}/status", {"status": {"phase": "Available"}})
    for number, size in enumerate(random.sample(range(1, 25), PENDING + 2)):
        control_plane.call("POST", CLAIMS, claim(f"c{number}", size))
    yield control_plane
    control_plane.wipe()


def read(plane: ControlPlane) -> Snapshot:
    kinds = {
        "Node": "/api/v1/nodes",
        "PersistentVolume": VOLUMES,
        "PersistentVolumeClaim": CLAIMS,
        "StorageClass": CLASSES,
    }
    objects = []
    for kind, path in kinds.items():
        listed = plane.call("GET", path)
        objects += [item | {"kind": kind, "apiVersion": listed["apiVersion"]} for item in listed["items"]]
    snapshot = Snapshot.from_objects(objects, counting=plane.release.counting)
    assert snapshot.problems == []
    return snapshot


def bound(plane: ControlPlane) -> dict[str, str]:
    """Claim -> the volume that the scheduler took for it."""
    listed = plane.call("GET", VOLUMES)["items"]
    return {item["spec"]["claimRef"]["name"]: item["metadata"]["name"] for item in listed if "claimRef" in item["spec"]}


def control(plane: ControlPlane) -> None:
    """Act as the controller of volumes: bind each claim to the volume that was taken for it."""
    for name, volume_name in bound(plane).items():
        path = f"{CLAIMS}/{name}"
        if "volumeName" not in plane.call("GET", path)["spec"]:
            plane.call("PATCH", path, {"metadata": {"annotations": COMPLETED}, "spec": {"volumeName": volume_name}})
            plane.call("PATCH", f"{path}/status", {"status": {"phase": "Bound"}})
            plane.call("PATCH", f"{VOLUMES}/{volume_name}/status", {"status": {"phase": "Bound"}})


def test_the_engine_takes_the_volumes_that_kube_scheduler_takes(plane: ControlPlane) -> None:
    random = Random(SEED + 1)
    loaded = load(CONFIG, plane.release)
    assert loaded.configuration is not None, loaded.errors
    engine = Scheduler(read(plane), loaded.configuration)
    with kube_scheduler(plane, CONFIG), contextlib.closing(PodWatch(plane)) as watch:
        for number in range(PENDING):
            claims = [f"c{number}"] + ([f"c{random.randrange(PENDING + 2)}"] if random.random() < 0.4 else [])
            wanting = Pod.from_json(plane.call("POST", PODS, pod(f"p{number}", sorted(set(claims)))))
            explanation = engine.explain(wanting, preemption=True)

            def is_decided(name: str = wanting.name) -> bool:
                control(plane)
                return decided(plane.call("GET", f"{PODS}/{name}"))

            wait_until(is_decided, "decided", step=0.1)
            state = watch.wait_for(wanting.key, decided, "is neither placed nor refused")
            node_name = state["spec"].get("nodeName", "")
            if node_name:
                assert engine.snapshot.index[node_name] in explanation.best, f"seed {SEED}"
                binding = engine.create_binding(wanting, node_name)
                assert binding.reserve_and_permit() is None
                assert binding.run_binding() is None
            else:
                assert message(state) == explanation.condition, f"seed {SEED}"
                plane.call("DELETE", f"{PODS}/{wanting.name}")
            storage = engine.snapshot.objects.storage
            ours = {name: item.volume for (_, name), item in storage.claims.items() if item.is_bound}
            assert ours == bound(plane), f"seed {SEED}"
    assert ours
