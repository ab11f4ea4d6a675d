"""What every try on a cluster has in common, worked out once: templates of new nodes, daemons, topology, the fleet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.wants import Wants
from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.offers.amounts import Milli, Shown, count, less, merged, milli_of
from kschedweb.engine.autoscaling.offers.catalogue import Catalogue, Mask
from kschedweb.engine.autoscaling.offers.counting import shortfall
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.fleet import Fleet
from kschedweb.engine.autoscaling.provisioning.pending import problem
from kschedweb.engine.autoscaling.provisioning.reservations import slots
from kschedweb.engine.autoscaling.provisioning.topology import Domains
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class DaemonGroup:
    """Instance types on which the same daemons run, and what those ask for together."""

    types: Mask
    overhead: Milli
    written: Shown
    ports: tuple[Port, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """What new nodes of a NodePool are. ``types`` are those that its requirements leave."""

    pool: NodePool
    catalogue: Catalogue
    requirements: Requirements
    types: Mask
    groups: tuple[DaemonGroup, ...]


class Ground:
    """The ground on which pods are placed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.domains = Domains(world)
        self._wants = [pod.asking.wants for pod in world.daemons]
        self.templates = [found for pool in world.usable if (found := self._template(pool)) is not None]
        self.templates = [replace(one, groups=self._daemon_groups(one)) for one in self.templates]
        # The daemons' wishes are by now what the templates have left of them, as in Karpenter.
        daemons = [(pod, wants) for pod, wants in zip(world.daemons, self._wants, strict=True)]
        self.fleet = Fleet(world, [one for one in daemons if not one[0].asking.claims_devices])

    @cached_property
    def pending(self) -> list[PodView]:
        """The pods that wait for a node that Karpenter may bring."""
        found = [pod for pod in self.world.pods if pod.provisionable]
        return [pod for pod in found if not problem(self.world, pod)]

    @cached_property
    def slots(self) -> dict[str, int]:
        return slots(self.world)

    @cached_property
    def _limits(self) -> dict[str, Milli]:
        left = {pool.name: dict(pool.limits) for pool in self.world.usable}
        for machine in self.world.active:
            if left.get(machine.pool):
                left[machine.pool] = less(left[machine.pool], machine.capacity)
        return left

    def limits_without(self, gone: Collection[str]) -> dict[str, Milli]:
        """What the limits of each NodePool leave, in milli-units, without the machines of these names."""
        left = dict(self._limits)
        for machine in (self.fleet.machines[self.fleet.place[name]] for name in gone):
            if left.get(machine.pool):
                left[machine.pool] = less(left[machine.pool], {key: -value for key, value in machine.capacity.items()})
        return left

    @cached_property
    def prefers(self) -> bool:
        """Whether a NodePool has a taint that only prefers that no pod comes."""
        return any(taint.effect == PREFER_NO_SCHEDULE for pool in self.world.usable for taint in pool.taints)

    @cached_property
    def without_types(self) -> list[NodePool]:
        """The usable NodePools whose requirements leave no instance type."""
        found = {one.pool.name for one in self.templates}
        return [pool for pool in self.world.usable if pool.name not in found]

    def _template(self, pool: NodePool) -> Template | None:
        catalogue, requirements = self.world.catalogues.get(pool.name), pool.requirements()
        if catalogue is None:
            return None
        types = catalogue.meeting(requirements) & catalogue.offered(requirements) & catalogue.fitting({})
        places = [int(place) for place in types.nonzero()[0]]
        if not places or (not self.world.settings.best_effort and shortfall(catalogue, places, requirements)[1]):
            return None
        return Template(pool, catalogue, requirements, types, ())

    def _daemon_groups(self, template: Template) -> tuple[DaemonGroup, ...]:
        by_daemons: dict[tuple[int, ...], list[int]] = {}
        for place in template.types.nonzero()[0]:
            running = tuple(
                number
                for number, pod in enumerate(self.world.daemons)
                if not pod.asking.claims_devices and self._runs(template, int(place), number)
            )
            by_daemons.setdefault(running, []).append(int(place))
        return tuple(
            _group(template.catalogue.mask(places), [self.world.daemons[number] for number in running])
            for running, places in by_daemons.items()
        )

    def _runs(self, template: Template, place: int, number: int) -> bool:
        """Whether a daemon would run on a type. Required terms that fail are given up for good, as in Karpenter."""
        wants: Wants | None = self._wants[number].tolerant()
        own = template.catalogue.types[place].requirements
        while wants is not None:
            self._wants[number] = wants
            if not wants.tolerates(template.pool.taints):
                return False
            asked = wants.strict
            if template.requirements.compatible(asked, self.world.known) and own.intersects(asked):
                return True
            wants = wants.without_term()
        return False


def _group(types: Mask, daemons: list[PodView]) -> DaemonGroup:
    if not daemons:
        return DaemonGroup(types, {}, {}, ())
    written = merged(*(pod.asking.written for pod in daemons)) | {"pods": count(len(daemons))}
    ports = tuple(port for pod in daemons for port in pod.asking.ports)
    return DaemonGroup(types, milli_of(written), written, ports)
