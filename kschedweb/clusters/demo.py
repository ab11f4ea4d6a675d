"""The demo cluster: some sixty nodes in three zones, their pods placed by the engine, pending pods of every kind.

It is generated from a seed, so that the same seed always gives the same objects. demo_catalog.py has the tables.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from kschedweb.clusters import demo_catalog as catalog
from kschedweb.clusters.demo_catalog import IMAGES, POOLS, WORKLOADS, ZONES, DemoWorkload, NodePool, Pending
from kschedweb.clusters.demo_groups import add_groups
from kschedweb.clusters.demo_queues import add_queues
from kschedweb.engine import Scheduler, Snapshot
from kschedweb.engine.config import EMPTY
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load

# Any seed would do, but with one of its own the demo is the same for everybody.
SEED = 20
NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
TOLERATE_ALL = [{"operator": "Exists"}]


def generate_cluster(seed: int = SEED) -> list[Json]:
    """Return the objects of the demo cluster, nodes first."""
    return Demo(seed).build()


class Demo:
    """Collects the objects. Every id and time comes from the seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.objects: list[Json] = []

    def build(self) -> list[Json]:
        self.nodes = [self.make_node(pool, zone, number) for pool in POOLS for zone, number in _node_places(pool)]
        namespaces = sorted({entry.namespace for entry in (*WORKLOADS, *catalog.PENDING)})
        for name in ("default", *namespaces):
            self.add_object("v1", "Namespace", name, "", labels={"kubernetes.io/metadata.name": name})
        self.add_classes()
        pods = [pod for workload in WORKLOADS for pod in self.add_workload(workload)]
        pods = self.place_pods(pods)
        pending = [self.pending_pod(entry) for entry in catalog.PENDING]
        self.objects += pods
        self.judge_pending(pending)
        self.objects += pending
        add_queues(self.add_object, NOW)
        add_groups(self.add_object, (*pods, *pending))
        return self.objects

    # Parts ----------------------------------------------------------------------------------------------------------

    def make_metadata(self, name: str, namespace: str, age: timedelta | None = None, **more: Any) -> Json:
        age = age or timedelta(minutes=self.random.randint(3_000, 200_000))
        metadata: Json = {
            "name": name,
            "uid": str(uuid.UUID(int=self.random.getrandbits(128), version=4)),
            "creationTimestamp": (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **more,
        }
        if namespace:
            metadata["namespace"] = namespace
        return metadata

    def add_object(
        self, api_version: str, kind: str, name: str, namespace: str, labels: Json | None = None, **body: Any
    ) -> Json:
        metadata = self.make_metadata(name, namespace)
        if labels:
            metadata["labels"] = labels
        item = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
        self.objects.append(item)
        return item

    def make_node(self, pool: NodePool, zone: str, number: int) -> Json:
        name = f"{pool.name}-{zone[-1]}-{number}"
        capacity = {
            "cpu": str(pool.cpu),
            "memory": f"{pool.memory * 1024 * 1024}Ki",
            "ephemeral-storage": "100Gi",
            "pods": str(pool.pods),
        }
        allocatable = capacity | {
            # Roughly what a kubelet reserves on nodes of this size.
            "cpu": f"{pool.cpu * 1000 - 80 - 20 * (pool.cpu > 4)}m",
            "memory": f"{(pool.memory * 1024 - 700 - 12 * pool.memory) * 1024}Ki",
            "ephemeral-storage": "89Gi",
        }
        if pool.gpus:
            capacity[catalog.GPU] = allocatable[catalog.GPU] = str(pool.gpus)
        taints = [dict(zip(("key", "value", "effect"), pool.taint, strict=True))] if pool.taint else []
        ready = name != catalog.NOT_READY
        spec: Json = {"providerID": f"example:///{zone}/{name}"}
        if name in catalog.CORDONED:
            spec["unschedulable"] = True
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        if not ready:
            taints += [
                {"key": "node.kubernetes.io/not-ready", "effect": effect} for effect in ("NoSchedule", "NoExecute")
            ]
        if taints:
            spec["taints"] = taints
        labels = {
            catalog.HOSTNAME: name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": pool.machine,
            "topology.kubernetes.io/region": catalog.REGION,
            catalog.ZONE: zone,
            catalog.POOL: pool.name,
            catalog.DISK: pool.disk,
        }
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "reason": "KubeletReady" if ready else "KubeletNotReady",
        }
        status = {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [condition],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "operatingSystem": "linux", "architecture": "amd64"},
            "images": [],
        }
        return self.add_object("v1", "Node", name, "", labels, spec=spec, status=status)

    def add_classes(self) -> None:
        for name, value in catalog.PRIORITIES.items():
            self.add_object("scheduling.k8s.io/v1", "PriorityClass", name, "", value=value)
        for name, mode in (("fast", "WaitForFirstConsumer"), ("archive", "Immediate")):
            self.add_object(
                "storage.k8s.io/v1", "StorageClass", name, "",
                provisioner="disk.csi.example.com", volumeBindingMode=mode, reclaimPolicy="Delete",
            )  # fmt: skip
        self.add_object("storage.k8s.io/v1", "CSIDriver", "disk.csi.example.com", "", spec={"attachRequired": True})
        for node in self.nodes:
            name = node["metadata"]["name"]
            driver = {
                "name": "disk.csi.example.com",
                "nodeID": name,
                "topologyKeys": [catalog.ZONE],
                "allocatable": {"count": 24},
            }
            self.add_object("storage.k8s.io/v1", "CSINode", name, "", spec={"drivers": [driver]})

    # Workloads ------------------------------------------------------------------------------------------------------

    def add_workload(self, workload: DemoWorkload) -> Iterator[Json]:
        """Yield the pods of ``workload``. Its controllers, service, budget and claims are added on the way."""
        labels = {"app": workload.name}
        selector = {"matchLabels": labels}
        replicas = workload.replicas or len(self.nodes)
        template = {"metadata": {"labels": labels}, "spec": self.pod_spec(workload)}
        count = {} if workload.kind == "DaemonSet" else {"replicas": replicas}
        owner = self.add_object(
            "apps/v1", workload.kind, workload.name, workload.namespace, labels,
            spec={**count, "selector": selector, "template": template},
        )  # fmt: skip
        prefix = workload.name
        if workload.kind == "Deployment":
            prefix = f"{workload.name}-{self.random_suffix(9)}"
            labels = labels | {"pod-template-hash": prefix.rpartition("-")[2]}
            owner = self.add_object(
                "apps/v1", "ReplicaSet", prefix, workload.namespace, labels,
                spec={**count, "selector": {"matchLabels": labels}, "template": template},
            )  # fmt: skip
            owner["metadata"]["ownerReferences"] = [_owner_reference(self.objects[-2])]
        if workload.service:
            ports = [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]
            self.add_object(
                "v1",
                "Service",
                workload.name,
                workload.namespace,
                spec={"selector": {"app": workload.name}, "ports": ports},
            )
        if workload.budget:
            spec = {"minAvailable": max(1, replicas - max(1, replicas // 4)), "selector": selector}
            status = {
                "disruptionsAllowed": max(1, replicas // 4),
                "currentHealthy": replicas,
                "desiredHealthy": spec["minAvailable"],
                "expectedPods": replicas,
            }
            self.add_object(
                "policy/v1", "PodDisruptionBudget", workload.name, workload.namespace, spec=spec, status=status
            )
        for index in range(replicas):
            yield self.make_replica(workload, owner, prefix, index, labels)

    def make_replica(self, workload: DemoWorkload, owner: Json, prefix: str, index: int, labels: Json) -> Json:
        name = f"{prefix}-{index}" if workload.kind == "StatefulSet" else f"{prefix}-{self.random_suffix(5)}"
        spec = self.pod_spec(workload)
        if workload.kind == "DaemonSet":
            node = self.nodes[index]["metadata"]["name"]
            spec = spec | catalog.node_affinity("metadata.name", [node], fields=True) | {"tolerations": TOLERATE_ALL}
        if workload.storage:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
        pod = self.make_pod(name, workload.namespace, spec, labels, timedelta(minutes=self.random.randint(60, 60_000)))
        pod["metadata"]["ownerReferences"] = [_owner_reference(owner)]
        return pod

    def pod_spec(self, entry: DemoWorkload | Pending) -> Json:
        requests = {"cpu": f"{entry.cpu}m", "memory": f"{entry.memory}Mi"}
        limits = {"memory": f"{entry.memory}Mi"}
        if entry.gpus:
            requests[catalog.GPU] = limits[catalog.GPU] = str(entry.gpus)
        container: Json = {"name": "main", "image": entry.image, "resources": {"requests": requests, "limits": limits}}
        if entry.host_port:
            container["ports"] = [{"containerPort": entry.host_port, "hostPort": entry.host_port, "protocol": "TCP"}]
        spec: Json = {"containers": [container], "schedulerName": "default-scheduler", "restartPolicy": "Always"}
        if entry.priority:
            spec |= {"priorityClassName": entry.priority, "priority": catalog.PRIORITIES[entry.priority]}
        else:
            spec["priority"] = 0
        return spec | entry.spec

    def make_pod(self, name: str, namespace: str, spec: Json, labels: Json, age: timedelta) -> Json:
        metadata = self.make_metadata(name, namespace, age, labels=labels)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}

    # The alphabet of Kubernetes' random suffixes, which makes no words.
    def random_suffix(self, length: int) -> str:
        return "".join(self.random.choices("bcdfghjklmnpqrstvwxz2456789", k=length))

    # Placing --------------------------------------------------------------------------------------------------------

    def place_pods(self, pods: list[Json]) -> list[Json]:
        """Bind ``pods`` to the nodes that the engine chooses, in the order of a cluster that grew over time."""
        daemons = [pod for pod in pods if pod["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet"]
        other_pods = [pod for pod in pods if pod not in daemons]
        self.random.shuffle(other_pods)
        other_pods.sort(key=lambda pod: -pod["spec"]["priority"])
        # Volumes are made after their pod is placed, as with WaitForFirstConsumer.
        scheduler = self.make_scheduler(
            [pod | {"spec": _drop_key(pod["spec"], "volumes")} for pod in (*daemons, *other_pods)]
        )
        by_key = {pod.key: pod for pod in scheduler.snapshot.pending}
        order = [by_key[_pod_key(pod)] for pod in (*daemons, *other_pods)]
        nodes = {node["metadata"]["name"]: node for node in self.nodes}
        raw = {_pod_key(pod): pod for pod in pods}
        for placement in scheduler.schedule_pods(order):
            pod = raw[placement.pod]
            if not placement.node:
                raise ValueError(f"The demo has no room for {placement.pod}: {placement.message}")
            self.bind_pod(pod, nodes[placement.node])
        return pods

    def bind_pod(self, pod: Json, node: Json) -> None:
        name = node["metadata"]["name"]
        pod["spec"]["nodeName"] = name
        conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]
        pod["status"] = {"phase": "Running", "conditions": conditions}
        for container in pod["spec"]["containers"]:
            image = {"names": [container["image"]], "sizeBytes": IMAGES[container["image"]] * 1024 * 1024}
            if image not in node["status"]["images"]:
                node["status"]["images"].append(image)
        for volume in pod["spec"].get("volumes", ()):
            self.add_claim(
                volume["persistentVolumeClaim"]["claimName"],
                pod["metadata"]["namespace"],
                node["metadata"]["labels"][catalog.ZONE],
            )

    def add_claim(self, name: str, namespace: str, zone: str) -> None:
        """Add a bound claim with its volume in ``zone``."""
        size = {"storage": "100Gi"}
        claim = self.add_object(
            "v1", "PersistentVolumeClaim", name, namespace,
            spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": size}},
            status={"phase": "Bound", "capacity": size},
        )  # fmt: skip
        uid = claim["metadata"]["uid"]
        volume = f"pvc-{uid}"
        claim["spec"]["volumeName"] = volume
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        terms = [{"matchExpressions": [{"key": catalog.ZONE, "operator": "In", "values": [zone]}]}]
        self.add_object(
            "v1", "PersistentVolume", volume, "",
            spec={
                "capacity": size,
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "csi": {"driver": "disk.csi.example.com", "volumeHandle": volume},
                "claimRef": {"kind": claim["kind"], "namespace": namespace, "name": name, "uid": uid},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
            status={"phase": "Bound"},
        )  # fmt: skip

    # Pending --------------------------------------------------------------------------------------------------------

    def pending_pod(self, entry: Pending) -> Json:
        spec = self.pod_spec(entry)
        if entry.claim:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{entry.name}"}}]
            size = {"requests": {"storage": "2Ti"}}
            self.add_object(
                "v1", "PersistentVolumeClaim", f"data-{entry.name}", entry.namespace,
                spec={"accessModes": ["ReadWriteOnce"], "storageClassName": entry.claim, "resources": size},
                status={"phase": "Pending"},
            )  # fmt: skip
        labels = {"app": entry.app or entry.name, "demo": entry.why}
        return self.make_pod(entry.name, entry.namespace, spec, labels, timedelta(minutes=self.random.randint(1, 600)))

    def judge_pending(self, pending: list[Json]) -> None:
        """Give the pods that do not fit the condition that a scheduler would have written."""
        scheduler = self.make_scheduler([*self.objects, *pending])
        for pod, entry in zip(pending, catalog.PENDING, strict=True):
            reason, message = "Unschedulable", ""
            if entry.why == "gated":
                reason, message = "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"
            elif entry.plugin == "VolumeBinding":
                message = f"0/{len(self.nodes)} nodes are available: pod has unbound immediate PersistentVolumeClaims."
            elif entry.plugin:
                message = scheduler.explain(scheduler.snapshot.get_pod(_pod_key(pod))).message
            if message:
                condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
                pod["status"]["conditions"] = [condition]

    def make_scheduler(self, objects: list[Json]) -> Scheduler:
        nodes = [] if any(item["kind"] == "Node" for item in objects) else self.objects
        configuration = load(EMPTY).configuration
        if configuration is None:
            raise RuntimeError("The default configuration is not valid.")
        return Scheduler(Snapshot.from_objects([*nodes, *objects]), configuration)


def _node_places(pool: NodePool) -> Iterator[tuple[str, int]]:
    for zone, count in zip(ZONES, pool.counts, strict=True):
        for number in range(1, count + 1):
            yield zone, number


def _owner_reference(item: Json) -> Json:
    metadata = item["metadata"]
    return {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def _drop_key(mapping: Json, key: str) -> Json:
    return {name: value for name, value in mapping.items() if name != key}


def _pod_key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
