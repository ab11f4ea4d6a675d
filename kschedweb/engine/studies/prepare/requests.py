"""Set other requests of a workload's pods at the beginning; pods on nodes stay there, as in an in-place resize."""

from __future__ import annotations

from collections.abc import Mapping

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster
from kschedweb.engine.studies.prepare.workloads import Workloads

Amounts = Mapping[str, str]


def set_requests(cluster: ScenarioCluster, workloads: Workloads, action: parts.SetRequests, at: float) -> None:
    """Set the requests of the workload's pods, both those of time 0 and those that its controller makes later."""
    if at > 0.0:
        raise PartError("requests are set at the beginning: leave `at` out")
    raw, pods = workloads.find_workload(action.workload)
    specs = [get_mapping(pod, "spec") for pod in pods.values()]
    if raw is not None:
        specs.append(get_mapping(get_mapping(get_mapping(raw, "spec"), "template"), "spec"))
    container_names = {str(container.get("name")) for spec in specs for container in _list_containers(spec)}
    for name in action.containers:
        if name not in container_names:
            available = ", ".join(sorted(container_names)) or "none"
            raise PartError(f"there is no container {name}; containers are {available}", f"containers.{name}")
    for key, pod in pods.items():
        if key not in cluster.bound and key not in cluster.waiting:
            continue  # Its recorded end depends on the requests that it had.
        workloads.replace_pod(key, {**pod, "spec": resize_spec(get_mapping(pod, "spec"), action.containers)})
    if raw is not None:
        spec = get_mapping(raw, "spec")
        template = get_mapping(spec, "template")
        inner = resize_spec(get_mapping(template, "spec"), action.containers)
        place = next(key for key, manifest in cluster.others.items() if manifest is raw)
        cluster.others[place] = {**raw, "spec": {**spec, "template": {**template, "spec": inner}}}


def resize_spec(spec: Json, containers: Mapping[str, Amounts]) -> Json:
    """Return the pod ``spec`` with other requests; a limit keeps its ratio to the request, and is never below it."""
    resized_spec: Json = dict(spec)
    for listed in ("containers", "initContainers"):
        if listed in spec:
            resized_spec[listed] = [
                _resize_container(container, containers[name])
                if (name := str(container.get("name"))) in containers
                else container
                for container in get_objects(spec, listed)
            ]
    return resized_spec


def _resize_container(container: Json, amounts: Amounts) -> Json:
    resources = get_mapping(container, "resources")
    requests, limits = dict(get_mapping(resources, "requests")), dict(get_mapping(resources, "limits"))
    for resource, amount in amounts.items():
        if resource in limits:
            # Without a request, the API server takes the limit for it.
            before = requests.get(resource, limits[resource])
            limits[resource] = scale_limit(str(limits[resource]), str(before), amount, resource)
        requests[resource] = amount
    return {**container, "resources": {**resources, "requests": requests, **({"limits": limits} if limits else {})}}


def scale_limit(limit: str, before: str, after: str, resource: str) -> str:
    """Return the limit that is to ``after`` as ``limit`` is to ``before``.

    It is rounded up to whole millicores of CPU, else to whole units.
    """
    had, gets, limit_nano = parse_quantity(before), parse_quantity(after), parse_quantity(limit)
    amount = max(gets, limit_nano * gets // had) if had > 0 else max(gets, limit_nano)
    if resource == "cpu":
        return f"{-(-amount // (NANO // 1000))}m"
    return str(-(-amount // NANO))


def _list_containers(spec: Json) -> list[Json]:
    return [container for listed in ("containers", "initContainers") for container in get_objects(spec, listed)]
