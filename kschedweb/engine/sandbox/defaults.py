"""The API server's defaults for missing values, and the first status of new objects.

Sources in Kubernetes: pkg/apis/*/v1/defaults.go, and PrepareForCreate in pkg/registry/*/strategy.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.quantity import parse_quantity
from kschedweb.engine.plugins.schedulinggates import CONDITION

ROUNDING = {"maxSurge": "25%", "maxUnavailable": "25%"}


def apply_defaults(kind: str, raw: Json) -> Json:
    """Return the decoded object ``raw`` with its defaults, as at each write; ``raw`` stays as it is."""
    fill = _KINDS.get(kind)
    return raw if fill is None else fill(raw)


def prepare_for_create(kind: str, raw: Json, now: str) -> Json:
    """Return ``raw``, which has its defaults, as it is first stored; ``now`` is the time as the API writes it."""
    begin = _FIRST.get(kind)
    return raw if begin is None else begin(raw, now)


def pod_spec(spec: Json) -> Json:
    """Return a pod's spec with its defaults."""
    base: Json = {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
    }
    lists = {
        field: [_default_container(item) for item in spec[field]]
        for field in ("containers", "initContainers")
        if spec.get(field)
    }
    return base | spec | lists


def _default_container(container: Json) -> Json:
    image = container.get("image", "")
    # Only the last part has the tag: the registry may have a port after a colon, too.
    tag = image.rsplit("/", 1)[-1].partition("@")[0].partition(":")[2]
    base: Json = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent" if tag not in ("", "latest") or "@" in image else "Always",
    }
    result = base | container
    resources = dict(result["resources"])
    if limits := resources.get("limits"):
        # A limit without a request is the request, too.
        resources["requests"] = {**limits, **(resources.get("requests") or {})}
    result["resources"] = resources
    if ports := container.get("ports"):
        result["ports"] = [{"protocol": "TCP"} | port for port in ports]
    return result


def _default_pod(raw: Json) -> Json:
    return {**raw, "spec": {"enableServiceLinks": True, **pod_spec(raw["spec"])}}


def _first_pod(raw: Json, now: str) -> Json:
    status: Json = {"phase": "Pending", "qosClass": compute_qos(raw["spec"])}
    if raw["spec"].get("schedulingGates"):
        status["conditions"] = [_gated_condition(now)]
    return {**raw, "status": status}


def _gated_condition(now: str) -> Json:
    """Return the condition of a pod that is created with scheduling gates."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": CONDITION,
    }


def compute_qos(spec: Json) -> str:
    """Return the quality of service class of a pod's spec."""
    requested, limited, guaranteed = False, False, True
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request, limit = _parse_amount(requests, name), _parse_amount(limits, name)
            requested |= request > 0
            limited |= limit > 0
            guaranteed &= limit > 0 and request == limit
    if not (requested or limited):
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _parse_amount(listed: Json, name: str) -> int:
    return parse_quantity(str(listed[name])) if name in listed else 0


def _default_template(raw: Json) -> Json:
    return {"metadata": raw.get("metadata") or {}, "spec": pod_spec(raw.get("spec") or {})}


def _workload_defaulter(base: Json) -> Callable[[Json], Json]:
    def fill(raw: Json) -> Json:
        spec = base | raw["spec"]
        return {**raw, "spec": spec | {"template": _default_template(spec.get("template") or {})}}

    return fill


def _default_deployment(raw: Json) -> Json:
    base: Json = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
    deployment = _workload_defaulter(base)(raw)
    strategy = {"type": "RollingUpdate"} | (deployment["spec"].get("strategy") or {})
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = ROUNDING | (strategy.get("rollingUpdate") or {})
    deployment["spec"]["strategy"] = strategy
    return deployment


def _daemon_set(raw: Json) -> Json:
    daemon_set = _workload_defaulter({"revisionHistoryLimit": 10})(raw)
    rolling = {"maxSurge": 0, "maxUnavailable": 1}
    daemon_set["spec"].setdefault("updateStrategy", {"type": "RollingUpdate", "rollingUpdate": rolling})
    return daemon_set


def _stateful_set(raw: Json) -> Json:
    base: Json = {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"}
    stateful_set = _workload_defaulter(base)(raw)
    stateful_set["spec"].setdefault("updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    stateful_set["spec"].setdefault(
        "persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Retain", "whenScaled": "Retain"}
    )
    return stateful_set


def _default_job(raw: Json) -> Json:
    base: Json = {
        "parallelism": 1,
        "completions": 1,
        "completionMode": "NonIndexed",
        "backoffLimit": 6,
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    return _workload_defaulter(base)(raw)


def _default_namespace(raw: Json) -> Json:
    metadata = raw["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    return {**raw, "metadata": {**metadata, "labels": labels}}


def _first_namespace(raw: Json, _: str) -> Json:
    return {**raw, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _default_node(raw: Json) -> Json:
    status = raw["status"]
    if status.get("capacity") and not status.get("allocatable"):
        status = {**status, "allocatable": status["capacity"]}
    return {**raw, "status": status}


def _first_node(raw: Json, _: str) -> Json:
    """Taint a new node: it takes pods once the node lifecycle controller has seen that it is ready."""
    taints = raw["spec"].get("taints") or []
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    return {**raw, "spec": {**raw["spec"], "taints": taints if taint in taints else [*taints, taint]}}


def _priority_class(raw: Json) -> Json:
    return {"preemptionPolicy": "PreemptLowerPriority", **raw}


def _storage_class(raw: Json) -> Json:
    return {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", **raw}


_KINDS: dict[str, Callable[[Json], Any]] = {
    "Pod": _default_pod,
    "Node": _default_node,
    "Namespace": _default_namespace,
    "Deployment": _default_deployment,
    "ReplicaSet": _workload_defaulter({"replicas": 1}),
    "ReplicationController": _workload_defaulter({"replicas": 1}),
    "DaemonSet": _daemon_set,
    "StatefulSet": _stateful_set,
    "Job": _default_job,
    "PriorityClass": _priority_class,
    "StorageClass": _storage_class,
}
_FIRST: dict[str, Callable[[Json, str], Json]] = {
    "Pod": _first_pod,
    "Node": _first_node,
    "Namespace": _first_namespace,
}
