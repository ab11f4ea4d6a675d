"""The selectors of the services and controllers that match a pod."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.selecting_objects import read_selector, selected_labels
from kschedweb.engine.state.cluster_objects import ClusterObjects


def find_service_selectors(objects: ClusterObjects, pod: Pod) -> list[Selector]:
    """Return the selectors of the services that select ``pod``, in the order in which they were added."""
    matching = []
    for raw in objects.list_in_namespace("Service", pod.namespace):
        labels = selected_labels(raw)  # a service without a selector matches no pod, one with an empty selector all
        if labels is not None and (selector := _selector_from_set(labels)).matches(pod.labels):
            matching.append(selector)
    return matching


def get_selectors(objects: ClusterObjects, pod: Pod) -> list[Selector]:
    """Return the selectors of services, ReplicationControllers, ReplicaSets and StatefulSets that match ``pod``.

    These need not own the pod.
    """
    matching = find_service_selectors(objects, pod)
    if not pod.labels:
        return matching
    for raw in objects.list_in_namespace("ReplicationController", pod.namespace):
        selector = _selector_from_set(selected_labels(raw) or {})
        if not selector.is_empty and selector.matches(pod.labels):
            matching.append(selector)
    for kind in ("ReplicaSet", "StatefulSet"):
        matching += _of_kind(objects, kind, pod)
    return matching


def _of_kind(objects: ClusterObjects, kind: str, pod: Pod) -> list[Selector]:
    matching = []
    for raw in objects.list_in_namespace(kind, pod.namespace):
        try:
            selector = read_selector(raw)
        except SelectorError:
            return []  # one invalid selector makes the whole lookup fail
        if not selector.is_empty and selector.matches(pod.labels):
            matching.append(selector)
    return matching


def _selector_from_set(labels: Mapping[str, str]) -> Selector:
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))
