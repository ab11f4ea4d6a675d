"""Constructors of objects of a small cluster, so that the scenarios of changes stay short."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json

CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
}
HOSTNAME = "kubernetes.io/hostname"
DRIVER = "gpu.example.com"
STORAGE = "storage.k8s.io/v1"
DEVICES = "resource.k8s.io/v1"


def make_node(name: str, cpu: str = "4", images: tuple[tuple[str, int], ...] = (), **status: Any) -> Json:
    """Return a node of 8 GiB; ``images`` are names with their sizes in MiB."""
    room = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    status_images = [{"names": [image], "sizeBytes": size * 1024**2} for image, size in images]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name}},
        "spec": {},
        "status": {"allocatable": room, "capacity": room, "images": status_images, **status},
    }


def make_container(name: str = "app", **requests: str) -> Json:
    return {"name": name, "image": "app", "resources": {"requests": requests}}


def make_pod(name: str, *containers: Json, namespace: str = "default", labels: Json | None = None, **spec: Any) -> Json:
    """Return a pod that is pending, or bound to ``nodeName``."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}},
        "spec": {"containers": list(containers) or [make_container()], **spec},
        "status": {},
    }


def make_running_pod(raw: Json, **status: Any) -> Json:
    return raw | {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", **status}}


def make_object(api: str, kind: str, name: str, namespace: str = "", **parts: Any) -> Json:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


def make_scenario(*objects: Json, pending: Json) -> Json:
    """Return a scenario with one pending pod, under the default configuration."""
    return {"config": CONFIGURATION, "objects": list(objects), "pending": [pending]}


def make_configuration(**profile: Any) -> Json:
    """Return a configuration alone: one profile with these keys."""
    return {"config": CONFIGURATION | {"profiles": [{"schedulerName": "default-scheduler", **profile}]}}


def make_plugin_args(plugin: str, **args: Any) -> Json:
    """Return a configuration in which a plugin has arguments."""
    return make_configuration(pluginConfig=[{"name": plugin, "args": args}])


# Storage.


def make_late_storage(size: str = "10Gi", **driver: Any) -> list[Json]:
    """Return a claim ``data`` with delayed binding, its class, and a CSI driver with this spec."""
    claimed = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": size}},
    }
    return [
        make_object(
            STORAGE, "StorageClass", "local", provisioner="csi.example.com", volumeBindingMode="WaitForFirstConsumer"
        ),
        make_object(STORAGE, "CSIDriver", "csi.example.com", spec=driver),
        make_object("v1", "PersistentVolumeClaim", "data", "default", spec=claimed, status={"phase": "Pending"}),
    ]


def make_storage_capacity(name: str, capacity: str) -> Json:
    """Return the capacity that a driver can still provision on a node."""
    topology = {"matchLabels": {HOSTNAME: name}}
    return make_object(
        STORAGE,
        "CSIStorageCapacity",
        f"on-{name}",
        "kube-system",
        storageClassName="local",
        capacity=capacity,
        nodeTopology=topology,
    )


def make_pod_with_data(name: str) -> Json:
    """Return a pod that mounts the claim ``data``."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return make_pod(name, make_container(cpu="100m"), volumes=volumes)


# Devices.


def make_device_class(name: str = "gpu", **spec: Any) -> Json:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return make_object(DEVICES, "DeviceClass", name, spec={"selectors": selectors, **spec})


def make_slice(on: str, *devices: Json, slices: int = 1, name: str = "", **spec: Any) -> Json:
    """Return one of the ``slices`` that list the devices of the node ``on``."""
    pool = {"name": on, "generation": 1, "resourceSliceCount": slices}
    listed = {"devices": list(devices)} if devices else {}
    slice_name = name or f"devices-of-{on}"
    return make_object(
        DEVICES, "ResourceSlice", slice_name, spec={"driver": DRIVER, "nodeName": on, "pool": pool} | listed | spec
    )


def make_shared_device(name: str, bandwidth: str) -> Json:
    """Return a device that several claims may share."""
    return {"name": name, "allowMultipleAllocations": True, "capacity": {"bandwidth": {"value": bandwidth}}}


def exact_request(count: int = 1, **exact: Any) -> Json:
    """Return a request for devices of the class ``gpu``."""
    return {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **exact}


def make_claim(request: Json, name: str = "device", **devices: Any) -> Json:
    """Return a claim with one request: ``exact_request`` or ``firstAvailable``."""
    devices_spec = {"requests": [{"name": "r", **request}], **devices}
    return make_object(DEVICES, "ResourceClaim", name, "default", spec={"devices": devices_spec})


def make_pod_with_device(name: str, claimed: str = "device") -> Json:
    """Return a pod that needs the claim."""
    used = make_container() | {"resources": {"claims": [{"name": "d"}]}}
    return make_pod(name, used, resourceClaims=[{"name": "d", "resourceClaimName": claimed}])


# A node with two devices, and a claim for two that differ.
DISTINCT_DEVICES: tuple[Json, ...] = (
    make_node("a"),
    make_device_class(),
    make_slice("a", *({"name": name, "attributes": {"port": {"string": name}}} for name in ("left", "right"))),
    make_claim({"exactly": exact_request(2)}, constraints=[{"distinctAttribute": "gpu.example.com/port"}]),
)
