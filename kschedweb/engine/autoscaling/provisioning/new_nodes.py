"""A new node while pods are put on it: its requirements, and the instance types it can still have."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.amounts import Milli, Quantities, add_amounts, min_quantities, sum_quantities
from kschedweb.engine.autoscaling.offers.catalogue import Mask
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE, RESERVATION, RESERVED
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, new_requirement
from kschedweb.engine.autoscaling.provisioning.refusals import SchedulingRefusal, create_refusal
from kschedweb.engine.autoscaling.provisioning.reservations import ReservationManager
from kschedweb.engine.autoscaling.provisioning.scheduling_context import NodeClaimTemplate
from kschedweb.engine.autoscaling.provisioning.topology import Topology
from kschedweb.engine.autoscaling.provisioning.type_filter import FilteredTypes, filter_instance_types
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.values import dataclass

# Karpenter's words.
RESERVATIONS_TAKEN = (
    "one or more instance types with compatible reserved offerings are available, but could not be reserved"
)
FULL = "all compatible reserved offerings are full and no on-demand or spot fallback is available"
FALLING_THROUGH = "the only compatible reserved offering is full; falling through to other NodePools"
LOST = "satisfying updated nodeclaim constraints would remove all compatible reserved offering options"


@dataclass(frozen=True, slots=True)
class NewNodeFit:
    """A new node as it would be with one more pod."""

    requirements: Requirements
    types: Mask
    # The reservations that it would hold.
    reserved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewNodeContext:
    """The state that all new nodes of a solve share."""

    world: ClusterState
    topology: Topology
    reservations: ReservationManager
    # A pod waits rather than doing without a reservation.
    strict: bool


class NewNode:
    """A NodeClaim that would be created."""

    def __init__(self, template: NodeClaimTemplate, types: Mask, host: str, around: NewNodeContext) -> None:
        self.template, self.types, self.host, self._context = template, types, host, around
        self.requirements = template.requirements.copy()
        # The placeholder lets topology by host name treat the node as a domain of its own.
        self.requirements.add([new_requirement(HOSTNAME, IN, (host,))])
        self.pods: list[PodView] = []
        self.used: Milli = {}
        self._ports: list[Port] = []
        self._reserved: tuple[str, ...] = ()
        # The most that any type has left, by resource; cleared with every pod.
        self._room: Milli = {}

    def is_hopeless(self, pod: PodView) -> bool:
        """Return whether no type has room for the pod; a cheap test before the full one."""
        for name, amount in pod.pod_data.requests.items():
            if name not in self._room:
                self._room[name] = self.template.catalogue.find_roomiest(self.types, name) - self.used.get(name, 0)
            if amount > self._room[name]:
                return True
        return False

    def can_add(
        self,
        pod: PodView,
        wants: PodConstraints,
        pod_requirements: Requirements,
        volumes: Sequence[Requirements],
        *,
        relax: bool,
    ) -> NewNodeFit | SchedulingRefusal:
        """Return the node as it would be with the pod; ``relax`` lowers minValues that cannot be met."""
        taints = self.template.pool.taints
        if not wants.tolerates(taints):
            return create_refusal(wants.explain_intolerance(taints))
        well_known_labels = self._context.world.well_known_labels
        if not self.requirements.is_compatible(pod_requirements, well_known_labels):
            return create_refusal(
                f"incompatible requirements, {self.requirements.find_conflict(pod_requirements, well_known_labels)}"
            )
        base = self.requirements.copy()
        base.add(pod_requirements.values())
        last: NewNodeFit | SchedulingRefusal = create_refusal("")
        for alternative in volumes or (Requirements(),):
            last = self._with_volumes(pod, wants, base, alternative, relax)
            if isinstance(last, NewNodeFit):
                break
        return last

    def add(self, pod: PodView, fit: NewNodeFit) -> None:
        """Put the pod on the node."""
        around = self._context
        self.pods.append(pod)
        self.types, self.requirements = fit.types, fit.requirements
        self.used = add_amounts(self.used, pod.pod_data.requests)
        around.topology.register([self.host])
        around.topology.record(pod, self.template.pool.taints, fit.requirements)
        self._ports += pod.pod_data.ports
        self._room = {}
        around.reservations.reserve_slots(self.host, fit.reserved)
        self._reserved = fit.reserved

    def finalize_scheduling(self) -> None:
        """Finish the node: drop the host name, which was for topology only, and require its reservations."""
        self.requirements.pop(HOSTNAME, None)
        if self._reserved:
            self.requirements[CAPACITY_TYPE] = new_requirement(CAPACITY_TYPE, IN, (RESERVED,))
            self.requirements.add([new_requirement(RESERVATION, IN, self._reserved)])

    def compute_requests(self) -> Quantities:
        """Return the requests of its pods, plus the least that daemons request on any of its types."""
        smallest: Quantities = {}
        for group in self.template.groups:
            if (group.types & self.types).any():
                smallest = (
                    min_quantities(smallest, group.overhead_quantities) if smallest else group.overhead_quantities
                )
        return sum_quantities(*(pod.pod_data.request_quantities for pod in self.pods), smallest)

    def _with_volumes(
        self, pod: PodView, wants: PodConstraints, base: Requirements, volumes: Requirements, relax: bool
    ) -> NewNodeFit | SchedulingRefusal:
        around, requirements = self._context, base
        if volumes:
            if not base.is_compatible(volumes, around.world.well_known_labels):
                return create_refusal(
                    f"incompatible volume requirements, {base.find_conflict(volumes, around.world.well_known_labels)}"
                )
            requirements = base.copy()
            requirements.add(volumes.values())
        narrowed = around.topology.add_requirements(pod, wants, requirements, around.world.well_known_labels)
        if isinstance(narrowed, SchedulingRefusal):
            return narrowed
        filtered_types = filter_instance_types(
            self.template, self.types, narrowed, pod, self.used, self._ports, relax=relax
        )
        if not isinstance(filtered_types, FilteredTypes):
            return filtered_types
        for key, number in filtered_types.short.items():
            narrowed[key] = narrowed[key].with_min_values(number)
        reserved = self._offerings_to_reserve(filtered_types.types, narrowed)
        return (
            reserved
            if isinstance(reserved, SchedulingRefusal)
            else NewNodeFit(narrowed, filtered_types.types, reserved)
        )

    def _offerings_to_reserve(self, types: Mask, requirements: Requirements) -> tuple[str, ...] | SchedulingRefusal:
        """Return the reservations of which the node could hold a slot."""
        catalogue, around = self.template.catalogue, self._context
        if not catalogue.reserves:
            return ()
        places, fallback = catalogue.find_reserved(types, requirements)
        reservations = [catalogue.get_reservation(place) for place in places]
        usable = [identity for identity, slots in reservations if slots > 0]
        reservable = tuple(identity for identity in usable if around.reservations.can_reserve(self.host, identity))
        if around.strict and usable and not reservable:
            return create_refusal(RESERVATIONS_TAKEN, reserved=True)
        if reservations and not usable and not fallback:
            return create_refusal(FULL, reserved=True) if around.strict else create_refusal(FALLING_THROUGH)
        if around.strict and self._reserved and not reservable:
            return create_refusal(LOST, reserved=True)
        return reservable
