"""Placing the pods of a pod set in a topology (`findTopologyAssignment`).

The counts of the domains are filled from the leaves up; then the domains that take the pods are chosen at the requested
level, and cut to size from there down to the leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from kschedweb.engine.objects.affinity import REQUIRED
from kschedweb.engine.objects.json_access import get_mapping, get_string_map
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm, parse_terms
from kschedweb.engine.objects.taints import Toleration, find_untolerated, read_tolerations
from kschedweb.engine.queueing.quota.amounts import PODS, Requests, add_requests
from kschedweb.engine.queueing.topology.topology_assignments import DomainAssignment, TopologyAssignment, domain_id
from kschedweb.engine.queueing.topology.topology_snapshot import (
    MAX_PODS,
    TopologyDomain,
    TopologySnapshot,
    count_fitting,
    subtract_requests,
)
from kschedweb.engine.queueing.workloads.workload import PodSet, PodSetUpdate, SliceLayer, TopologyRequest
from kschedweb.engine.values import dataclass

# Domain -> what pod sets of the same workload take of it.
AssumedUsage = dict[str, Requests]


@dataclass(frozen=True)
class PlacementRequest:
    """Pods that need places in a topology (`TASPodSetRequests`)."""

    pod_set: PodSet
    pod_requests: Requests
    count: int
    flavor: str
    # True if all flavors of the queue have topologies, and nothing was asked.
    is_implied: bool
    updates: tuple[PodSetUpdate, ...] = ()

    @property
    def name(self) -> str:
        return self.pod_set.name

    @property
    def topology_request(self) -> TopologyRequest | None:
        return self.pod_set.topology_request

    @property
    def layers(self) -> tuple[SliceLayer, ...]:
        return self.topology_request.layers if self.topology_request else ()

    @property
    def is_required(self) -> bool:
        return self.topology_request is not None and self.topology_request.required is not None

    @property
    def is_unconstrained(self) -> bool:
        request = self.topology_request
        return self.is_implied or (request is not None and (request.unconstrained is True or request.is_slices_only))

    @property
    def slice_size(self) -> int:
        """The pods of a slice; 0 if slices are asked for without their size."""
        return max(self.layers[0].size, 0) if self.layers else 1


class PlacementError(ValueError):
    """The pods cannot be placed; the text is Kueue's."""


@dataclass
class ExclusionCounts:
    """Counts of leaves that take no pod, by reason."""

    leaves: int = 0
    node_selector: int = 0
    affinity: int = 0
    other_domain: int = 0
    taints: dict[str, int] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)

    def describe(self) -> str:
        reasons = [
            f"{label}: {count}"
            for label, count in (
                ("nodeSelector", self.node_selector),
                ("affinity", self.affinity),
                ("topologyDomain", self.other_domain),
            )
            if count
        ]
        reasons += [f'taint "{taint}": {count}' for taint, count in self.taints.items()]
        reasons += [f'resource "{name}": {count}' for name, count in self.resources.items()]
        return f". Total nodes: {self.leaves}; excluded: {', '.join(sorted(reasons))}" if reasons else ""


@dataclass(frozen=True)
class NodeRequirements:
    """The requirements of the pods on a node."""

    tolerations: tuple[Toleration, ...]
    node_selector: dict[str, str]
    affinity: tuple[NodeSelectorTerm, ...] | None


@dataclass(frozen=True)
class PlacementShape:
    """Levels and sizes of a placement."""

    count: int
    leader_count: int
    slice_size: int
    requested_level: int
    slice_level: int
    # Level -> pods of an inner slice.
    inner_sizes: dict[int, int]
    is_required: bool
    is_unconstrained: bool
    layers: tuple[SliceLayer, ...]

    @property
    def slice_count(self) -> int:
        return self.count // self.slice_size


