"""Makes the first contents of a sandbox from the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.objects import Objects
from kschedweb.engine.sandbox.pace import NAME
from kschedweb.engine.sandbox.resources import CLOCK, NAMESPACE, NODE, Resource, resource
from kschedweb.engine.sandbox.world.catalogue import tables
from kschedweb.engine.sandbox.world.catalogue.tables import JobKind, Misfit, Pool, Workload
from kschedweb.engine.sandbox.world.context import DOMAIN
from kschedweb.engine.sandbox.world.resources import (
    BUDGET,
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    PRIORITY_CLASS,
    STATEFUL_SET,
    STORAGE_CLASS,
)

COMPONENT, CONFIG_KEY = {"component": "kube-scheduler"}, "config.yaml"
SYSTEM = "kube-system"
_KINDS = {one.kind: one for one in (DAEMON_SET, DEPLOYMENT, STATEFUL_SET)}
Made = tuple[Resource, str, Json]  # the resource, the namespace, and the object


def seed(objects: Objects, *, extender: str = "") -> bool:
    """Fill an empty store; whether it was empty. ``extender`` is the address of the site's extender, "" for none."""
    if objects.store.get(CLOCK, "", NAME) is not None:
        return False
    for one, namespace, raw in contents(extender):
        if objects.store.get(one, namespace, raw["metadata"]["name"]) is None:
            objects.create(one, namespace, raw)
    # The clock comes last: a store without it was not filled to the end.
    objects.create(CLOCK, "", {"metadata": {"name": NAME}, "spec": {"paused": False, "speed": 1}})
    return True


