"""The tree of quota: ClusterQueues below cohorts, what each may use, lend and borrow (`resource_node.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from kschedweb.engine.queueing.quota.amounts import FlavorResource, Quantities, add_amounts, subtract_amounts
from kschedweb.engine.queueing.quota.objects import NO_QUOTA, Quotas, ResourceQuota


class CohortCycleError(ValueError):
    """A cohort is its own ancestor."""


class QuotaNode:
    """A ClusterQueue or cohort in the tree."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent: CohortNode[Any] | None = None
        self.quotas: Quotas = {}
        # What the node and what it may take of its children has in all.
        self.subtree_quota: Quantities = {}
        # What counts against it: of a cohort, what its children use beyond what they keep for themselves.
        self.usage: Quantities = {}
        self.fair_weight = 0.0

    def copy_resources(self, original: QuotaNode) -> None:
        """Take quotas and usage of ``original``; only the usage is a copy, as it alone is changed in place."""
        self.quotas, self.subtree_quota = original.quotas, original.subtree_quota
        self.usage = dict(original.usage)
        self.fair_weight = original.fair_weight

    def quota(self, resource: FlavorResource) -> ResourceQuota:
        return self.quotas.get(resource, NO_QUOTA)

    def used(self, resource: FlavorResource) -> int:
        return self.usage.get(resource, 0)

    def subtree(self, resource: FlavorResource) -> int:
        return self.subtree_quota.get(resource, 0)

    def local_quota(self, resource: FlavorResource) -> int:
        """Return what the parent never sees of the quota, because of the lending limit."""
        quota = self.quotas.get(resource)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, subtract_amounts(self.subtree(resource), quota.lending_limit))

    def local_available(self, resource: FlavorResource) -> int:
        return max(0, subtract_amounts(self.local_quota(resource), self.used(resource)))

    def raw_available(self, resource: FlavorResource) -> int:
        """Return what is left for the node, negative if more is used than there is (`available`)."""
        if self.parent is None:
            return subtract_amounts(self.subtree(resource), self.used(resource))
        of_parent = self.parent.raw_available(resource)
        limit = self.quota(resource).borrowing_limit
        if limit is not None:
            local = self.local_quota(resource)
            stored = subtract_amounts(self.subtree(resource), local)
            used_of_parent = max(0, subtract_amounts(self.used(resource), local))
            of_parent = min(add_amounts(subtract_amounts(stored, used_of_parent), limit), of_parent)
        return add_amounts(self.local_available(resource), of_parent)

    def available(self, resource: FlavorResource) -> int:
        return max(0, self.raw_available(resource))

    def potential_available(self, resource: FlavorResource) -> int:
        """Return what the node could use if nothing else were used."""
        if self.parent is None:
            return self.subtree(resource)
        potential = add_amounts(self.local_quota(resource), self.parent.potential_available(resource))
        limit = self.quota(resource).borrowing_limit
        return potential if limit is None else min(add_amounts(self.subtree(resource), limit), potential)

    def add_usage(self, resource: FlavorResource, amount: int) -> None:
        """Count ``amount``; what exceeds the local quota counts against the parent too."""
        local_available = self.local_available(resource)
        self.usage[resource] = add_amounts(self.used(resource), amount)
        if self.parent is not None and amount > local_available:
            self.parent.add_usage(resource, subtract_amounts(amount, local_available))

    def remove_usage(self, resource: FlavorResource, amount: int) -> None:
        stored_in_parent = subtract_amounts(self.used(resource), self.local_quota(resource))
        self.usage[resource] = subtract_amounts(self.used(resource), amount)
        if stored_in_parent > 0 and self.parent is not None:
            self.parent.remove_usage(resource, min(amount, stored_in_parent))

    def is_borrowing_with(self, resource: FlavorResource, amount: int) -> bool:
        """Return True if ``amount`` more would exceed its quota."""
        return self.subtree(resource) < add_amounts(self.used(resource), amount)

    def is_within_nominal(self, resources: Iterable[FlavorResource]) -> bool:
        """Return True if it exceeds its quota in none of ``resources`` (`IsWithinNominalInResources`)."""
        return all(self.subtree(resource) >= self.used(resource) for resource in resources)

    def fit_quantities(self, requests: Quantities) -> tuple[bool, Quantities]:
        """Return whether ``requests`` fit the node's quota, and what of them its parent has to give."""
        fits = all(
            self.subtree(resource) >= add_amounts(self.used(resource), amount) for resource, amount in requests.items()
        )
        remaining = {
            resource: max(0, subtract_amounts(amount, self.local_available(resource)))
            for resource, amount in requests.items()
        }
        return fits, remaining

    def ancestors(self) -> Iterator[CohortNode[Any]]:
        """Yield its cohorts, from its own to the root."""
        ancestor = self.parent
        while ancestor is not None:
            yield ancestor
            ancestor = ancestor.parent

    @property
    def path(self) -> str:
        """The names from the root down to it."""
        return "/" + "/".join([*reversed([ancestor.name for ancestor in self.ancestors()]), self.name])


