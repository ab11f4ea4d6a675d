"""Topology groups: how many pods of a kind there are in each domain, and which domains are left for the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from random import Random

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.wants import (
    AFFINITY,
    HONOR,
    SPREAD,
    UNLIMITED,
    PodTerm,
    Selecting,
    Spread,
    Wants,
)
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirement, Requirements, anything
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.taints import Taint, Toleration, tolerated
from kschedweb.engine.values import dataclass

SHOWN = 25  # domains that a message counts


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes count for a spread: those that the pod could be on."""

    alternatives: tuple[Requirements, ...]
    taints_policy: str
    affinity_policy: str
    tolerations: tuple[Toleration, ...]

    @classmethod
    def of(cls, wants: Wants, spread: Spread) -> NodeFilter:
        selector = Requirements.of_labels(wants.selector)
        if wants.required is None:
            alternatives: tuple[Requirements, ...] = (selector,)
        else:
            terms = (Requirements.of_written(term) for term in wants.required)
            alternatives = tuple(Requirements.of([*selector.values(), *term.values()]) for term in terms)
        return cls(alternatives, spread.taints_policy, spread.affinity_policy, wants.tolerations)

    @property
    def identity(self) -> Hashable:
        """What Karpenter tells filters apart by: of requirements the keys alone, and nothing that is there twice."""
        keys = _odd(frozenset(one) for one in self.alternatives)
        return keys, self.taints_policy, self.affinity_policy, _odd(self.tolerations)

    @property
    def content(self) -> Hashable:
        """All that it goes by."""
        rules = tuple(frozenset(one.rule for one in each.values()) for each in self.alternatives)
        return rules, self.taints_policy, self.affinity_policy, self.tolerations

    def matches(self, taints: tuple[Taint, ...], requirements: Requirements) -> bool:
        counts = self.affinity_policy == HONOR and self.alternatives
        if counts and not any(requirements.compatible(one) for one in self.alternatives):
            return False
        return self.taints_policy != HONOR or all(tolerated(one, self.tolerations, True) for one in taints)


