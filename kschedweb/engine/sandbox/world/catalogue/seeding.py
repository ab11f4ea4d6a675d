"""Create the first contents of a sandbox from the tables."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.labels import MIN_PARALLELISM_ANNOTATION, PRIORITY_CLASS_LABEL, QUEUE_LABEL
from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.clock_validation import NAME
from kschedweb.engine.sandbox.resources import CLOCK, NAMESPACE, NODE, Resource, get_resource
from kschedweb.engine.sandbox.world.catalogue import tables
from kschedweb.engine.sandbox.world.catalogue.tables import (
    JobKind,
    Misfit,
    QueuedJobKind,
    SandboxPool,
    SandboxWorkload,
)
from kschedweb.engine.sandbox.world.context import DOMAIN
from kschedweb.engine.sandbox.world.resources import (
    BUDGET,
    CLUSTER_QUEUE,
    COHORT,
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    LOCAL_QUEUE,
    PRIORITY_CLASS,
    RESOURCE_FLAVOR,
    STATEFUL_SET,
    STORAGE_CLASS,
    WORKLOAD_PRIORITY_CLASS,
)

COMPONENT, CONFIG_KEY = {"component": "kube-scheduler"}, "config.yaml"
SYSTEM = "kube-system"
_KINDS = {resource.kind: resource for resource in (DAEMON_SET, DEPLOYMENT, STATEFUL_SET)}
# (resource, namespace, object)
CatalogueObject = tuple[Resource, str, Json]


def seed_store(objects: ApiObjects, *, extender: str = "") -> bool:
    """Fill an empty store; returns true if it was empty.

    ``extender`` is the address of the site's extender, "" for none.
    """
    if objects.store.get(CLOCK, "", NAME) is not None:
        return False
    for resource, namespace, raw in catalogue_objects(extender):
        if objects.store.get(resource, namespace, raw["metadata"]["name"]) is None:
            objects.create_object(resource, namespace, raw)
    # The clock comes last: a store without it was not filled to the end.
    objects.create_object(CLOCK, "", {"metadata": {"name": NAME}, "spec": {"paused": False, "speed": 1}})
    return True


def catalogue_objects(extender: str = "") -> Iterator[CatalogueObject]:
    """Yield all objects but the clock, in the order in which they can be created."""
    for name in tables.NAMESPACES:
        yield NAMESPACE, "", {"metadata": {"name": name}}
    for name, (value, description) in tables.PRIORITIES.items():
        yield PRIORITY_CLASS, "", {"metadata": {"name": name}, "value": value, "description": description}
    for name, (provisioner, mode) in tables.STORAGE.items():
        driver = {"metadata": {"name": provisioner}, "spec": {"attachRequired": False}}
        yield get_resource("CSIDriver", "storage.k8s.io/v1"), "", driver
        yield STORAGE_CLASS, "", {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    for name, scheduler in tables.SCHEDULERS.items():
        text = _render_configuration(scheduler, extender if scheduler == tables.EXTENDED else "")
        metadata = {"name": name, "labels": COMPONENT}
        yield CONFIG_MAP, SYSTEM, {"metadata": metadata, "data": {CONFIG_KEY: text}}
    for pool in tables.POOLS:
        for zone, count in zip(tables.ZONES, pool.counts, strict=True):
            for number in range(1, count + 1):
                yield NODE, "", _make_node(pool, zone, f"{pool.name}-{zone[-1]}-{number}")
    for workload in tables.WORKLOADS:
        yield from _workload_objects(workload)
    yield from _queue_objects()
    random = Random("queued jobs")  # noqa: S311
    for number in range(tables.FIRST_QUEUED_JOBS):
        yield JOB, *make_queued_job(random, tables.QUEUED_JOBS[number % len(tables.QUEUED_JOBS)], f"{number + 1}")


def make_job(kind: JobKind, name: str, pods: int, minutes: int) -> Json:
    """Return a Job of this kind."""
    template = pod_template(
        kind.name, kind.cpu, kind.memory, kind.image, kind.spec, kind.scheduler, "batch", kind.gpus, kind.use
    )
    template["metadata"]["annotations"][f"{DOMAIN}/runs-for"] = f"{minutes}m"
    template["spec"]["restartPolicy"] = "Never"
    spec = {"completions": pods, "parallelism": pods, "ttlSecondsAfterFinished": 300, "template": template}
    return {"metadata": {"name": name, "labels": {"app": kind.name}}, "spec": spec}


def make_queued_job(random: Random, kind: QueuedJobKind, suffix: str) -> tuple[str, Json]:
    """Return the namespace of a drawn Job of this kind, and the Job, which waits for quota."""
    queue = next(queue for queue in tables.QUEUES if queue.name == kind.queue)
    image = f"example.com/{queue.namespace}/{kind.name}:1.0.0"
    spec: Json = {"tolerations": tables.pool_tolerations("gpu")} if kind.gpus else {}
    # Quota decides who runs, so that all have the same priority for the scheduler.
    template = pod_template(kind.name, kind.cpu, kind.memory, image, spec, tables.STOCK, "batch", kind.gpus, "batch")
    template["metadata"]["annotations"][f"{DOMAIN}/runs-for"] = f"{random.randint(*kind.minutes)}m"
    template["spec"]["restartPolicy"] = "Never"
    pods = random.randint(1, kind.pods)
    metadata: Json = {
        "name": f"{kind.name}-{suffix}",
        "labels": {"app": kind.name, QUEUE_LABEL: kind.queue, PRIORITY_CLASS_LABEL: random.choice(kind.priorities)},
    }
    if 0 < kind.least_pods < pods:
        metadata["annotations"] = {MIN_PARALLELISM_ANNOTATION: str(kind.least_pods)}
    spec = {"completions": pods, "parallelism": pods, "ttlSecondsAfterFinished": 600, "template": template}
    return queue.namespace, {"metadata": metadata, "spec": spec}


def _queue_objects() -> Iterator[CatalogueObject]:
    """Yield Kueue's objects, but Workloads."""
    for name, value in tables.WORKLOAD_PRIORITIES.items():
        yield WORKLOAD_PRIORITY_CLASS, "", {"metadata": {"name": name}, "value": value}
    for pool in tables.FLAVORS:
        spec: Json = {"nodeLabels": {tables.POOL: pool}}
        spec |= {"tolerations": tolerations} if (tolerations := tables.pool_tolerations(pool)) else {}
        yield RESOURCE_FLAVOR, "", {"metadata": {"name": pool}, "spec": spec}
    for cohort in dict.fromkeys(queue.cohort for queue in tables.QUEUES):
        yield COHORT, "", {"metadata": {"name": cohort}, "spec": {}}
    for queue in tables.QUEUES:
        yield CLUSTER_QUEUE, "", {"metadata": {"name": queue.name}, "spec": queue.to_spec()}
        yield LOCAL_QUEUE, queue.namespace, {"metadata": {"name": queue.name}, "spec": {"clusterQueue": queue.name}}


