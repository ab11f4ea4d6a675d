"""The topology of one try: the groups that its pods belong to, counted over the cluster without those pods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from random import Random

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.cluster.wants import AFFINITY, ANTI_AFFINITY, IGNORE, PodTerm, Wants
from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirement, Requirements
from kschedweb.engine.autoscaling.provisioning.groups import Group, Rule, any_domain, pod_rule, spread_rule
from kschedweb.engine.autoscaling.provisioning.refusals import Refusal, refused
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.spread import DO_NOT_SCHEDULE
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Tally:
    """What a rule counts over the whole cluster: ``pods`` and ``nodes`` to their domains, and the sums."""

    counts: dict[str, int]
    pods: dict[str, str]  # by uid
    nodes: dict[str, str]
    registered: dict[str, int]


class Domains:
    """Which domains new nodes can be in, and the tallies of a cluster, worked out once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._offered: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
        self._tallies: dict[Hashable, Tally] = {}
        self._inverse: list[tuple[PodView, Rule, str | None]] | None = None
        for pool in world.usable:
            if pool.name in world.catalogues:
                self._offer(
                    pool.taints, [one.requirements for one in world.catalogues[pool.name].types], pool.domains()
                )

    def offered(self, rule: Rule, wants: Wants) -> dict[str, int]:
        """The domains of a key that new nodes can be in, without pods; where taints count, those that are tolerated."""
        listed = self._offered.get(rule.key, {})
        if rule.filter is not None and rule.filter.taints_policy == IGNORE:
            return dict.fromkeys(listed, 0)
        return {one: 0 for one, sets in listed.items() if any(wants.tolerates(taints) for taints in sets)}

    def tally(self, rule: Rule) -> Tally:
        key = rule.content
        if key not in self._tallies:
            self._tallies[key] = self._counted(rule)
        return self._tallies[key]

    def inverse(self) -> list[tuple[PodView, Rule, str | None]]:
        """The terms by which placed pods keep others off, each with the domain of its pod."""
        if self._inverse is None:
            self._inverse = [
                (pod, self.rule(ANTI_AFFINITY, term, pod), machine.node.labels.get(term.key))
                for machine in self.world.machines
                if machine.node is not None
                for pod in machine.counted_pods
                for term in pod.asking.wants.anti_affinity
            ]
        return self._inverse

    def rule(self, kind: str, term: PodTerm, pod: PodView) -> Rule:
        """The rule of a term of (anti-)affinity to pods."""
        if term.namespace_selector is None:
            return pod_rule(kind, term, term.namespaces or (pod.namespace,))
        selected = [name for name, labels in self.world.namespaces.items() if term.namespace_selector.matches(labels)]
        return pod_rule(kind, term, (*selected, *term.namespaces))

    def _offer(self, taints: tuple[Taint, ...], sold: Sequence[Requirements], own: Requirements) -> None:
        for one in sold:
            found = own.copy()
            found.add(one.values())
            for key, wanted in found.items():
                self._insert(key, wanted.values, taints)
        for key, wanted in own.items():
            self._insert(key, wanted.values if wanted.operator == IN else (), taints)

    def _insert(self, key: str, domains: Iterable[str], taints: tuple[Taint, ...]) -> None:
        known = self._offered.setdefault(key, {})
        for domain in domains:
            sets = known.get(domain)
            if sets is None or not taints:
                known[domain] = [taints]
            elif sets[0] and taints not in sets:
                sets.append(taints)

    def _counted(self, rule: Rule) -> Tally:
        found = Tally({}, {}, {}, {})
        for machine in self.world.active:
            node = machine.node
            if node is None or not rule.counts_nodes_like(node.taints, node.requirements):
                continue
            domain = machine.labels.get(rule.key)
            if domain is not None:
                found.nodes[machine.name] = domain
                found.registered[domain] = found.registered.get(domain, 0) + 1
        counted: dict[str, str | None] = {}
        for alike in self.world.alike.values():
            first = alike[0]
            if first.namespace in rule.namespaces and rule.selecting.listing.matches(first.labels):
                for pod in alike:
                    self._count(rule, pod, counted, found)
        return found

    def _count(self, rule: Rule, pod: PodView, counted: dict[str, str | None], found: Tally) -> None:
        if not pod.node or not pod.active:
            return
        if pod.node not in counted:
            counted[pod.node] = self._domain(rule, pod.node)
        domain = counted[pod.node]
        if domain is not None:
            found.pods[pod.uid] = domain
            found.counts[domain] = found.counts.get(domain, 0) + 1

    def _domain(self, rule: Rule, name: str) -> str | None:
        """The domain of a node, None where it has none or does not count."""
        node = self.world.nodes.get(name)
        if node is None:
            return None
        domain = node.labels.get(rule.key, node.name if rule.key == HOSTNAME else None)
        matches = domain is not None and rule.counts_nodes_like(node.taints, node.requirements)
        return domain if matches else None


