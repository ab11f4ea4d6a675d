"""The limit of a queue for a resource: the way from its own quota up the tree, and where on it the limit is."""

from __future__ import annotations

from itertools import pairwise

from kschedweb.engine.queueing.quota.amounts import FlavorResource, add_amounts, subtract_amounts
from kschedweb.engine.queueing.quota.quota_tree import CohortNode, QuotaNode
from kschedweb.engine.values import dataclass

# What keeps a queue from having more: all quota of the tree is used, or a node's borrowingLimit.
TREE_QUOTA, BORROWING_LIMIT = "quota", "borrowingLimit"


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A node on the way from the queue to the root."""

    node: str
    is_cohort: bool
    nominal: int
    subtree: int
    used: int
    # Left of what it keeps for itself, because of its lendingLimit.
    local_available: int
    # What its borrowingLimit leaves; None without one.
    borrowing_room: int | None
    # What it could take, of its own and from above.
    available: int


@dataclass(frozen=True, slots=True)
class IdleQuota:
    """Quota that nobody uses and that a lendingLimit hides from the others."""

    node: str
    amount: int


@dataclass(frozen=True)
class QuotaChain:
    """The way of a resource from a queue to its root."""

    key: FlavorResource
    steps: tuple[ChainStep, ...]
    # The node at which it is limited, and by what.
    limiting_node: str
    limit: str
    hidden: tuple[IdleQuota, ...]


def trace_chain(queue: QuotaNode, key: FlavorResource) -> QuotaChain:
    """Return the way of ``key`` from ``queue`` to the root."""
    nodes: list[QuotaNode] = [queue, *queue.ancestors()]
    steps = tuple(_describe_step(node, key) for node in nodes)
    limiting_node, limit = nodes[-1].name, TREE_QUOTA
    for node, step in zip(nodes, steps, strict=True):
        room = step.borrowing_room
        if node.parent is not None and room is not None and room <= node.parent.raw_available(key):
            limiting_node, limit = node.name, BORROWING_LIMIT
            break
    return QuotaChain(key, steps, limiting_node, limit, tuple(_find_hidden(nodes, key)))


def _describe_step(node: QuotaNode, key: FlavorResource) -> ChainStep:
    quota = node.quota(key)
    room = None
    if quota.borrowing_limit is not None and node.parent is not None:
        local = node.local_quota(key)
        used_of_parent = max(0, subtract_amounts(node.used(key), local))
        stored = subtract_amounts(node.subtree(key), local)
        room = add_amounts(subtract_amounts(stored, used_of_parent), quota.borrowing_limit)
    return ChainStep(
        node.name,
        isinstance(node, CohortNode),
        quota.nominal,
        node.subtree(key),
        node.used(key),
        node.local_available(key),
        room,
        node.available(key),
    )


def _find_hidden(nodes: list[QuotaNode], key: FlavorResource) -> list[IdleQuota]:
    """Return what nodes beside the way keep for themselves without using it."""
    hidden = []
    for below, node in pairwise(nodes):
        assert isinstance(node, CohortNode)
        for sibling in (*node.child_cohorts.values(), *node.child_queues.values()):
            if sibling is not below and sibling.local_available(key) > 0:
                hidden.append(IdleQuota(sibling.name, sibling.local_available(key)))
    return hidden
