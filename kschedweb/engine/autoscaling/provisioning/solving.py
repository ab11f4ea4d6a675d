"""Where pods go: onto nodes that are there, onto nodes that would be new, or nowhere; Karpenter's Solve."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import field
from itertools import pairwise
from random import Random

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.volumes import Unprovidable
from kschedweb.engine.autoscaling.cluster.wants import Wants
from kschedweb.engine.autoscaling.offers.amounts import NODES, less
from kschedweb.engine.autoscaling.offers.counting import said, shortfall
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.autoscaling.provisioning.fleet import Placed
from kschedweb.engine.autoscaling.provisioning.ground import Ground, Template
from kschedweb.engine.autoscaling.provisioning.newnodes import Circumstances, Fit, NewNode
from kschedweb.engine.autoscaling.provisioning.refusals import Refusal, all_of, refused
from kschedweb.engine.autoscaling.provisioning.reservations import Reservations
from kschedweb.engine.autoscaling.provisioning.topology import Topology
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.validation.gosort import SHORT, sort_slice
from kschedweb.engine.values import dataclass

MOST_TYPES = 600
"""How many instance types a NodeClaim names at most."""
DEVICES = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"


@dataclass(slots=True)
class Proposal:
    """A NodeClaim that would be created, its ``types`` as places in the catalogue from the cheapest on."""

    node: NewNode
    types: list[int]


@dataclass(slots=True)
class Solution:
    """What became of each pod: ``placed`` on nodes that are there, ``new`` nodes, or ``errors``."""

    placed: Placed
    new: list[Proposal] = field(default_factory=list)
    errors: dict[PodView, Refusal] = field(default_factory=dict)


class Solver:
    """One try. ``gone`` are machines that are left out, by name; ``consolidating``: nodes are to go, none to come."""

    def __init__(
        self,
        ground: Ground,
        pods: Sequence[PodView],
        gone: Collection[str] = frozenset(),
        *,
        consolidating: bool = False,
        chance: Random | None = None,
    ) -> None:
        self._ground, self._world, self._chance = ground, ground.world, chance
        self._best_effort = ground.world.settings.best_effort
        self._volumes: dict[str, list[Requirements]] = {}
        self._pods = pods
        self._topology = Topology(ground.domains, gone, [pod for pod in pods if self._places_volumes(pod)], chance)
        self._placed = Placed(ground.fleet, gone, consolidating=consolidating)
        self._topology.register(self._placed.hosts())
        self._left = ground.limits_without(gone)
        reservations = Reservations(ground.slots)
        self._around = Circumstances(self._world, self._topology, reservations, strict=not consolidating)
        self._new: list[NewNode] = []
        self._hosts = 0

    def solve(self) -> Solution:
        errors: dict[PodView, Refusal] = {}
        queue = deque(sorted(self._pods, key=lambda pod: pod.order))
        pushed: dict[str, int] = {}
        while queue and pushed.get(queue[0].uid) != len(queue):
            checkpoint()
            pod = queue.popleft()
            refusal = self._try(pod)
            if refusal is None:
                errors.pop(pod, None)
                continue
            errors[pod] = refusal
            self._topology.update(pod, pod.asking.wants)
            queue.append(pod)
            pushed[pod.uid] = len(queue)
        for node in self._new:
            node.finish()
        return self._cut(errors)

    def _try(self, pod: PodView) -> Refusal | None:
        """Place the pod, giving up one preference after the other."""
        wants: Wants = pod.asking.wants
        while (refusal := self._add(pod, wants)) is not None:
            fewer = None if refusal.final else wants.relaxed(self._ground.prefers)
            if fewer is None:
                return refusal
            wants = fewer
            self._topology.update(pod, wants)
        return None

    def _add(self, pod: PodView, wants: Wants) -> Refusal | None:
        if pod.asking.claims_devices:
            return refused(DEVICES, devices=True)
        asked = wants.strict if self._world.settings.ignores_preferences else wants.requirements
        volumes = self._volumes.get(pod.uid, ())
        if self._placed.put(pod, wants, asked, self._topology, volumes):
            return None
        self._sort()
        for node in self._new:
            if not node.hopeless(pod):
                fit = node.fit(pod, wants, asked, volumes, relax=False)
                if isinstance(fit, Fit):
                    node.add(pod, fit)
                    return None
        if not self._ground.templates:
            return refused("nodepool requirements filtered out all available instance types")
        return self._begin(pod, wants, asked, volumes)

    def _begin(
        self, pod: PodView, wants: Wants, asked: Requirements, volumes: Sequence[Requirements]
    ) -> Refusal | None:
        """Put the pod on a new node of the first NodePool that has one for it."""
        refusals: list[Refusal] = []
        for template in self._ground.templates:
            node = self._node(template)
            if isinstance(node, Refusal):
                refusals.append(node)
                continue
            fit = node.fit(pod, wants, asked, volumes, relax=self._best_effort)
            if isinstance(fit, Fit):
                node.add(pod, fit)
                self._new.append(node)
                self._left[template.pool.name] = less(
                    self._left[template.pool.name], template.catalogue.largest(node.types)
                )
                return None
            refusals.append(fit)
            if fit.reserved:
                break
        return all_of(refusals)

    def _node(self, template: Template) -> NewNode | Refusal:
        name, types = template.pool.name, template.types
        left = self._left[name]
        if left:
            if left.get(NODES) == 0:
                return refused(f"node limits have been exhausted for nodepool (NodePool={name})")
            types = types & template.catalogue.within(left)
            if not types.any():
                return refused(f"all available instance types exceed limits for nodepool (NodePool={name})")
        self._hosts += 1
        return NewNode(template, types, f"hostname-placeholder-{self._hosts:04d}", self._around)

    def _sort(self) -> None:
        """The emptiest new node first, in the order that Go's sort leaves."""
        numbers = [len(node.pods) for node in self._new]
        if all(one <= two for one, two in pairwise(numbers)):
            return
        if len(numbers) <= SHORT:
            self._new.sort(key=lambda node: len(node.pods))
        else:
            sort_slice(self._new, lambda one, other: len(one.pods) < len(other.pods))

    def _cut(self, errors: dict[PodView, Refusal]) -> Solution:
        """The new nodes with their types by price, and not more than a NodeClaim names."""
        solution = Solution(self._placed, errors=errors)
        for node in self._new:
            catalogue, wanted = node.template.catalogue, node.requirements
            types = catalogue.by_price(node.types, wanted, self._chance)[:MOST_TYPES]
            short = {} if self._best_effort else shortfall(catalogue, types, wanted)[1]
            if not short:
                solution.new.append(Proposal(node, types))
                continue
            text = (
                "pod didn’t schedule because NodePool couldn’t meet minValues requirements,"
                f" validating minValues, {said(short)} (NodePool={node.template.pool.name})"
            )
            errors.update((pod, refused(text)) for pod in node.pods)
        return solution

    def _places_volumes(self, pod: PodView) -> bool:
        """Whether it is known where the volumes of the pod can be, which is kept; else they do not count."""
        if not pod.volumes:
            return True
        try:
            found = self._world.storage.alternatives(pod)
        except Unprovidable:
            return False
        if found:
            self._volumes[pod.uid] = found
        return True
