"""Services and controllers that a pod belongs to."""

from __future__ import annotations

from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.selecting_objects import read_selector, selected_labels
from kschedweb.engine.state.cluster_objects import ClusterObjects

MIRROR = "kubernetes.io/config.mirror"
# Controllers of which kube-scheduler's `DefaultSelector` reads the selector.
SELECTING = {("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")}


def default_selector(objects: ClusterObjects, pod: Pod) -> Selector:
    """Return the selector of the services and the controller of ``pod``; empty if there are none.

    As kube-scheduler's `DefaultSelector` does.
    """
    required_labels: dict[str, str] = {}
    for service in objects.list_in_namespace("Service", pod.namespace):
        selector = selected_labels(service)
        if selector is not None and all(pod.labels.get(key) == value for key, value in selector.items()):
            required_labels.update(selector)
    expressions: tuple[Requirement, ...] = ()
    if pod.controller is not None:
        version, kind, name = pod.controller
        owner = objects.get(kind, pod.namespace, name)
        if owner is not None and (version, kind) == ("v1", "ReplicationController"):
            required_labels.update(selected_labels(owner) or {})
        elif owner is not None and (version, kind) in SELECTING:
            try:
                parsed = read_selector(owner)
                expressions = () if parsed.nothing else parsed.requirements
            # An owner's invalid selector adds nothing.
            except SelectorError:
                expressions = ()
    return Selector(
        tuple(Requirement(key, "In", (value,)) for key, value in sorted(required_labels.items())) + expressions
    )


def has_daemon_set_owner(pod: Pod) -> bool:
    """Return True if one of the pod's owners is a DaemonSet."""
    owners = get_objects(get_mapping(pod.raw, "metadata"), "ownerReferences", "metadata.")
    return any(owner.get("kind") == "DaemonSet" for owner in owners)


def stays_at_drain(pod: Pod) -> bool:
    """Return True if a drain does not evict the pod: one of a DaemonSet, or a mirror pod."""
    return has_daemon_set_owner(pod) or MIRROR in get_mapping(
        get_mapping(pod.raw, "metadata"), "annotations", "metadata."
    )