def make_misfit(kind: Misfit, name: str, minutes: int) -> Json:
    """Return a Pod that fits nowhere, and is withdrawn after a while."""
    image = f"example.com/{kind.namespace}/{kind.name}:1.0.0"
    pod = pod_template(kind.name, kind.cpu, kind.memory, image, kind.spec, kind.scheduler)
    pod["metadata"]["name"] = name
    pod["metadata"]["annotations"][f"{DOMAIN}/leaves-after"] = f"{minutes}m"
    return pod


def pod_template(
    app: str, cpu: int, memory: int, image: str, spec: Json, scheduler: str, priority: str = "", gpus: int = 0,
    use: str = "steady",
) -> Json:  # fmt: skip
    """Return the template of a workload's pods."""
    requests: Json = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    limits: Json = {"memory": f"{memory * 2}Mi"}
    if gpus:
        requests[tables.GPU] = limits[tables.GPU] = str(gpus)
    container = {"name": app, "image": image, "resources": {"requests": requests, "limits": limits}}
    pod_spec: Json = {"schedulerName": scheduler, "containers": [container], **spec}
    if priority:
        pod_spec["priorityClassName"] = priority
    return {"metadata": {"labels": {"app": app}, "annotations": {f"{DOMAIN}/use": use}}, "spec": pod_spec}


def _make_node(pool: SandboxPool, zone: str, name: str) -> Json:
    capacity: Json = {"cpu": str(pool.cpu), "memory": f"{pool.memory}Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    # A part of each node is reserved for the system.
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


def _workload_objects(workload: SandboxWorkload) -> Iterator[CatalogueObject]:
    labels = {"app": workload.name}
    spec: Json = {
        "selector": {"matchLabels": labels},
        "template": pod_template(
            workload.name,
            workload.cpu,
            workload.memory,
            workload.image,
            workload.spec,
            workload.scheduler,
            workload.priority,
            workload.gpus,
            workload.use,
        ),
    }
    metadata: Json = {"name": workload.name, "labels": labels}
    if workload.kind != "DaemonSet":
        spec |= {"replicas": workload.replicas, "revisionHistoryLimit": 2}
    if workload.max_replicas:
        metadata["annotations"] = {f"{DOMAIN}/scales": f"{workload.replicas}-{workload.max_replicas}"}
    if workload.kind == "StatefulSet":
        spec["serviceName"] = workload.name
    if workload.storage:
        claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard"}
        claim["resources"] = {"requests": {"storage": f"{workload.storage}Gi"}}  # type: ignore[assignment]
        container = spec["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    if workload.kind != "DaemonSet":
        service = {"selector": labels, "ports": [{"port": 80, "protocol": "TCP"}]}
        yield get_resource("Service"), workload.namespace, {"metadata": metadata | {"annotations": {}}, "spec": service}
    yield _KINDS[workload.kind], workload.namespace, {"metadata": metadata, "spec": spec}
    if workload.budget:
        budget = {"maxUnavailable": 1, "selector": spec["selector"]}
        yield BUDGET, workload.namespace, {"metadata": {"name": workload.name}, "spec": budget}


def _render_configuration(scheduler: str, extender: str) -> str:
    """Return the KubeSchedulerConfiguration of a stock scheduler, as a person would write it."""
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
