"""RemovePodsViolatingTopologySpreadConstraint evicts pods until the domains of each constraint are balanced."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import field
from functools import lru_cache

import numpy as np

from kschedweb.engine.config.types import BOOL, ListType, StructField, text
from kschedweb.engine.objects.labels import Selector, label_selector
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.spread import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, SpreadConstraint
from kschedweb.engine.rebalancing.arguments import NAMESPACES_FIELD, SELECTOR_FIELD, Args, args_struct, scope_faults
from kschedweb.engine.rebalancing.evictions import EvictionRefused, NodeLimitReached, TotalLimitReached
from kschedweb.engine.rebalancing.handle import BALANCE, Handle, PluginSpec
from kschedweb.engine.rebalancing.node_fit import NO_DOMAIN, Mask, Room
from kschedweb.engine.rebalancing.pods import LabelGroups, PodFilter, PodView, build_filter
from kschedweb.engine.validation.gosort import sort_slice
from kschedweb.engine.values import dataclass

NAME = "RemovePodsViolatingTopologySpreadConstraint"
ARGS = args_struct(
    "removepodsviolatingtopologyspreadconstraint.RemovePodsViolatingTopologySpreadConstraintArgs",
    "Constraints to restore.",
    NAMESPACES_FIELD,
    SELECTOR_FIELD,
    StructField(
        "constraints", ListType(text("v1.UnsatisfiableConstraintAction")), "DoNotSchedule, ScheduleAnyway or both."
    ),
    StructField(
        "topologyBalanceNodeFit", BOOL, "Evict a pod only if it fits on a node of a smaller domain.", pointer=True
    ),
)


def validate_args(args: Args) -> list[str]:
    allowed = f"map[{DO_NOT_SCHEDULE}:{{}} {SCHEDULE_ANYWAY}:{{}}]"
    wrong = [action for action in args["constraints"] or () if action not in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)]
    return scope_faults(args) + [f"constraint {action} is not one of {allowed}" for action in wrong]


def apply_defaults(args: Args) -> None:
    if args["topologyBalanceNodeFit"] is None:
        args["topologyBalanceNodeFit"] = True
    args["constraints"] = args["constraints"] or [DO_NOT_SCHEDULE]


@dataclass(frozen=True, slots=True)
class PodSpreadRule:
    """A constraint of a pod. Rules are equal if the pods differ only in fields that do not count."""

    constraint: SpreadConstraint = field(compare=False)
    # The first pod with it.
    pod: PodView = field(compare=False)
    selector: Selector = field(compare=False)
    # All fields that count.
    identity: Hashable

    @classmethod
    def from_constraint(cls, constraint: SpreadConstraint, pod: PodView) -> PodSpreadRule:
        selector = constraint.effective_selector(pod.pod.labels)
        wishes = pod.pod.node_selector or {}
        identity = (
            constraint.max_skew,
            constraint.topology_key,
            (selector.nothing, *sorted(selector.requirements, key=lambda requirement: requirement.key)),
            constraint.honor_affinity and (frozenset(wishes.items()), pod.pod.node_affinity.required),
            constraint.honor_taints and pod.pod.tolerations,
        )
        return cls(constraint, pod, selector, (*identity, constraint.honor_affinity, constraint.honor_taints))

    def included_nodes(self, among: Mask, room: Room) -> Mask:
        """Return the nodes ``among`` that count by the constraint's policies."""
        counts = among & room.has_label(self.constraint.topology_key)
        if self.constraint.honor_affinity:
            counts &= room.affinity_mask(self.pod)
        if self.constraint.honor_taints:
            counts &= room.toleration_mask(self.pod)
        return counts


@dataclass(slots=True)
class Domain:
    # As of `Room.domain_codes`.
    """A domain of a constraint."""

    code: int
    # The pods that the constraint selects; they move between domains while it is balanced.
    pods: list[PodView]


