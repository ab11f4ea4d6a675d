"""The claim for a pod's extended resources, which devices provide on nodes without a device plugin for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kschedweb.engine.objects.devicerequests import DeviceChoice, DeviceRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resources import Container


def device_requests(pod: Pod, resources: Collection[str], classes: Mapping[str, str]) -> tuple[DeviceRequest, ...]:
    """The requests for the devices behind ``resources``; ``classes`` names the DeviceClass of each.

    Init containers that end before others start use the devices of those that follow them.
    """
    inits, others = pod.resources.init_containers, pod.resources.containers
    containers = (*inits, *others)
    lasting = [place for place, one in enumerate(containers) if place >= len(inits) or one.sidecar]
    found: list[DeviceRequest] = []
    for resource in sorted(resources):
        kept: dict[int, DeviceRequest] = {}
        for place in lasting:
            request = _request(place, containers[place], resource, classes[resource], 0)
            if request is not None:
                kept[place] = request
        largest: DeviceRequest | None = None
        for place in range(len(containers)):
            if place in lasting:
                continue
            usable = sum(request.choices[0].count for later, request in kept.items() if later >= place)
            request = _request(place, containers[place], resource, classes[resource], usable)
            if request is not None and (largest is None or request.choices[0].count > largest.choices[0].count):
                largest = request
        found += [*([] if largest is None else [largest]), *kept.values()]
    return tuple(sorted(found, key=lambda request: request.name))


def _request(place: int, container: Container, resource: str, device_class: str, usable: int) -> DeviceRequest | None:
    """What the container asks for beyond the ``usable`` devices of others; ``None`` for nothing."""
    amount, rest = divmod(container.requests.get(resource, 0), NANO)
    if rest or amount <= usable:
        return None
    name = f"container-{place}-request-{sorted(container.requests).index(resource)}"
    choice = DeviceChoice(name, device_class, count=amount - usable)
    return DeviceRequest(name, (choice,), exact=True)
