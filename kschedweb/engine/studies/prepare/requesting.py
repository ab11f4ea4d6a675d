"""Other requests of a workload's pods, from the beginning: those on nodes stay there, as in a resize in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.objects.access import Json, mapping, objects
from kschedweb.engine.objects.quantity import NANO, parse
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.prepare.cluster import Cluster
from kschedweb.engine.studies.prepare.workloads import Workloads

Amounts = Mapping[str, str]


def set_requests(cluster: Cluster, workloads: Workloads, action: parts.SetRequests, at: float) -> None:
    """Set what the workload's pods request, those of the beginning and those that its controller makes later."""
    if at > 0.0:
        raise PartError("requests are set at the beginning: leave `at` out")
    raw, pods = workloads.there(action.workload)
    specs = [mapping(pod, "spec") for pod in pods.values()]
    if raw is not None:
        specs.append(mapping(mapping(mapping(raw, "spec"), "template"), "spec"))
    known = {str(one.get("name")) for spec in specs for one in _containers(spec)}
    for name in action.containers:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise PartError(f"there is no container {name}; containers are {there}", f"containers.{name}")
    for key, pod in pods.items():
        if key not in cluster.bound and key not in cluster.waiting:
            continue  # it ends by a recording, which says what it requested
        workloads.changed(key, {**pod, "spec": resized(mapping(pod, "spec"), action.containers)})
    if raw is not None:
        spec = mapping(raw, "spec")
        template = mapping(spec, "template")
        inner = resized(mapping(template, "spec"), action.containers)
        place = next(key for key, one in cluster.others.items() if one is raw)
        cluster.others[place] = {**raw, "spec": {**spec, "template": {**template, "spec": inner}}}


def resized(spec: Json, containers: Mapping[str, Amounts]) -> Json:
    """The pod ``spec`` with other requests; a limit keeps its ratio to the request, and is never below it."""
    found: dict[str, Any] = dict(spec)
    for listed in ("containers", "initContainers"):
        if listed in spec:
            found[listed] = [
                _with(one, containers[name]) if (name := str(one.get("name"))) in containers else one
                for one in objects(spec, listed)
            ]
    return found


def _with(container: Json, amounts: Amounts) -> Json:
    resources = mapping(container, "resources")
    requests, limits = dict(mapping(resources, "requests")), dict(mapping(resources, "limits"))
    for resource, amount in amounts.items():
        if resource in limits:
            before = requests.get(resource, limits[resource])  # without a request, the API server takes the limit
            limits[resource] = scaled(str(limits[resource]), str(before), amount, resource)
        requests[resource] = amount
    return {**container, "resources": {**resources, "requests": requests, **({"limits": limits} if limits else {})}}


def scaled(limit: str, before: str, after: str, resource: str) -> str:
    """The limit that is to ``after`` as ``limit`` is to ``before``: whole millicores of CPU, else whole amounts."""
    had, gets, most = parse(before), parse(after), parse(limit)
    amount = max(gets, most * gets // had) if had > 0 else max(gets, most)
    if resource == "cpu":
        return f"{-(-amount // (NANO // 1000))}m"
    return str(-(-amount // NANO))


def _containers(spec: Json) -> list[Json]:
    return [one for listed in ("containers", "initContainers") for one in objects(spec, listed)]
