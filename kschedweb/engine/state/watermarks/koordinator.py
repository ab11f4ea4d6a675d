"""Koordinator's view of pods and nodes: priority classes, estimated use, and annotations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_string
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.resources import CPU, MEMORY, round_to_units
from kschedweb.engine.validation.golang import SECOND, parse_duration, parse_int
from kschedweb.engine.values import dataclass

PROD, MID, BATCH, FREE = "koord-prod", "koord-mid", "koord-batch", "koord-free"
CLASS_LABEL, QOS_LABEL = "koordinator.sh/priority-class", "koordinator.sh/qosClass"
RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
USAGE_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
FACTORS = "scheduling.koordinator.sh/load-estimated-scaling-factors"
AFTER_SCHEDULED = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled"
AFTER_INITIALIZED = "scheduling.koordinator.sh/load-estimated-seconds-after-initialized"

# The lowest priority of each class, which spans a thousand.
PRIORITIES = {9000: PROD, 7000: MID, 5000: BATCH, 3000: FREE}
# The priority class that Koordinator derives from a pod's QoS label.
QOS_CLASSES = {"SYSTEM": PROD, "LSE": PROD, "LSR": PROD, "LS": PROD, "BE": BATCH}
# Koordinator's own resources, which pods of these classes request in place of CPU and memory.
OVERSOLD = {
    BATCH: {CPU: "kubernetes.io/batch-cpu", MEMORY: "kubernetes.io/batch-memory"},
    MID: {CPU: "kubernetes.io/mid-cpu", MEMORY: "kubernetes.io/mid-memory"},
    FREE: {},
}
# The estimated use of a pod without a request: milli-CPU and bytes.
DEFAULTS = {
    name: amount
    for resource, amount in ((CPU, 250), (MEMORY, 200 << 20))
    for name in (resource, OVERSOLD[BATCH][resource])
}


def priority_class(pod: Pod) -> str:
    """Return the class by the pod's label, else its priority, else its quality of service."""
    if CLASS_LABEL in pod.labels:
        label = pod.labels[CLASS_LABEL]
        class_name = label if label in (PROD, MID, BATCH, FREE) else ""
    else:
        class_name = PRIORITIES.get(pod.priority // 1000 * 1000, "")
    if class_name:
        return class_name
    if (qos := QOS_CLASSES.get(pod.labels.get(QOS_LABEL, ""))) is not None:
        return qos
    status = get_string(get_mapping(pod.raw, "status"), "qosClass", "status.")
    return BATCH if status == "BestEffort" or (not status and _best_effort(pod)) else PROD


def _best_effort(pod: Pod) -> bool:
    """Return True if no container has a request or limit of CPU or memory."""
    resources = pod.resources
    listed = [
        amounts
        for container in (*resources.containers, *resources.init_containers)
        for amounts in (container.requests, container.limits)
    ]
    listed.append(resources.pod_requests or {})
    return not any(amounts.get(name, 0) for amounts in listed for name in (CPU, MEMORY))


def expected_use(pod: Pod, resource: str, factor: int) -> int:
    """Return ``factor`` percent of the pod's request, or of its limit if that is higher; at most its limit.

    The result is in milli-CPU or whole units, rounded half away from zero. Pods of class batch and mid request
    Koordinator's own resources.
    """
    oversold = OVERSOLD.get(priority_class(pod))
    name = resource if oversold is None else oversold.get(resource, "")
    limit = pod.limits.get(name, 0)
    amount = max(limit, pod.requests.get(name, 0))
    if amount == 0:
        return DEFAULTS.get(name, 0)
    expected = math.floor(float(amount) * float(factor) / 100 + 0.5)
    return min(expected, limit) if limit > 0 else expected


def own_factors(pod: Pod) -> dict[str, int]:
    """Return the scaling factors in the pod's annotation; empty if it cannot be read."""
    try:
        return _parse_amounts(_parse_json(_get_annotations(pod.raw).get(FACTORS, "")), "factors")
    except (ValueError, ObjectError):
        return {}


def own_seconds(pod: Pod, annotation: str) -> int:
    """Return a number of seconds in an annotation of the pod; -1 if there is none."""
    seconds = parse_int(_get_annotations(pod.raw).get(annotation, ""))
    return -1 if seconds is None else seconds


def raw_allocatable(node: Node) -> dict[str, int]:
    """Return the real allocatable of a node with amplified resources; empty if not annotated.

    In milli-CPU and whole units.
    """
    try:
        return round_to_units(
            read_quantities({"raw": _parse_json(_get_annotations(node.raw).get(RAW_ALLOCATABLE, ""))}, "raw")
        )
    except (ValueError, ObjectError):
        return {}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A percentile over a window."""

    # avg, p50, p90, p95 or p99.
    kind: str
    # Seconds; 0 for the longest window available.
    window: float = 0.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Percent of each resource, in the order of the resources; empty tuples if not set."""

    # Of all pods.
    usage: tuple[int, ...] = ()
    # Of pods of class prod.
    prod: tuple[int, ...] = ()
    # Of the percentile `aggregate`.
    aggregated: tuple[int, ...] = ()
    aggregate: Aggregate | None = None


def parse_thresholds(args: Mapping[str, Any], resources: Sequence[str], window: float = 0.0) -> Thresholds:
    """Return the thresholds in ``args``, which are the plugin's or a node's annotation.

    ``window`` is that of percentiles, in seconds.
    """
    aggregated = args.get("aggregated") or {}
    kind, listed = aggregated.get("usageAggregationType"), aggregated.get("usageThresholds")
    return Thresholds(
        to_vector(args.get("usageThresholds") or {}, resources),
        to_vector(args.get("prodUsageThresholds") or {}, resources),
        to_vector(listed, resources) if listed and kind else (),
        Aggregate(kind, window) if listed and kind else None,
    )


def to_vector(amounts: Mapping[str, int], resources: Sequence[str]) -> tuple[int, ...]:
    """Return the amounts in the order of ``resources``, 0 for a missing one; empty if all are missing."""
    return tuple(amounts.get(name, 0) for name in resources) if amounts else ()


def own_thresholds(node: Node, resources: Sequence[str], default: Thresholds) -> Thresholds:
    """Return the thresholds in the node's annotation; ``default`` if there is none or it cannot be read."""
    try:
        annotation = _parse_json(_get_annotations(node.raw).get(USAGE_THRESHOLDS, ""))
        aggregated = get_mapping(annotation, "aggregatedUsage")
        duration = aggregated.get("usageAggregatedDuration")
        args = {
            "usageThresholds": _parse_amounts(annotation.get("usageThresholds"), "usageThresholds"),
            "prodUsageThresholds": _parse_amounts(annotation.get("prodUsageThresholds"), "prodUsageThresholds"),
            "aggregated": {
                "usageThresholds": _parse_amounts(aggregated.get("usageThresholds"), "usageThresholds"),
                "usageAggregationType": get_string(aggregated, "usageAggregationType"),
            },
        }
        node_thresholds = parse_thresholds(args, resources, parse_duration(duration) / SECOND if duration else 0.0)
    except (ValueError, TypeError, ObjectError):
        return default
    aggregate = node_thresholds if node_thresholds.aggregate is not None else default
    return Thresholds(
        node_thresholds.usage or default.usage,
        node_thresholds.prod or default.prod,
        aggregate.aggregated,
        aggregate.aggregate,
    )


def _get_annotations(raw: Json) -> Json:
    return get_mapping(get_mapping(raw, "metadata"), "annotations")


def _parse_json(content: str) -> Json:
    """Return the JSON object in an annotation; an empty one if there is none. Raise ValueError."""
    parsed = json.loads(content) if content else {}
    if not isinstance(parsed, dict):
        raise ValueError("is not an object")
    return parsed


def _parse_amounts(value: Any, name: str) -> dict[str, int]:
    """Return whole numbers by resource; raise ObjectError or ValueError."""
    amounts = get_mapping({name: value}, name)
    if not all(isinstance(amount, int) and not isinstance(amount, bool) for amount in amounts.values()):
        raise ValueError(f"{name}: must be whole numbers")
    return amounts
