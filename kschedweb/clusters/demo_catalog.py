# ruff: noqa: E501 (tables read better in one line an entry)
"""The tables of the demo cluster. demo.py turns them into objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.json_types import Json

REGION = "eu-west-1"
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
POOL = "node.example.com/pool"
DISK = "node.example.com/disk"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class NodePool:
    """Nodes of one size."""

    name: str
    machine: str
    # How many in each zone.
    counts: tuple[int, int, int]
    cpu: int
    # GiB.
    memory: int
    # The most pods on a node.
    pods: int
    disk: str = "ssd"
    gpus: int = 0
    taint: tuple[str, str, str] | None = None


POOLS = (
    NodePool("general", "m6i.2xlarge", (8, 8, 8), 8, 32, 58),
    NodePool("compute", "c6i.4xlarge", (4, 4, 4), 16, 32, 110),
    NodePool("memory", "r6i.2xlarge", (3, 3, 3), 8, 64, 58, taint=("dedicated", "database", "NoSchedule")),
    NodePool(
        "spot", "m6i.xlarge", (3, 3, 3), 4, 16, 58, disk="hdd", taint=("example.com/spot", "true", "PreferNoSchedule")
    ),
    NodePool("gpu", "g5.12xlarge", (2, 1, 0), 48, 192, 110, gpus=4, taint=(GPU, "present", "NoSchedule")),
    NodePool("edge", "t3.medium", (1, 1, 1), 2, 4, 6, disk="hdd", taint=("example.com/edge", "true", "NoSchedule")),
)
CORDONED = ("general-a-7", "general-b-8")
NOT_READY = "spot-c-3"

# MiB of each image.
IMAGES = {
    "registry.k8s.io/kube-proxy:v1.36.3": 94,
    "quay.io/prometheus/node-exporter:v1.9.1": 24,
    "registry.k8s.io/coredns/coredns:v1.12.1": 71,
    "quay.io/prometheus/prometheus:v3.5.0": 310,
    "docker.io/grafana/grafana:12.1.0": 742,
    "docker.io/grafana/loki:3.5.3": 121,
    "registry.k8s.io/ingress-nginx/controller:v1.13.0": 327,
    "docker.io/library/postgres:17.5": 438,
    "docker.io/library/redis:8.0": 141,
    "docker.io/apache/kafka:4.0.0": 402,
    "docker.io/apache/spark:4.0.0": 1380,
    "example.com/shop/web:2.14.1": 186,
    "example.com/shop/checkout:1.9.0": 233,
    "example.com/shop/search:5.2.0": 688,
    "example.com/payments/ledger:3.3.2": 274,
    "example.com/ml/serving:0.8.4": 6240,
    "example.com/ml/trainer:0.8.4": 8120,
    "example.com/batch/report:1.2.0": 512,
}


def tolerations_for(pool: str) -> list[Json]:
    """Return the tolerations of a pod meant for ``pool``."""
    taint = next(entry.taint for entry in POOLS if entry.name == pool)
    return [{"key": taint[0], "operator": "Equal", "value": taint[1], "effect": taint[2]}] if taint else []


def spread_constraint(app: str, key: str = ZONE, *, skew: int = 1, hard: bool = False) -> Json:
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    selector = {"matchLabels": {"app": app}}
    return {
        "topologySpreadConstraints": [
            {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
        ]
    }


def pod_affinity(kind: str, app: str, key: str = HOSTNAME, *, weight: int = 0) -> Json:
    """Return an affinity of ``kind`` (podAffinity or podAntiAffinity): required without ``weight``, else preferred."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    if weight:
        return {
            "affinity": {
                kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}
            }
        }
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def node_affinity(key: str, values: list[str], *, weight: int = 0, fields: bool = False) -> Json:
    term = {"matchFields" if fields else "matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    if weight:
        preferred = [{"weight": weight, "preference": term}]
        return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def on_pool(pool: str, **more: Any) -> Json:
    """Return the part of a pod's spec that puts it on ``pool``."""
    return {"nodeSelector": {POOL: pool}, "tolerations": tolerations_for(pool), **more}


@dataclass(frozen=True)
class DemoWorkload:
    """A controller and its pods."""

    namespace: str
    kind: str
    name: str
    # 0 for a DaemonSet, which has a pod on each node.
    replicas: int
    # Millicores of each replica.
    cpu: int
    # MiB of each replica.
    memory: int
    image: str
    spec: Json = field(default_factory=dict)
    priority: str = ""
    gpus: int = 0
    # GiB of each replica's volume; 0 for none.
    storage: int = 0
    host_port: int = 0
    service: bool = True
    budget: bool = False


WORKLOADS = (
    DemoWorkload("kube-system", "DaemonSet", "kube-proxy", 0, 100, 64, "registry.k8s.io/kube-proxy:v1.36.3", priority="system-node-critical", service=False),
    DemoWorkload("monitoring", "DaemonSet", "node-exporter", 0, 50, 48, "quay.io/prometheus/node-exporter:v1.9.1", host_port=9100),
    DemoWorkload("kube-system", "Deployment", "coredns", 3, 100, 70, "registry.k8s.io/coredns/coredns:v1.12.1", pod_affinity("podAntiAffinity", "coredns", weight=100), "system-cluster-critical", budget=True),
    DemoWorkload("ingress", "Deployment", "ingress-nginx", 6, 400, 512, "registry.k8s.io/ingress-nginx/controller:v1.13.0", {"nodeSelector": {POOL: "general"}}, "business-critical", host_port=443, budget=True),
    DemoWorkload("data", "StatefulSet", "postgres", 3, 3000, 24576, "docker.io/library/postgres:17.5", on_pool("memory", **pod_affinity("podAntiAffinity", "postgres", ZONE)), "business-critical", storage=200, budget=True),
    DemoWorkload("data", "StatefulSet", "kafka", 6, 2000, 12288, "docker.io/apache/kafka:4.0.0", on_pool("memory", **pod_affinity("podAntiAffinity", "kafka")), "business-critical", storage=500, budget=True),
    DemoWorkload("data", "StatefulSet", "redis", 6, 500, 6144, "docker.io/library/redis:8.0", on_pool("memory", **spread_constraint("redis", skew=1)), storage=20, budget=True),
    DemoWorkload("ml", "Deployment", "serving", 6, 4000, 16384, "example.com/ml/serving:0.8.4", on_pool("gpu"), "business-critical", gpus=1, budget=True),
    DemoWorkload("ml", "StatefulSet", "trainer", 2, 8000, 49152, "example.com/ml/trainer:0.8.4", on_pool("gpu"), "batch", gpus=2, storage=100, service=False),
    DemoWorkload("shop", "Deployment", "web", 36, 500, 768, "example.com/shop/web:2.14.1", spread_constraint("web"), "business-critical", budget=True),
    DemoWorkload("shop", "Deployment", "checkout", 18, 700, 1024, "example.com/shop/checkout:1.9.0", pod_affinity("podAntiAffinity", "checkout", weight=100), "business-critical", budget=True),
    DemoWorkload("shop", "Deployment", "cart", 15, 300, 512, "example.com/shop/checkout:1.9.0", spread_constraint("cart", HOSTNAME, skew=2)),
    DemoWorkload("shop", "StatefulSet", "search", 6, 1500, 6144, "example.com/shop/search:5.2.0", pod_affinity("podAntiAffinity", "search"), storage=100, budget=True),
    DemoWorkload("shop", "Deployment", "images", 12, 800, 1024, "example.com/shop/web:2.14.1", node_affinity(DISK, ["ssd"], weight=50)),
    DemoWorkload("payments", "Deployment", "ledger", 12, 800, 2048, "example.com/payments/ledger:3.3.2", spread_constraint("ledger", hard=True), "business-critical", budget=True),
    DemoWorkload("payments", "Deployment", "gateway", 12, 400, 768, "example.com/payments/ledger:3.3.2", pod_affinity("podAffinity", "ledger", ZONE, weight=60)),
    DemoWorkload("payments", "Deployment", "fraud", 9, 1000, 3072, "example.com/ml/serving:0.8.4", node_affinity(POOL, ["compute"], weight=80)),
    # One quiet room a zone: nothing labelled app=noisy may come near.
    DemoWorkload("payments", "StatefulSet", "vault", 3, 500, 1024, "docker.io/library/redis:8.0", pod_affinity("podAntiAffinity", "noisy", ZONE), "business-critical", service=False),
    DemoWorkload("analytics", "Deployment", "spark-worker", 40, 900, 2560, "docker.io/apache/spark:4.0.0", {"tolerations": tolerations_for("spot"), **node_affinity(POOL, ["spot", "compute"], weight=80)}, "batch"),
    DemoWorkload("analytics", "Deployment", "dashboards", 4, 500, 1024, "docker.io/grafana/grafana:12.1.0"),
    DemoWorkload("analytics", "StatefulSet", "beacon", 3, 200, 256, "example.com/batch/report:1.2.0", spread_constraint("beacon", POOL, hard=True), service=False),
    DemoWorkload("batch", "Deployment", "report", 20, 600, 1536, "example.com/batch/report:1.2.0", {}, "batch"),
    DemoWorkload("batch", "Deployment", "mailer", 14, 200, 384, "example.com/shop/checkout:1.9.0", {}, "batch"),
    DemoWorkload("monitoring", "StatefulSet", "prometheus", 2, 2000, 8192, "quay.io/prometheus/prometheus:v3.5.0", pod_affinity("podAntiAffinity", "prometheus"), storage=150),
    DemoWorkload("monitoring", "StatefulSet", "loki", 3, 800, 2048, "docker.io/grafana/loki:3.5.3", spread_constraint("loki"), storage=100),
    DemoWorkload("monitoring", "Deployment", "grafana", 2, 300, 512, "docker.io/grafana/grafana:12.1.0"),
    DemoWorkload("staging", "Deployment", "web", 16, 250, 512, "example.com/shop/web:2.14.1", spread_constraint("web"), "batch"),
    DemoWorkload("staging", "Deployment", "checkout", 9, 350, 512, "example.com/shop/checkout:1.9.0", {}, "batch"),
    DemoWorkload("edge", "Deployment", "relay", 12, 100, 128, "example.com/shop/web:2.14.1", on_pool("edge"), service=False),
)  # fmt: skip

PRIORITIES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
    "business-critical": 100_000,
    "batch": -10,
}