def _odd(items: Iterable[Hashable]) -> frozenset[Hashable]:
    return frozenset(item for item, number in Counter(items).items() if number % 2)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a group counts and demands. ``identity`` is what Karpenter tells groups apart by."""

    kind: str
    key: str
    namespaces: frozenset[str]
    selecting: Selecting
    max_skew: int = UNLIMITED
    min_domains: int | None = None
    filter: NodeFilter | None = None

    @property
    def identity(self) -> Hashable:
        of_nodes = None if self.filter is None else self.filter.identity
        return self.kind, self.key, self.namespaces, self.selecting.identity, self.max_skew, of_nodes

    @property
    def content(self) -> Hashable:
        return self.identity, None if self.filter is None else self.filter.content

    def counts_nodes_like(self, taints: tuple[Taint, ...], requirements: Requirements) -> bool:
        return self.filter is None or self.filter.matches(taints, requirements)


def spread_rule(pod: PodView, wants: Wants, spread: Spread) -> Rule:
    return Rule(
        kind=SPREAD,
        key=spread.key,
        namespaces=frozenset({pod.namespace}),
        selecting=spread.selecting.narrowed(spread.label_keys, pod.labels),
        max_skew=spread.max_skew,
        min_domains=spread.min_domains,
        filter=NodeFilter.of(wants, spread),
    )


def pod_rule(kind: str, term: PodTerm, namespaces: Collection[str]) -> Rule:
    return Rule(kind, term.key, frozenset(namespaces), term.selecting)


class Group:
    """The pods that a rule counts, by domain. ``recorded`` are the domains that have, or had, any."""

    __slots__ = ("domains", "owners", "recorded", "rule", "selected")

    def __init__(self, rule: Rule, domains: dict[str, int], owners: set[str] | None = None) -> None:
        self.rule, self.domains = rule, domains
        self.recorded = {domain for domain, number in domains.items() if number}
        self.owners: set[str] = set() if owners is None else owners
        self.selected: dict[Hashable, bool] = {}

    def selects(self, pod: PodView) -> bool:
        found = self.selected.get(pod.kind)
        if found is None:
            rule = self.rule
            found = pod.namespace in rule.namespaces and rule.selecting.selector.matches(pod.labels)
            self.selected[pod.kind] = found
        return found

    def record(self, domains: Iterable[str]) -> None:
        for domain in domains:
            self.domains[domain] = self.domains.get(domain, 0) + 1
            self.recorded.add(domain)

    def register(self, domain: str) -> None:
        self.domains.setdefault(domain, 0)

    def next(self, pod: PodView, of_pod: Requirement, of_node: Requirement, chance: Random | None) -> Requirement:
        """The domains that are left for the pod, of those that it and the node may be in."""
        if self.rule.kind == SPREAD:
            found: Iterable[str] = self._next_of_spread(pod, of_pod, of_node, chance)
        elif self.rule.kind == AFFINITY:
            found = self._next_of_affinity(pod, of_pod, of_node, chance)
        else:
            found = self._next_of_anti_affinity(of_pod, of_node)
        return Requirement(self.rule.key, frozenset(found))

    def refusal(self, of_pod: Requirement, of_node: Requirement) -> str:
        """That no domain is left, in Karpenter's words."""
        names = sorted(self.domains)
        counts = ", ".join(f"{name}: {self.domains[name]}" for name in names[:SHOWN])
        if len(names) > SHOWN:
            counts += f" and {len(names) - SHOWN} other(s)"
        return (
            f"unsatisfiable topology constraint for {self.rule.kind}, key={self.rule.key}"
            f" (counts = {counts}, podDomains = {of_pod}, nodeDomains = {of_node}"
        )

    def _next_of_spread(
        self, pod: PodView, of_pod: Requirement, of_node: Requirement, chance: Random | None
    ) -> list[str]:
        rule, domains, more = self.rule, self.domains, self.selects(pod)
        if rule.key == HOSTNAME and len(of_node.values) == 1:
            (host,) = of_node.values
            return [host] if domains.get(host, 0) + more <= rule.max_skew else []
        bound = self._fewest(of_pod) + rule.max_skew - more
        if of_node.operator == IN:
            left = [domain for domain in of_node.values if domain in domains and domains[domain] <= bound]
        else:
            left = [domain for domain, number in domains.items() if number <= bound and of_node.has(domain)]
        if not left:
            return []
        fewest = min(domains[domain] for domain in left)
        return [_one([domain for domain in left if domains[domain] == fewest], chance)]

    def _fewest(self, of_pod: Requirement) -> int:
        """The least number of pods in a domain that the pod may be in."""
        if self.rule.key == HOSTNAME:
            return 0
        numbers = [number for domain, number in self.domains.items() if of_pod.has(domain)]
        if self.rule.min_domains is not None and len(numbers) < self.rule.min_domains:
            return 0
        return min(numbers, default=UNLIMITED)

    def _next_of_affinity(
        self, pod: PodView, of_pod: Requirement, of_node: Requirement, chance: Random | None
    ) -> set[str]:
        domains = self.domains
        if self.rule.key == HOSTNAME and len(of_node.values) == 1:
            (host,) = of_node.values
            taken = of_pod.has(host) and (domains.get(host, 0) > 0 or self._begins(pod, of_pod))
            return {host} if taken else set()
        names = of_node.values if of_node.operator == IN else domains
        found = {one for one in names if domains.get(one, 0) > 0 and of_pod.has(one) and of_node.has(one)}
        if found or not self._begins(pod, of_pod):
            return found
        # The first pod of its kind may begin anywhere; where the node leaves it a domain, there.
        both = of_pod.intersection(of_node)
        for allowed in (both, of_pod):
            if left := [domain for domain in domains if allowed.has(domain)]:
                found.add(_one(left, chance))
        return found

    def _begins(self, pod: PodView, of_pod: Requirement) -> bool:
        """Whether the pod is of the kind it wants to be with, and no other is where it may be."""
        if not self.selects(pod):
            return False
        return not self.recorded or not any(number > 0 and of_pod.has(one) for one, number in self.domains.items())

    def _next_of_anti_affinity(self, of_pod: Requirement, of_node: Requirement) -> list[str]:
        if self.rule.key == HOSTNAME and len(of_node.values) == 1:
            (host,) = of_node.values
            return [] if self.domains.get(host, 0) else [host]
        names: Iterable[str] = self.domains
        if of_node.operator == IN:
            names = [name for name in of_node.values if name in self.domains]
        return [one for one in names if one not in self.recorded and of_node.has(one) and of_pod.has(one)]


def _one(domains: list[str], chance: Random | None) -> str:
    """One of equally good domains."""
    return min(domains) if chance is None else chance.choice(sorted(domains))


_ANYTHING: dict[str, Requirement] = {}


def any_domain(key: str) -> Requirement:
    """A requirement that leaves every domain; shared, as it never changes."""
    if key not in _ANYTHING:
        _ANYTHING[key] = anything(key)
    return _ANYTHING[key]
