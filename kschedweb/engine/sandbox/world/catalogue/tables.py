# ruff: noqa: E501 (tables read better in one line an entry)
"""The first contents of a sandbox, as tables; seeding.py turns them into objects."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.example_queue import ExampleQueue
from kschedweb.engine.values import dataclass

REGION, ZONES = "sandbox-1", ("sandbox-1a", "sandbox-1b", "sandbox-1c")
POOL, ZONE, HOSTNAME = "node.example.com/pool", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
STOCK, GUARDED, EXTENDED = "default-scheduler", "guarded", "extended"


@dataclass(frozen=True)
class SandboxPool:
    """Nodes of one size."""

    name: str
    machine: str
    # Number of nodes in each zone.
    counts: tuple[int, int, int]
    # Cores.
    cpu: int
    # GiB.
    memory: int
    gpus: int = 0
    # (key, value, effect)
    taint: tuple[str, str, str] | None = None


POOLS = (
    SandboxPool("general", "m8.large", (6, 6, 6), 8, 32),
    SandboxPool("compute", "c16.large", (4, 4, 3), 16, 32),
    SandboxPool("memory", "r8.large", (2, 2, 2), 8, 64, taint=("dedicated", "database", "NoSchedule")),
    SandboxPool("gpu", "g32.large", (1, 1, 1), 32, 128, gpus=4, taint=(GPU, "present", "NoSchedule")),
    SandboxPool("spot", "m4.spot", (1, 1, 0), 4, 16, taint=("example.com/spot", "true", "PreferNoSchedule")),
)

NAMESPACES = (
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "ingress",
    "shop",
    "payments",
    "batch",
    "analytics",
    "data",
    "ml",
    "monitoring",
    "staging",
)

PRIORITIES = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "business-critical": (100_000, "What customers see."),
    "batch": (-10, "Work that can wait, and be done again."),
}

# Name -> (provisioner, binding mode).
STORAGE = {
    "standard": ("csi.sandbox.kschedweb.dev", "WaitForFirstConsumer"),
    "shared": ("nfs.sandbox.kschedweb.dev", "Immediate"),
}


def pool_tolerations(pool: str) -> list[Json]:
    """Return the tolerations of a pod meant for ``pool``."""
    taint = next(candidate.taint for candidate in POOLS if candidate.name == pool)
    return [{"key": taint[0], "operator": "Equal", "value": taint[1], "effect": taint[2]}] if taint else []


def pinned_to_pool(pool: str, **more: object) -> Json:
    """Return the part of a pod's spec that puts it on ``pool``."""
    return {"nodeSelector": {POOL: pool}, "tolerations": pool_tolerations(pool), **more}


def spread_constraints(app: str, key: str = ZONE, *, hard: bool = False) -> Json:
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    selector = {"matchLabels": {"app": app}}
    return {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
        ]
    }


