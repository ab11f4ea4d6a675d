"""State that all solves on a cluster share, computed once: templates, daemons, topology domains, existing nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.volumes import Unprovidable
from kschedweb.engine.autoscaling.offers.amounts import (
    Milli,
    Quantities,
    count_quantity,
    milli_of,
    subtract_amounts,
    sum_quantities,
)
from kschedweb.engine.autoscaling.offers.catalogue import Catalogue, Mask
from kschedweb.engine.autoscaling.offers.labels import NODEPOOL
from kschedweb.engine.autoscaling.offers.min_values import find_shortfall
from kschedweb.engine.autoscaling.offers.nodepool_validation import requirement_problems
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.autoscaling.offers.requirements import (
    DOES_NOT_EXIST,
    IN,
    OPERATORS,
    Requirements,
    WrittenRequirement,
)
from kschedweb.engine.autoscaling.provisioning.existing_nodes import ExistingNodes
from kschedweb.engine.autoscaling.provisioning.reservations import count_slots
from kschedweb.engine.autoscaling.provisioning.topology import Domains
from kschedweb.engine.objects.pod import Port
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class DaemonGroup:
    """Instance types on which the same daemons run, with the requests of these daemons."""

    types: Mask
    # In milli-units.
    overhead: Milli
    overhead_quantities: Quantities
    ports: tuple[Port, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NodeClaimTemplate:
    """The new nodes of a NodePool."""

    pool: NodePool
    catalogue: Catalogue
    requirements: Requirements
    # The instance types that its requirements allow.
    types: Mask
    # By the daemons that run on them; together they are all of ``types``.
    groups: tuple[DaemonGroup, ...]


class SchedulingContext:
    """A cluster with everything that does not change between solves."""

    def __init__(self, world: ClusterState) -> None:
        self.world = world
        self.domains = Domains(world)
        self._wants = [pod.pod_data.wants for pod in world.daemons]
        self.templates = [
            template for pool in world.usable_pools if (template := self._create_template(pool)) is not None
        ]
        self.templates = [replace(template, groups=self._daemon_groups(template)) for template in self.templates]
        # `_daemon_groups` has relaxed the daemons' constraints by now, and existing nodes see the rest, as in
        # Karpenter.
        daemons = [(pod, wants) for pod, wants in zip(world.daemons, self._wants, strict=True)]
        self.fleet = ExistingNodes(world, [daemon for daemon in daemons if not daemon[0].pod_data.claims_devices])

    @cached_property
    def pending_pods(self) -> list[PodView]:
        """The pods that wait for a node that Karpenter may launch."""
        pods = [pod for pod in self.world.pods if pod.is_provisionable]
        return [pod for pod in pods if not validate_pod(self.world, pod)]

    @cached_property
    def slots(self) -> dict[str, int]:
        return count_slots(self.world)

    @cached_property
    def _limits(self) -> dict[str, Milli]:
        remaining = {pool.name: dict(pool.limits) for pool in self.world.usable_pools}
        for machine in self.world.active_nodes:
            if remaining.get(machine.pool):
                remaining[machine.pool] = subtract_amounts(remaining[machine.pool], machine.capacity)
        return remaining

    def limits_without(self, removed: Collection[str]) -> dict[str, Milli]:
        """Return what is left of each NodePool's limits, in milli-units, without the machines of these names."""
        remaining = dict(self._limits)
        for machine in (self.fleet.machines[self.fleet.places[name]] for name in removed):
            if remaining.get(machine.pool):
                remaining[machine.pool] = subtract_amounts(
                    remaining[machine.pool], {key: -value for key, value in machine.capacity.items()}
                )
        return remaining

    @cached_property
    def has_prefer_no_schedule(self) -> bool:
        """True if a usable NodePool has a taint of effect PreferNoSchedule."""
        return any(taint.effect == PREFER_NO_SCHEDULE for pool in self.world.usable_pools for taint in pool.taints)

    @cached_property
    def without_types(self) -> list[NodePool]:
        """The usable NodePools whose requirements allow no instance type."""
        pool_names = {template.pool.name for template in self.templates}
        return [pool for pool in self.world.usable_pools if pool.name not in pool_names]

    def _create_template(self, pool: NodePool) -> NodeClaimTemplate | None:
        catalogue, requirements = self.world.catalogues.get(pool.name), pool.build_requirements()
        if catalogue is None:
            return None
        types = (
            catalogue.filter_compatible(requirements)
            & catalogue.filter_offered(requirements)
            & catalogue.filter_fitting({})
        )
        places = [int(place) for place in types.nonzero()[0]]
        if not places or (not self.world.settings.best_effort and find_shortfall(catalogue, places, requirements)[1]):
            return None
        return NodeClaimTemplate(pool, catalogue, requirements, types, ())

    def _daemon_groups(self, template: NodeClaimTemplate) -> tuple[DaemonGroup, ...]:
        by_daemons: dict[tuple[int, ...], list[int]] = {}
        for place in template.types.nonzero()[0]:
            running = tuple(
                number
                for number, pod in enumerate(self.world.daemons)
                if not pod.pod_data.claims_devices and self._runs_on_type(template, int(place), number)
            )
            by_daemons.setdefault(running, []).append(int(place))
        return tuple(
            _create_daemon_group(template.catalogue.to_mask(places), [self.world.daemons[number] for number in running])
            for running, places in by_daemons.items()
        )

    def _runs_on_type(self, template: NodeClaimTemplate, place: int, number: int) -> bool:
        """Return whether a daemon would run on a type.

        Required terms that fail are dropped for good, also for later types, as in Karpenter.
        """
        wants: PodConstraints | None = self._wants[number].tolerate_prefer_no_schedule()
        type_requirements = template.catalogue.types[place].requirements
        while wants is not None:
            self._wants[number] = wants
            if not wants.tolerates(template.pool.taints):
                return False
            pod_requirements = wants.strict_requirements
            if template.requirements.is_compatible(
                pod_requirements, self.world.well_known_labels
            ) and type_requirements.intersects(pod_requirements):
                return True
            wants = wants.without_term()
        return False


