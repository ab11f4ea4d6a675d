"""A new node while pods are put on it: what is required of it, and which instance types can still be it."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.wants import Wants
from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.offers.amounts import Milli, Shown, added, least, merged
from kschedweb.engine.autoscaling.offers.catalogue import Mask
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, RESERVATION, RESERVED
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, requirement
from kschedweb.engine.autoscaling.provisioning.filtering import Filtered, filtered
from kschedweb.engine.autoscaling.provisioning.ground import Template
from kschedweb.engine.autoscaling.provisioning.refusals import Refusal, refused
from kschedweb.engine.autoscaling.provisioning.reservations import Reservations
from kschedweb.engine.autoscaling.provisioning.topology import Topology
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.values import dataclass

HELD = "one or more instance types with compatible reserved offerings are available, but could not be reserved"
FULL = "all compatible reserved offerings are full and no on-demand or spot fallback is available"
FALLING_THROUGH = "the only compatible reserved offering is full; falling through to other NodePools"
LOST = "satisfying updated nodeclaim constraints would remove all compatible reserved offering options"


@dataclass(frozen=True, slots=True)
class Fit:
    """What a new node becomes with one more pod. ``reserved`` are the reservations it would hold."""

    requirements: Requirements
    types: Mask
    reserved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What new nodes of one try share. ``strict``: a pod waits rather than doing without a reservation."""

    world: World
    topology: Topology
    reservations: Reservations
    strict: bool


class NewNode:
    """A NodeClaim that would be created."""

    def __init__(self, template: Template, types: Mask, host: str, around: Circumstances) -> None:
        self.template, self.types, self.host, self._around = template, types, host, around
        self.requirements = template.requirements.copy()
        self.requirements.add([requirement(HOSTNAME, IN, (host,))])
        self.pods: list[PodView] = []
        self.used: Milli = {}
        self._ports: list[Port] = []
        self._reserved: tuple[str, ...] = ()
        self._room: Milli = {}

    def hopeless(self, pod: PodView) -> bool:
        """Whether no type has room for the pod, which is quickly seen."""
        for name, amount in pod.asking.requests.items():
            if name not in self._room:
                self._room[name] = self.template.catalogue.roomiest(self.types, name) - self.used.get(name, 0)
            if amount > self._room[name]:
                return True
        return False

    def fit(
        self, pod: PodView, wants: Wants, asked: Requirements, volumes: Sequence[Requirements], *, relax: bool
    ) -> Fit | Refusal:
        """What becomes of the node with the pod; ``relax``: minValues that cannot be met are lowered."""
        taints = self.template.pool.taints
        if not wants.tolerates(taints):
            return refused(wants.intolerance(taints))
        known = self._around.world.known
        if not self.requirements.compatible(asked, known):
            return refused(f"incompatible requirements, {self.requirements.conflict(asked, known)}")
        base = self.requirements.copy()
        base.add(asked.values())
        last: Fit | Refusal = refused("")
        for alternative in volumes or (Requirements(),):
            last = self._with_volumes(pod, wants, base, alternative, relax)
            if isinstance(last, Fit):
                break
        return last

    def add(self, pod: PodView, fit: Fit) -> None:
        """Put the pod on the node."""
        around = self._around
        self.pods.append(pod)
        self.types, self.requirements = fit.types, fit.requirements
        self.used = added(self.used, pod.asking.requests)
        around.topology.register([self.host])
        around.topology.record(pod, self.template.pool.taints, fit.requirements)
        self._ports += pod.asking.ports
        self._room = {}
        around.reservations.hold(self.host, fit.reserved)
        self._reserved = fit.reserved

    def finish(self) -> None:
        """All pods are placed: the host name was for topology alone, reservations are asked for."""
        self.requirements.pop(HOSTNAME, None)
        if self._reserved:
            self.requirements[CAPACITY_TYPE] = requirement(CAPACITY_TYPE, IN, (RESERVED,))
            self.requirements.add([requirement(RESERVATION, IN, self._reserved)])

    def requests(self) -> Shown:
        """What its pods ask for, and the least that daemons do on any of its types."""
        smallest: Shown = {}
        for group in self.template.groups:
            if (group.types & self.types).any():
                smallest = least(smallest, group.written) if smallest else group.written
        return merged(*(pod.asking.written for pod in self.pods), smallest)

    def _with_volumes(
        self, pod: PodView, wants: Wants, base: Requirements, volumes: Requirements, relax: bool
    ) -> Fit | Refusal:
        around, found = self._around, base
        if volumes:
            if not base.compatible(volumes, around.world.known):
                return refused(f"incompatible volume requirements, {base.conflict(volumes, around.world.known)}")
            found = base.copy()
            found.add(volumes.values())
        narrowed = around.topology.narrow(pod, wants, found, around.world.known)
        if isinstance(narrowed, Refusal):
            return narrowed
        kept = filtered(self.template, self.types, narrowed, pod, self.used, self._ports, relax=relax)
        if not isinstance(kept, Filtered):
            return kept
        for key, number in kept.short.items():
            narrowed[key] = narrowed[key].wanting(number)
        reserved = self._reservable(kept.types, narrowed)
        return reserved if isinstance(reserved, Refusal) else Fit(narrowed, kept.types, reserved)

    def _reservable(self, types: Mask, wanted: Requirements) -> tuple[str, ...] | Refusal:
        """The reservations that the node could hold a slot of."""
        catalogue, around = self.template.catalogue, self._around
        if not catalogue.reserves:
            return ()
        places, fallback = catalogue.reserved(types, wanted)
        found = [catalogue.reservation(place) for place in places]
        usable = [identity for identity, slots in found if slots > 0]
        held = tuple(identity for identity in usable if around.reservations.free(self.host, identity))
        if around.strict and usable and not held:
            return refused(HELD, reserved=True)
        if found and not usable and not fallback:
            return refused(FULL, reserved=True) if around.strict else refused(FALLING_THROUGH)
        if around.strict and self._reserved and not held:
            return refused(LOST, reserved=True)
        return held
