"""Objects of a small cluster, written in as few words as the scenarios of changes need."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.objects.access import Json

CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
}
HOSTNAME = "kubernetes.io/hostname"
DRIVER = "gpu.example.com"
STORAGE = "storage.k8s.io/v1"
DEVICES = "resource.k8s.io/v1"


def node(name: str, cpu: str = "4", images: tuple[tuple[str, int], ...] = (), **status: Any) -> Json:
    """A node of 8 GiB; ``images`` are names with their sizes in MiB."""
    room = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    held = [{"names": [image], "sizeBytes": size * 1024**2} for image, size in images]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name}},
        "spec": {},
        "status": {"allocatable": room, "capacity": room, "images": held, **status},
    }


def container(name: str = "app", **requests: str) -> Json:
    return {"name": name, "image": "app", "resources": {"requests": requests}}


def pod(name: str, *containers: Json, namespace: str = "default", labels: Json | None = None, **spec: Any) -> Json:
    """A pod that waits, or has the node that ``nodeName`` says."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}},
        "spec": {"containers": list(containers) or [container()], **spec},
        "status": {},
    }


def running(raw: Json, **status: Any) -> Json:
    return raw | {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", **status}}


def resource(api: str, kind: str, name: str, namespace: str = "", **parts: Any) -> Json:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


def scenario(*objects: Json, pending: Json) -> Json:
    """A cluster with one pod that waits, under the defaults."""
    return {"config": CONFIGURATION, "objects": list(objects), "pending": [pending]}


def configuration(**profile: Any) -> Json:
    """A configuration alone: one profile with these keys."""
    return {"config": CONFIGURATION | {"profiles": [{"schedulerName": "default-scheduler", **profile}]}}


def arguments(plugin: str, **args: Any) -> Json:
    """A configuration in which a plugin has arguments."""
    return configuration(pluginConfig=[{"name": plugin, "args": args}])


# Storage.


def late_storage(size: str = "10Gi", **driver: Any) -> list[Json]:
    """A claim ``data`` that waits for a node, its class, and a CSI driver with this spec."""
    claimed = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": size}},
    }
    return [
        resource(
            STORAGE, "StorageClass", "local", provisioner="csi.example.com", volumeBindingMode="WaitForFirstConsumer"
        ),
        resource(STORAGE, "CSIDriver", "csi.example.com", spec=driver),
        resource("v1", "PersistentVolumeClaim", "data", "default", spec=claimed, status={"phase": "Pending"}),
    ]


def room_for_storage(name: str, capacity: str) -> Json:
    """What a driver can still provision on a node."""
    topology = {"matchLabels": {HOSTNAME: name}}
    return resource(
        STORAGE,
        "CSIStorageCapacity",
        f"on-{name}",
        "kube-system",
        storageClassName="local",
        capacity=capacity,
        nodeTopology=topology,
    )


def with_data(name: str) -> Json:
    """A pod that mounts the claim ``data``."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return pod(name, container(cpu="100m"), volumes=volumes)


# Devices.


def device_class(name: str = "gpu", **spec: Any) -> Json:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return resource(DEVICES, "DeviceClass", name, spec={"selectors": selectors, **spec})


def slice_of(on: str, *devices: Json, slices: int = 1, name: str = "", **spec: Any) -> Json:
    """One of the ``slices`` that list what the node ``on`` has."""
    pool = {"name": on, "generation": 1, "resourceSliceCount": slices}
    listed = {"devices": list(devices)} if devices else {}
    named = name or f"devices-of-{on}"
    return resource(
        DEVICES, "ResourceSlice", named, spec={"driver": DRIVER, "nodeName": on, "pool": pool} | listed | spec
    )


def shared_device(name: str, bandwidth: str) -> Json:
    """A device that several claims may share."""
    return {"name": name, "allowMultipleAllocations": True, "capacity": {"bandwidth": {"value": bandwidth}}}


def exactly(count: int = 1, **exact: Any) -> Json:
    """A request for devices of the class ``gpu``."""
    return {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **exact}


def claim(request: Json, name: str = "device") -> Json:
    """A claim with one request: ``exactly`` or ``firstAvailable``."""
    return resource(
        DEVICES, "ResourceClaim", name, "default", spec={"devices": {"requests": [{"name": "r", **request}]}}
    )


def with_device(name: str, claimed: str = "device") -> Json:
    """A pod that needs the claim."""
    used = container() | {"resources": {"claims": [{"name": "d"}]}}
    return pod(name, used, resourceClaims=[{"name": "d", "resourceClaimName": claimed}])