def resolve_shape(topology: TopologySnapshot, workers: PlacementRequest, leader_count: int) -> PlacementShape:
    """Return the levels and sizes that ``workers`` ask for; raise PlacementError."""
    if workers.slice_size == 0:
        raise PlacementError("slice topology requested, but slice size not provided")
    level = topology.requested_level(workers.topology_request)
    if level is None and workers.is_implied:
        level = topology.levels[-1]
    if level is None:
        raise PlacementError("topology level not specified")
    requested_level = topology.level_index(level)
    if requested_level is None:
        raise PlacementError(f"no requested topology level: {level}")
    slice_topology = topology.slice_level(workers.topology_request)
    slice_level = topology.level_index(slice_topology)
    if slice_level is None:
        raise PlacementError(f"no requested topology level for slices: {slice_topology}")
    if requested_level > slice_level:
        raise PlacementError(f"podset slice topology {slice_topology} is above the podset topology {level}")
    inner_sizes = _resolve_inner_sizes(topology, workers, slice_level)
    return PlacementShape(
        workers.count,
        leader_count,
        workers.slice_size,
        requested_level,
        slice_level,
        inner_sizes,
        workers.is_required,
        workers.is_unconstrained,
        workers.layers if inner_sizes else (),
    )


def _resolve_inner_sizes(topology: TopologySnapshot, workers: PlacementRequest, slice_level: int) -> dict[int, int]:
    """Return the size of slices at each level below the outer slices (`buildSliceSizeAtLevel`)."""
    sizes: dict[int, int] = {}
    size, level = workers.slice_size, slice_level
    for layer in workers.layers[1:]:
        inner_level = topology.level_index(layer.topology)
        if inner_level is None:
            raise PlacementError(f"no requested topology level for additional slice layer: {layer.topology}")
        if inner_level <= level:
            below = topology.levels[level]
            raise PlacementError(
                f"additional slice layer topology {layer.topology} must be at a lower level than {below}"
            )
        if size % layer.size:
            raise PlacementError(
                f"additional slice layer size {layer.size} must evenly divide parent layer size {size}"
            )
        sizes.update(dict.fromkeys(range(level + 1, inner_level + 1), layer.size))
        size, level = layer.size, inner_level
    return sizes


class DomainCounter:
    """Fills in how many pods, slices and leaders fit each domain (`fillInCounts`)."""

    def __init__(
        self,
        topology: TopologySnapshot,
        workers: PlacementRequest,
        leader: PlacementRequest | None,
        assumed: AssumedUsage,
        *,
        when_empty: bool,
        required_domain: str,
    ) -> None:
        self.topology = topology
        self.exclusions = ExclusionCounts()
        self._assumed = assumed
        self._when_empty = when_empty
        self._required_domain = required_domain
        self._pod = add_requests(workers.pod_requests, {PODS: 1})
        self._leader = add_requests(leader.pod_requests, {PODS: 1}) if leader is not None else None
        self._requirements = _read_requirements(topology, workers)

    def fill(self, shape: PlacementShape) -> None:
        for domain in self.topology.every_domain():
            domain.clear()
        self.exclusions.leaves += len(self.topology.leaves)
        for leaf in self.topology.leaves.values():
            if leaf.node is None or self._is_suitable(leaf):
                self._fill_leaf(leaf)
        for root in self.topology.roots:
            fill_upwards(root, 0, shape.slice_size, shape.slice_level, shape.inner_sizes, shape.leader_count > 0)

    def _is_suitable(self, leaf: TopologyDomain) -> bool:
        """Return True if the pods may run on the leaf's node, else count why not (`FindFeasibleNodes`)."""
        node, requirements = leaf.node, self._requirements
        assert node is not None
        untolerated = find_untolerated(node.taints, requirements.tolerations, True)
        if untolerated:
            taint = str(untolerated[0])
            self.exclusions.taints[taint] = self.exclusions.taints.get(taint, 0) + 1
            return False
        if any(node.labels.get(key) != value for key, value in requirements.node_selector.items()):
            self.exclusions.node_selector += 1
            return False
        terms = requirements.affinity
        if terms is not None and not any(term.matches(node.name, node.labels) for term in terms):
            self.exclusions.affinity += 1
            return False
        return True

    def _fill_leaf(self, leaf: TopologyDomain) -> None:
        identity = domain_id(leaf.values)
        if self._required_domain and not f"{identity},".startswith(f"{self._required_domain},"):
            self.exclusions.other_domain += 1
            return
        free = leaf.free(when_empty=self._when_empty)
        if leaf.id in self._assumed:
            free = subtract_requests(free, self._assumed[leaf.id])
        leaf.pods, limiting = count_fitting(self._pod, free)
        if leaf.pods == 0 and limiting:
            self.exclusions.resources[limiting] = self.exclusions.resources.get(limiting, 0) + 1
        leaf.leaders = 0
        if self._leader is not None and count_fitting(self._leader, free)[0] > 0:
            leaf.leaders = 1
            free = subtract_requests(free, self._leader)
        leaf.pods_with_leader = count_fitting(self._pod, free)[0]