@dataclass(frozen=True)
class Pending:
    """A pod that waits."""

    # The kind of reason, for the label "demo".
    why: str
    namespace: str
    name: str
    # The plugin that rejects it; "" if it fits, and has only just been created.
    plugin: str
    cpu: int = 250
    memory: int = 256
    spec: Json = field(default_factory=dict)
    image: str = "example.com/batch/report:1.2.0"
    app: str = ""
    priority: str = ""
    gpus: int = 0
    host_port: int = 0
    # The storage class of its unbound claim; "" for none.
    claim: str = ""


PENDING = (
    Pending("cpu", "analytics", "cube-builder", "NodeResourcesFit", cpu=60_000, memory=8192, spec={"tolerations": tolerations_for("gpu")}),
    Pending("memory", "analytics", "graph-loader", "NodeResourcesFit", cpu=2000, memory=262_144, spec={"tolerations": tolerations_for("gpu")}),
    Pending("gpu", "ml", "trainer-large", "NodeResourcesFit", cpu=8000, memory=32_768, gpus=4, spec={"tolerations": tolerations_for("gpu")}, image="example.com/ml/trainer:0.8.4"),
    Pending("taint", "data", "vacuum-job", "TaintToleration", spec={"nodeSelector": {POOL: "memory"}}),
    Pending("node-affinity", "shop", "frankfurt-probe", "NodeAffinity", spec=node_affinity(ZONE, ["eu-central-1a"])),
    Pending("node-selector", "batch", "nvme-import", "NodeAffinity", spec={"nodeSelector": {DISK: "nvme"}}),
    Pending("named-node", "batch", "pinned-import", "NodeAffinity", spec=node_affinity("metadata.name", ["general-d-1"], fields=True)),
    Pending("host-port", "monitoring", "old-exporter", "NodePorts", host_port=9100, spec={"tolerations": [{"operator": "Exists"}]}),
    Pending("pod-affinity", "shop", "cache-warmer", "InterPodAffinity", spec=pod_affinity("podAffinity", "legacy-cache")),
    Pending("pod-anti-affinity", "shop", "search-canary", "InterPodAffinity", spec=pod_affinity("podAntiAffinity", "search", ZONE)),
    Pending("existing-anti-affinity", "payments", "load-test", "InterPodAffinity", app="noisy"),
    Pending("topology-spread", "analytics", "beacon-3", "PodTopologySpread", app="beacon", spec=spread_constraint("beacon", POOL, hard=True)),
    Pending("missing-label", "batch", "rack-aware", "PodTopologySpread", app="rack-aware", spec=spread_constraint("rack-aware", "example.com/rack", hard=True)),
    Pending("too-many-pods", "edge", "relay-extra", "NodeResourcesFit", cpu=50, memory=64, spec=on_pool("edge")),
    Pending("cordoned", "batch", "node-drill", "NodeUnschedulable", spec={"nodeSelector": {HOSTNAME: CORDONED[0]}}),
    Pending("gated", "batch", "quarter-close", "SchedulingGates", spec={"schedulingGates": [{"name": "example.com/budget-approval"}, {"name": "kueue.x-k8s.io/admission"}]}),
    Pending("unbound-claim", "data", "archive-0", "VolumeBinding", claim="archive", spec=on_pool("memory")),
    Pending("several", "analytics", "wide-join", "NodeResourcesFit", cpu=15_000, memory=20_480, spec=node_affinity(ZONE, list(ZONES[1:]))),
    Pending("preemption", "payments", "settlement", "NodeResourcesFit", cpu=13_500, memory=4096, priority="business-critical", spec={"nodeSelector": {POOL: "compute"}}),
    Pending("fits", "shop", "web-preview", "", cpu=1500, memory=2048, image="example.com/shop/web:2.14.1"),
    Pending("fits", "batch", "backfill", "", cpu=1200, memory=6144),
    Pending("fits", "analytics", "spark-driver", "", cpu=900, memory=1024, spec={"tolerations": tolerations_for("spot"), **node_affinity(DISK, ["ssd"], weight=20)}, image="docker.io/apache/spark:4.0.0"),
    Pending("fits", "ml", "notebook", "", cpu=1000, memory=4096, spec={"tolerations": tolerations_for("gpu")}, image="example.com/ml/serving:0.8.4"),
)  # fmt: skip
