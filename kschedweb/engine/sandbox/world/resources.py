"""The resources that controllers look at, beside those of the API server itself."""

from __future__ import annotations

from kschedweb.engine.sandbox.resources import resource

DEPLOYMENT = resource("Deployment", "apps/v1")
REPLICA_SET = resource("ReplicaSet", "apps/v1")
STATEFUL_SET = resource("StatefulSet", "apps/v1")
DAEMON_SET = resource("DaemonSet", "apps/v1")
REPLICATION_CONTROLLER = resource("ReplicationController")
JOB = resource("Job", "batch/v1")
BUDGET = resource("PodDisruptionBudget", "policy/v1")
CLAIM = resource("PersistentVolumeClaim")
VOLUME = resource("PersistentVolume")
STORAGE_CLASS = resource("StorageClass", "storage.k8s.io/v1")
RESOURCE_CLAIM = resource("ResourceClaim", "resource.k8s.io/v1")
CLAIM_TEMPLATE = resource("ResourceClaimTemplate", "resource.k8s.io/v1")
PRIORITY_CLASS = resource("PriorityClass", "scheduling.k8s.io/v1")
CONFIG_MAP = resource("ConfigMap")
