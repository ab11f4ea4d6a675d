"""Short ways to write volumes, claims and what goes with them."""

from __future__ import annotations

from typing import Any

from tests.engine.builders import pod

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
DRIVER, EBS = "csi.example.com", "ebs.csi.aws.com"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_ACCESS = "node(s) didn't match PersistentVolume's node affinity"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def make_object(kind: str, name: str, *, version: str = "v1", metadata: dict | None = None, **fields: Any) -> dict:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **fields}


def storage_class(name: str = "local", provisioner: str = "kubernetes.io/no-provisioner", **fields: Any) -> dict:
    fields = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **fields}
    return make_object("StorageClass", name, version="storage.k8s.io/v1", **fields)


def claim(name: str, size: str = "1Gi", *, volume: str = "", metadata: dict | None = None, **spec: Any) -> dict:
    metadata = {"namespace": "default", "uid": f"uid-{name}", **(metadata or {})}
    if volume:
        metadata["annotations"] = COMPLETED
        spec["volumeName"] = volume
    resources = {"requests": {"storage": size}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": resources, **spec}
    return make_object("PersistentVolumeClaim", name, metadata=metadata, spec=spec)


def volume(name: str, size: str = "1Gi", *, metadata: dict | None = None, **spec: Any) -> dict:
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local", **spec}
    return make_object("PersistentVolume", name, metadata=metadata, spec=spec, status={"phase": "Available"})


def csi_node(name: str, annotations: dict | None = None, **limits: int) -> dict:
    drivers = [
        {"name": driver.replace("_", "."), "nodeID": name, "topologyKeys": None, "allocatable": {"count": count}}
        for driver, count in limits.items()
    ]
    metadata = {"annotations": annotations or {}}
    return make_object("CSINode", name, version="storage.k8s.io/v1", metadata=metadata, spec={"drivers": drivers})


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