def pod_anti_affinity(app: str, key: str = HOSTNAME, weight: int = 0) -> Json:
    """Keep pods of ``app`` away from each other: always without a ``weight``, else where possible."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    if weight:
        return {
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]
                }
            }
        }
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@dataclass(frozen=True)
class SandboxWorkload:
    """A controller and its pods."""

    namespace: str
    kind: str
    name: str
    replicas: int
    # Millicores of each pod.
    cpu: int
    # MiB of each pod.
    memory: int
    image: str
    # Name of a pattern of use_curves.py.
    use: str = "steady"
    spec: Json = field(default_factory=dict)
    priority: str = ""
    scheduler: str = STOCK
    # The most replicas over the day, from ``replicas`` on; 0 if it is not scaled.
    max_replicas: int = 0
    gpus: int = 0
    # GiB of each replica; 0 for none.
    storage: int = 0
    # True if a PodDisruptionBudget lets only one pod be missing.
    budget: bool = False


WORKLOADS = (
    SandboxWorkload("kube-system", "DaemonSet", "kube-proxy", 0, 100, 64, "registry.k8s.io/kube-proxy:v1.37.2", priority="system-node-critical", spec={"tolerations": [{"operator": "Exists"}], "hostNetwork": True}),
    SandboxWorkload("monitoring", "DaemonSet", "node-exporter", 0, 50, 48, "quay.io/prometheus/node-exporter:v1.9.1", "monitoring", {"tolerations": [{"operator": "Exists"}]}),
    SandboxWorkload("kube-system", "Deployment", "coredns", 3, 100, 70, "registry.k8s.io/coredns/coredns:v1.12.1", spec=pod_anti_affinity("coredns", weight=100), priority="system-cluster-critical", budget=True),
    SandboxWorkload("ingress", "Deployment", "gateway", 3, 500, 512, "example.com/ingress/gateway:1.13.0", "gateway", {**pinned_to_pool("general"), **pod_anti_affinity("gateway", weight=100)}, "business-critical", max_replicas=8, budget=True),
    SandboxWorkload("shop", "Deployment", "web", 8, 500, 768, "example.com/shop/web:2.14.1", "shop", spread_constraints("web"), "business-critical", max_replicas=20, budget=True),
    SandboxWorkload("shop", "Deployment", "checkout", 5, 700, 1024, "example.com/shop/checkout:1.9.0", "shop", pod_anti_affinity("checkout", weight=100), "business-critical", max_replicas=12, budget=True),
    SandboxWorkload("shop", "Deployment", "cart", 5, 300, 512, "example.com/shop/cart:1.9.4", "shop", spread_constraints("cart", HOSTNAME), max_replicas=9),
    SandboxWorkload("shop", "Deployment", "images", 4, 800, 1024, "example.com/shop/images:4.0.2", "shop", scheduler=EXTENDED, max_replicas=8),
    SandboxWorkload("shop", "StatefulSet", "search", 3, 1500, 4096, "example.com/shop/search:5.2.0", "shop", pod_anti_affinity("search"), storage=50, budget=True),
    SandboxWorkload("payments", "Deployment", "ledger", 4, 800, 2048, "example.com/payments/ledger:3.3.2", "payments", spread_constraints("ledger", hard=True), "business-critical", GUARDED, budget=True),
    SandboxWorkload("payments", "Deployment", "fraud", 3, 1000, 2048, "example.com/payments/fraud:0.8.4", "payments", scheduler=GUARDED, max_replicas=6),
    SandboxWorkload("payments", "StatefulSet", "vault", 3, 500, 1024, "example.com/payments/vault:1.20.1", "cache", pod_anti_affinity("vault", ZONE), "business-critical", GUARDED, budget=True),
    SandboxWorkload("analytics", "Deployment", "spark-worker", 6, 900, 2560, "docker.io/apache/spark:4.0.0", "analytics", {"tolerations": pool_tolerations("spot")}, "batch", max_replicas=16),
    SandboxWorkload("analytics", "Deployment", "dashboards", 2, 500, 1024, "docker.io/grafana/grafana:12.1.0", "office"),
    SandboxWorkload("analytics", "Deployment", "collector", 3, 400, 768, "example.com/analytics/collector:2.0.1", "analytics", scheduler=EXTENDED),
    SandboxWorkload("data", "StatefulSet", "postgres", 3, 2000, 16384, "docker.io/library/postgres:17.5", "database", pinned_to_pool("memory", **pod_anti_affinity("postgres", ZONE)), "business-critical", storage=200, budget=True),
    SandboxWorkload("data", "StatefulSet", "kafka", 3, 1500, 8192, "docker.io/apache/kafka:4.0.0", "database", pinned_to_pool("memory", **pod_anti_affinity("kafka")), "business-critical", storage=500, budget=True),
    SandboxWorkload("data", "Deployment", "redis", 4, 500, 4096, "docker.io/library/redis:8.0", "cache", pinned_to_pool("memory", **spread_constraints("redis")), budget=True),
    SandboxWorkload("ml", "Deployment", "serving", 3, 4000, 16384, "example.com/ml/serving:0.8.4", "serving", pinned_to_pool("gpu"), "business-critical", max_replicas=6, gpus=1, budget=True),
    SandboxWorkload("ml", "Deployment", "notebook", 3, 1000, 4096, "example.com/ml/notebook:0.8.4", "office"),
    SandboxWorkload("batch", "Deployment", "mailer", 4, 200, 384, "example.com/batch/mailer:1.9.0", "steady", priority="batch"),
    SandboxWorkload("monitoring", "StatefulSet", "prometheus", 2, 1000, 6144, "quay.io/prometheus/prometheus:v3.5.0", "monitoring", pod_anti_affinity("prometheus"), storage=150),
    SandboxWorkload("monitoring", "Deployment", "grafana", 2, 300, 512, "docker.io/grafana/grafana:12.1.0", "office"),
    SandboxWorkload("staging", "Deployment", "web", 4, 250, 512, "example.com/shop/web:2.15.0", "staging", spread_constraints("web"), "batch", max_replicas=8),
    SandboxWorkload("staging", "Deployment", "checkout", 3, 350, 512, "example.com/shop/checkout:1.10.0", "staging", priority="batch", max_replicas=6),
)  # fmt: skip


@dataclass(frozen=True)
class JobKind:
    """A kind of Jobs that come in."""

    namespace: str
    name: str
    # Millicores of each pod.
    cpu: int
    # MiB of each pod.
    memory: int
    image: str
    # The least and the most that a pod runs.
    minutes: tuple[int, int]
    # The most pods at once.
    pods: int = 1
    scheduler: str = STOCK
    spec: Json = field(default_factory=dict)
    gpus: int = 0
    use: str = "batch"


JOBS = (
    JobKind("batch", "report", 600, 1536, "example.com/batch/report:1.2.0", (2, 8)),
    JobKind("batch", "backup", 400, 512, "example.com/batch/backup:3.1.0", (3, 10)),
    JobKind("batch", "settlement", 900, 2048, "example.com/batch/settlement:2.2.0", (4, 12), scheduler=GUARDED),
    JobKind("batch", "import", 1200, 3072, "example.com/batch/import:0.9.1", (3, 9), pods=4),
    JobKind("analytics", "query", 1500, 4096, "docker.io/apache/spark:4.0.0", (2, 6), pods=3),
    JobKind("analytics", "cube", 2500, 6144, "docker.io/apache/spark:4.0.0", (5, 15)),
    JobKind("ml", "training", 6000, 24576, "example.com/ml/trainer:0.8.4", (10, 25), pods=1, spec=pinned_to_pool("gpu"), gpus=1, use="training"),
    JobKind("shop", "reindex", 800, 2048, "example.com/shop/search:5.2.0", (3, 7), scheduler=EXTENDED),
    JobKind("staging", "end-to-end", 500, 1024, "example.com/shop/tests:2.15.0", (2, 5), pods=2),
)  # fmt: skip


# Flavors of Kueue are pools of nodes.
FLAVORS = ("general", "compute", "gpu")
WORKLOAD_PRIORITIES = {"urgent": 1000, "normal": 100, "background": 0}
QUEUES = (
    ExampleQueue("analytics", "analytics", "teams", {"general": (8, 24), "compute": (10, 24)}, {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}, limit=("compute", "borrowingLimit", 6)),
    ExampleQueue("reports", "batch", "teams", {"general": (5, 16), "compute": (6, 16)}, {"reclaimWithinCohort": "LowerPriority"}, limit=("general", "lendingLimit", 3)),
    ExampleQueue("tests", "staging", "teams", {"general": (0, 0), "compute": (4, 10)}, {}, strategy="StrictFIFO"),
    ExampleQueue("backfill", "batch", "teams", {"general": (2, 6), "compute": (6, 16)}, {"withinClusterQueue": "LowerPriority"}),
    ExampleQueue("training", "ml", "research", {"gpu": (5, 20, 1)}, {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}),
    ExampleQueue("probes", "data", "research", {"gpu": (4, 14, 1)}, {}),
)  # fmt: skip


@dataclass(frozen=True)
class QueuedJobKind:
    """A kind of Jobs that wait for quota."""

    queue: str
    name: str
    # Millicores of each pod.
    cpu: int
    # MiB of each pod.
    memory: int
    # The least and the most that a pod runs.
    minutes: tuple[int, int]
    # The most pods at once.
    pods: int
    priorities: tuple[str, ...] = ("normal", "normal", "background", "urgent")
    gpus: int = 0
    # The fewest pods with which it runs; 0 for all.
    least_pods: int = 0


QUEUED_JOBS = (
    QueuedJobKind("analytics", "sessions", 1500, 3072, (18, 54), 4),
    QueuedJobKind("analytics", "funnel", 1000, 2048, (12, 36), 3),
    QueuedJobKind("analytics", "attribution", 2000, 4096, (24, 72), 3, ("urgent", "normal")),
    QueuedJobKind("reports", "invoices", 1000, 2048, (15, 45), 3),
    QueuedJobKind("reports", "tax-run", 1500, 3072, (18, 60), 3, ("normal", "background")),
    QueuedJobKind("tests", "suite", 1000, 2048, (9, 30), 4, ("normal",)),
    QueuedJobKind("backfill", "history", 1000, 2048, (30, 90), 4, ("background",), least_pods=1),
    QueuedJobKind("backfill", "reprocess", 2000, 4096, (24, 60), 2, ("background", "normal")),
    QueuedJobKind("training", "tune", 4000, 16384, (30, 75), 2, gpus=1),
    QueuedJobKind("probes", "ablation", 3000, 12288, (24, 60), 2, ("normal", "background"), gpus=1, least_pods=1),
)  # fmt: skip
# Queued jobs in a new sandbox; happenings keep about as many.
FIRST_QUEUED_JOBS = 40


@dataclass(frozen=True)
class Misfit:
    """A pod that fits nowhere for a while."""

    namespace: str
    name: str
    # Millicores.
    cpu: int
    # MiB.
    memory: int
    spec: Json = field(default_factory=dict)
    scheduler: str = STOCK


MISFITS = (
    Misfit("analytics", "wide-join", 48_000, 8192),
    Misfit("batch", "nvme-import", 500, 1024, {"nodeSelector": {"node.example.com/disk": "nvme"}}),
    Misfit("data", "vacuum", 500, 2048, {"nodeSelector": {POOL: "memory"}}),
    Misfit("ml", "trainer-large", 8000, 262_144, {"tolerations": pool_tolerations("gpu")}),
    Misfit("shop", "frankfurt-probe", 200, 256, {"nodeSelector": {ZONE: "sandbox-9z"}}, EXTENDED),
)

SCHEDULERS = {"kube-scheduler": STOCK, "kube-scheduler-extended": EXTENDED}
