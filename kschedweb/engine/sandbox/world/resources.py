"""The resources that controllers look at, beside those of the API server itself."""

from __future__ import annotations

from kschedweb.engine.objects.kinds import KUEUE
from kschedweb.engine.sandbox.resources import get_resource

DEPLOYMENT = get_resource("Deployment", "apps/v1")
REPLICA_SET = get_resource("ReplicaSet", "apps/v1")
STATEFUL_SET = get_resource("StatefulSet", "apps/v1")
DAEMON_SET = get_resource("DaemonSet", "apps/v1")
REPLICATION_CONTROLLER = get_resource("ReplicationController")
JOB = get_resource("Job", "batch/v1")
BUDGET = get_resource("PodDisruptionBudget", "policy/v1")
CLAIM = get_resource("PersistentVolumeClaim")
VOLUME = get_resource("PersistentVolume")
STORAGE_CLASS = get_resource("StorageClass", "storage.k8s.io/v1")
RESOURCE_CLAIM = get_resource("ResourceClaim", "resource.k8s.io/v1")
CLAIM_TEMPLATE = get_resource("ResourceClaimTemplate", "resource.k8s.io/v1")
PRIORITY_CLASS = get_resource("PriorityClass", "scheduling.k8s.io/v1")
CONFIG_MAP = get_resource("ConfigMap")
COHORT, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD, WORKLOAD_PRIORITY_CLASS = (
    get_resource(kind, f"{KUEUE}/v1beta2")
    for kind in ("Cohort", "ClusterQueue", "LocalQueue", "ResourceFlavor", "Workload", "WorkloadPriorityClass")
)
