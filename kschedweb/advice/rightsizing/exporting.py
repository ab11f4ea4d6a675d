"""Recommended requests as files for people to apply: kubectl lines, patches, VerticalPodAutoscalers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kschedweb.engine.documents.marked import as_yaml

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import Amount, Size

Json = dict[str, Any]
KUBECTL, PATCHES, AUTOSCALERS = "kubectl", "patches", "vpa"
FORMS = (KUBECTL, PATCHES, AUTOSCALERS)
MODES = ("Off", "Initial")
API = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "CloneSet": "apps.kruise.io/v1alpha1"}
PATCHED = ("Deployment", "StatefulSet", "DaemonSet")  # others know no strategic merge


def by_workload(listed: Iterable[Size]) -> Iterator[tuple[str, list[Size]]]:
    """The containers whose requests change, by workload, "namespace/Kind/name"."""
    changed = sorted((one for one in listed if one.changes), key=lambda one: one.name)
    for workload, group in groupby(changed, key=lambda one: one.workload):
        yield workload, list(group)


def text_of(listed: Iterable[Size], form: str, mode: str) -> str:
    """The file ``form`` of the containers whose requests change; "" where there is none."""
    groups = list(by_workload(listed))
    if form == AUTOSCALERS:
        return "---\n".join(as_yaml(autoscaler(workload, group, mode)) for workload, group in groups)
    written = [(workload, patch(workload, group)) for workload, group in groups if workload.split("/")[1] in PATCHED]
    if form == PATCHES:
        return "---\n".join(as_yaml(one) for _, one in written)
    return "".join(f"{line(workload, one)}\n" for workload, one in written)


def line(workload: str, found: Json) -> str:
    """A call of kubectl that applies ``found``; names and amounts have no character that a shell would read."""
    namespace, kind, name = workload.split("/")
    spec = json.dumps({"spec": found["spec"]}, separators=(",", ":"))
    return f"kubectl --namespace={namespace} patch {kind.lower()} {name} --type=strategic --patch='{spec}'"


def patch(workload: str, group: Iterable[Size]) -> Json:
    """A strategic merge patch with the names of what it patches."""
    namespace, kind, name = workload.split("/")
    lists: dict[str, list[Json]] = {}
    for one in group:
        key = "initContainers" if one.sidecar else "containers"
        lists.setdefault(key, []).append({"name": one.container, "resources": resources(one)})
    return {
        "apiVersion": API[kind],
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"template": {"spec": lists}},
    }


def resources(one: Size) -> Json:
    """Requests, and the limits that there are."""
    both = (("cpu", one.cpu), ("memory", one.memory))
    found: Json = {"requests": {resource: quantity(resource, amount.target) for resource, amount in both}}
    limits = {resource: quantity(resource, amount.new_limit) for resource, amount in both if amount.limit}
    return found | ({"limits": limits} if limits else {})


def quantity(resource: str, amount: int) -> str:
    """Millicores of CPU, bytes of memory."""
    return f"{amount}m" if resource == "cpu" else str(amount)


def autoscaler(workload: str, group: Iterable[Size], mode: str) -> Json:
    """A VerticalPodAutoscaler that watches over the containers of ``group`` and leaves others alone."""
    namespace, kind, name = workload.split("/")
    policies: list[Json] = [
        {
            "containerName": one.container,
            "minAllowed": _amounts(one, "lower"),
            "maxAllowed": _amounts(one, "upper"),
        }
        if _bounded(one.cpu) and _bounded(one.memory)
        else {"containerName": one.container}
        for one in group
    ]
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"namespace": namespace, "name": f"{name}-{kind.lower()}"},
        "spec": {
            "targetRef": {"apiVersion": API[kind], "kind": kind, "name": name},
            "updatePolicy": {"updateMode": mode},
            "resourcePolicy": {"containerPolicies": [*policies, {"containerName": "*", "mode": "Off"}]},
        },
    }


def _amounts(one: Size, bound: str) -> Json:
    return {
        resource: quantity(resource, getattr(amount, bound))
        for resource, amount in (("cpu", one.cpu), ("memory", one.memory))
    }


def _bounded(amount: Amount) -> bool:
    return 0 < amount.lower <= amount.upper and amount.bounded