def _create_daemon_group(types: Mask, daemons: list[PodView]) -> DaemonGroup:
    if not daemons:
        return DaemonGroup(types, {}, {}, ())
    quantities = sum_quantities(*(pod.pod_data.request_quantities for pod in daemons)) | {
        "pods": count_quantity(len(daemons))
    }
    ports = tuple(port for pod in daemons for port in pod.pod_data.ports)
    return DaemonGroup(types, milli_of(quantities), quantities, ports)


def validate_pod(world: ClusterState, pod: PodView) -> str:
    """Return why Karpenter ignores a waiting pod, in its words; "" if it does not. As its `Provisioner.Validate`."""
    problems = list(_find_problems(pod.pod_data.wants, world.well_known_labels))
    try:
        world.storage.validate_claims(pod)
    except Unprovidable as error:
        problems.append(str(error))
    return "; ".join(problems)


def _find_problems(wants: PodConstraints, well_known_labels: frozenset[str]) -> Iterator[str]:
    if (requirement := wants.requirements.get(NODEPOOL)) is not None and requirement.operator == DOES_NOT_EXIST:
        yield f"configured to not run on a Karpenter provisioned node (requirement={NODEPOOL} {DOES_NOT_EXIST})"
    for key, value in wants.selector.items():
        yield from _check_expression((key, IN, (value,)), well_known_labels)
    if wants.names_fields:
        yield "node selector term with matchFields is not supported"
    for term in wants.required or ():
        for expression in term:
            yield from _check_expression(expression, well_known_labels)


# Pods of a cluster share few expressions, and each check builds texts.
@lru_cache(maxsize=4096)
def _check_expression(expression: WrittenRequirement, well_known_labels: frozenset[str]) -> tuple[str, ...]:
    key, operator, _ = expression
    unknown = () if operator in OPERATORS else (f"key {key} has an unsupported operator {operator}",)
    return (*unknown, *requirement_problems(expression, None, well_known_labels))
