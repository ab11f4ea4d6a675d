"""Topology groups: the number of matching pods in each domain, and the domains open to the next pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from random import Random

from kschedweb.engine.autoscaling.cluster.pod_constraints import (
    AFFINITY,
    HONOR,
    SPREAD,
    UNLIMITED,
    PodConstraints,
    PodSelection,
    PodTerm,
    TopologySpreadConstraint,
)
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirement, Requirements, new_exists_requirement
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.taints import Taint, Toleration, is_tolerated
from kschedweb.engine.values import dataclass

# The most domains whose counts a message lists.
MAX_SHOWN_DOMAINS = 25


@dataclass(frozen=True, slots=True)
class TopologyNodeFilter:
    """Selects the nodes that count for a spread: those that the pod could run on."""

    # Requirements of the pod, one of which must hold.
    alternatives: tuple[Requirements, ...]
    taints_policy: str
    affinity_policy: str
    tolerations: tuple[Toleration, ...]

    @classmethod
    def from_spread(cls, wants: PodConstraints, spread: TopologySpreadConstraint) -> TopologyNodeFilter:
        selector = Requirements.of_labels(wants.selector)
        if wants.required is None:
            alternatives: tuple[Requirements, ...] = (selector,)
        else:
            terms = (Requirements.of_written(term) for term in wants.required)
            alternatives = tuple(Requirements.from_requirements([*selector.values(), *term.values()]) for term in terms)
        return cls(alternatives, spread.taints_policy, spread.affinity_policy, wants.tolerations)

    @property
    def identity(self) -> Hashable:
        """The key by which Karpenter tells filters apart: only the keys of requirements, and no duplicates.

        Karpenter hashes slices as sets by XOR, so that what occurs an even number of times cancels out.
        """
        keys = _keep_odd(frozenset(alternative) for alternative in self.alternatives)
        return keys, self.taints_policy, self.affinity_policy, _keep_odd(self.tolerations)

    @property
    def content(self) -> Hashable:
        """A key of everything that the filter depends on."""
        rules = tuple(
            frozenset(requirement.rule for requirement in alternative.values()) for alternative in self.alternatives
        )
        return rules, self.taints_policy, self.affinity_policy, self.tolerations

    def matches(self, taints: tuple[Taint, ...], requirements: Requirements) -> bool:
        counts = self.affinity_policy == HONOR and self.alternatives
        if counts and not any(requirements.is_compatible(alternative) for alternative in self.alternatives):
            return False
        return self.taints_policy != HONOR or all(is_tolerated(taint, self.tolerations, True) for taint in taints)


def _keep_odd(items: Iterable[Hashable]) -> frozenset[Hashable]:
    return frozenset(item for item, number in Counter(items).items() if number % 2)


@dataclass(frozen=True, slots=True)
class TopologyRule:
    """The pods that a group counts, and what it requires."""

    # SPREAD, AFFINITY or ANTI_AFFINITY.
    kind: str
    # The topology key.
    key: str
    namespaces: frozenset[str]
    selecting: PodSelection
    max_skew: int = UNLIMITED
    min_domains: int | None = None
    # Selects the nodes that count; None if all do.
    filter: TopologyNodeFilter | None = None

    @property
    # Karpenter's `TopologyGroup.Hash`: rules of equal identity share a group, even if their filters differ.
    def identity(self) -> Hashable:
        of_nodes = None if self.filter is None else self.filter.identity
        return self.kind, self.key, self.namespaces, self.selecting.identity, self.max_skew, of_nodes

    @property
    def content(self) -> Hashable:
        return self.identity, None if self.filter is None else self.filter.content

    def counts_nodes_like(self, taints: tuple[Taint, ...], requirements: Requirements) -> bool:
        return self.filter is None or self.filter.matches(taints, requirements)


def spread_rule(pod: PodView, wants: PodConstraints, spread: TopologySpreadConstraint) -> TopologyRule:
    return TopologyRule(
        kind=SPREAD,
        key=spread.key,
        namespaces=frozenset({pod.namespace}),
        selecting=spread.selecting.narrow_by_labels(spread.label_keys, pod.labels),
        max_skew=spread.max_skew,
        min_domains=spread.min_domains,
        filter=TopologyNodeFilter.from_spread(wants, spread),
    )


def pod_rule(kind: str, term: PodTerm, namespaces: Collection[str]) -> TopologyRule:
    return TopologyRule(kind, term.key, frozenset(namespaces), term.selecting)


class TopologyGroup:
    """The number of pods that a rule counts, by domain."""

    __slots__ = ("domains", "owners", "recorded", "rule", "selected")

    def __init__(self, rule: TopologyRule, domains: dict[str, int], owners: set[str] | None = None) -> None:
        self.rule, self.domains = rule, domains
        # Domains that have pods, or had some in this solve.
        self.recorded = {domain for domain, number in domains.items() if number}
        # Uids of the pods that the rule belongs to.
        self.owners: set[str] = set() if owners is None else owners
        # Results of `selects`, by kind of pod.
        self.selected: dict[Hashable, bool] = {}

    def selects(self, pod: PodView) -> bool:
        selected = self.selected.get(pod.kind)
        if selected is None:
            rule = self.rule
            selected = pod.namespace in rule.namespaces and rule.selecting.selector.matches(pod.labels)
            self.selected[pod.kind] = selected
        return selected

    def record(self, domains: Iterable[str]) -> None:
        for domain in domains:
            self.domains[domain] = self.domains.get(domain, 0) + 1
            self.recorded.add(domain)

    def register(self, domain: str) -> None:
        self.domains.setdefault(domain, 0)

    def next_domains(
        self, pod: PodView, of_pod: Requirement, of_node: Requirement, chance: Random | None
    ) -> Requirement:
        """Return the domains open to the pod, of those that it and the node may be in."""
        if self.rule.kind == SPREAD:
            domains: Iterable[str] = self._next_of_spread(pod, of_pod, of_node, chance)
        elif self.rule.kind == AFFINITY:
            domains = self._next_of_affinity(pod, of_pod, of_node, chance)
        else:
            domains = self._next_of_anti_affinity(of_pod, of_node)
        return Requirement(self.rule.key, frozenset(domains))

    def describe_refusal(self, of_pod: Requirement, of_node: Requirement) -> str:
        """Return that no domain is open, in Karpenter's words."""
        names = sorted(self.domains)
        counts = ", ".join(f"{name}: {self.domains[name]}" for name in names[:MAX_SHOWN_DOMAINS])
        if len(names) > MAX_SHOWN_DOMAINS:
            counts += f" and {len(names) - MAX_SHOWN_DOMAINS} other(s)"
        return (
            f"unsatisfiable topology constraint for {self.rule.kind}, key={self.rule.key}"
            # Karpenter leaves the parenthesis open too.
            f" (counts = {counts}, podDomains = {of_pod}, nodeDomains = {of_node}"
        )

    def _next_of_spread(
        self, pod: PodView, of_pod: Requirement, of_node: Requirement, chance: Random | None
    ) -> list[str]:
        rule, domains, more = self.rule, self.domains, self.selects(pod)
        if rule.key == HOSTNAME and len(of_node.values) == 1:
            (host,) = of_node.values
            return [host] if domains.get(host, 0) + more <= rule.max_skew else []
        # The skew counts the pod itself only if the selector matches it.
        bound = self._domain_min_count(of_pod) + rule.max_skew - more
        if of_node.operator == IN:
            usable = [domain for domain in of_node.values if domain in domains and domains[domain] <= bound]
        else:
            usable = [domain for domain, number in domains.items() if number <= bound and of_node.has(domain)]
        if not usable:
            return []
        fewest = min(domains[domain] for domain in usable)
        return [_pick_domain([domain for domain in usable if domains[domain] == fewest], chance)]

    def _domain_min_count(self, of_pod: Requirement) -> int:
        """Return the least number of pods in a domain that the pod may be in."""
        if self.rule.key == HOSTNAME:
            # A new node can always be added, so that there may always be an empty host.
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
            is_allowed = of_pod.has(host) and (domains.get(host, 0) > 0 or self._can_begin(pod, of_pod))
            return {host} if is_allowed else set()
        names = of_node.values if of_node.operator == IN else domains
        usable = {
            domain for domain in names if domains.get(domain, 0) > 0 and of_pod.has(domain) and of_node.has(domain)
        }
        if usable or not self._can_begin(pod, of_pod):
            return usable
        # The first pod of its kind may start in any domain; one that the node allows is preferred.
        both = of_pod.intersection(of_node)
        for allowed in (both, of_pod):
            if matching := [domain for domain in domains if allowed.has(domain)]:
                usable.add(_pick_domain(matching, chance))
        return usable

    def _can_begin(self, pod: PodView, of_pod: Requirement) -> bool:
        """Return whether the pod matches its own affinity and no other matching pod is where it may go."""
        if not self.selects(pod):
            return False
        return not self.recorded or not any(
            number > 0 and of_pod.has(domain) for domain, number in self.domains.items()
        )

    def _next_of_anti_affinity(self, of_pod: Requirement, of_node: Requirement) -> list[str]:
        if self.rule.key == HOSTNAME and len(of_node.values) == 1:
            (host,) = of_node.values
            return [] if self.domains.get(host, 0) else [host]
        names: Iterable[str] = self.domains
        if of_node.operator == IN:
            names = [name for name in of_node.values if name in self.domains]
        return [
            domain for domain in names if domain not in self.recorded and of_node.has(domain) and of_pod.has(domain)
        ]


def _pick_domain(domains: list[str], chance: Random | None) -> str:
    """Pick one of equally good domains."""
    return min(domains) if chance is None else chance.choice(sorted(domains))


_ANYTHING: dict[str, Requirement] = {}


def any_domain(key: str) -> Requirement:
    """Return a requirement that allows every domain; shared, as it never changes."""
    if key not in _ANYTHING:
        _ANYTHING[key] = new_exists_requirement(key)
    return _ANYTHING[key]
