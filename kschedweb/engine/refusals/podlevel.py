"""What the API server refuses of resources that a pod asks for as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kschedweb.engine.cel.quantities import Quantity
from kschedweb.engine.objects.resources import pod_level
from kschedweb.engine.refusals.part import Part
from kschedweb.engine.refusals.resources import (
    HUGE,
    Amounts,
    amounts,
    requested,
    requirement_problems,
    standard_name_problems,
)
from kschedweb.engine.validation.fields import Problem, forbidden, invalid, unsupported

KNOWN = ("cpu", HUGE, "memory")


def pod_level_problems(spec: Part, *, template: bool) -> Iterator[Problem]:
    """``resources`` of a pod, by themselves and beside those of its containers."""
    resources = spec["resources"]
    if not resources.given:
        return
    if resources["claims"].given:
        yield forbidden(resources.to("claims"), "claims may not be set for Resources at pod-level")
    requests, limits = amounts(resources["requests"]), amounts(resources["limits"])
    asked = together(spec, lambda one: requested(one, complete=not template))
    most = together(spec, lambda one: amounts(one["limits"]))
    if not template and (requests or limits):
        requests, limits = _filled(spec, requests, limits, asked, most)
    yield from requirement_problems(resources, requests, limits, _name_problems)
    yield from _less_problems(resources["requests"], requests, asked)
    yield from _less_problems(resources["limits"], limits, {name: most[name] for name in most if name.startswith(HUGE)})
    for at, container in enumerate(spec["containers"].items):
        for name, value in amounts(container["resources"]["limits"]).items():
            if name in limits and value.compare(limits[name]) > 0:
                path = f"{resources.path}.containers[{at}][{name}].limits"
                yield invalid(path, str(value), f"must be less than or equal to pod limits of {limits[name]}")


def _filled(
    spec: Part, requests: Amounts, limits: Amounts, asked: Amounts, most: Amounts
) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """The pod's requests and limits with what the API server takes from its containers: ``asked`` and ``most``."""
    huge = {name: value for name, value in most.items() if name.startswith(HUGE) and name not in requests}
    limits = {**huge, **limits}
    shared = {name: value for name, value in asked.items() if name in ("cpu", "memory")}
    requests = {**{name: value for name, value in limits.items() if pod_level(name)}, **shared, **requests}
    containers = (*spec["containers"].items, *spec["initContainers"].items)
    limited = set(most).intersection(*(amounts(one["resources"]["limits"]) for one in containers))
    for name in sorted(limited & requests.keys() - limits.keys()):
        if pod_level(name):
            limits[name] = max(requests[name], most[name], key=lambda one: one.nano)
    return requests, limits


def _less_problems(listed: Part, found: Amounts, least: Amounts) -> Iterator[Problem]:
    """What is less for the pod than its containers together have."""
    which = listed.path.rpartition(".")[2]
    for name, value in least.items():
        if name in found and value.compare(found[name]) > 0:
            said = f"must be greater than or equal to aggregate container {which} of {value}"
            yield invalid(listed.under(name), str(found[name]), said)


def together(spec: Part, of: Callable[[Part], Amounts]) -> dict[str, Quantity]:
    """What the containers of a pod come to: those that run together summed up, or what a start needs where more."""
    running: dict[str, Quantity] = {}
    for container in spec["containers"].items:
        _add(running, of(container["resources"]))
    beside: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for init in spec["initContainers"].items:
        own = of(init["resources"])
        if init["restartPolicy"].text == "Always":
            _add(running, own)
            _add(beside, own)
            own = beside
        else:
            own = _add(dict(own), beside)
        _raise(starting, own)
    return _raise(running, starting)


def _add(found: dict[str, Quantity], more: Amounts) -> dict[str, Quantity]:
    for name, value in more.items():
        found[name] = found[name].plus(value) if name in found else value
    return found


def _raise(found: dict[str, Quantity], other: Amounts) -> dict[str, Quantity]:
    for name, value in other.items():
        if name not in found or value.compare(found[name]) > 0:
            found[name] = value
    return found


def _name_problems(path: str, name: str) -> Iterator[Problem]:
    wrong = list(standard_name_problems(path, name))
    yield from wrong
    if not wrong and not pod_level(name):
        yield unsupported(path, name, KNOWN)
