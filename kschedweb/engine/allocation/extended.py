"""The claim for a pod's extended resources, which devices provide on nodes without a device plugin for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kschedweb.engine.objects.devicerequests import DeviceChoice, DeviceRequest
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.resources import Container
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A container's use of a request's devices for its extended resource; the fields are those of a pod's status."""

    container: str
    resource: str
    request: str


def requests_and_uses(
    pod: Pod, resources: Collection[str], classes: Mapping[str, str]
) -> tuple[tuple[DeviceRequest, ...], tuple[ResourceUse, ...]]:
    """Return the requests for the devices behind ``resources``, and the containers that use them.

    ``classes`` has the DeviceClass of each resource. Init containers that end before others start use the devices of
    those after them.
    """
    inits, regular_containers = pod.resources.init_containers, pod.resources.containers
    containers = (*inits, *regular_containers)
    lasting = [place for place, container in enumerate(containers) if place >= len(inits) or container.sidecar]
    device_requests: list[DeviceRequest] = []
    uses: list[ResourceUse] = []
    for resource in sorted(resources):
        requests_by_place: dict[int, DeviceRequest] = {}
        for place in lasting:
            request = _create_request(place, containers[place], resource, classes[resource], 0)
            if request is not None:
                requests_by_place[place] = request
                uses.append(ResourceUse(containers[place].name, resource, request.name))
        passing = [
            _ShortLivedContainer(place, containers[place], resource, requests_by_place)
            for place in range(len(containers))
        ]
        passing = [container for container in passing if container.place not in lasting and container.amount]
        own_requests = [
            request for container in passing if (request := container.create_request(classes[resource])) is not None
        ]
        # They run one after the other, so they share the largest request.
        largest = max(own_requests, key=lambda request: request.choices[0].count, default=None)
        for container in passing:
            uses += container.list_uses(largest)
        device_requests += [*([] if largest is None else [largest]), *requests_by_place.values()]
    return tuple(sorted(device_requests, key=lambda request: request.name)), tuple(uses)


class _ShortLivedContainer:
    """A container that ends before those after it start; it first uses devices of theirs for its ``resource``."""

    def __init__(
        self, place: int, container: Container, resource: str, requests_by_place: Mapping[int, DeviceRequest]
    ) -> None:
        self.place, self._container, self._resource = place, container, resource
        self.amount = _count_devices(container, resource)
        self._reused, self._usable = [], 0
        for later, request in requests_by_place.items():
            if later >= place and self._usable < self.amount:
                self._reused.append(request)
                self._usable += request.choices[0].count

    def create_request(self, device_class: str) -> DeviceRequest | None:
        """Return the request for what the devices of others do not cover; None if they cover all."""
        return _create_request(self.place, self._container, self._resource, device_class, self._usable)

    def list_uses(self, largest: DeviceRequest | None) -> Iterator[ResourceUse]:
        own_requests = [] if largest is None or self._usable >= self.amount else [largest]
        listed: Sequence[DeviceRequest] = [*self._reused, *own_requests]
        return (ResourceUse(self._container.name, self._resource, request.name) for request in listed)


def _count_devices(container: Container, resource: str) -> int:
    """Return the number of devices that the container requests; 0 if it is not an integer."""
    amount, remainder = divmod(container.requests.get(resource, 0), NANO)
    return 0 if remainder else amount


def _create_request(
    place: int, container: Container, resource: str, device_class: str, usable: int
) -> DeviceRequest | None:
    """Return the container's request beyond the ``usable`` devices of others; None if there is nothing left."""
    amount = _count_devices(container, resource)
    if amount <= usable:
        return None
    name = f"container-{place}-request-{sorted(container.requests).index(resource)}"
    choice = DeviceChoice(name, device_class, count=amount - usable)
    return DeviceRequest(name, (choice,), exact=True)
