"""The tree of quota as a page draws it: of every node and resource what there is, what is used, and what is lent."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.queueing.cache import CachedClusterQueue
from kschedweb.engine.queueing.explaining.queue_state import QueueState
from kschedweb.engine.queueing.quota.amounts import FlavorResource, subtract_amounts
from kschedweb.engine.queueing.quota.quota_tree import CohortNode, QuotaNode
from kschedweb.engine.queueing.quota.shares import compute_share
from kschedweb.engine.values import dataclass

COHORT, QUEUE = "cohort", "queue"


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """The quota of a node for a resource in a flavor, in milli-CPU or whole units."""

    flavor: str
    resource: str
    # Its own quota, and that with all below it.
    nominal: int
    subtree: int
    borrowing_limit: int | None
    lending_limit: int | None
    used: int
    # Used beyond its subtree's quota.
    borrowed: int
    # What others may have of it, used or not.
    lendable: int
    # What it could take now, and what it could if nothing else were used.
    available: int
    potential: int


@dataclass(frozen=True)
class QuotaTreeNode:
    """A cohort or a ClusterQueue."""

    name: str
    kind: str
    # 0 for a root.
    depth: int
    bars: tuple[QuotaBar, ...]
    # Workloads that wait, and that have quota, in it and below it.
    waiting: int
    admitted: int
    # Why a ClusterQueue admits nothing; "" if it may.
    inactive: str
    weight: float
    # The dominant resource share, in thousandths; math.inf for weight 0.
    share: float
    children: tuple[QuotaTreeNode, ...] = ()

    def walk(self) -> Iterator[QuotaTreeNode]:
        """Yield the node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def list_trees(state: QueueState) -> list[QuotaTreeNode]:
    """Return the roots: cohorts by name, then ClusterQueues without a cohort."""
    forest = state.world.cache.forest
    roots: list[QuotaNode] = [cohort for cohort in forest.cohorts.values() if cohort.parent is None]
    roots += [queue for queue in forest.queues.values() if queue.parent is None or queue.parent.has_cycle]
    return [
        _describe_node(state, node, 0) for node in sorted(roots, key=lambda node: (not _is_cohort(node), node.name))
    ]


def describe_queue(state: QueueState, name: str) -> QuotaTreeNode | None:
    """Return the node of a ClusterQueue; None if there is none of that name."""
    queue = state.world.cache.queues.get(name)
    return None if queue is None else _describe_node(state, queue, 0)


def _is_cohort(node: QuotaNode) -> bool:
    return isinstance(node, CohortNode)


def _describe_node(state: QueueState, node: QuotaNode, depth: int) -> QuotaTreeNode:
    children: tuple[QuotaTreeNode, ...] = ()
    waiting = admitted = 0
    inactive = ""
    if isinstance(node, CohortNode):
        below = [*node.child_cohorts.values(), *node.child_queues.values()]
        below.sort(key=lambda child: (not _is_cohort(child), child.name))
        children = tuple(_describe_node(state, child, depth + 1) for child in below)
        waiting, admitted = sum(child.waiting for child in children), sum(child.admitted for child in children)
    elif isinstance(node, CachedClusterQueue):
        pending = state.world.queues.queues.get(node.name)
        waiting = len(pending.list_pending()) if pending is not None else 0
        admitted = len(node.workloads)
        readiness = state.world.cache.explain_readiness(node.name)
        inactive = "" if readiness.is_active else readiness.message
    is_in_ring = node.parent is not None and node.parent.has_cycle
    share = 0.0 if is_in_ring else compute_share(node).value
    return QuotaTreeNode(
        node.name,
        COHORT if _is_cohort(node) else QUEUE,
        depth,
        () if is_in_ring else tuple(_describe_bar(node, key) for key in list_resources(node)),
        waiting,
        admitted,
        inactive,
        node.fair_weight,
        share,
        children,
    )


def list_resources(node: QuotaNode) -> list[FlavorResource]:
    """Return what a node has quota of, or uses: in the order of its groups, then by name."""
    keys = dict.fromkeys(node.quotas)
    keys |= dict.fromkeys(sorted(node.subtree_quota))
    return list(keys | dict.fromkeys(sorted(key for key, amount in node.usage.items() if amount)))


def _describe_bar(node: QuotaNode, key: FlavorResource) -> QuotaBar:
    quota, subtree, used = node.quota(key), node.subtree(key), node.used(key)
    has_parent = node.parent is not None
    return QuotaBar(
        key.flavor,
        key.resource,
        quota.nominal,
        subtree,
        quota.borrowing_limit,
        quota.lending_limit,
        used,
        max(0, subtract_amounts(used, subtree)) if has_parent else 0,
        subtract_amounts(subtree, node.local_quota(key)) if has_parent else 0,
        node.available(key),
        node.potential_available(key),
    )