def fill_upwards(
    domain: TopologyDomain,
    level: int,
    slice_size: int,
    slice_level: int,
    inner_sizes: dict[int, int],
    needs_leader: bool,
) -> None:
    """Sum up the counts of the domains below ``domain`` (`fillInCountsHelper`)."""
    if not domain.children:
        if level == slice_level:
            domain.slices = domain.pods // slice_size
            domain.slices_with_leader = domain.pods_with_leader // slice_size
        return
    inner_size = inner_sizes.get(level + 1, 1)
    pods = slices = leaders = 0
    fewest_pods = fewest_slices = MAX_PODS
    takes_leader = False
    for child in domain.children:
        fill_upwards(child, level + 1, slice_size, slice_level, inner_sizes, needs_leader)
        # Only whole inner slices can be used.
        child_pods = child.pods // inner_size * inner_size
        pods, slices = pods + child_pods, slices + child.slices
        if not needs_leader or child.leaders > 0:
            takes_leader = True
            fewest_pods = min(child_pods - child.pods_with_leader // inner_size * inner_size, fewest_pods)
            fewest_slices = min(child.slices - child.slices_with_leader, fewest_slices)
        leaders = max(child.leaders, leaders)
    domain.pods, domain.leaders = pods, leaders
    domain.pods_with_leader = pods - fewest_pods if takes_leader else 0
    domain.slices, domain.slices_with_leader = slices, slices - fewest_slices if takes_leader else 0
    if level == slice_level:
        domain.slices, domain.slices_with_leader = pods // slice_size, domain.pods_with_leader // slice_size


def _read_requirements(topology: TopologySnapshot, workers: PlacementRequest) -> NodeRequirements:
    spec = workers.pod_set.spec
    tolerations = [*read_tolerations(spec, "tolerations", "spec."), *topology.tolerations]
    selector = dict(get_string_map(spec, "nodeSelector", "spec.")) if topology.ends_in_hostname else {}
    for update in workers.updates:
        tolerations += read_tolerations({"tolerations": list(update.tolerations)}, "tolerations")
        selector.update(update.node_selector if topology.ends_in_hostname else {})
    affinity = get_mapping(get_mapping(spec, "affinity", "spec."), "nodeAffinity", "spec.affinity.")
    terms = None
    if affinity.get(REQUIRED) is not None:
        terms = parse_terms(get_mapping(affinity, REQUIRED), "nodeSelectorTerms")
    return NodeRequirements(tuple(tolerations), selector, terms)


class DomainChooser:
    """Chooses domains for pods, and cuts their counts to what they get."""

    def __init__(self, topology: TopologySnapshot, shape: PlacementShape, exclusions: ExclusionCounts) -> None:
        self.topology = topology
        self.shape = shape
        self._exclusions = exclusions
        # Which of the domains with room is taken: the one with the least room, or the one that fits best.
        self.takes_least_free = shape.is_unconstrained and "TASProfileMixed" in topology.gates

    def sort_domains(self, domains: Iterable[TopologyDomain]) -> list[TopologyDomain]:
        sign = 1 if self.takes_least_free else -1
        return sorted(domains, key=lambda domain: (sign * domain.slices, domain.pods, domain.values))

    def sort_for_leader(self, domains: Iterable[TopologyDomain]) -> list[TopologyDomain]:
        sign = 1 if self.takes_least_free else -1
        return sorted(
            domains,
            key=lambda domain: (
                -domain.leaders,
                sign * domain.slices_with_leader,
                domain.pods_with_leader,
                domain.values,
            ),
        )

    def choose_level(self, level: int) -> tuple[int, list[TopologyDomain]]:
        """Return the level and the domains that take all (`findLevelWithFitDomains`); raise PlacementError."""
        shape, needed = self.shape, self.shape.slice_count
        domains = self.topology.domains[level]
        if not domains:
            raise PlacementError(f"no topology domains at level: {self.topology.levels[level]}")
        ordered = self.sort_for_leader(domains.values())
        first = ordered[0]
        if not self.takes_least_free and _takes_all(first, needed, shape.leader_count):
            first = pick_best_fit(ordered, needed, shape.leader_count, by_slices=True)
        if self.takes_least_free:
            for domain in ordered:
                room = domain.slices_with_leader if shape.leader_count else domain.slices
                if domain.leaders >= shape.leader_count and room >= needed:
                    return level, [domain]
            if shape.is_required:
                raise self._no_fit(ordered[-1].pods, level)
        if _takes_all(first, needed, shape.leader_count):
            return level, [first]
        if shape.is_required:
            raise self._no_fit(first.slices, level)
        if level > 0 and not shape.is_unconstrained:
            return self.choose_level(level - 1)
        return level, self._choose_several(ordered, level)

    def _choose_several(self, ordered: list[TopologyDomain], level: int) -> list[TopologyDomain]:
        """Return domains that take all together: first the leader's, then others by their room."""
        shape, remaining, leaders = self.shape, self.shape.slice_count, self.shape.leader_count
        ordered = self._put_leader_first(ordered, shape.count, leaders, shape.slice_size, by_slices=True)
        chosen: list[TopologyDomain] = []
        position = 0
        while leaders > 0 and position < len(ordered) and ordered[position].leaders > 0:
            domain = ordered[position]
            if not self.takes_least_free and domain.slices_with_leader >= remaining:
                domain = pick_best_fit(ordered[position:], remaining, leaders, by_slices=True)
            chosen.append(domain)
            leaders, remaining = leaders - domain.leaders, remaining - domain.slices_with_leader
            position += 1
        if leaders > 0:
            raise self._no_fit(shape.leader_count - leaders, level)
        ordered = self.sort_domains(ordered[position:])
        for place, domain in enumerate(ordered):
            if remaining <= 0:
                break
            if not self.takes_least_free and domain.slices >= remaining:
                domain = pick_best_fit(ordered[place:], remaining, 0, by_slices=True)
            chosen.append(domain)
            remaining -= domain.slices
        if remaining > 0:
            raise self._no_fit(shape.slice_count - remaining, level)
        return chosen

    def _put_leader_first(
        self, domains: list[TopologyDomain], count: int, leader_count: int, slice_size: int, *, by_slices: bool
    ) -> list[TopologyDomain]:
        """Return ``domains`` with the first one in front that the others can spare for the leader."""
        if not leader_count or len(domains) < 2:
            return domains
        needed = count // slice_size if by_slices else count
        room = sum(domain.slices if by_slices else domain.pods for domain in domains)
        for position, domain in enumerate(domains):
            penalty = _room(domain, by_slices) - _room_with_leader(domain, by_slices)
            if domain.leaders >= leader_count and room - penalty >= needed:
                return [domain, *domains[:position], *domains[position + 1 :]]
        return domains

    def cut_to_size(
        self, domains: list[TopologyDomain], count: int, leader_count: int, slice_size: int, *, by_slices: bool
    ) -> list[TopologyDomain]:
        """Give each of ``domains`` in order all that it takes, until nothing is left (`updateCountsToMinimum…`)."""
        domains = self._put_leader_first(domains, count, leader_count, slice_size, by_slices=by_slices)
        chosen: list[TopologyDomain] = []
        remaining = count // slice_size if by_slices else count
        factor = slice_size if by_slices else 1
        for position, candidate in enumerate(domains):
            candidates = domains[position:]
            if leader_count > 0:
                domain, placed_count, leaders = self._cut_with_leader(
                    candidate, candidates, remaining, leader_count, factor, by_slices
                )
                chosen.append(domain)
                if placed_count is None:
                    return chosen
                remaining, leader_count = remaining - placed_count, leader_count - leaders
                continue
            domain = candidate
            if not self.takes_least_free and _room(domain, by_slices) >= remaining:
                domain = pick_best_fit(candidates, remaining, 0, by_slices=by_slices)
            domain.leaders = 0
            chosen.append(domain)
            placed_count = min(_room(domain, by_slices), remaining)
            if _room(domain, by_slices) >= remaining:
                _set_room(domain, remaining, factor, by_slices)
                return chosen
            domain.pods = placed_count * factor
            remaining -= placed_count
        return []

    def _cut_with_leader(
        self,
        domain: TopologyDomain,
        candidates: list[TopologyDomain],
        remaining: int,
        leader_count: int,
        factor: int,
        by_slices: bool,
    ) -> tuple[TopologyDomain, int | None, int]:
        """Give a domain what it takes beside the leader (`consumeWithLeadersGeneric`).

        Return it with what it got and its leaders; None if that is all that was left.
        """
        if (
            not self.takes_least_free
            and _room_with_leader(domain, by_slices) >= remaining
            and domain.leaders >= leader_count
        ):
            domain = pick_best_fit(candidates, remaining, leader_count, by_slices=by_slices)
        room = _room_with_leader(domain, by_slices)
        if room >= remaining and domain.leaders >= leader_count:
            _set_room(domain, remaining, factor, by_slices)
            domain.leaders = leader_count
            return domain, None, leader_count
        room = min(room, remaining)
        domain.leaders = min(domain.leaders, leader_count)
        if by_slices:
            domain.slices_with_leader = room
        else:
            domain.pods_with_leader = room
        _set_room(domain, room, factor, by_slices)
        return domain, room, domain.leaders

    def _no_fit(self, fitting: int, level: int) -> PlacementError:
        if self.shape.layers:
            return PlacementError(self._describe_layers(level) + self._exclusions.describe())
        unit = "pod" if self.shape.slice_size == 1 else "slice"
        needed, name = self.shape.slice_count, self.topology.name
        if fitting == 0:
            text = f'topology "{name}" doesn\'t allow to fit any of {needed} {unit}(s)'
        else:
            text = f'topology "{name}" allows to fit only {fitting} out of {needed} {unit}(s)'
        return PlacementError(text + self._exclusions.describe())

    def _describe_layers(self, level: int) -> str:
        """Return what fits of each layer in the domain with most slices (`multiLayerNotFitMessage`)."""
        text = f'topology "{self.topology.name}" doesn\'t allow to fit'
        best = min(self.topology.domains[level].values(), key=lambda domain: (-domain.slices, domain.id))
        for layer in self.shape.layers:
            target = self.topology.level_index(layer.topology)
            if target is not None:
                fitting = _count_slices(best, target - level, layer.size)
                text += f"; {fitting}/{self.shape.count // layer.size} slice(s) fit on level {layer.topology}"
        return text


def pick_best_fit(domains: list[TopologyDomain], needed: int, leader_count: int, *, by_slices: bool) -> TopologyDomain:
    """Return the first domain with the least room that is enough, else the first one (`findBestFitDomainBy`)."""
    room: Callable[[TopologyDomain, bool], int] = _room_with_leader if leader_count > 0 else _room
    fitting = [
        domain for domain in domains if domain.leaders >= leader_count and needed <= room(domain, by_slices) < MAX_PODS
    ]
    return min(fitting, key=lambda domain: room(domain, by_slices)) if fitting else domains[0]


def _takes_all(domain: TopologyDomain, needed: int, leader_count: int) -> bool:
    return domain.slices_with_leader >= needed and domain.leaders >= leader_count


def _room(domain: TopologyDomain, by_slices: bool) -> int:
    return domain.slices if by_slices else domain.pods


def _room_with_leader(domain: TopologyDomain, by_slices: bool) -> int:
    return domain.slices_with_leader if by_slices else domain.pods_with_leader


def _set_room(domain: TopologyDomain, room: int, factor: int, by_slices: bool) -> None:
    if by_slices:
        domain.slices = room
    domain.pods = room * factor


def _count_slices(domain: TopologyDomain, steps: int, size: int) -> int:
    if steps == 0:
        return domain.pods // size
    return sum(_count_slices(child, steps - 1, size) for child in domain.children)


def build_assignment(topology: TopologySnapshot, domains: Iterable[TopologyDomain]) -> TopologyAssignment:
    """Return the assignment of the pods in ``domains``; names of nodes say all by themselves."""
    first_level = len(topology.levels) - 1 if topology.ends_in_hostname else 0
    return TopologyAssignment(
        topology.levels[first_level:],
        tuple(
            DomainAssignment(domain.values[first_level:], domain.pods)
            for domain in sorted(domains, key=lambda domain: domain.values)
            if domain.pods > 0
        ),
    )
