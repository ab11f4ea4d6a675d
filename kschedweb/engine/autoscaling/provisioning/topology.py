"""The topology of one solve: the groups that its pods belong to, counted over the cluster without those pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from random import Random

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.cluster.pod_constraints import (
    AFFINITY,
    ANTI_AFFINITY,
    IGNORE,
    PodConstraints,
    PodTerm,
)
from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirement, Requirements
from kschedweb.engine.autoscaling.provisioning.refusals import SchedulingRefusal, create_refusal
from kschedweb.engine.autoscaling.provisioning.topology_groups import (
    TopologyGroup,
    TopologyRule,
    any_domain,
    pod_rule,
    spread_rule,
)
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.spread import DO_NOT_SCHEDULE
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class DomainTally:
    """The counts of a rule over the whole cluster."""

    # The number of pods in each domain.
    counts: dict[str, int]
    # Domain by uid of the pod.
    pods: dict[str, str]
    # Domain by name of the node.
    nodes: dict[str, str]
    # The number of nodes in each domain.
    registered: dict[str, int]


class Domains:
    """The domains of new nodes and the tallies of a cluster, shared by all solves."""

    def __init__(self, world: ClusterState) -> None:
        self.world = world
        # By label key and domain, the taints of the NodePools that offer it; [()] if one has none.
        self._offered: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
        self._tallies: dict[Hashable, DomainTally] = {}
        self._inverse: list[tuple[PodView, TopologyRule, str | None]] | None = None
        for pool in world.usable_pools:
            if pool.name in world.catalogues:
                self._add_offered(
                    pool.taints,
                    [instance_type.requirements for instance_type in world.catalogues[pool.name].types],
                    pool.domain_requirements(),
                )

    def find_offered(self, rule: TopologyRule, wants: PodConstraints) -> dict[str, int]:
        """Return the domains of a key that new nodes can be in, each with 0 pods.

        If taints count for the rule, only domains whose taints the pod tolerates.
        """
        listed = self._offered.get(rule.key, {})
        if rule.filter is not None and rule.filter.taints_policy == IGNORE:
            return dict.fromkeys(listed, 0)
        return {domain: 0 for domain, sets in listed.items() if any(wants.tolerates(taints) for taints in sets)}

    def get_tally(self, rule: TopologyRule) -> DomainTally:
        key = rule.content
        if key not in self._tallies:
            self._tallies[key] = self._count_domains(rule)
        return self._tallies[key]

    def list_inverse(self) -> list[tuple[PodView, TopologyRule, str | None]]:
        """Return the anti-affinity terms of placed pods, each with its pod and the domain that it keeps free."""
        if self._inverse is None:
            self._inverse = [
                (pod, self.create_rule(ANTI_AFFINITY, term, pod), machine.node.labels.get(term.key))
                for machine in self.world.machines
                if machine.node is not None
                for pod in machine.counted_pods
                for term in pod.pod_data.wants.anti_affinity
            ]
        return self._inverse

    def create_rule(self, kind: str, term: PodTerm, pod: PodView) -> TopologyRule:
        """Create the rule of a pod affinity or anti-affinity term."""
        if term.namespace_selector is None:
            return pod_rule(kind, term, term.namespaces or (pod.namespace,))
        selected = [name for name, labels in self.world.namespaces.items() if term.namespace_selector.matches(labels)]
        return pod_rule(kind, term, (*selected, *term.namespaces))

    def _add_offered(
        self, taints: tuple[Taint, ...], sold: Sequence[Requirements], pool_requirements: Requirements
    ) -> None:
        for type_requirements in sold:
            requirements = pool_requirements.copy()
            requirements.add(type_requirements.values())
            for key, requirement in requirements.items():
                self._insert_domains(key, requirement.values, taints)
        for key, requirement in pool_requirements.items():
            self._insert_domains(key, requirement.values if requirement.operator == IN else (), taints)

    def _insert_domains(self, key: str, domains: Iterable[str], taints: tuple[Taint, ...]) -> None:
        taints_by_domain = self._offered.setdefault(key, {})
        # One set without taints makes the domain open to all pods, so that no other set matters.
        for domain in domains:
            sets = taints_by_domain.get(domain)
            if sets is None or not taints:
                taints_by_domain[domain] = [taints]
            elif sets[0] and taints not in sets:
                sets.append(taints)

    def _count_domains(self, rule: TopologyRule) -> DomainTally:
        tally = DomainTally({}, {}, {}, {})
        for machine in self.world.active_nodes:
            node = machine.node
            if node is None or not rule.counts_nodes_like(node.taints, node.requirements):
                continue
            domain = machine.labels.get(rule.key)
            if domain is not None:
                tally.nodes[machine.name] = domain
                tally.registered[domain] = tally.registered.get(domain, 0) + 1
        counted: dict[str, str | None] = {}
        # A selector is evaluated once for all pods that it cannot tell apart.
        for alike in self.world.pods_by_kind.values():
            first = alike[0]
            if first.namespace in rule.namespaces and rule.selecting.listing.matches(first.labels):
                for pod in alike:
                    self._count_pod(rule, pod, counted, tally)
        return tally

    def _count_pod(self, rule: TopologyRule, pod: PodView, counted: dict[str, str | None], tally: DomainTally) -> None:
        if not pod.node or not pod.is_active:
            return
        if pod.node not in counted:
            counted[pod.node] = self._find_domain(rule, pod.node)
        domain = counted[pod.node]
        if domain is not None:
            tally.pods[pod.uid] = domain
            tally.counts[domain] = tally.counts.get(domain, 0) + 1

    def _find_domain(self, rule: TopologyRule, name: str) -> str | None:
        """Return the domain of a node; None if it has none or does not count."""
        node = self.world.nodes.get(name)
        if node is None:
            return None
        domain = node.labels.get(rule.key, node.name if rule.key == HOSTNAME else None)
        matches = domain is not None and rule.counts_nodes_like(node.taints, node.requirements)
        return domain if matches else None


class Topology:
    """The groups of one solve. ``removed`` names machines to leave out, ``pods`` are those to be placed."""

    def __init__(
        self, domains: Domains, removed: Collection[str], pods: Sequence[PodView], chance: Random | None = None
    ) -> None:
        self._domains, self._removed, self._chance = domains, removed, chance
        self._moving = {pod.uid for pod in pods}
        self._ignoring = domains.world.settings.ignores_preferences
        # Groups by their identity; inverse groups are those of other pods' anti-affinity.
        self.groups: dict[Hashable, TopologyGroup] = {}
        self._inverse: dict[Hashable, TopologyGroup] = {}
        self._owned: dict[str, list[TopologyGroup]] = {}
        for pod, rule, domain in domains.list_inverse():
            if pod.uid not in self._moving:
                self._keep_off(pod, rule, pod.pod_data.wants, domain)
        for pod in pods:
            self.update(pod, pod.pod_data.wants)

    def update(self, pod: PodView, wants: PodConstraints) -> None:
        """Make the pod a member of the groups of its current constraints, and of no other."""
        for group in self._owned.pop(pod.uid, ()):
            group.owners.discard(pod.uid)
        if not wants.looks_at_pods:
            return
        for term in wants.anti_affinity:
            self._keep_off(pod, self._domains.create_rule(ANTI_AFFINITY, term, pod), wants, None)
        owned_groups = self._owned[pod.uid] = []
        for rule in self._list_rules(pod, wants):
            identity = rule.identity
            if identity not in self.groups:
                self.groups[identity] = self._new_group(rule, wants)
            self.groups[identity].owners.add(pod.uid)
            if self.groups[identity] not in owned_groups:
                owned_groups.append(self.groups[identity])

    def concerns(self, pod: PodView) -> bool:
        """Return whether any group restricts where the pod can go."""
        return pod.uid in self._owned or any(group.selects(pod) for group in self._inverse.values())

    def add_requirements(
        self,
        pod: PodView,
        wants: PodConstraints,
        requirements: Requirements,
        allow_undefined: frozenset[str],
    ) -> Requirements | SchedulingRefusal:
        """Narrow a node's requirements by those of topology; a refusal if no domain is left."""
        owned_groups = self._owned.get(pod.uid, ())
        groups = [*owned_groups, *(group for group in self._inverse.values() if group.selects(pod))]
        if not groups:
            return requirements
        narrowed = requirements.copy()
        for group in groups:
            key = group.rule.key
            of_pod = wants.strict_requirements.get(key) or any_domain(key)
            of_node = requirements.get(key) or any_domain(key)
            domains = group.next_domains(pod, of_pod, of_node, self._chance)
            if not domains.values:
                return SchedulingRefusal(_defer_description(group, of_pod, of_node))
            narrowed.add([domains])
        if not requirements.is_compatible(narrowed, allow_undefined):
            return create_refusal(requirements.find_conflict(narrowed, allow_undefined))
        return narrowed

    def record(self, pod: PodView, taints: tuple[Taint, ...], requirements: Requirements) -> None:
        """Count the pod on a node with these requirements."""
        for group in self.groups.values():
            if not group.selects(pod) or not group.rule.counts_nodes_like(taints, requirements):
                continue
            domains = requirements.requirement_for(group.rule.key).values
            # Anti-affinity counts every domain that the node may end up in; the others need to know the one.
            if group.rule.kind == ANTI_AFFINITY or _is_one(requirements, group.rule.key):
                group.record(domains)
        for group in self._inverse.values():
            if pod.uid in group.owners:
                group.record(requirements.requirement_for(group.rule.key).values)

    def register(self, hosts: Iterable[str]) -> None:
        """Add a domain for each of these host names."""
        of_hosts = [group for group in (*self.groups.values(), *self._inverse.values()) if group.rule.key == HOSTNAME]
        for host in hosts if of_hosts else ():
            for group in of_hosts:
                group.register(host)

    def _list_rules(self, pod: PodView, wants: PodConstraints) -> Iterable[TopologyRule]:
        for spread in wants.spreads:
            if not self._ignoring or spread.when == DO_NOT_SCHEDULE:
                yield spread_rule(pod, wants, spread)
        for term in (*wants.affinity, *(() if self._ignoring else wants.preferred_affinity)):
            yield self._domains.create_rule(AFFINITY, term, pod)
        for term in (*wants.anti_affinity, *(() if self._ignoring else wants.preferred_anti_affinity)):
            yield self._domains.create_rule(ANTI_AFFINITY, term, pod)

    def _keep_off(self, pod: PodView, rule: TopologyRule, wants: PodConstraints, domain: str | None) -> None:
        identity = rule.identity
        if identity not in self._inverse:
            self._inverse[identity] = TopologyGroup(rule, self._domains.find_offered(rule, wants))
        group = self._inverse[identity]
        if domain is not None:
            group.record([domain])
        group.owners.add(pod.uid)

    def _new_group(self, rule: TopologyRule, wants: PodConstraints) -> TopologyGroup:
        domains, tally = self._domains.find_offered(rule, wants), self._domains.get_tally(rule)
        remaining = dict(tally.registered)
        for name in self._removed:
            if name in tally.nodes:
                remaining[tally.nodes[name]] -= 1
        for domain, number in remaining.items():
            if number:
                domains.setdefault(domain, 0)
        # The tally counts the pods to be placed where they run now; they must not hinder themselves.
        counts = dict(tally.counts)
        for uid in self._moving & tally.pods.keys():
            counts[tally.pods[uid]] -= 1
        domains.update((domain, number) for domain, number in counts.items() if number)
        return TopologyGroup(rule, domains)


def _is_one(requirements: Requirements, key: str) -> bool:
    requirement = requirements.get(key)
    return requirement is not None and not requirement.complement and len(requirement.values) == 1


def _defer_description(group: TopologyGroup, of_pod: Requirement, of_node: Requirement) -> Callable[[], str]:
    return lambda: group.describe_refusal(of_pod, of_node)
