"""The quality of service class of a pod, which the API server writes and the kubelet uses."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_string
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts, PodResources, read_resources

BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"


def get_pod_qos(pod: Pod) -> str:
    """Return the class in the pod's status, else the one computed from its spec."""
    reported = get_string(get_mapping(pod.raw, "status"), "qosClass", "status.")
    return reported or _compute_qos(get_mapping(pod.raw, "spec"), pod.resources)


def compute_spec_qos(spec: Json) -> str:
    """Return the class computed from the spec of a pod; raise ObjectError."""
    return _compute_qos(spec, read_resources(spec, {}))


def _compute_qos(spec: Json, resources: PodResources) -> str:
    if resources.pod_level_set:
        limits = read_quantities(get_mapping(spec, "resources", "spec."), "limits", "spec.resources.")
        return _class_of_amounts(resources.pod_requests or {}, limits)
    classes = {
        _class_of_amounts(container.requests, container.limits)
        for container in (*resources.init_containers, *resources.containers)
    }
    if len(classes) > 1:
        return BURSTABLE
    return classes.pop() if classes else BEST_EFFORT


def _class_of_amounts(requests: Amounts, limits: Amounts) -> str:
    pairs = [(requests.get(name, 0), limits.get(name, 0)) for name in (CPU, MEMORY)]
    if any(request != limit for request, limit in pairs):
        return BURSTABLE
    # The names are in the order of how many of CPU and memory are set.
    set_count = sum(request > 0 for request, _ in pairs)
    return (BEST_EFFORT, BURSTABLE, GUARANTEED)[set_count]
