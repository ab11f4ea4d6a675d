"""Remedies that let a workload in: other quotas, flavors, policies, priorities, counts; each tried by the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from itertools import pairwise

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.cache import CachedClusterQueue, accumulate_cohort
from kschedweb.engine.queueing.cycle.assignment import (
    NO_AFFINITY,
    UNTOLERATED_TAINT,
    AssignmentMode,
    FlavorAttempt,
    QuotaCheck,
)
from kschedweb.engine.queueing.cycle.entries import CycleEntry
from kschedweb.engine.queueing.explaining.queue_state import QueueState, with_workload
from kschedweb.engine.queueing.quota.amounts import FlavorResource, add_amounts, subtract_amounts
from kschedweb.engine.queueing.quota.objects import (
    ANY,
    LOWER_OR_NEWER_EQUAL_PRIORITY,
    LOWER_PRIORITY,
    NEVER,
    PreemptionPolicy,
    ResourceQuota,
)
from kschedweb.engine.queueing.quota.quota_tree import CohortNode, QuotaNode
from kschedweb.engine.queueing.workloads.workload import PodSet
from kschedweb.engine.queueing.workloads.workload_info import WorkloadInfo
from kschedweb.engine.values import dataclass

# Priorities that are tried, from the lowest.
_MOST_PRIORITIES = 12
# Rounds in which quotas are raised further, for pod sets that come after others.
_MOST_ROUNDS = 4
# Kueue's priorities are 32 bits.
_HIGHEST_PRIORITY = 2**31 - 1


class RemedyKind(Enum):
    """The thing that a remedy changes."""

    NOMINAL_QUOTA = "nominalQuota"
    BORROWING_LIMIT = "borrowingLimit"
    LENDING_LIMIT = "lendingLimit"
    # The pods tolerate the flavor's taints, or may go to its nodes.
    TOLERATION = "toleration"
    NODE_SELECTION = "node selection"
    POLICY = "preemption policy"
    PRIORITY = "priority"
    COUNT = "count"


@dataclass(frozen=True)
class QuotaChange:
    """A quota, and what it would have to be; None for no limit."""

    node: str
    is_cohort: bool
    key: FlavorResource
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Remedy:
    """A change with which the workload gets quota."""

    kind: RemedyKind
    # Quotas that change together.
    quotas: tuple[QuotaChange, ...] = ()
    flavor: str = ""
    # The field of a policy, and values of fields, priorities or counts of pods.
    field: str = ""
    before: str = ""
    after: str = ""
    # The pod set whose count or pods change.
    pod_set: str = ""
    # Who would have to go for it; empty if it fits at once.
    targets: tuple[str, ...] = ()


def find_remedies(state: QueueState, info: WorkloadInfo, entry: CycleEntry) -> tuple[Remedy, ...]:
    """Return what would let a workload in that does not fit, as the engine confirms by nominating it again."""
    if entry.assignment.mode == AssignmentMode.FIT:
        return ()
    return tuple(_RemedySearch(state, info, entry).list_remedies())


class _RemedySearch:
    """Tries changes for one workload."""

    def __init__(self, state: QueueState, info: WorkloadInfo, entry: CycleEntry) -> None:
        self._state = state
        self._info = info
        self._entry = entry
        self._queue = state.world.cache.queues[entry.cluster_queue]

    def list_remedies(self) -> Iterator[Remedy]:
        for attempt in self._list_attempts():
            yield from self._try_quotas(attempt)
        yield from self._try_nodes()
        yield from self._try_counts()
        if not self._entry.targets:
            yield from self._try_policies()
            yield from self._try_priorities()

    def _nominate(self, info: WorkloadInfo | None = None) -> CycleEntry:
        return self._state.nominate(info or self._info, self._queue.name)

    def _fits(self, info: WorkloadInfo | None = None) -> bool:
        entry = self._nominate(info)
        return entry.has_nomination and entry.assignment.mode == AssignmentMode.FIT

    def _list_attempts(self) -> list[FlavorAttempt]:
        """Return the flavors whose nodes suit and whose quota is too small, each once."""
        attempts: dict[str, FlavorAttempt] = {}
        for pod_set in self._entry.assignment.pod_sets:
            for attempt in pod_set.attempts:
                if attempt.mismatch is None and any(check.missing for check in attempt.checks):
                    attempts.setdefault(attempt.flavor, attempt)
        return list(attempts.values())

    # Quotas

    def _try_quotas(self, attempt: FlavorAttempt) -> Iterator[Remedy]:
        lacking = [check for check in attempt.checks if check.missing]
        yield from self._try_nominal(self._queue, lacking, attempt.flavor)
        yield from self._try_limits(lacking, attempt.flavor)
        if self._queue.parent is not None and not self._queue.parent.has_cycle:
            yield from self._try_nominal(self._queue.parent, lacking, attempt.flavor)

    def _try_nominal(self, node: QuotaNode, lacking: list[QuotaCheck], flavor: str) -> Iterator[Remedy]:
        """Raise what ``node`` has by what is missing, and by no less."""
        changes: dict[FlavorResource, ResourceQuota] = {}
        for _ in range(_MOST_ROUNDS):
            for check in lacking:
                quota = changes.get(check.key, node.quota(check.key))
                with with_quotas({node: changes}):
                    shortfall = self._find_shortfall(check)
                changes[check.key] = replace(quota, nominal=add_amounts(quota.nominal, shortfall))
            with with_quotas({node: changes}):
                entry = self._nominate()
            # A pod set is looked at only if those before it fit.
            lacking = _list_lacking(entry, flavor)
            if not lacking:
                break
        yield from self._try_changes(RemedyKind.NOMINAL_QUOTA, {node: changes}, flavor)

    def _find_shortfall(self, check: QuotaCheck) -> int:
        """Return by how much the quota in reach is too small; more than is missing if too much is used already."""
        return subtract_amounts(check.requested, self._queue.raw_available(check.key))

    def _try_limits(self, lacking: list[QuotaCheck], flavor: str) -> Iterator[Remedy]:
        """Let the queue and its cohorts borrow more, or the others lend what lies idle."""
        if self._queue.parent is None or self._queue.parent.has_cycle:
            return
        limited: dict[QuotaNode, dict[FlavorResource, ResourceQuota]] = {}
        lending: dict[QuotaNode, dict[FlavorResource, ResourceQuota]] = {}
        way = [self._queue, *self._queue.ancestors()]
        for check in lacking:
            for node in way:
                quota = node.quota(check.key)
                if node.parent is not None and quota.borrowing_limit is not None:
                    raised = add_amounts(quota.borrowing_limit, self._find_shortfall(check))
                    limited.setdefault(node, {})[check.key] = replace(quota, borrowing_limit=raised)
            for below, cohort in pairwise(way):
                assert isinstance(cohort, CohortNode)
                for sibling in (*cohort.child_cohorts.values(), *cohort.child_queues.values()):
                    quota = sibling.quota(check.key)
                    if sibling is not below and quota.lending_limit is not None and sibling.local_available(check.key):
                        lending.setdefault(sibling, {})[check.key] = replace(quota, lending_limit=None)
        yield from self._try_changes(RemedyKind.BORROWING_LIMIT, limited, flavor)
        for node, changes in lending.items():
            yield from self._try_changes(RemedyKind.LENDING_LIMIT, {node: changes}, flavor)

    def _try_changes(
        self, kind: RemedyKind, changes: dict[QuotaNode, dict[FlavorResource, ResourceQuota]], flavor: str
    ) -> Iterator[Remedy]:
        """Yield the remedy of these quotas, if the workload gets the flavor with them."""
        if not changes:
            return
        listed = tuple(
            QuotaChange(
                node.name, isinstance(node, CohortNode), key, _amount_of(kind, node.quota(key)), _amount_of(kind, quota)
            )
            for node, quotas in changes.items()
            for key, quota in quotas.items()
        )
        with with_quotas(changes):
            entry = self._nominate()
        if not entry.has_nomination or entry.assignment.mode != AssignmentMode.FIT:
            return
        flavors = {choice.flavor for pod_set in entry.assignment.pod_sets for choice in pod_set.choices.values()}
        if flavor in flavors:
            yield Remedy(kind, listed, flavor)

    # Pods

    def _try_nodes(self) -> Iterator[Remedy]:
        """Let the pods of a pod set go to the nodes of a flavor that do not suit them."""
        for place, pod_set in enumerate(self._info.workload.pod_sets):
            assigned = self._entry.assignment.find_pod_set(pod_set.name)
            for attempt in assigned.attempts if assigned is not None else ():
                if attempt.mismatch is None:
                    continue
                kind, change = _NODE_CHANGES.get(attempt.mismatch.kind, (None, _keep_spec))
                if kind is None:
                    continue
                template = {**pod_set.template, "spec": change(pod_set.spec)}
                pod_sets = self._replace_pod_set(place, replace(pod_set, template=template))
                entry = self._nominate(with_workload(self._info, self._state, pod_sets=pod_sets))
                if not entry.has_nomination or entry.assignment.mode == AssignmentMode.NO_FIT:
                    continue
                changed = entry.assignment.find_pod_set(pod_set.name)
                is_chosen = changed is not None and attempt.flavor in {
                    choice.flavor for choice in changed.choices.values()
                }
                is_in = entry.assignment.mode == AssignmentMode.FIT or entry.targets
                if is_chosen and is_in:
                    yield Remedy(kind, flavor=attempt.flavor, pod_set=pod_set.name, targets=_list_targets(entry))

    def _replace_pod_set(self, place: int, pod_set: PodSet) -> tuple[PodSet, ...]:
        pod_sets = list(self._info.workload.pod_sets)
        pod_sets[place] = pod_set
        return tuple(pod_sets)

    def _try_counts(self) -> Iterator[Remedy]:
        """Yield the largest count of its largest pod set with which it fits at once."""
        place, pod_set = max(enumerate(self._info.workload.pod_sets), key=lambda item: item[1].count)

        def fits(count: int) -> bool:
            smaller = self._replace_pod_set(place, replace(pod_set, count=count, min_count=None))
            return self._fits(with_workload(self._info, self._state, pod_sets=smaller))

        count = _find_largest(pod_set.count, fits)
        if count:
            yield Remedy(RemedyKind.COUNT, pod_set=pod_set.name, before=str(pod_set.count), after=str(count))

    # Policies and priorities

    def _try_policies(self) -> Iterator[Remedy]:
        """Yield of each policy the mildest value with which it would evict others."""
        former, helpful = self._queue.preemption, set[str]()
        for field, changed in _list_policies(former):
            if field in helpful:
                continue
            self._queue.preemption = changed
            try:
                entry = self._nominate()
            finally:
                self._queue.preemption = former
            if entry.has_nomination and entry.targets:
                helpful.add(field)
                before, after = (_read_policy(policy, field) for policy in (former, changed))
                yield Remedy(RemedyKind.POLICY, field=field, before=before, after=after, targets=_list_targets(entry))

    def _try_priorities(self) -> Iterator[Remedy]:
        """Yield the lowest priority with which it would evict others."""
        own_priority = self._info.workload.base_priority()
        members = self._state.tree_queues(self._queue.name)
        priorities = {
            info.workload.base_priority()
            for name in members
            for info in self._state.world.cache.queues[name].workloads.values()
        }
        higher = sorted(priority + 1 for priority in priorities if own_priority <= priority < _HIGHEST_PRIORITY)
        for priority in higher[:_MOST_PRIORITIES]:
            entry = self._nominate(with_workload(self._info, self._state, priority=priority))
            if entry.has_nomination and entry.targets:
                yield Remedy(
                    RemedyKind.PRIORITY, before=str(own_priority), after=str(priority), targets=_list_targets(entry)
                )
                return


def _list_lacking(entry: CycleEntry, flavor: str) -> list[QuotaCheck]:
    """Return what is missing in ``flavor``."""
    if not entry.has_nomination:
        return []
    return [
        check
        for pod_set in entry.assignment.pod_sets
        for attempt in pod_set.attempts
        if attempt.flavor == flavor
        for check in attempt.checks
        if check.missing
    ]


def _amount_of(kind: RemedyKind, quota: ResourceQuota) -> int | None:
    if kind is RemedyKind.NOMINAL_QUOTA:
        return quota.nominal
    return quota.borrowing_limit if kind is RemedyKind.BORROWING_LIMIT else quota.lending_limit


def _list_targets(entry: CycleEntry) -> tuple[str, ...]:
    return tuple(target.info.key for target in entry.targets)


def _find_largest(count: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number below ``count`` that fits; 0 if none does. What fits is taken to fit with fewer too."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _keep_spec(spec: Json) -> Json:
    return spec


def _tolerate_all(spec: Json) -> Json:
    return {**spec, "tolerations": [{"operator": "Exists"}]}


def _select_any_node(spec: Json) -> Json:
    affinity = {name: rules for name, rules in (spec.get("affinity") or {}).items() if name != "nodeAffinity"}
    return {name: value for name, value in spec.items() if name != "nodeSelector"} | {"affinity": affinity}


_NODE_CHANGES: dict[str, tuple[RemedyKind | None, Callable[[Json], Json]]] = {
    UNTOLERATED_TAINT: (RemedyKind.TOLERATION, _tolerate_all),
    NO_AFFINITY: (RemedyKind.NODE_SELECTION, _select_any_node),
}


def _list_policies(policy: PreemptionPolicy) -> Iterable[tuple[str, PreemptionPolicy]]:
    """Yield milder rules against others, the mildest of each field first."""
    for value in (LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL_PRIORITY):
        if _is_milder(policy.within_queue, value):
            yield "withinClusterQueue", replace(policy, within_queue=value)
    for value in (LOWER_PRIORITY, ANY):
        if _is_milder(policy.reclaim, value):
            yield "reclaimWithinCohort", replace(policy, reclaim=value)
    if policy.borrow == NEVER and policy.reclaim != NEVER:
        yield "borrowWithinCohort", replace(policy, borrow=LOWER_PRIORITY)


_STRENGTHS = (NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL_PRIORITY, ANY)


def _is_milder(present: str, other: str) -> bool:
    return _STRENGTHS.index(present) < _STRENGTHS.index(other)


def _read_policy(policy: PreemptionPolicy, field: str) -> str:
    if field == "withinClusterQueue":
        return policy.within_queue
    return policy.reclaim if field == "reclaimWithinCohort" else policy.borrow


@contextmanager
def with_quotas(changes: dict[QuotaNode, dict[FlavorResource, ResourceQuota]]) -> Iterator[None]:
    """A context in which nodes of the cache have other quotas."""
    former = {node: node.quotas for node in changes}
    for node, quotas in changes.items():
        node.quotas = {**node.quotas, **quotas}
    _sum_up_again(changes)
    try:
        yield
    finally:
        for node, quotas_before in former.items():
            node.quotas = quotas_before
        _sum_up_again(changes)


def _sum_up_again(nodes: Iterable[QuotaNode]) -> None:
    for node in nodes:
        root = node
        while root.parent is not None:
            root = root.parent
        if isinstance(root, CachedClusterQueue):
            root.reset_subtree_quota()
        elif isinstance(root, CohortNode):
            accumulate_cohort(root)