class RemovePodsViolatingTopologySpreadConstraint:
    """The plugin."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._handle = handle
        self._kinds, self._fitting = frozenset(args["constraints"]), args["topologyBalanceNodeFit"]
        selector = None if args["labelSelector"] is None else label_selector(args["labelSelector"])
        self._passes = build_filter(args, selector, handle.passes_filter)

    def run(self, nodes: Sequence[Node]) -> None:
        by_namespace: dict[str, list[PodView]] = defaultdict(list)
        for node in nodes:
            for pod in self._handle.cluster.list_pods_on_node(node.name, self._passes):
                by_namespace[pod.namespace].append(pod)
        among = self._handle.room.node_mask(nodes)
        # Evictions come last: all constraints are balanced with the pods still in place.
        chosen: dict[str, PodView] = {}
        for namespace in self._handle.walk_map(by_namespace):
            groups = LabelGroups(pod for pod in by_namespace[namespace] if not pod.pod.terminating)
            for rule in self._list_rules(by_namespace[namespace]):
                domains = self._collect_domains(rule, groups.select_pods(rule.selector), among)
                sizes = [len(domain.pods) for domain in domains]
                if sizes and max(sizes) - min(sizes) > rule.constraint.max_skew:
                    self._balance_domains(rule, domains, among, chosen)
        self._evict_pods(chosen)

    def _list_rules(self, pods: list[PodView]) -> list[PodSpreadRule]:
        kinds: dict[Hashable, PodView] = {}
        for pod in pods:
            kinds.setdefault((pod.pod.template, pod.pod.seen_by_selectors), pod)
        rules = (
            PodSpreadRule.from_constraint(constraint, pod)
            for pod in kinds.values()
            for constraint in pod.pod.spread_constraints
            if constraint.when_unsatisfiable in self._kinds and not constraint.error
        )
        return list(dict.fromkeys(rules))

    def _collect_domains(self, rule: PodSpreadRule, pods: list[PodView], among: Mask) -> list[Domain]:
        """Return the domains with the pods that the constraint selects.

        A domain with such pods counts whatever the policies of the constraint are.
        """
        room = self._handle.room
        codes = room.domain_codes(rule.constraint.topology_key)
        met, first = np.unique(codes[rule.included_nodes(among, room)], return_index=True)
        pods_by_domain: dict[int, list[PodView]] = {code: [] for code in met[np.argsort(first)].tolist()}
        for pod in pods:
            code = int(codes[room.places[pod.node]])
            if code != NO_DOMAIN:
                pods_by_domain.setdefault(code, []).append(pod)
        return [Domain(code, pods_by_domain[code]) for code in self._handle.walk_map(pods_by_domain)]

    def _balance_domains(
        self, rule: PodSpreadRule, domains: list[Domain], among: Mask, chosen: dict[str, PodView]
    ) -> None:
        """Choose pods that leave domains above the average, until the skew is small enough.

        As the original's `balanceDomains` does.
        """
        ideal = sum(len(domain.pods) for domain in domains) / len(domains)
        for domain in domains:
            order = _sort_ranks(tuple((pod.resources.bound, pod.priority) for pod in domain.pods))
            domain.pods = [domain.pods[place] for place in order]
        sort_slice(domains, lambda first, other: len(first.pods) < len(other.pods))
        fits = self._create_fit_check(rule, domains, among, ideal)
        low, high = 0, len(domains) - 1
        while low < high:
            if len(domains[high].pods) <= ideal:
                high -= 1
            above, below = domains[high].pods, domains[low].pods
            skew = len(above) - len(below)
            if skew <= rule.constraint.max_skew:
                low += 1
                continue
            moved = min(
                math.ceil(len(above) - ideal),
                math.ceil(ideal - len(below)),
                math.ceil((skew - rule.constraint.max_skew) / 2),
            )
            if moved <= 0:
                low += 1
                continue
            # Stable, so that pods that fit elsewhere come last and leave first.
            above.sort(key=fits)
            going = above[-moved:]
            del above[-moved:]
            below += going
            chosen.update((pod.key, pod) for pod in going if not self._fitting or fits(pod))

    def _create_fit_check(self, rule: PodSpreadRule, domains: list[Domain], nodes: Mask, ideal: float) -> PodFilter:
        """Return a check whether a pod fits on another of the ``nodes``.

        Only nodes in domains count that are below the average now.
        """
        below = [domain.code for domain in domains if len(domain.pods) < ideal]
        room = self._handle.room
        among = rule.included_nodes(nodes, room) & np.isin(room.domain_codes(rule.constraint.topology_key), below)
        fit_by_pod: dict[str, bool] = {}

        def pod_fits(pod: PodView) -> bool:
            if pod.key not in fit_by_pod:
                fit_by_pod[pod.key] = room.fits_any_node(pod, among, elsewhere=True)
            return fit_by_pod[pod.key]

        return pod_fits

    def _evict_pods(self, chosen: dict[str, PodView]) -> None:
        full: set[str] = set()
        for key in self._handle.walk_map(chosen):
            pod = chosen[key]
            if pod.node in full or not self._passes(pod) or not self._handle.passes_pre_eviction_filter(pod):
                continue
            try:
                self._handle.evict_pod(pod, NAME)
            except NodeLimitReached:
                full.add(pod.node)
            except TotalLimitReached:
                return
            except EvictionRefused:
                continue


# (True if the pod has a node selector or node affinity, priority).
Rank = tuple[bool, int | None]


@lru_cache(maxsize=4096)
def _sort_ranks(ranks: tuple[Rank, ...]) -> tuple[int, ...]:
    """Return the places of pods with these ranks as Go's sort leaves them.

    Cached, as domains with pods of equal ranks are sorted alike.
    """
    places = list(range(len(ranks)))
    sort_slice(places, lambda first, other: _stays_longer(ranks[first], ranks[other]))
    return tuple(places)


def _stays_longer(first: Rank, other: Rank) -> bool:
    """Return the original's comparison, which is true both ways for pods of equal priority."""
    (bound, priority), (other_bound, other_priority) = first, other
    if bound != other_bound:
        return bound
    if priority is not None and other_priority is not None:
        return not priority > other_priority
    return priority is None and other_priority is not None


SPEC = PluginSpec(NAME, BALANCE, ARGS, RemovePodsViolatingTopologySpreadConstraint, validate_args, apply_defaults)
