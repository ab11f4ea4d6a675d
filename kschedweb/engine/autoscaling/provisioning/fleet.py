"""The nodes that are there, as columns in the order in which they are tried, and what a try puts on them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from math import inf

import numpy as np

from kschedweb.engine.autoscaling.cluster.nodes import INITIALIZED_CONDITION, Machine, requested
from kschedweb.engine.autoscaling.cluster.pods import PENDING, PodView
from kschedweb.engine.autoscaling.cluster.volumes import Attached, Storage
from kschedweb.engine.autoscaling.cluster.wants import Wants
from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.offers.amounts import Milli, less
from kschedweb.engine.autoscaling.offers.catalogue import Column, Mask, column
from kschedweb.engine.autoscaling.offers.requirements import Requirement, Requirements
from kschedweb.engine.autoscaling.provisioning.refusals import Refusal
from kschedweb.engine.autoscaling.provisioning.topology import Topology
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.objects.taints import Taint

NOTHING_KNOWN: frozenset[str] = frozenset()
_UNSPECIFIED = ("0.0.0.0", "::")  # noqa: S104


class Fleet:
    """The machines that stay, initialized ones first, then by name. ``free`` is room for pods in milli-units."""

    def __init__(self, world: World, daemons: Sequence[tuple[PodView, Wants]]) -> None:
        self.world = world
        self.machines = sorted(world.active, key=lambda one: (not one.initialized, one.name))
        self.place = {one.name: place for place, one in enumerate(self.machines)}
        self._left = [_left(one, daemons) for one in self.machines]
        self.sound = np.array([min(one.values(), default=0) >= 0 for one in self._left], dtype=np.bool_)
        self.settling = np.array([_settles(world, one) for one in self.machines], dtype=np.bool_)
        self._free: dict[str, Column] = {}
        self._meeting: dict[Hashable, Mask] = {}
        self._having: dict[tuple[Wants, bool], Mask] = {}
        self._by_taints: dict[tuple[Taint, ...], list[int]] = {}
        for place, one in enumerate(self.machines):
            self._by_taints.setdefault(one.taints, []).append(place)

    def free(self, name: str) -> Column:
        """What is free of a resource on each machine; not to be changed."""
        if name not in self._free:
            self._free[name] = column([one.get(name, 0) for one in self._left])
        return self._free[name]

    def open_to(self, wants: Wants, asked: Requirements) -> Mask:
        """The machines whose taints the pod tolerates and whose labels it accepts."""
        key = wants, asked is wants.strict
        if key not in self._having:
            found = self._tolerated(wants)
            for one in asked.values():
                found = found & self._labelled(one)
            self._having[key] = found
        return self._having[key]

    def _tolerated(self, wants: Wants) -> Mask:
        found = np.zeros(len(self.machines), dtype=np.bool_)
        for taints, places in self._by_taints.items():
            found[places] = wants.tolerates(taints)
        return found

    def _labelled(self, wanted: Requirement) -> Mask:
        if wanted.rule not in self._meeting:
            values = (one.known_labels.get(wanted.key) for one in self.machines)
            found = [wanted.excludes if value is None else wanted.has(value) for value in values]
            self._meeting[wanted.rule] = np.array(found, dtype=np.bool_)
        return self._meeting[wanted.rule]


class Placed:
    """The fleet in one try: without the machines that are ``gone``, with the pods that the try has put on it."""

    def __init__(self, fleet: Fleet, gone: Collection[str], *, consolidating: bool) -> None:
        self.fleet, self.pods = fleet, dict[int, list[PodView]]()
        self._consolidating = consolidating
        self._alive = fleet.sound.copy()
        self._alive[[fleet.place[name] for name in gone if name in fleet.place]] = False
        self._gone = gone
        self._free: dict[str, Column] = {}
        self._narrowed: dict[int, Requirements] = {}
        self._ports: dict[int, list[Port]] = {}
        self._attached: dict[int, Attached] = {}

    def hosts(self) -> Iterator[str]:
        """The host names of the machines that stay."""
        return (one.hostname for one in self.fleet.machines if one.name not in self._gone)

    def by_name(self) -> dict[str, list[PodView]]:
        return {self.fleet.machines[place].name: pods for place, pods in self.pods.items()}

    def put(
        self, pod: PodView, wants: Wants, asked: Requirements, topology: Topology, volumes: Sequence[Requirements]
    ) -> bool:
        """Put the pod on the first machine that takes it; whether there is one. ``asked``: of labels."""
        usable = self._usable(pod, wants, asked)
        plain = not volumes and not pod.volumes and not pod.asking.ports and not topology.concerns(pod)
        if plain:
            place = int(usable.argmax()) if len(usable) else 0
            if not len(usable) or not usable[place]:
                return False
            self._add(place, pod, asked, None, topology)
            return True
        for other in np.flatnonzero(usable):
            found = self._accepted(int(other), pod, wants, asked, topology, volumes)
            if found is not None:
                self._add(int(other), pod, asked, found, topology)
                return True
        return False

    def _usable(self, pod: PodView, wants: Wants, asked: Requirements) -> Mask:
        fleet = self.fleet
        mine = fleet.open_to(wants, asked)
        for place, requirements in self._narrowed.items():
            if mine[place] != (accepts := requirements.compatible(asked)):
                mine = mine.copy()
                mine[place] = accepts and wants.tolerates(fleet.machines[place].taints)
        found = self._alive & mine
        if self._consolidating and pod.phase != PENDING and pod.node not in fleet.world.terminating_nodes:
            found &= ~fleet.settling
        for name, amount in pod.asking.requests.items():
            if amount > 0:
                found &= self.column(name) >= amount
        return found

    def column(self, name: str) -> Column:
        """What is left of a resource on each machine, in milli-units; not to be changed."""
        return self._free[name] if name in self._free else self.fleet.free(name)

    def _accepted(
        self,
        place: int,
        pod: PodView,
        wants: Wants,
        asked: Requirements,
        topology: Topology,
        volumes: Sequence[Requirements],
    ) -> Requirements | None:
        """The requirements of the machine with the pod on it; None where ports, volumes or topology are against it."""
        machine = self.fleet.machines[place]
        if conflicting(pod.asking.ports, self._ports_of(place, machine)) or self._overfull(place, machine, pod):
            return None
        base = (self._narrowed.get(place) or machine.requirements).copy()
        base.add(asked.values())
        for alternative in volumes or (None,):
            found = base
            if alternative is not None:
                if not base.compatible(alternative):
                    continue
                found = base.copy()
                found.add(alternative.values())
            narrowed = topology.narrow(pod, wants, found, NOTHING_KNOWN)
            if not isinstance(narrowed, Refusal):
                return narrowed
        return None

    def _add(
        self, place: int, pod: PodView, asked: Requirements, found: Requirements | None, topology: Topology
    ) -> None:
        machine = self.fleet.machines[place]
        self.pods.setdefault(place, []).append(pod)
        for name, amount in pod.asking.requests.items():
            if amount:
                if name not in self._free:
                    self._free[name] = self.fleet.free(name).copy()
                self._free[name][place] -= amount
        known = self._narrowed.get(place) or machine.requirements
        if (found is None and topology.groups) or not asked.keys() <= known.keys():
            found = known.copy() if found is None else found
            found.add(asked.values())
        if found is not None:
            if found.keys() - known.keys():
                self._narrowed[place] = found
            topology.record(pod, machine.taints, found)
        if pod.asking.ports:
            self._ports[place] = [*self._ports_of(place, machine), *pod.asking.ports]
        if pod.volumes:
            self._attached[place] = _joined(self._attached_to(place, machine), self._storage.attached([pod]))

    @property
    def _storage(self) -> Storage:
        return self.fleet.world.storage

    def _ports_of(self, place: int, machine: Machine) -> list[Port]:
        known = self._ports.get(place)
        return [port for pod in machine.counted_pods for port in pod.asking.ports] if known is None else known

    def _attached_to(self, place: int, machine: Machine) -> Attached:
        known = self._attached.get(place)
        return self._storage.attached(machine.counted_pods) if known is None else known

    def _overfull(self, place: int, machine: Machine, pod: PodView) -> bool:
        """Whether a driver could not attach the pod's volumes too."""
        if not pod.volumes or machine.node is None:
            return False
        limits = self._storage.limits.get(machine.node.name, {})
        total = _joined(self._attached_to(place, machine), self._storage.attached([pod]))
        return any(len(total.get(driver, ())) > limit for driver, limit in limits.items())


