"""The existing nodes as columns in the order they are tried, and the pods that a solve puts on them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from math import inf

import numpy as np

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints
from kschedweb.engine.autoscaling.cluster.pods import PENDING, PodView
from kschedweb.engine.autoscaling.cluster.state_nodes import INITIALIZED_CONDITION, StateNode, sum_requests
from kschedweb.engine.autoscaling.cluster.volumes import Attached, Storage
from kschedweb.engine.autoscaling.offers.amounts import Milli, subtract_amounts
from kschedweb.engine.autoscaling.offers.catalogue import Column, Mask, to_column
from kschedweb.engine.autoscaling.offers.requirements import Requirement, Requirements
from kschedweb.engine.autoscaling.provisioning.refusals import SchedulingRefusal
from kschedweb.engine.autoscaling.provisioning.topology import Topology
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.objects.taints import Taint

NOTHING_KNOWN: frozenset[str] = frozenset()
# Addresses that stand for all addresses of a node.
_UNSPECIFIED = ("0.0.0.0", "::")  # noqa: S104


class ExistingNodes:
    """The machines that stay, initialized ones first, then by name. Cells of columns are in this order."""

    def __init__(self, world: ClusterState, daemons: Sequence[tuple[PodView, PodConstraints]]) -> None:
        self.world = world
        self.machines = sorted(
            world.active_nodes, key=lambda state_node: (not state_node.is_initialized, state_node.name)
        )
        self.places = {state_node.name: place for place, state_node in enumerate(self.machines)}
        self._remaining = [_remaining_amounts(state_node, daemons) for state_node in self.machines]
        # False where more than all of a resource is used: such a machine takes no pod.
        self.takes_pods = np.array(
            [min(amounts.values(), default=0) >= 0 for amounts in self._remaining], dtype=np.bool_
        )
        self.settling = np.array([_is_settling(world, state_node) for state_node in self.machines], dtype=np.bool_)
        # Free amounts by resource, in milli-units.
        self._free: dict[str, Column] = {}
        # Machines that a requirement, or all constraints of a pod, accept.
        self._masks_by_requirement: dict[Hashable, Mask] = {}
        self._masks_by_constraints: dict[tuple[PodConstraints, bool], Mask] = {}
        self._places_by_taints: dict[tuple[Taint, ...], list[int]] = {}
        for place, state_node in enumerate(self.machines):
            self._places_by_taints.setdefault(state_node.taints, []).append(place)

    def free_column(self, name: str) -> Column:
        """Return the free amount of a resource on each machine, in milli-units; read only."""
        if name not in self._free:
            self._free[name] = to_column([amounts.get(name, 0) for amounts in self._remaining])
        return self._free[name]

    def find_compatible(self, wants: PodConstraints, pod_requirements: Requirements) -> Mask:
        """Return the machines whose taints the pod tolerates and whose labels it accepts."""
        # Constraints have two kinds of requirements, with and without preferences, so this key tells all apart.
        key = wants, pod_requirements is wants.strict_requirements
        if key not in self._masks_by_constraints:
            mask = self._tolerated_mask(wants)
            for requirement in pod_requirements.values():
                mask = mask & self._labelled_mask(requirement)
            self._masks_by_constraints[key] = mask
        return self._masks_by_constraints[key]

    def _tolerated_mask(self, wants: PodConstraints) -> Mask:
        mask = np.zeros(len(self.machines), dtype=np.bool_)
        for taints, places in self._places_by_taints.items():
            mask[places] = wants.tolerates(taints)
        return mask

    def _labelled_mask(self, requirement: Requirement) -> Mask:
        if requirement.rule not in self._masks_by_requirement:
            values = (state_node.known_labels.get(requirement.key) for state_node in self.machines)
            meets = [requirement.excludes if value is None else requirement.has(value) for value in values]
            self._masks_by_requirement[requirement.rule] = np.array(meets, dtype=np.bool_)
        return self._masks_by_requirement[requirement.rule]


class ExistingNodePlacements:
    """The existing nodes during one solve: without the removed machines, with the pods placed so far."""

    def __init__(self, fleet: ExistingNodes, removed: Collection[str], *, consolidating: bool) -> None:
        self.fleet, self.pods = fleet, dict[int, list[PodView]]()
        self._consolidating = consolidating
        self._usable = fleet.takes_pods.copy()
        self._usable[[fleet.places[name] for name in removed if name in fleet.places]] = False
        self._removed = removed
        self._free: dict[str, Column] = {}
        # Only what differs from the fleet's, which every solve shares: most solves touch few machines.
        self._narrowed: dict[int, Requirements] = {}
        self._ports: dict[int, list[Port]] = {}
        self._attached: dict[int, Attached] = {}

    def list_hostnames(self) -> Iterator[str]:
        """Return the host names of the machines that stay."""
        return (state_node.hostname for state_node in self.fleet.machines if state_node.name not in self._removed)

    def by_name(self) -> dict[str, list[PodView]]:
        return {self.fleet.machines[place].name: pods for place, pods in self.pods.items()}

    def place_pod(
        self,
        pod: PodView,
        wants: PodConstraints,
        pod_requirements: Requirements,
        topology: Topology,
        volumes: Sequence[Requirements],
    ) -> bool:
        """Put the pod on the first machine that accepts it; return whether there is one."""
        usable = self._usable_mask(pod, wants, pod_requirements)
        # A plain pod depends on columns only, so that the first machine of the mask is the answer.
        is_plain = not volumes and not pod.volumes and not pod.pod_data.ports and not topology.concerns(pod)
        if is_plain:
            place = int(usable.argmax()) if len(usable) else 0
            if not len(usable) or not usable[place]:
                return False
            self._add_pod(place, pod, pod_requirements, None, topology)
            return True
        for usable_place in np.flatnonzero(usable).tolist():
            accepted = self._narrow_node(usable_place, pod, wants, pod_requirements, topology, volumes)
            if accepted is not None:
                self._add_pod(usable_place, pod, pod_requirements, accepted, topology)
                return True
        return False

    def _usable_mask(self, pod: PodView, wants: PodConstraints, pod_requirements: Requirements) -> Mask:
        fleet = self.fleet
        compatible = fleet.find_compatible(wants, pod_requirements)
        # A pod may have given a machine labels that it did not have; the shared masks do not know these.
        for place, requirements in self._narrowed.items():
            if compatible[place] != (accepts := requirements.is_compatible(pod_requirements)):
                compatible = compatible.copy()
                compatible[place] = accepts and wants.tolerates(fleet.machines[place].taints)
        mask = self._usable & compatible
        # While consolidateAfter of a node runs, consolidation moves no running pods there.
        if self._consolidating and pod.phase != PENDING and pod.node not in fleet.world.terminating_nodes:
            mask &= ~fleet.settling
        for name, amount in pod.pod_data.requests.items():
            if amount > 0:
                mask &= self.free_column(name) >= amount
        return mask

    def free_column(self, name: str) -> Column:
        """Return what is left of a resource on each machine, in milli-units; read only."""
        return self._free[name] if name in self._free else self.fleet.free_column(name)

    def _narrow_node(
        self,
        place: int,
        pod: PodView,
        wants: PodConstraints,
        pod_requirements: Requirements,
        topology: Topology,
        volumes: Sequence[Requirements],
    ) -> Requirements | None:
        """Return the requirements of the machine with the pod on it.

        None if ports, volumes or topology exclude the pod.
        """
        machine = self.fleet.machines[place]
        if has_port_conflict(pod.pod_data.ports, self._ports_of(place, machine)) or self._exceeds_volume_limits(
            place, machine, pod
        ):
            return None
        base = (self._narrowed.get(place) or machine.requirements).copy()
        base.add(pod_requirements.values())
        for alternative in volumes or (None,):
            requirements = base
            if alternative is not None:
                if not base.is_compatible(alternative):
                    continue
                requirements = base.copy()
                requirements.add(alternative.values())
            narrowed = topology.add_requirements(pod, wants, requirements, NOTHING_KNOWN)
            if not isinstance(narrowed, SchedulingRefusal):
                return narrowed
        return None

    def _add_pod(
        self,
        place: int,
        pod: PodView,
        pod_requirements: Requirements,
        requirements: Requirements | None,
        topology: Topology,
    ) -> None:
        machine = self.fleet.machines[place]
        self.pods.setdefault(place, []).append(pod)
        for name, amount in pod.pod_data.requests.items():
            if amount:
                if name not in self._free:
                    self._free[name] = self.fleet.free_column(name).copy()
                self._free[name][place] -= amount
        current = self._narrowed.get(place) or machine.requirements
        if (requirements is None and topology.groups) or not pod_requirements.keys() <= current.keys():
            requirements = current.copy() if requirements is None else requirements
            requirements.add(pod_requirements.values())
        if requirements is not None:
            if requirements.keys() - current.keys():
                self._narrowed[place] = requirements
            topology.record(pod, machine.taints, requirements)
        if pod.pod_data.ports:
            self._ports[place] = [*self._ports_of(place, machine), *pod.pod_data.ports]
        if pod.volumes:
            self._attached[place] = _merge_attached(
                self._attached_to(place, machine), self._storage.find_attached([pod])
            )

    @property
    def _storage(self) -> Storage:
        return self.fleet.world.storage

    def _ports_of(self, place: int, machine: StateNode) -> list[Port]:
        ports = self._ports.get(place)
        return [port for pod in machine.counted_pods for port in pod.pod_data.ports] if ports is None else ports

    def _attached_to(self, place: int, machine: StateNode) -> Attached:
        attached = self._attached.get(place)
        return self._storage.find_attached(machine.counted_pods) if attached is None else attached

    def _exceeds_volume_limits(self, place: int, machine: StateNode, pod: PodView) -> bool:
        """Return whether a driver could not attach the pod's volumes too."""
        if not pod.volumes or machine.node is None:
            return False
        limits = self._storage.limits.get(machine.node.name, {})
        total = _merge_attached(self._attached_to(place, machine), self._storage.find_attached([pod]))
        return any(len(total.get(driver, ())) > limit for driver, limit in limits.items())


