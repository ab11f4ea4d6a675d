"""The quality of service class of a pod, as the API server writes it down and the kubelet goes by it."""

from __future__ import annotations

from kschedweb.engine.objects.access import Json, mapping, text
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_list
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts, PodResources, read_resources

BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"


def quality(pod: Pod) -> str:
    """The class that the pod's status names, else the one that its spec comes to."""
    named = text(mapping(pod.raw, "status"), "qosClass", "status.")
    return named or _computed(mapping(pod.raw, "spec"), pod.resources)


def quality_of(spec: Json) -> str:
    """The class that the spec of a pod comes to; raises ObjectError."""
    return _computed(spec, read_resources(spec, {}))


def _computed(spec: Json, resources: PodResources) -> str:
    if resources.pod_level_set:
        limits = read_list(mapping(spec, "resources", "spec."), "limits", "spec.resources.")
        return _of(resources.pod_requests or {}, limits)
    found = {_of(one.requests, one.limits) for one in (*resources.init_containers, *resources.containers)}
    if len(found) > 1:
        return BURSTABLE
    return found.pop() if found else BEST_EFFORT


def _of(requests: Amounts, limits: Amounts) -> str:
    pairs = [(requests.get(name, 0), limits.get(name, 0)) for name in (CPU, MEMORY)]
    if any(asked != most for asked, most in pairs):
        return BURSTABLE
    named = sum(asked > 0 for asked, _ in pairs)
    return (BEST_EFFORT, BURSTABLE, GUARANTEED)[named]
