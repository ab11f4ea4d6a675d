"""Placing pods evenly over domains (gate TASBalancedPlacement, `tas_balanced_placement.go`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from kschedweb.engine.queueing.topology.topology_placement import DomainChooser, PlacementShape, fill_upwards
from kschedweb.engine.queueing.topology.topology_snapshot import TopologyDomain, TopologySnapshot


class BalancedChoice(NamedTuple):
    """Domains with the pods that each gets, and their level."""

    level: int
    domains: list[TopologyDomain]


class GreedyResult(NamedTuple):
    """Number of domains that a greedy assignment takes, and the last ones with and without the leader."""

    domain_count: int
    last_with_leader: TopologyDomain | None
    last: TopologyDomain | None


class BalancedPlacer:
    """Finds the set of domains in which the emptiest one gets the most slices."""

    def __init__(self, topology: TopologySnapshot, shape: PlacementShape, chooser: DomainChooser) -> None:
        self._topology = topology
        self._shape = shape
        self._chooser = chooser

    def place(self) -> BalancedChoice | None:
        """Return the domains with what each gets; None if pods cannot be placed evenly."""
        domains, threshold = self._find_best_domains()
        return self._apply_threshold(domains, threshold) if threshold > 0 else None

    def _find_best_domains(self) -> tuple[list[TopologyDomain], int]:
        """Return copies of the domains of the best set, and how many slices each of them gets at least."""
        best_domains: list[TopologyDomain] = []
        best_threshold, best_count = 0, 0
        for siblings in self._list_sets():
            candidate = self._evaluate_set(siblings, best_threshold)
            if candidate is None:
                continue
            domains, threshold, count = candidate
            if threshold > best_threshold or (threshold == best_threshold and count < best_count):
                best_domains, best_threshold, best_count = domains, threshold, count
        return best_domains, best_threshold

    def _list_sets(self) -> list[list[TopologyDomain]]:
        """Return the domains of the requested level, by the domain that they are in."""
        level = self._shape.requested_level
        if level == 0:
            return [list(self._topology.domains[0].values())]
        parents = sorted(self._topology.domains[level - 1].values(), key=lambda domain: domain.values)
        return [parent.children for parent in parents]

    def _evaluate_set(
        self, siblings: list[TopologyDomain], least_threshold: int
    ) -> tuple[list[TopologyDomain], int, int] | None:
        """Return copies without what gets too little, their threshold and number; None below ``least``."""
        shape = self._shape
        domains = [domain.copy_tree() for domain in siblings]
        lower = _list_children(domains) if shape.requested_level < shape.slice_level else domains
        greedy = self._assign_greedily(lower)
        if greedy is None:
            return None
        threshold = shape.slice_count // greedy.domain_count
        if greedy.last_with_leader is not None:
            threshold = min(threshold, greedy.last_with_leader.slices_with_leader)
        reserved = threshold
        if greedy.last is not None:
            threshold = min(threshold, greedy.last.slices)
            reserved = min(threshold, greedy.last.slices_with_leader) if shape.leader_count > 0 else threshold
        if threshold < least_threshold:
            return None
        self._prune(domains, threshold)
        pruned = self._assign_greedily(domains)
        if pruned is None and reserved < threshold:
            # Once more with room for the leader.
            if reserved <= 0 or reserved < least_threshold:
                return None
            threshold, domains = reserved, [domain.copy_tree() for domain in siblings]
            self._prune(domains, threshold)
            pruned = self._assign_greedily(domains)
        return None if pruned is None else (domains, threshold, pruned.domain_count)

    def _assign_greedily(self, domains: list[TopologyDomain]) -> GreedyResult | None:
        """Take domains in order until all fits (`evaluateGreedyAssignment`); None if it does not."""
        remaining, leaders = self._shape.slice_count, self._shape.leader_count
        count, last_with_leader, last = 0, None, None
        if leaders > 0:
            domains = self._chooser.sort_for_leader(domains)
            for domain in list(domains):
                if leaders <= 0 or domain.leaders <= 0:
                    break
                last_with_leader, domains = domain, domains[1:]
                count, leaders = count + 1, leaders - domain.leaders
                remaining -= domain.slices_with_leader
        if leaders > 0:
            return None
        for domain in self._chooser.sort_domains(domains):
            if remaining <= 0 or domain.slices <= 0:
                break
            count, last, remaining = count + 1, domain, remaining - domain.slices
        return None if remaining > 0 else GreedyResult(count, last_with_leader, last)

    def _prune(self, domains: list[TopologyDomain], threshold: int) -> None:
        """Empty what takes less than ``threshold`` slices (`pruneDomainsBelowThreshold`)."""
        shape = self._shape
        needs_leader = shape.leader_count > 0
        for domain in _list_children(domains):
            _prune_domain(domain, threshold, needs_leader)
        for domain in domains:
            fill_upwards(domain, shape.requested_level, shape.slice_size, shape.slice_level, {}, needs_leader)
            _prune_domain(domain, threshold, needs_leader)

    def _apply_threshold(self, domains: list[TopologyDomain], threshold: int) -> BalancedChoice | None:
        """Give each of the best domains its slices (`applyBalancedPlacementAlgorithm`)."""
        level = self._shape.requested_level
        if level < self._shape.slice_level:
            selected = self._select_optimal(domains, by_entropy=True)
            if selected is None:
                return None
            domains, level = _list_children(selected), level + 1
        placed = self._place_slices(domains, threshold)
        return None if placed is None else BalancedChoice(level, placed)

    def _select_optimal(self, domains: list[TopologyDomain], *, by_entropy: bool) -> list[TopologyDomain] | None:
        """Return as few domains as possible with as little room as possible (`selectOptimalDomainSetToFit`).

        A placement is known by its number of domains and by what it leaves: the first one of each kind stays.
        """
        shape = self._shape
        greedy = self._assign_greedily(domains)
        if greedy is None:
            return None
        ordered = sorted(domains, key=_capacity_and_entropy if by_entropy else lambda domain: domain.values)
        placements: list[dict[tuple[int, int], list[TopologyDomain]]] = [{} for _ in range(greedy.domain_count + 1)]
        placements[0][shape.leader_count, shape.slice_count * shape.slice_size] = []
        for domain in ordered:
            for count in range(greedy.domain_count, 0, -1):
                for (leaders, pods), chosen in sorted(placements[count - 1].items(), key=lambda item: item[0]):
                    if leaders <= 0 and pods <= 0:
                        continue
                    longer = [*chosen, domain]
                    if leaders > 0 and domain.leaders > 0:
                        placements[count].setdefault((leaders - domain.leaders, pods - domain.pods_with_leader), longer)
                    if domain.slices > 0:
                        placements[count].setdefault((leaders, pods - domain.pods), longer)
        complete = [
            (pods, chosen)
            for (leaders, pods), chosen in placements[greedy.domain_count].items()
            if leaders == 0 and pods <= 0
        ]
        return max(complete, key=lambda item: item[0])[1] if complete else None

    def _place_slices(self, domains: list[TopologyDomain], threshold: int) -> list[TopologyDomain] | None:
        """Give each chosen domain ``threshold`` slices, and what is left to the first with room."""
        shape = self._shape
        selected = self._select_optimal(domains, by_entropy=False)
        if selected is None or shape.slice_count < len(selected) * threshold:
            return None
        selected = self._chooser.sort_for_leader(selected)
        extra, leaders = shape.slice_count - len(selected) * threshold, shape.leader_count
        for domain in selected:
            extra_slices = 0
            if leaders > 0:
                extra_slices = min(domain.slices_with_leader - threshold, extra)
                domain.leaders, leaders = 1, leaders - 1
            else:
                extra_slices = min(domain.slices - threshold, extra) if extra > 0 else 0
                domain.leaders = 0
            domain.slices = domain.slices_with_leader = threshold + extra_slices
            domain.pods = domain.slices * shape.slice_size
            domain.pods_with_leader = domain.pods - domain.leaders
            extra -= extra_slices
        return None if extra > 0 or leaders > 0 else selected


def _list_children(domains: Iterable[TopologyDomain]) -> list[TopologyDomain]:
    return [child for domain in domains for child in domain.children]


def _prune_domain(domain: TopologyDomain, threshold: int, needs_leader: bool) -> None:
    if domain.slices < threshold:
        domain.clear_counts()
    elif needs_leader and domain.leaders > 0 and domain.slices_with_leader < threshold:
        domain.clear_leader()


def _capacity_and_entropy(domain: TopologyDomain) -> tuple[int, int, float, tuple[str, ...]]:
    return -domain.leaders, -domain.slices_with_leader, -_compute_entropy(domain.children), domain.values


def _compute_entropy(domains: list[TopologyDomain]) -> float:
    """Return how evenly the pods are spread over ``domains``, in bits."""
    total = sum(domain.pods for domain in domains)
    entropy = 0.0
    for domain in domains:
        if domain.pods > 0:
            share = domain.pods / total
            entropy += -share * math.log2(share)
    return entropy