def contents(extender: str = "") -> Iterator[Made]:
    """All objects but the clock, in the order in which they can be made."""
    for name in tables.NAMESPACES:
        yield NAMESPACE, "", {"metadata": {"name": name}}
    for name, (value, said) in tables.PRIORITIES.items():
        yield PRIORITY_CLASS, "", {"metadata": {"name": name}, "value": value, "description": said}
    for name, (provisioner, mode) in tables.STORAGE.items():
        driver = {"metadata": {"name": provisioner}, "spec": {"attachRequired": False}}
        yield resource("CSIDriver", "storage.k8s.io/v1"), "", driver
        yield STORAGE_CLASS, "", {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    for name, scheduler in tables.SCHEDULERS.items():
        text = _configuration(scheduler, extender if scheduler == tables.EXTENDED else "")
        metadata = {"name": name, "labels": COMPONENT}
        yield CONFIG_MAP, SYSTEM, {"metadata": metadata, "data": {CONFIG_KEY: text}}
    for pool in tables.POOLS:
        for zone, count in zip(tables.ZONES, pool.counts, strict=True):
            for number in range(1, count + 1):
                yield NODE, "", _node(pool, zone, f"{pool.name}-{zone[-1]}-{number}")
    for workload in tables.WORKLOADS:
        yield from _workload(workload)


def job(kind: JobKind, name: str, pods: int, minutes: int) -> Json:
    """A Job of this kind."""
    template = pod_template(
        kind.name, kind.cpu, kind.memory, kind.image, kind.spec, kind.scheduler, "batch", kind.gpus, kind.use
    )
    template["metadata"]["annotations"][f"{DOMAIN}/runs-for"] = f"{minutes}m"
    template["spec"]["restartPolicy"] = "Never"
    spec = {"completions": pods, "parallelism": pods, "ttlSecondsAfterFinished": 300, "template": template}
    return {"metadata": {"name": name, "labels": {"app": kind.name}}, "spec": spec}


def misfit(kind: Misfit, name: str, minutes: int) -> Json:
    """A Pod that fits nowhere, and is withdrawn after a while."""
    image = f"example.com/{kind.namespace}/{kind.name}:1.0.0"
    made = pod_template(kind.name, kind.cpu, kind.memory, image, kind.spec, kind.scheduler)
    made["metadata"]["name"] = name
    made["metadata"]["annotations"][f"{DOMAIN}/leaves-after"] = f"{minutes}m"
    return made


def pod_template(
    app: str, cpu: int, memory: int, image: str, spec: Json, scheduler: str, priority: str = "", gpus: int = 0,
    use: str = "steady",
) -> Json:  # fmt: skip
    """The template of a workload's pods."""
    requests: Json = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    limits: Json = {"memory": f"{memory * 2}Mi"}
    if gpus:
        requests[tables.GPU] = limits[tables.GPU] = str(gpus)
    container = {"name": app, "image": image, "resources": {"requests": requests, "limits": limits}}
    made: Json = {"schedulerName": scheduler, "containers": [container], **spec}
    if priority:
        made["priorityClassName"] = priority
    return {"metadata": {"labels": {"app": app}, "annotations": {f"{DOMAIN}/use": use}}, "spec": made}


def _node(pool: Pool, zone: str, name: str) -> Json:
    capacity: Json = {"cpu": str(pool.cpu), "memory": f"{pool.memory}Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    allocatable = {**capacity, "cpu": f"{pool.cpu * 1000 - 100}m", "memory": f"{pool.memory * 1024 - 1024}Mi"}
    if pool.gpus:
        capacity[tables.GPU] = allocatable[tables.GPU] = str(pool.gpus)
    labels = {
        tables.HOSTNAME: name,
        tables.ZONE: zone,
        tables.POOL: pool.name,
        "topology.kubernetes.io/region": tables.REGION,
        "node.kubernetes.io/instance-type": pool.machine,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    spec: Json = {"providerID": f"sandbox:///{zone}/{name}"}
    if pool.taint:
        spec["taints"] = [dict(zip(("key", "value", "effect"), pool.taint, strict=True))]
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": allocatable},
    }


def _workload(one: Workload) -> Iterator[Made]:
    labels = {"app": one.name}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": pod_template(
            one.name, one.cpu, one.memory, one.image, one.spec, one.scheduler, one.priority, one.gpus, one.use
        ),
    }
    metadata: Json = {"name": one.name, "labels": labels}
    if one.kind != "DaemonSet":
        spec |= {"replicas": one.replicas, "revisionHistoryLimit": 2}
    if one.most:
        metadata["annotations"] = {f"{DOMAIN}/scales": f"{one.replicas}-{one.most}"}
    if one.kind == "StatefulSet":
        spec["serviceName"] = one.name
    if one.storage:
        claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard"}
        claim["resources"] = {"requests": {"storage": f"{one.storage}Gi"}}  # type: ignore[assignment]
        container = spec["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    if one.kind != "DaemonSet":
        service = {"selector": labels, "ports": [{"port": 80, "protocol": "TCP"}]}
        yield resource("Service"), one.namespace, {"metadata": metadata | {"annotations": {}}, "spec": service}
    yield _KINDS[one.kind], one.namespace, {"metadata": metadata, "spec": spec}
    if one.budget:
        budget = {"maxUnavailable": 1, "selector": spec["selector"]}
        yield BUDGET, one.namespace, {"metadata": {"name": one.name}, "spec": budget}


def _configuration(scheduler: str, extender: str) -> str:
    """The KubeSchedulerConfiguration of a stock scheduler, as a person would write it."""
    lines = [
        "apiVersion: kubescheduler.config.k8s.io/v1",
        "kind: KubeSchedulerConfiguration",
        "profiles:",
        f"- schedulerName: {scheduler}",
    ]
    if extender:
        lines += [
            "extenders:",
            f"- urlPrefix: {extender}",
            "  filterVerb: filter",
            "  prioritizeVerb: prioritize",
            "  weight: 1",
            "  nodeCacheCapable: true",
            "  ignorable: true",
            "  httpTimeout: 5s",
        ]
    return "\n".join([*lines, ""])
