"""The selectors of the services and controllers that match a pod."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.workloads import selected_labels, selector_of
from kschedweb.engine.state.cluster import ClusterObjects


def services(objects: ClusterObjects, pod: Pod) -> list[Selector]:
    """The selectors of the services that select ``pod``, in the order in which they were added."""
    found = []
    for raw in objects.within("Service", pod.namespace):
        labels = selected_labels(raw)  # a service without a selector matches no pod, one with an empty selector all
        if labels is not None and (selector := _equal(labels)).matches(pod.labels):
            found.append(selector)
    return found


def selectors(objects: ClusterObjects, pod: Pod) -> list[Selector]:
    """Those of ``services`` and of ReplicationControllers, ReplicaSets and StatefulSets, which need not own the pod."""
    found = services(objects, pod)
    if not pod.labels:
        return found
    for raw in objects.within("ReplicationController", pod.namespace):
        selector = _equal(selected_labels(raw) or {})
        if not selector.empty and selector.matches(pod.labels):
            found.append(selector)
    for kind in ("ReplicaSet", "StatefulSet"):
        found += _of_kind(objects, kind, pod)
    return found


def _of_kind(objects: ClusterObjects, kind: str, pod: Pod) -> list[Selector]:
    found = []
    for raw in objects.within(kind, pod.namespace):
        try:
            selector = selector_of(raw)
        except SelectorError:
            return []  # one invalid selector makes the whole lookup fail
        if not selector.empty and selector.matches(pod.labels):
            found.append(selector)
    return found


def _equal(labels: Mapping[str, str]) -> Selector:
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))