def conflicting(ports: Iterable[Port], taken: Iterable[Port]) -> bool:
    """Whether a port of the node is wanted that is taken."""
    return any(
        one[1:] == other[1:] and (one[0] == other[0] or one[0] in _UNSPECIFIED or other[0] in _UNSPECIFIED)
        for one in ports
        for other in taken
    )


def _left(machine: Machine, daemons: Sequence[tuple[PodView, Wants]]) -> Milli:
    """What is free for pods, without what daemons that are to come will take."""
    coming = requested(
        pod
        for pod, wants in daemons
        if wants.tolerates(machine.taints) and Requirements.of_labels(machine.labels).compatible(wants.strict)
    )
    running = requested(pod for pod in machine.counted_pods if pod.daemon)
    return less(machine.free, {name: max(amount - running.get(name, 0), 0) for name, amount in coming.items()})


def _settles(world: World, machine: Machine) -> bool:
    """Whether the consolidateAfter of its NodePool has not passed since pods came or went."""
    pool, claim = world.pools_by_name.get(machine.pool), machine.claim
    if pool is None or pool not in world.usable or claim is None or not pool.consolidate_after:
        return False
    if not claim.holds(INITIALIZED_CONDITION):
        return False
    since = claim.last_pod_event
    if since is None:
        since = claim.conditions[INITIALIZED_CONDITION][1]
    return world.now - (-inf if since is None else since) < pool.consolidate_after


def _joined(one: Attached, other: Attached) -> Attached:
    return {driver: one.get(driver, set()) | other.get(driver, set()) for driver in one.keys() | other.keys()}