class Topology:
    """The groups of one try. ``gone`` are the machines that are left out, ``pods`` those that are to be placed."""

    def __init__(
        self, domains: Domains, gone: Collection[str], pods: Sequence[PodView], chance: Random | None = None
    ) -> None:
        self._domains, self._gone, self._chance = domains, gone, chance
        self._moving = {pod.uid for pod in pods}
        self._ignoring = domains.world.settings.ignores_preferences
        self.groups: dict[Hashable, Group] = {}
        self._inverse: dict[Hashable, Group] = {}
        self._owned: dict[str, list[Group]] = {}
        for pod, rule, domain in domains.inverse():
            if pod.uid not in self._moving:
                self._keep_off(pod, rule, pod.asking.wants, domain)
        for pod in pods:
            self.update(pod, pod.asking.wants)

    def update(self, pod: PodView, wants: Wants) -> None:
        """Let the pod belong to the groups of its wishes as they are now, and to no other."""
        for group in self._owned.pop(pod.uid, ()):
            group.owners.discard(pod.uid)
        if not wants.looks_at_pods:
            return
        for term in wants.anti_affinity:
            self._keep_off(pod, self._domains.rule(ANTI_AFFINITY, term, pod), wants, None)
        own = self._owned[pod.uid] = []
        for rule in self._rules(pod, wants):
            identity = rule.identity
            if identity not in self.groups:
                self.groups[identity] = self._new_group(rule, wants)
            self.groups[identity].owners.add(pod.uid)
            if self.groups[identity] not in own:
                own.append(self.groups[identity])

    def concerns(self, pod: PodView) -> bool:
        """Whether any group has a say in where the pod goes."""
        return pod.uid in self._owned or any(group.selects(pod) for group in self._inverse.values())

    def narrow(
        self,
        pod: PodView,
        wants: Wants,
        requirements: Requirements,
        known: frozenset[str],
    ) -> Requirements | Refusal:
        """The requirements of a node with those of topology; a refusal where no domain is left."""
        own = self._owned.get(pod.uid, ())
        groups = [*own, *(group for group in self._inverse.values() if group.selects(pod))]
        if not groups:
            return requirements
        found = requirements.copy()
        for group in groups:
            key = group.rule.key
            of_pod = wants.strict.get(key) or any_domain(key)
            of_node = requirements.get(key) or any_domain(key)
            left = group.next(pod, of_pod, of_node, self._chance)
            if not left.values:
                return Refusal(_said(group, of_pod, of_node))
            found.add([left])
        if not requirements.compatible(found, known):
            return refused(requirements.conflict(found, known))
        return found

    def record(self, pod: PodView, taints: tuple[Taint, ...], requirements: Requirements) -> None:
        """The pod goes to a node of these requirements."""
        for group in self.groups.values():
            if not group.selects(pod) or not group.rule.counts_nodes_like(taints, requirements):
                continue
            domains = requirements.allowed(group.rule.key).values
            if group.rule.kind == ANTI_AFFINITY or _is_one(requirements, group.rule.key):
                group.record(domains)
        for group in self._inverse.values():
            if pod.uid in group.owners:
                group.record(requirements.allowed(group.rule.key).values)

    def register(self, hosts: Iterable[str]) -> None:
        """There are nodes of these names."""
        of_hosts = [group for group in (*self.groups.values(), *self._inverse.values()) if group.rule.key == HOSTNAME]
        for host in hosts if of_hosts else ():
            for group in of_hosts:
                group.register(host)

    def _rules(self, pod: PodView, wants: Wants) -> Iterable[Rule]:
        for spread in wants.spreads:
            if not self._ignoring or spread.when == DO_NOT_SCHEDULE:
                yield spread_rule(pod, wants, spread)
        for term in (*wants.affinity, *(() if self._ignoring else wants.preferred_affinity)):
            yield self._domains.rule(AFFINITY, term, pod)
        for term in (*wants.anti_affinity, *(() if self._ignoring else wants.preferred_anti_affinity)):
            yield self._domains.rule(ANTI_AFFINITY, term, pod)

    def _keep_off(self, pod: PodView, rule: Rule, wants: Wants, domain: str | None) -> None:
        identity = rule.identity
        if identity not in self._inverse:
            self._inverse[identity] = Group(rule, self._domains.offered(rule, wants))
        group = self._inverse[identity]
        if domain is not None:
            group.record([domain])
        group.owners.add(pod.uid)

    def _new_group(self, rule: Rule, wants: Wants) -> Group:
        domains, tally = self._domains.offered(rule, wants), self._domains.tally(rule)
        left = dict(tally.registered)
        for name in self._gone:
            if name in tally.nodes:
                left[tally.nodes[name]] -= 1
        for domain, number in left.items():
            if number:
                domains.setdefault(domain, 0)
        counts = dict(tally.counts)
        for uid in self._moving & tally.pods.keys():
            counts[tally.pods[uid]] -= 1
        domains.update((domain, number) for domain, number in counts.items() if number)
        return Group(rule, domains)


def _is_one(requirements: Requirements, key: str) -> bool:
    wanted = requirements.get(key)
    return wanted is not None and not wanted.complement and len(wanted.values) == 1


def _said(group: Group, of_pod: Requirement, of_node: Requirement) -> Callable[[], str]:
    return lambda: group.refusal(of_pod, of_node)
