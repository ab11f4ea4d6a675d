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
    """A container has the devices of ``request`` for its extended resource; the fields are those of a pod's status."""

    container: str
    resource: str
    request: str


def requests_and_uses(
    pod: Pod, resources: Collection[str], classes: Mapping[str, str]
) -> tuple[tuple[DeviceRequest, ...], tuple[ResourceUse, ...]]:
    """The requests for the devices behind ``resources``, and which container uses which.

    ``classes`` names the DeviceClass of each resource.
    Init containers that end before others start use the devices of those that follow them.
    """
    inits, others = pod.resources.init_containers, pod.resources.containers
    containers = (*inits, *others)
    lasting = [place for place, one in enumerate(containers) if place >= len(inits) or one.sidecar]
    found: list[DeviceRequest] = []
    uses: list[ResourceUse] = []
    for resource in sorted(resources):
        kept: dict[int, DeviceRequest] = {}
        for place in lasting:
            request = _request(place, containers[place], resource, classes[resource], 0)
            if request is not None:
                kept[place] = request
                uses.append(ResourceUse(containers[place].name, resource, request.name))
        passing = [_Passing(place, containers[place], resource, kept) for place in range(len(containers))]
        passing = [one for one in passing if one.place not in lasting and one.amount]
        own = [request for one in passing if (request := one.request(classes[resource])) is not None]
        # They run one after the other, and so share the largest request.
        largest = max(own, key=lambda request: request.choices[0].count, default=None)
        for one in passing:
            uses += one.uses(largest)
        found += [*([] if largest is None else [largest]), *kept.values()]
    return tuple(sorted(found, key=lambda request: request.name)), tuple(uses)


class _Passing:
    """A container that ends before those after it start, and its ``resource``: it uses devices of theirs first."""

    def __init__(self, place: int, container: Container, resource: str, kept: Mapping[int, DeviceRequest]) -> None:
        self.place, self._container, self._resource = place, container, resource
        self.amount = _amount(container, resource)
        self._reused, self._usable = [], 0
        for later, request in kept.items():
            if later >= place and self._usable < self.amount:
                self._reused.append(request)
                self._usable += request.choices[0].count

    def request(self, device_class: str) -> DeviceRequest | None:
        """For what is missing beyond the devices of others; ``None`` for nothing."""
        return _request(self.place, self._container, self._resource, device_class, self._usable)

    def uses(self, largest: DeviceRequest | None) -> Iterator[ResourceUse]:
        own = [] if largest is None or self._usable >= self.amount else [largest]
        listed: Sequence[DeviceRequest] = [*self._reused, *own]
        return (ResourceUse(self._container.name, self._resource, request.name) for request in listed)


def _amount(container: Container, resource: str) -> int:
    """How many devices the container asks for; nothing where it is no whole number."""
    amount, rest = divmod(container.requests.get(resource, 0), NANO)
    return 0 if rest else amount


def _request(place: int, container: Container, resource: str, device_class: str, usable: int) -> DeviceRequest | None:
    """What the container asks for beyond the ``usable`` devices of others; ``None`` for nothing."""
    amount = _amount(container, resource)
    if amount <= usable:
        return None
    name = f"container-{place}-request-{sorted(container.requests).index(resource)}"
    choice = DeviceChoice(name, device_class, count=amount - usable)
    return DeviceRequest(name, (choice,), exact=True)
