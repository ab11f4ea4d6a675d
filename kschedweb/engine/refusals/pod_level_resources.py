"""The API server's refusals of resources that a pod requests as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kschedweb.engine.cel.quantities import Quantity
from kschedweb.engine.objects.resources import is_pod_level
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.resources import (
    HUGE,
    Amounts,
    read_amounts,
    read_requests,
    requirement_problems,
    standard_name_problems,
)
from kschedweb.engine.validation.fields import Problem, forbidden, invalid, unsupported

SUPPORTED_RESOURCES = ("cpu", HUGE, "memory")


def pod_level_problems(spec: FieldValue, *, template: bool) -> Iterator[Problem]:
    """Yield the problems of a pod's ``resources``, by themselves and beside those of its containers."""
    resources = spec["resources"]
    if not resources.is_given:
        return
    if resources["claims"].is_given:
        yield forbidden(resources.path_to("claims"), "claims may not be set for Resources at pod-level")
    requests, limits = read_amounts(resources["requests"]), read_amounts(resources["limits"])
    container_requests = aggregate_containers(
        spec, lambda container_resources: read_requests(container_resources, complete=not template)
    )
    container_limits = aggregate_containers(
        spec, lambda container_resources: read_amounts(container_resources["limits"])
    )
    if not template and (requests or limits):
        requests, limits = _fill_from_containers(spec, requests, limits, container_requests, container_limits)
    yield from requirement_problems(resources, requests, limits, _name_problems)
    yield from _less_problems(resources["requests"], requests, container_requests)
    yield from _less_problems(
        resources["limits"],
        limits,
        {name: container_limits[name] for name in container_limits if name.startswith(HUGE)},
    )
    for at, container in enumerate(spec["containers"].items):
        for name, value in read_amounts(container["resources"]["limits"]).items():
            if name in limits and value.compare(limits[name]) > 0:
                path = f"{resources.path}.containers[{at}][{name}].limits"
                yield invalid(path, str(value), f"must be less than or equal to pod limits of {limits[name]}")


def _fill_from_containers(
    spec: FieldValue, requests: Amounts, limits: Amounts, container_requests: Amounts, container_limits: Amounts
) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """Return the pod's requests and limits, completed from its containers as the API server does.

    ``container_requests`` and ``container_limits`` are the containers' aggregates.
    """
    huge = {name: value for name, value in container_limits.items() if name.startswith(HUGE) and name not in requests}
    limits = {**huge, **limits}
    shared = {name: value for name, value in container_requests.items() if name in ("cpu", "memory")}
    requests = {**{name: value for name, value in limits.items() if is_pod_level(name)}, **shared, **requests}
    containers = (*spec["containers"].items, *spec["initContainers"].items)
    limited = set(container_limits).intersection(
        *(read_amounts(container["resources"]["limits"]) for container in containers)
    )
    for name in sorted(limited & requests.keys() - limits.keys()):
        if is_pod_level(name):
            limits[name] = max(requests[name], container_limits[name], key=lambda quantity: quantity.nano)
    return requests, limits


def _less_problems(listed: FieldValue, pod_amounts: Amounts, container_amounts: Amounts) -> Iterator[Problem]:
    """Yield the resources that the pod has less of than its containers together."""
    list_name = listed.path.rpartition(".")[2]
    for name, value in container_amounts.items():
        if name in pod_amounts and value.compare(pod_amounts[name]) > 0:
            message = f"must be greater than or equal to aggregate container {list_name} of {value}"
            yield invalid(listed.path_of_key(name), str(pod_amounts[name]), message)


def aggregate_containers(spec: FieldValue, get_amounts: Callable[[FieldValue], Amounts]) -> dict[str, Quantity]:
    """Return the aggregate of a pod's containers, as `AggregateContainerRequests` does.

    Containers that run together are summed up; an init container counts where it needs more than these.
    """
    running: dict[str, Quantity] = {}
    for container in spec["containers"].items:
        _add_amounts(running, get_amounts(container["resources"]))
    sidecars: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for init in spec["initContainers"].items:
        init_amounts = get_amounts(init["resources"])
        if init["restartPolicy"].text == "Always":
            _add_amounts(running, init_amounts)
            _add_amounts(sidecars, init_amounts)
            # Sidecars stay, so a later init container runs beside all of those before it.
            init_amounts = sidecars
        else:
            init_amounts = _add_amounts(dict(init_amounts), sidecars)
        _raise_to_maximum(starting, init_amounts)
    return _raise_to_maximum(running, starting)


def _add_amounts(total: dict[str, Quantity], more: Amounts) -> dict[str, Quantity]:
    for name, value in more.items():
        total[name] = total[name].plus(value) if name in total else value
    return total


def _raise_to_maximum(maximum: dict[str, Quantity], other: Amounts) -> dict[str, Quantity]:
    for name, value in other.items():
        if name not in maximum or value.compare(maximum[name]) > 0:
            maximum[name] = value
    return maximum


def _name_problems(path: str, name: str) -> Iterator[Problem]:
    wrong = list(standard_name_problems(path, name))
    yield from wrong
    if not wrong and not is_pod_level(name):
        yield unsupported(path, name, SUPPORTED_RESOURCES)