QueueT = TypeVar("QueueT", bound=QuotaNode)


class CohortNode(QuotaNode, Generic[QueueT]):
    """A cohort in the tree."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.parent: CohortNode[QueueT] | None = None
        # By name.
        self.child_cohorts: dict[str, CohortNode[QueueT]] = {}
        self.child_queues: dict[str, QueueT] = {}
        # False for a cohort that only others name.
        self.is_explicit = False

    @property
    def root(self) -> CohortNode[QueueT]:
        return self if self.parent is None else self.parent.root

    @property
    def has_cycle(self) -> bool:
        """True if it is below a ring of cohorts."""
        names = set()
        node: CohortNode[QueueT] = self
        while node.parent is not None:
            if node.name in names:
                return True
            names.add(node.name)
            node = node.parent
        return False

    @property
    def height(self) -> int:
        """The distance to the furthest leaf."""
        heights = [cohort.height + 1 for cohort in self.child_cohorts.values()]
        return max([min(len(self.child_cohorts) + len(self.child_queues), 1), *heights])

    def add_child(self, child: QuotaNode) -> None:
        """Add what ``child`` shares to the cohort's own quota and usage (`accumulateFromChild`)."""
        for resource, quota in child.subtree_quota.items():
            shared = subtract_amounts(quota, child.local_quota(resource))
            self.subtree_quota[resource] = add_amounts(self.subtree(resource), shared)
        for resource, amount in child.usage.items():
            beyond = max(0, subtract_amounts(amount, child.local_quota(resource)))
            self.usage[resource] = add_amounts(self.used(resource), beyond)

    def subtree_queues(self) -> list[QueueT]:
        queues = list(self.child_queues.values())
        for cohort in self.child_cohorts.values():
            queues.extend(cohort.subtree_queues())
        return queues


class QuotaForest(Generic[QueueT]):
    """All trees: ClusterQueues and cohorts by name (`hierarchy.Manager`)."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueT] = {}
        self.cohorts: dict[str, CohortNode[QueueT]] = {}

    def add_cohort(self, name: str) -> CohortNode[QueueT]:
        """Return the cohort of that name, which an object describes from now on."""
        cohort = self._get_or_create(name)
        cohort.is_explicit = True
        return cohort

    def move_cohort(self, name: str, parent_name: str) -> None:
        cohort = self.cohorts[name]
        if cohort.parent is not None:
            former = cohort.parent
            former.child_cohorts.pop(name, None)
            cohort.parent = None
            self._clean_up(former)
        if parent_name:
            cohort.parent = self._get_or_create(parent_name)
            cohort.parent.child_cohorts[name] = cohort

    def move_queue(self, name: str, parent_name: str) -> None:
        queue = self.queues[name]
        if queue.parent is not None:
            former = queue.parent
            former.child_queues.pop(name, None)
            queue.parent = None
            self._clean_up(former)
        if parent_name:
            queue.parent = self._get_or_create(parent_name)
            queue.parent.child_queues[name] = queue

    def _get_or_create(self, name: str) -> CohortNode[QueueT]:
        if name not in self.cohorts:
            self.cohorts[name] = CohortNode(name)
        return self.cohorts[name]

    def _clean_up(self, cohort: CohortNode[QueueT]) -> None:
        """Forget a cohort that nothing names any more."""
        if not cohort.is_explicit and not cohort.child_cohorts and not cohort.child_queues:
            self.cohorts.pop(cohort.name, None)


def find_lowest_fit(queue: QuotaNode, resource: FlavorResource, amount: int) -> tuple[int, bool]:
    """Return the height of the lowest subtree whose quota fits ``amount`` more, and whether the tree goes on above.

    Without such a subtree it is the height of the whole tree (`FindHeightOfLowestSubtreeThatFits`).
    """
    if queue.parent is None or queue.quota(resource).nominal >= add_amounts(queue.used(resource), amount):
        return 0, queue.parent is not None
    remaining = subtract_amounts(amount, queue.local_available(resource))
    for cohort in queue.ancestors():
        if not cohort.is_borrowing_with(resource, remaining):
            return cohort.height, cohort.parent is not None
        remaining = subtract_amounts(remaining, cohort.local_available(resource))
    return queue.parent.root.height, False