def has_port_conflict(ports: Iterable[Port], used_ports: Iterable[Port]) -> bool:
    """Return whether a wanted host port is taken."""
    return any(
        port[1:] == other[1:] and (port[0] == other[0] or port[0] in _UNSPECIFIED or other[0] in _UNSPECIFIED)
        for port in ports
        for other in used_ports
    )


def _remaining_amounts(machine: StateNode, daemons: Sequence[tuple[PodView, PodConstraints]]) -> Milli:
    """Return what is free for pods, less what daemons that are still to come will take."""
    coming = sum_requests(
        pod
        for pod, wants in daemons
        if wants.tolerates(machine.taints)
        and Requirements.of_labels(machine.labels).is_compatible(wants.strict_requirements)
    )
    running = sum_requests(pod for pod in machine.counted_pods if pod.daemon)
    return subtract_amounts(
        machine.free, {name: max(amount - running.get(name, 0), 0) for name, amount in coming.items()}
    )


def _is_settling(world: ClusterState, machine: StateNode) -> bool:
    """Return whether consolidateAfter of the NodePool has not passed since the last pod event."""
    pool, claim = world.pools_by_name.get(machine.pool), machine.claim
    if pool is None or pool not in world.usable_pools or claim is None or not pool.consolidate_after:
        return False
    if not claim.is_condition_true(INITIALIZED_CONDITION):
        return False
    since = claim.last_pod_event
    if since is None:
        since = claim.conditions[INITIALIZED_CONDITION][1]
    return world.now - (-inf if since is None else since) < pool.consolidate_after


def _merge_attached(first: Attached, other: Attached) -> Attached:
    return {driver: first.get(driver, set()) | other.get(driver, set()) for driver in first.keys() | other.keys()}
