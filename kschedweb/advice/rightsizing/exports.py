"""Recommended requests as files for people to apply: kubectl lines, patches, VerticalPodAutoscalers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.advice.rightsizing.sizing import ContainerSize, SizeAmount

KUBECTL, PATCHES, AUTOSCALERS = "kubectl", "patches", "vpa"
FORMS = (KUBECTL, PATCHES, AUTOSCALERS)
MODES = ("Off", "Initial")
API = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "CloneSet": "apps.kruise.io/v1alpha1"}
# Other kinds do not support strategic merge patches.
PATCHED = ("Deployment", "StatefulSet", "DaemonSet")


def by_workload(listed: Iterable[ContainerSize]) -> Iterator[tuple[str, list[ContainerSize]]]:
    """Yield the containers whose requests change, by workload, "namespace/Kind/name"."""
    changed = sorted((size for size in listed if size.changes), key=lambda size: size.name)
    for workload, group in groupby(changed, key=lambda size: size.workload):
        yield workload, list(group)


def text_of(listed: Iterable[ContainerSize], form: str, mode: str) -> str:
    """Return the file ``form`` for the containers whose requests change, "" if there is none."""
    groups = list(by_workload(listed))
    if form == AUTOSCALERS:
        return "---\n".join(as_yaml(build_autoscaler(workload, group, mode)) for workload, group in groups)
    patches = [
        (workload, build_patch(workload, group)) for workload, group in groups if workload.split("/")[1] in PATCHED
    ]
    if form == PATCHES:
        return "---\n".join(as_yaml(patch) for _, patch in patches)
    return "".join(f"{kubectl_line(workload, patch)}\n" for workload, patch in patches)


def kubectl_line(workload: str, patch: Json) -> str:
    """Return a kubectl command that applies ``patch``. Names and amounts have no character special to a shell."""
    namespace, kind, name = workload.split("/")
    spec = json.dumps({"spec": patch["spec"]}, separators=(",", ":"))
    return f"kubectl --namespace={namespace} patch {kind.lower()} {name} --type=strategic --patch='{spec}'"


def build_patch(workload: str, group: Iterable[ContainerSize]) -> Json:
    """Return a strategic merge patch that names its object."""
    namespace, kind, name = workload.split("/")
    lists: dict[str, list[Json]] = {}
    for size in group:
        key = "initContainers" if size.sidecar else "containers"
        lists.setdefault(key, []).append({"name": size.container, "resources": build_resources(size)})
    return {
        "apiVersion": API[kind],
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"template": {"spec": lists}},
    }


def build_resources(size: ContainerSize) -> Json:
    """Return the requests, and the limits that exist."""
    both = (("cpu", size.cpu), ("memory", size.memory))
    requirements: Json = {"requests": {resource: format_quantity(resource, amount.target) for resource, amount in both}}
    limits = {resource: format_quantity(resource, amount.new_limit) for resource, amount in both if amount.limit}
    return requirements | ({"limits": limits} if limits else {})


def format_quantity(resource: str, amount: int) -> str:
    """Return millicores of CPU or bytes of memory as a quantity."""
    return f"{amount}m" if resource == "cpu" else str(amount)


def build_autoscaler(workload: str, group: Iterable[ContainerSize], mode: str) -> Json:
    """Return a VerticalPodAutoscaler for the containers of ``group``, which leaves other containers alone."""
    namespace, kind, name = workload.split("/")
    policies: list[Json] = [
        {
            "containerName": size.container,
            "minAllowed": _bound_quantities(size, "lower"),
            "maxAllowed": _bound_quantities(size, "upper"),
        }
        if _has_bounds(size.cpu) and _has_bounds(size.memory)
        else {"containerName": size.container}
        for size in group
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


def _bound_quantities(size: ContainerSize, bound: str) -> Json:
    return {
        resource: format_quantity(resource, getattr(amount, bound))
        for resource, amount in (("cpu", size.cpu), ("memory", size.memory))
    }


def _has_bounds(amount: SizeAmount) -> bool:
    return 0 < amount.lower <= amount.upper and amount.bounded
