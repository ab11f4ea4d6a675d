"""Which pods serve the same purpose as one, by the services and controllers whose selectors match it."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.objects.labels import Requirement, Selector, SelectorError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.workloads import selected_labels, selector_of
from kschedweb.engine.state.cluster import ClusterObjects


def services(objects: ClusterObjects, pod: Pod) -> list[Selector]:
    """The selectors of the services that ``pod`` is of, in the order in which they became known."""
    found = []
    for raw in objects.within("Service", pod.namespace):
        labels = selected_labels(raw)  # a service without a selector means no pod, one with an empty selector all
        if labels is not None and (selector := _equal(labels)).matches(pod.labels):
            found.append(selector)
    return found


def selectors(objects: ClusterObjects, pod: Pod) -> list[Selector]:
    """The same with those of ReplicationControllers, ReplicaSets and StatefulSets, whether they own the pod or not."""
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
            return []  # one that cannot be parsed makes the whole question fail
        if not selector.empty and selector.matches(pod.labels):
            found.append(selector)
    return found


def _equal(labels: Mapping[str, str]) -> Selector:
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))
