"""Karpenter's Solve: places pods on existing nodes, on new nodes, or nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import field
from itertools import pairwise
from random import Random

from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.volumes import Unprovidable
from kschedweb.engine.autoscaling.offers.amounts import NODES, subtract_amounts
from kschedweb.engine.autoscaling.offers.min_values import describe_shortfall, find_shortfall
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.existing_nodes import ExistingNodePlacements
from kschedweb.engine.autoscaling.provisioning.new_nodes import NewNode, NewNodeContext, NewNodeFit
from kschedweb.engine.autoscaling.provisioning.refusals import SchedulingRefusal, combine_refusals, create_refusal
from kschedweb.engine.autoscaling.provisioning.reservations import ReservationManager
from kschedweb.engine.autoscaling.provisioning.scheduling_context import NodeClaimTemplate, SchedulingContext
from kschedweb.engine.autoscaling.provisioning.topology import Topology
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.validation.gosort import SHORT, sort_slice
from kschedweb.engine.values import dataclass

# The most instance types of a NodeClaim (Karpenter's MaxInstanceTypes).
MOST_TYPES = 600
DEVICES = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"


@dataclass(slots=True)
class Proposal:
    """A NodeClaim that would be created."""

    node: NewNode
    # Places in the catalogue, cheapest first.
    types: list[int]


@dataclass(slots=True)
class Solution:
    """The result of a solve: every pod is on an existing node, on a new node, or has an error."""

    placed: ExistingNodePlacements
    new: list[Proposal] = field(default_factory=list)
    errors: dict[PodView, SchedulingRefusal] = field(default_factory=dict)


class Solver:
    """One solve. ``removed`` names machines to leave out; ``consolidating`` solves to remove nodes, not to add any."""

    def __init__(
        self,
        context: SchedulingContext,
        pods: Sequence[PodView],
        removed: Collection[str] = frozenset(),
        *,
        consolidating: bool = False,
        chance: Random | None = None,
    ) -> None:
        self._context, self._world, self._chance = context, context.world, chance
        self._best_effort = context.world.settings.best_effort
        # Requirements of volumes by uid of the pod, one of which must hold.
        self._volumes: dict[str, list[Requirements]] = {}
        self._pods = pods
        self._topology = Topology(context.domains, removed, [pod for pod in pods if self._places_volumes(pod)], chance)
        self._placed = ExistingNodePlacements(context.fleet, removed, consolidating=consolidating)
        self._topology.register(self._placed.list_hostnames())
        self._remaining_limits = context.limits_without(removed)
        reservations = ReservationManager(context.slots)
        self._new_node_context = NewNodeContext(self._world, self._topology, reservations, strict=not consolidating)
        self._new: list[NewNode] = []
        # Numbers the placeholder host names.
        self._hosts = 0

    def solve(self) -> Solution:
        errors: dict[PodView, SchedulingRefusal] = {}
        queue = deque(sorted(self._pods, key=lambda pod: pod.order))
        pushed: dict[str, int] = {}
        # A pod that failed is tried again until a whole round of the queue changes nothing, as in Karpenter's
        # `Queue.Pop`.
        while queue and pushed.get(queue[0].uid) != len(queue):
            checkpoint()
            pod = queue.popleft()
            refusal = self._try_schedule(pod)
            if refusal is None:
                errors.pop(pod, None)
                continue
            errors[pod] = refusal
            self._topology.update(pod, pod.pod_data.wants)
            queue.append(pod)
            pushed[pod.uid] = len(queue)
        for node in self._new:
            node.finalize_scheduling()
        return self._build_solution(errors)

    def _try_schedule(self, pod: PodView) -> SchedulingRefusal | None:
        """Place the pod, relaxing one preference after the other."""
        wants: PodConstraints = pod.pod_data.wants
        while (refusal := self._add_pod(pod, wants)) is not None:
            fewer = None if refusal.is_final else wants.relax(self._context.has_prefer_no_schedule)
            if fewer is None:
                return refusal
            wants = fewer
            self._topology.update(pod, wants)
        return None

    def _add_pod(self, pod: PodView, wants: PodConstraints) -> SchedulingRefusal | None:
        if pod.pod_data.claims_devices:
            return create_refusal(DEVICES, devices=True)
        pod_requirements = wants.strict_requirements if self._world.settings.ignores_preferences else wants.requirements
        volumes = self._volumes.get(pod.uid, ())
        if self._placed.place_pod(pod, wants, pod_requirements, self._topology, volumes):
            return None
        self._sort_new_nodes()
        for node in self._new:
            if not node.is_hopeless(pod):
                fit = node.can_add(pod, wants, pod_requirements, volumes, relax=False)
                if isinstance(fit, NewNodeFit):
                    node.add(pod, fit)
                    return None
        if not self._context.templates:
            return create_refusal("nodepool requirements filtered out all available instance types")
        return self._add_to_new_node(pod, wants, pod_requirements, volumes)

    def _add_to_new_node(
        self, pod: PodView, wants: PodConstraints, pod_requirements: Requirements, volumes: Sequence[Requirements]
    ) -> SchedulingRefusal | None:
        """Put the pod on a new node of the first NodePool that can take it."""
        refusals: list[SchedulingRefusal] = []
        for template in self._context.templates:
            node = self._create_node(template)
            if isinstance(node, SchedulingRefusal):
                refusals.append(node)
                continue
            fit = node.can_add(pod, wants, pod_requirements, volumes, relax=self._best_effort)
            if isinstance(fit, NewNodeFit):
                node.add(pod, fit)
                self._new.append(node)
                # The node's type is not chosen yet, so that its largest type counts against the limits.
                self._remaining_limits[template.pool.name] = subtract_amounts(
                    self._remaining_limits[template.pool.name], template.catalogue.find_largest(node.types)
                )
                return None
            refusals.append(fit)
            # Lower NodePools must not take a pod that waits for a reservation.
            if fit.reserved:
                break
        return combine_refusals(refusals)

    def _create_node(self, template: NodeClaimTemplate) -> NewNode | SchedulingRefusal:
        name, types = template.pool.name, template.types
        limits = self._remaining_limits[name]
        if limits:
            if limits.get(NODES) == 0:
                return create_refusal(f"node limits have been exhausted for nodepool (NodePool={name})")
            types = types & template.catalogue.filter_within_limits(limits)
            if not types.any():
                return create_refusal(f"all available instance types exceed limits for nodepool (NodePool={name})")
        self._hosts += 1
        return NewNode(template, types, f"hostname-placeholder-{self._hosts:04d}", self._new_node_context)

    def _sort_new_nodes(self) -> None:
        """Sort the emptiest new node first, in the order that Go's sort leaves."""
        numbers = [len(node.pods) for node in self._new]
        if all(first <= two for first, two in pairwise(numbers)):
            return
        # Go's sort is stable for short slices only: it sorts these by insertion.
        if len(numbers) <= SHORT:
            self._new.sort(key=lambda node: len(node.pods))
        else:
            sort_slice(self._new, lambda node, other: len(node.pods) < len(other.pods))

    def _build_solution(self, errors: dict[PodView, SchedulingRefusal]) -> Solution:
        """Return the new nodes with their types by price, cut to what a NodeClaim can list."""
        solution = Solution(self._placed, errors=errors)
        for node in self._new:
            catalogue, requirements = node.template.catalogue, node.requirements
            types = catalogue.by_price(node.types, requirements, self._chance)[:MOST_TYPES]
            short = {} if self._best_effort else find_shortfall(catalogue, types, requirements)[1]
            if not short:
                solution.new.append(Proposal(node, types))
                continue
            text = (
                "pod didn’t schedule because NodePool couldn’t meet minValues requirements,"
                f" validating minValues, {describe_shortfall(short)} (NodePool={node.template.pool.name})"
            )
            errors.update((pod, create_refusal(text)) for pod in node.pods)
        return solution

    def _places_volumes(self, pod: PodView) -> bool:
        """Return whether the volumes' requirements are known, and keep them; otherwise the pod does not count."""
        if not pod.volumes:
            return True
        try:
            alternatives = self._world.storage.find_alternatives(pod)
        except Unprovidable:
            return False
        if alternatives:
            self._volumes[pod.uid] = alternatives
        return True
